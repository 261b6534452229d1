"""Conditionals: which operations run, what comes out, and gradients through them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture
def sess() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _operation(name: str) -> Any:
    return tf.get_default_graph().get_operation_by_name(name)


def test_only_the_branch_that_is_taken_has_effects(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    count = tf.get_variable("count", initializer=0)

    def counted(amount: int) -> Any:
        with tf.control_dependencies([count.assign_add(amount)]):
            return tf.constant(amount)

    result = tf.cond(p, lambda: counted(1), lambda: counted(100))
    sess.run(count.initializer)
    assert [sess.run(result, {p: value}) for value in (True, False, True)] == [1, 100, 1]
    assert sess.run(count) == 102


def test_what_is_made_outside_runs_whichever_way_it_goes(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    count = tf.get_variable("count", initializer=0)
    outside = count.assign_add(1)
    before = count.assign_add(10)
    with tf.control_dependencies([before]):
        result = tf.cond(p, lambda: tf.identity(outside), lambda: -1)
    sess.run(count.initializer)
    sess.run(result, {p: False})
    sess.run(result, {p: True})
    assert sess.run(count) == 22


def test_nodes_have_the_names_that_programs_know(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.placeholder(tf.float32, [2], name="x")
    result = tf.cond(p, lambda: tf.square(x), lambda: x)
    assert result.name == "cond/Merge:0"
    assert [tensor.name for tensor in _operation("cond/Switch").inputs] == ["p:0", "p:0"]
    assert [tensor.name for tensor in _operation("cond/switch_t").inputs] == ["cond/Switch:1"]
    assert [tensor.name for tensor in _operation("cond/Square").inputs] == ["cond/Square/Switch:1"]
    switch = _operation("cond/Square/Switch")
    assert [tensor.name for tensor in switch.inputs] == ["x:0", "cond/pred_id:0"]
    assert switch.colocation_groups() == [b"loc:@x"]
    assert result.shape.as_list() == [2]


def test_branches_are_in_the_colocation_that_is_around_them(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.colocate_with(x):
        tf.cond(x > 0.0, lambda: tf.constant(1.0, name="one"), lambda: 2.0)
    assert _operation("cond/one").colocation_groups() == [b"loc:@x"]


def test_conditionals_in_branches(sess: Any) -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)

    def inner(factor: float) -> Any:
        return tf.cond(q, lambda: factor * x, lambda: factor)

    result = tf.cond(p, lambda: inner(10.0), lambda: inner(-1.0))
    values = [sess.run(result, {p: a, q: b}) for a in (True, False) for b in (True, False)]
    assert values == [20.0, 10.0, -2.0, -1.0]


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("number", [0, 1])
def test_a_branch_decides_by_what_it_computes(sess: Any, taken: bool, number: int) -> None:
    p = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=1.0)
    n = tf.get_variable("n", initializer=number)

    def inner() -> Any:
        return tf.cond(n + 1 >= 2, lambda: v.assign(2.0), lambda: v.assign(5.0))

    result = tf.cond(p, inner, lambda: v + 6.0)
    sess.run(tf.global_variables_initializer())
    assert sess.run(result, {p: taken}) == ((2.0 if number else 5.0) if taken else 7.0)


def test_results_keep_their_structure(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))
    nested = tf.cond(p, lambda: {"a": 1, "b": (2.0, [3])}, lambda: {"a": 4, "b": (5.0, [6])})
    assert sess.run(nested, {p: False}) == {"a": 4, "b": (5.0, [6])}
    assert not isinstance(tf.cond(p, lambda: [1], lambda: [2]), list)
    assert isinstance(tf.cond(p, lambda: [1], lambda: [2], strict=True), list)
    chosen = tf.cond(p, lambda: slices, lambda: slices)
    assert sess.run(chosen, {p: True}).dense_shape.tolist() == [3, 2]
    sparse = tf.SparseTensor([[0, 1]], [7.0], [2, 2])
    chosen = tf.cond(p, lambda: sparse, lambda: tf.SparseTensor([[1, 1]], [8.0], [2, 2]))
    assert sess.run(chosen, {p: False}).indices.tolist() == [[1, 1]]
    done = tf.cond(p, tf.no_op, tf.no_op)
    sess.run(done, {p: True})


def test_variables_made_in_a_branch_are_initialized_outside_of_it(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    result = tf.cond(p, lambda: tf.get_variable("v", initializer=3.0) * 2.0, lambda: 0.0)
    sess.run(tf.global_variables_initializer())
    assert sess.run(result, {p: True}) == 6.0


def test_losses_and_counters_of_a_branch_are_there_outside_of_it(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])

    def regularized() -> Any:
        return tf.get_variable("v", initializer=3.0, regularizer=tf.square) * 2.0

    result = tf.cond(p, regularized, lambda: 0.0)
    mean = tf.cond(p, lambda: tf.metrics.mean([1.0, 2.0])[1], lambda: 0.0)
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    loss = tf.losses.get_regularization_loss()
    assert [sess.run([result, loss, mean], {p: value}) for value in (True, False)] == [
        [6.0, 9.0, 1.5],
        [0.0, 9.0, 0.0],
    ]


@pytest.mark.parametrize("value", [True, False])
def test_gradients_come_from_the_branch_that_is_taken(sess: Any, value: bool) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float64, [2])
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0]))
    result = tf.cond(p, lambda: x * x * v, lambda: 3.0 * x) + x
    at = np.array([5.0, -7.0])
    of_x, of_v = tf.gradients(result, [x, v])
    (second,) = tf.gradients(of_x, x)
    sess.run(v.initializer)
    slope, of_variable, curve = sess.run([of_x, of_v, second], {p: value, x: at})
    factor = np.array([1.0, 2.0])
    np.testing.assert_allclose(slope, (2 * at * factor if value else 3.0) + 1.0)
    np.testing.assert_allclose(of_variable, at * at if value else [0.0, 0.0])
    np.testing.assert_allclose(curve, 2 * factor if value else [0.0, 0.0])


def test_gradients_of_branches_of_which_one_is_constant(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.constant([[2.0]])
    result = tf.cond(p, lambda: tf.matmul(x, x), lambda: tf.zeros([1, 1]))
    (slope,) = tf.gradients(result, x)
    assert [sess.run(slope, {p: value}).item() for value in (True, False)] == [4.0, 0.0]


def test_gradients_of_conditionals_that_decide_by_one_predicate(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.constant(3.0)
    value = x

    def scaled(before: Any, factor: float) -> Any:
        return tf.cond(p, lambda: before * factor, lambda: before)

    for factor in (2.0, 5.0, 7.0):
        value = tf.cond(p, functools.partial(scaled, value, factor), lambda: 1.0)
    (slope,) = tf.gradients(value, x)
    assert [sess.run([value, slope], {p: taken}) for taken in (True, False)] == [
        [210.0, 70.0],
        [1.0, 0.0],
    ]


def test_gradients_of_nested_conditionals_and_of_rows(sess: Any) -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    table = tf.get_variable("table", initializer=np.ones([3, 2]))

    def rows(ids: list[int]) -> Any:
        return tf.reduce_sum(tf.nn.embedding_lookup(table, ids))

    result = tf.cond(
        p, lambda: tf.cond(q, lambda: rows([0]), lambda: rows([1, 1])), lambda: rows([2])
    )
    (slope,) = tf.gradients(result, table)
    dense = tf.convert_to_tensor(slope)
    sess.run(table.initializer)
    for a, b, row, count in ((True, True, 0, 1), (True, False, 1, 2), (False, True, 2, 1)):
        expected = np.zeros([3, 2])
        expected[row] = count
        np.testing.assert_array_equal(sess.run(dense, {p: a, q: b}), expected)


@pytest.mark.parametrize("taken", [True, False])
def test_a_gradient_by_what_is_outside_is_of_its_branch(sess: Any, taken: bool) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float64, [])
    slope, other = lambda: tf.gradients(x * x * x, x)[0], lambda: -x
    y = tf.cond(p, *((slope, other) if taken else (other, slope)))
    results = [y, tf.gradients(y, x)[0]]
    assert sess.run(results, {p: taken, x: 3.0}) == [27.0, 18.0]
    assert sess.run(results, {p: not taken, x: 3.0}) == [-3.0, -1.0]
    # What comes out of a branch is dead where that is not taken, and so is what enters it.
    merged = _operation("cond/Merge")
    assert [tensor.op.type for tensor in merged.inputs] == (
        ["Neg", "Switch"] if taken else ["Switch", "Neg"]
    )


def test_gradients_in_nested_branches(sess: Any) -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x, z = (tf.placeholder(tf.float64, []) for _ in range(2))

    def outer() -> Any:
        product = x * z

        def inner() -> Any:
            square = product * product
            return tf.gradients(product * x, product)[0] + tf.gradients(square, x)[0]

        return tf.cond(q, inner, lambda: tf.gradients(x * product, x)[0])

    y = tf.cond(p, outer, lambda: z)
    results = [y, *tf.gradients(y, [x, z])]
    # x + 2 x z^2, 2 x z, and z.
    for a, b, expected in (
        (True, True, [102.0, 51.0, 40.0]),
        (True, False, [20.0, 10.0, 4.0]),
        (False, True, [5.0, 0.0, 1.0]),
    ):
        assert sess.run(results, {p: a, q: b, x: 2.0, z: 5.0}) == expected


def test_gradients_in_a_branch_of_a_loop_of_what_is_outside(sess: Any) -> None:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x, z = (tf.placeholder(tf.float64, []) for _ in range(2))
    w = tf.cond(q, lambda: x * x * z, lambda: x * z)

    def body(k: Any, a: Any) -> Any:
        return k + 1, tf.cond(p, lambda: a + tf.gradients(w, x)[0], lambda: a * 2.0)

    y = tf.while_loop(lambda k, _: k < 2, body, [0, z])[1]
    results = [y, *tf.gradients(y, [x, z])]
    # z + 2 2 x z, z + 2 z, and 4 z.
    for a, b, expected in (
        (True, True, [45.0, 20.0, 9.0]),
        (True, False, [15.0, 0.0, 3.0]),
        (False, True, [20.0, 0.0, 4.0]),
    ):
        assert sess.run(results, {p: a, q: b, x: 2.0, z: 5.0}) == expected


def test_training_goes_through_a_conditional(sess: Any) -> None:
    training = tf.placeholder(tf.bool, [])
    w = tf.get_variable("w", initializer=1.0)
    mean = tf.get_variable("mean", initializer=0.0, trainable=False)

    def with_update() -> Any:
        with tf.control_dependencies([mean.assign(5.0)]):
            return w * 2.0

    loss = tf.square(tf.cond(training, with_update, lambda: w * mean))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess.run(tf.global_variables_initializer())
    sess.run(step, {training: True})
    np.testing.assert_allclose(sess.run([w, mean]), [0.2, 5.0], rtol=1e-5)


def test_a_merge_of_other_inputs_has_no_gradient(sess: Any) -> None:
    x = tf.constant(1.0)
    merged = tf.get_default_graph().create_op(
        "Merge", [x, x * 2.0], [tf.float32, tf.int32], name="m"
    )
    with pytest.raises(tf.errors.UnimplementedError, match="two branches of one predicate"):
        tf.gradients(merged.outputs[0], x)


def test_the_first_true_predicate_decides(sess: Any) -> None:
    x = tf.placeholder(tf.int32, [])
    pairs = [(x < 0, lambda: -1), (x < 5, lambda: 1), (x < 9, lambda: 2)]
    with_default = tf.case(pairs, default=lambda: 7)
    without = tf.case(pairs)
    exclusive = tf.case({x < 3: lambda: 1, x > 1: lambda: 2}, default=lambda: 3, exclusive=True)
    assert [sess.run(with_default, {x: value}) for value in (-1, 0, 8, 9)] == [-1, 1, 2, 7]
    assert [sess.run(without, {x: value}) for value in (-1, 0, 8)] == [-1, 1, 2]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"
    ):
        sess.run(without, {x: 9})
    assert [sess.run(exclusive, {x: value}) for value in (0, 4)] == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        sess.run(exclusive, {x: 2})


def test_a_number_decides(sess: Any) -> None:
    x = tf.placeholder(tf.int32, [])
    listed = tf.switch_case(x, [lambda: 10, lambda: 11])
    numbered = tf.switch_case(x, {3: lambda: 33, 7: lambda: 77}, default=lambda: 0)
    assert [sess.run(listed, {x: value}) for value in (0, 1, 5, -1)] == [10, 11, 11, 11]
    assert [sess.run(numbered, {x: value}) for value in (3, 7, 5)] == [33, 77, 0]


def test_bad_arguments(sess: Any) -> None:
    p = tf.placeholder(tf.bool, [], name="p")
    one, two = (lambda: 1), (lambda: 2.0)
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        tf.cond(True, one, one)
    with pytest.raises(TypeError, match="pred must be a tensor of bool, got one of int32"):
        tf.cond(tf.constant(1), one, one)
    with pytest.raises(TypeError, match="true_fn must be callable"):
        tf.cond(p, 1, one)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"must have the same type: int32.*float32"):
        tf.cond(p, one, two)
    with pytest.raises(ValueError, match="Incompatible return types"):
        tf.cond(p, lambda: [1, 2], lambda: [1])
    with pytest.raises(ValueError, match="must have a return value"):
        tf.cond(p, lambda: None, lambda: None)
    with pytest.raises(TypeError, match="type bool"):
        tf.case([(tf.constant(1), one)])
    with pytest.raises(ValueError, match="pred_fn_pairs"):
        tf.case([])
    with pytest.raises(ValueError, match="two functions"):
        tf.switch_case(tf.constant(1), [(1, one), (1, one)])
    with pytest.raises(TypeError, match="int32"):
        tf.switch_case(tf.constant(1.0), [one])


def test_sessions_fetch_nothing_of_a_branch(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)
    inside = []

    def triple() -> Any:
        inside.append(x * 3.0)
        return inside[0] + 1.0

    result = tf.cond(pred, triple, lambda: x)
    for fetch in (inside[0], inside[0].op, "cond/Switch:0", "cond/pred_id", "cond/mul/Switch:1"):
        with pytest.raises(ValueError, match="has been marked as not fetchable"):
            sess.run(fetch, {pred: True})
    assert sess.run(result, {pred: True}) == 7.0
    assert sess.run(result, {pred: True, inside[0]: 1.0}) == 2.0


@pytest.mark.parametrize("is_inner", [False, True])
def test_a_branch_takes_a_tensor_of_another_device(is_inner: bool) -> None:
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            x = tf.constant([1.0, 2.0])
        pred = tf.placeholder(tf.bool, [])

        def doubled() -> Any:
            return tf.cond(pred, lambda: x * 2.0, lambda: x) if is_inner else x * 2.0

        with tf.device("/cpu:0"):
            result = tf.cond(pred, doubled, lambda: x + 5.0)
        switch = _operation("cond/add/Switch")
        assert switch.device.endswith("CPU:1")
        assert switch.colocation_groups() == [b"loc:@Const"]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            assert sess.run(result, {pred: True}).tolist() == [2.0, 4.0]
            assert sess.run(result, {pred: False}).tolist() == [6.0, 7.0]
