"""Loops: what comes out, what runs how often, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture
def sess() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_body_runs_while_the_condition_holds(sess: Any) -> None:
    start = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [start, tf.constant(0)])
    assert sess.run(loop, {start: 0}) == (5, 10)
    assert sess.run(loop, {start: 7}) == (7, 0)


def test_sessions_do_not_reach_into_a_loop(sess: Any) -> None:
    inside = []

    def body(i: Any) -> Any:
        inside.append(i * 2)
        return inside[0] - i + 1

    limit = tf.constant(3)
    loop = tf.while_loop(lambda i: i < limit, body, [0])
    for fetch in (inside[0], inside[0].op, "while/Merge:0", "while/Enter"):
        with pytest.raises(ValueError, match="has been marked as not fetchable"):
            sess.run(fetch)
    with pytest.raises(ValueError, match="may not be fed"):
        sess.run(loop, {inside[0]: 1})
    assert sess.run(loop) == 3


def test_sessions_do_not_reach_into_a_loop_in_a_loop(sess: Any) -> None:
    inside = []

    def body(i: Any) -> Any:
        inside.append(tf.while_loop(lambda j: j < 2, lambda j: j + 1, [0]))
        return i + inside[0]

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(ValueError, match="has been marked as not fetchable"):
        sess.run(inside[0])
    assert sess.run(loop) == 4


def test_nodes_have_the_names_that_programs_know(sess: Any) -> None:
    tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)])
    names = {op.name: op.type for op in tf.get_default_graph().get_operations()}
    for kind in ("Enter", "Merge", "LoopCond", "Switch", "Identity", "NextIteration", "Exit"):
        assert names[f"while/{kind}"] == kind
    merge = tf.get_default_graph().get_operation_by_name("while/Merge")
    assert [each.name for each in merge.inputs] == ["while/Enter:0", "while/NextIteration:0"]


def test_tensors_and_variables_from_outside_are_there_in_each_iteration(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    factor = tf.get_variable("factor", initializer=2.0)
    loop = tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, lambda y: y * factor + x, [x])
    sess.run(factor.initializer)
    assert sess.run(loop, {x: [1.0, 2.0]}).tolist() == [63.0, 126.0]


def test_updates_run_once_an_iteration(sess: Any) -> None:
    count = tf.get_variable("count", initializer=0)
    outside = count.assign_add(100)

    def body(i: Any) -> Any:
        with tf.control_dependencies([outside]), tf.control_dependencies([count.assign_add(1)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 4, body, [0])
    sess.run(count.initializer)
    assert sess.run(loop) == 4
    assert sess.run(count) == 104


def test_what_takes_only_tensors_from_outside_runs_once_an_iteration(sess: Any) -> None:
    two = tf.constant(2)
    count = tf.get_variable("count", initializer=0)

    def counted(i: Any) -> Any:
        with tf.control_dependencies([count.assign_add(two)]):
            return i + 1

    def outer(i: Any) -> Any:
        return i + tf.while_loop(lambda j: j < two, counted, [two - 2]) - 1

    loop = tf.while_loop(lambda i: i < 3, counted, [0])
    nested = tf.while_loop(lambda i: i < 3, outer, [0])
    passed = tf.while_loop(lambda i, j: i < 2, lambda i, j: (two, i), [0, 1])
    sess.run(count.initializer)
    assert (sess.run(loop), sess.run(count)) == (3, 6)
    assert (sess.run(nested), sess.run(count)) == (3, 18)
    assert sess.run(passed) == (2, 0)


def test_a_loop_waits_for_control_inputs(sess: Any) -> None:
    count = tf.get_variable("count", initializer=1)
    start = tf.constant(0)
    with tf.control_dependencies([count.assign_add(100)]):
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + count, [start])
    sess.run(count.initializer)
    assert sess.run(loop) == 101


def test_loops_and_conditionals_in_loops_and_branches(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])

    def inner(a: Any, b: Any) -> Any:
        return a + 1, tf.while_loop(lambda c: c < b + 10, lambda c: c + a + 1, [b])

    def choosing(a: Any, b: Any) -> Any:
        return a + 1, tf.cond(tf.equal(a % 2, 0), lambda: b + a, lambda: b * 2)

    loops = tf.while_loop(lambda a, b: a < 3, inner, [0, 0])
    chosen = tf.while_loop(lambda a, b: a < 6, choosing, [0, 0])
    count = tf.cond(p, lambda: tf.while_loop(lambda i: i < 4, lambda i: i + 1, [0]), lambda: -1)
    assert sess.run(loops) == (3, 32)
    assert sess.run(chosen) == (6, 16)
    assert [sess.run(count, {p: value}) for value in (True, False)] == [4, -1]


def test_structures_and_the_number_of_iterations(sess: Any) -> None:
    start = {"a": tf.constant(0), "b": (tf.constant(1.0), [tf.constant(2.0)])}

    def body(values: Any) -> Any:
        first, (second,) = values["b"]
        return [{"a": values["a"] + 1, "b": (second, [first])}]

    loop = tf.while_loop(lambda values: values["a"] < 3, body, [start])
    assert sess.run(loop) == {"a": 3, "b": (2.0, [1.0])}
    limited = tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=7)
    assert sess.run(limited) == 7
    same = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], return_same_structure=True)
    assert sess.run(same) == [3]


def test_sparse_tensors_are_loop_variables(sess: Any) -> None:
    def body(i: Any, x: Any) -> Any:
        return i + 1, tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)

    start = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    _, doubled = tf.while_loop(lambda i, _: i < 3, body, [0, start])
    assert sess.run(doubled).values.tolist() == [8.0]


def test_shapes_may_change_if_the_invariants_say_so(sess: Any) -> None:
    x = tf.constant([1.0, 2.0])
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    grown = tf.while_loop(
        lambda k, a: k < 3, lambda k, a: (k + 1, tf.concat([a, a], 0)), [0, x], shapes
    )
    assert grown[1].shape.as_list() == [None]
    np.testing.assert_array_equal(sess.run(grown[1]), np.tile([1.0, 2.0], 8))
    with pytest.raises(ValueError, match=r"shape \(2,\), but has shape \(4,\) after one iteration"):
        tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [x])
    with pytest.raises(ValueError, match="not compatible with the initial shape"):
        tf.while_loop(lambda a: True, lambda a: a, [x], [tf.TensorShape([3])])


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [
        ([2], [4], r"\[None\]"),
        ([2, 3], [2, 6], r"\[2, None\]"),
        ([2], [2, 1], "None"),
    ],
)
def test_an_error_names_the_invariant_that_allows_both_shapes(
    sess: Any, first: list[int], second: list[int], allowed: str
) -> None:
    x = tf.zeros(first, name="x")
    error = rf"'x:0' enters .*tf.TensorShape\({allowed}\) allows both"
    with pytest.raises(ValueError, match=error):
        tf.while_loop(lambda a: True, lambda a: tf.zeros(second), [x])


def test_tensors_of_a_loop_are_not_used_outside_of_it(sess: Any) -> None:
    inside = []

    def body(i: Any) -> Any:
        inside.append(tf.add(i, 1, name="next"))
        return inside[0]

    after = tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(
        ValueError, match="Cannot use 'while/next' as input to 'Neg' because 'while/next' is in a"
    ):
        tf.negative(inside[0])
    # Another loop is outside of it as well.
    with pytest.raises(ValueError, match="'while/next' is in a while loop"):
        tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])
    assert sess.run(after + 1) == 4


def test_a_gradient_that_the_program_defines_in_a_loop(sess: Any) -> None:
    @tf.custom_gradient
    def twice(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * tf.cond(x > 100.0, lambda: x, lambda: 3.0 * x)

    def body(i: Any, a: Any) -> tuple[Any, Any]:
        return i + 1, tf.gradients(twice(a), a)[0]

    assert sess.run(tf.while_loop(lambda i, _: i < 2, body, [0, 1.0])) == (2, 9.0)


def test_bad_arguments(sess: Any) -> None:
    with pytest.raises(TypeError, match="cond must be callable"):
        tf.while_loop(1, lambda i: i, [0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="body must be callable"):
        tf.while_loop(lambda i: True, 1, [0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="No loop variables"):
        tf.while_loop(lambda: True, lambda: None, [])
    with pytest.raises(TypeError, match="parallel_iterations"):
        tf.while_loop(lambda i: True, lambda i: i, [0], parallel_iterations=0)
    with pytest.raises(TypeError, match="expected bool, got int32"):
        tf.while_loop(lambda i: i, lambda i: i + 1, [0])
    with pytest.raises(ValueError, match="type int32, but has type float32 after 1 iteration"):
        tf.while_loop(lambda i: i < 3, lambda i: 1.0, [0])
    with pytest.raises(ValueError, match="same number of elements"):
        tf.while_loop(lambda i: i < 3, lambda i: (i, i), [0])
    with pytest.raises(ValueError, match=r"maximum_iterations must be a scalar, saw shape: \(2,\)"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=[1, 2])


def test_a_loop_that_never_ends_ends_at_the_time_limit(sess: Any) -> None:
    loop = tf.while_loop(lambda i: True, lambda i: i + 1, [0])
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(loop, options=tf.RunOptions(timeout_in_ms=200))


def test_a_loop_takes_a_tensor_of_another_device() -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:1"):
            x = tf.constant([1.0, 2.0])
        with tf.device("/cpu:0"):
            result = tf.while_loop(
                lambda i, _: i < 3,
                lambda i, y: (i + 1, tf.cond(i > 1, lambda: y * x, lambda: y + x)),
                [0, tf.zeros([2])],
            )[1]
        enters = [op for op in graph.get_operations() if op.type == "Enter" and op.inputs[0] is x]
        assert enters
        for enter in enters:
            assert enter.device.endswith("CPU:0")
            assert enter.colocation_groups() == [b"loc:@" + enter.name.encode()]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            assert sess.run(result).tolist() == [2.0, 8.0]
