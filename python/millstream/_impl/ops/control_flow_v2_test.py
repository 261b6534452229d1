"""Conditionals and loops that are If and While nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def sess() -> Iterator[Any]:
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            yield session
    finally:
        tf.disable_control_flow_v2()


def _nodes() -> dict[str, str]:
    """The ops of the graph's nodes, by name."""
    return {node.name: node.op for node in tf.get_default_graph().as_graph_def().node}


def _again(sess: Any, fetch: Any, feeds: dict[Any, Any]) -> Any:
    """The value in a graph that was exported and imported."""
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(definition, name="")
        found = {graph.get_tensor_by_name(key.name): value for key, value in feeds.items()}
        return session.run(graph.get_tensor_by_name(fetch.name), found)


def test_the_switch() -> None:
    assert tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    assert not tf.control_flow_v2_enabled()
    tf.cond(tf.constant(True), lambda: 1, lambda: 2)
    assert "Merge" in _nodes().values()


def test_a_conditional_is_a_node(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [], name="pred")
    x = tf.placeholder(tf.float32, [2], name="x")
    y, z = tf.cond(pred, lambda: (x * 3.0, x), lambda: (x + 1.0, tf.constant([7.0, 8.0])))
    assert y.shape.as_list() == z.shape.as_list() == [2]
    nodes = _nodes()
    assert nodes["cond"] == "StatelessIf"
    assert sorted(nodes) == ["cond", "cond/pred_id", "pred", "x"]
    for value, expected in ((True, [[3.0, 6.0], [1.0, 2.0]]), (False, [[2.0, 3.0], [7.0, 8.0]])):
        feeds = {pred: value, x: [1.0, 2.0]}
        assert [each.tolist() for each in sess.run([y, z], feeds)] == expected
        assert _again(sess, y, feeds).tolist() == expected[0]


def test_gradients_of_conditionals(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=5.0)
    y = tf.cond(pred, lambda: x * x * v, lambda: 4.0 * x)
    first = tf.gradients(y, [x, v])
    second = tf.gradients(first[0], x)[0]
    sess.run(v.initializer)
    assert sess.run([*first, second], {pred: True, x: 3.0}) == [30.0, 9.0, 10.0]
    assert sess.run([*first, second], {pred: False, x: 3.0}) == [4.0, 0.0, 0.0]


def test_effects_of_the_branch_that_is_taken(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=1.0)
    change = tf.cond(pred, lambda: tf.assign_add(v, 10.0).op, lambda: tf.no_op())
    assert _nodes()["cond"] == "If"
    sess.run(v.initializer)
    sess.run(change, {pred: False})
    assert sess.run(v) == 1.0
    sess.run(change, {pred: True})
    assert sess.run(v) == 11.0


def test_conditionals_in_conditionals(sess: Any) -> None:
    a, b = (tf.placeholder(tf.bool, []) for _ in range(2))
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(a, lambda: tf.cond(b, lambda: x * x, lambda: -x) + 1.0, lambda: x)
    gradient = tf.gradients(y, x)[0]
    assert "cond/cond" not in _nodes()
    results = {
        (True, True): [10.0, 6.0],
        (True, False): [-2.0, -1.0],
        (False, True): [3.0, 1.0],
    }
    for (one, other), expected in results.items():
        assert sess.run([y, gradient], {a: one, b: other, x: 3.0}) == expected


def test_a_conditional_waits_for_what_is_around_it(sess: Any) -> None:
    v = tf.get_variable("v", initializer=1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        read = tf.cond(tf.constant(True), lambda: v.read_value(), lambda: tf.constant(0.0))
    sess.run(v.initializer)
    assert sess.run(read) == 2.0


def test_variables_made_in_a_branch(sess: Any) -> None:
    def make() -> Any:
        return tf.get_variable("made", initializer=3.0) * 2.0

    y = tf.cond(tf.constant(True), make, lambda: tf.constant(0.0))
    sess.run(tf.global_variables_initializer())
    assert sess.run(y) == 6.0


def test_a_loop_is_a_node(sess: Any) -> None:
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.placeholder(tf.float32, [2], name="x")
    count, y = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a * x), [0, tf.ones([2])])
    assert y.shape.as_list() == [2]
    assert _nodes()["while"] == "StatelessWhile"
    # The first value of the counter.
    assert [name for name in _nodes() if name.startswith("while/")] == ["while/Const"]
    feeds = {n: 3, x: [2.0, 3.0]}
    assert sess.run(count, feeds) == 3
    assert sess.run(y, feeds).tolist() == [8.0, 27.0]
    assert _again(sess, y, feeds).tolist() == [8.0, 27.0]


def test_gradients_of_loops(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=2.0)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x * v), [0, x])[1]
    first = tf.gradients(y, [x, v])
    second = tf.gradients(first[0], x)[0]
    sess.run(v.initializer)
    # x^4 v^3
    found = sess.run([y, *first, second], {x: 3.0})
    assert found == [81.0 * 8.0, 4.0 * 27.0 * 8.0, 81.0 * 12.0, 12.0 * 9.0 * 8.0]


def test_loops_and_conditionals_in_each_other(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [])

    def body(i: Any, a: Any) -> tuple[Any, Any]:
        inner = tf.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, b * 2.0), [0, a])[1]
        return i + 1, tf.cond(i > 0, lambda: inner + x, lambda: inner)

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    assert sess.run([y, tf.gradients(y, x)[0]], {x: 3.0}) == [51.0, 17.0]


def test_updates_run_once_an_iteration(sess: Any) -> None:
    v = tf.get_variable("v", initializer=0.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0])
    assert _nodes()["while"] == "While"
    sess.run(v.initializer)
    assert sess.run(loop) == 5
    assert sess.run(v) == 5.0


def test_arrays_and_options(sess: Any) -> None:
    x = tf.constant([[1.0], [2.0], [3.0]])
    doubled = tf.map_fn(lambda row: row * 2.0, x)
    np.testing.assert_array_equal(sess.run(doubled), [[2.0], [4.0], [6.0]])
    np.testing.assert_array_equal(sess.run(tf.gradients(doubled, x)[0]), [[2.0]] * 3)
    loop = tf.while_loop(
        lambda a: True, lambda a: a + x, [x], maximum_iterations=2, back_prop=False
    )
    np.testing.assert_array_equal(sess.run(loop), [[3.0], [6.0], [9.0]])
    assert tf.gradients(loop, x) == [None]
    grown = tf.while_loop(
        lambda a: tf.size(a) < 8,
        lambda a: tf.concat([a, a], 0),
        [tf.constant([1])],
        [tf.TensorShape([None])],
    )
    assert grown.shape.as_list() == [None]
    assert sess.run(grown).tolist() == [1] * 8


def test_a_recurrent_network_trains(sess: Any) -> None:
    tf.set_random_seed(1)
    x = np.random.RandomState(1).randn(4, 5, 3).astype(np.float32)
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(6), x, sequence_length=[5, 2, 0, 3], dtype=tf.float32
    )
    loss = tf.reduce_mean(tf.square(outputs - 0.5))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    sess.run(tf.global_variables_initializer())
    before = sess.run(loss)
    for _ in range(5):
        sess.run(train)
    assert sess.run(loss) < before


@pytest.mark.parametrize("is_outside", [False, True])
def test_gradients_in_a_branch(sess: Any, is_outside: bool) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    cube = x * x * x
    y = tf.cond(pred, lambda: tf.gradients(cube if is_outside else x * x * x, x)[0], lambda: -x)
    assert _nodes()["cond"] == "StatelessIf"
    assert _again(sess, y, {pred: True, x: 3.0}) == 27.0
    slope = tf.gradients(y, x)[0]
    assert sess.run([y, slope], {pred: True, x: 3.0}) == [27.0, 18.0]
    assert sess.run([y, slope], {pred: False, x: 3.0}) == [-3.0, -1.0]


def test_gradients_in_a_branch_of_what_is_around_it(sess: Any) -> None:
    a, b = (tf.placeholder(tf.bool, []) for _ in range(2))
    x = tf.placeholder(tf.float32, [])

    def outer() -> Any:
        twice = 2.0 * x
        square = twice * twice
        return tf.cond(
            b, lambda: tf.gradients(square * x, x)[0], lambda: tf.gradients(square, twice)[0]
        )

    y = tf.cond(a, outer, lambda: x)
    assert sess.run(y, {a: True, b: True, x: 3.0}) == 12.0 * 9.0
    assert sess.run(y, {a: True, b: False, x: 3.0}) == 12.0
    assert sess.run(y, {a: False, b: False, x: 3.0}) == 3.0


def test_gradients_in_a_branch_by_rows_of_a_variable(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    table = tf.get_variable("table", initializer=[[2.0], [3.0]], use_resource=True)

    def slopes() -> Any:
        rows = tf.gather(table, [1, 1])
        return tf.convert_to_tensor(tf.gradients(rows * rows, table)[0])

    y = tf.cond(pred, slopes, lambda: tf.identity(table))
    sess.run(table.initializer)
    assert sess.run(y, {pred: True}).tolist() == [[0.0], [12.0]]
    assert sess.run(y, {pred: False}).tolist() == [[2.0], [3.0]]


def test_gradients_in_a_branch_of_conditionals_and_loops_in_it(sess: Any) -> None:
    a, b = (tf.placeholder(tf.bool, []) for _ in range(2))
    v = tf.get_variable("v", initializer=3.0, use_resource=True)

    def slope() -> Any:
        chosen = tf.cond(b, lambda: v * v, lambda: -v)
        y = tf.while_loop(lambda i, _: i < 2, lambda i, p: (i + 1, p * v), [0, chosen])[1]
        return tf.gradients(y, v)[0]

    y = tf.cond(a, slope, lambda: tf.identity(v))
    sess.run(v.initializer)
    # Of v^4 and of -v^3.
    for feeds, expected in (({a: 1, b: 1}, 108.0), ({a: 1, b: 0}, -27.0), ({a: 0, b: 0}, 3.0)):
        assert sess.run(y, feeds) == expected


def test_training_in_a_branch(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=2.0)
    optimizer = tf.train.GradientDescentOptimizer(0.25)
    train = tf.cond(pred, lambda: optimizer.minimize(v * v), lambda: tf.no_op())
    sess.run(v.initializer)
    sess.run(train, {pred: False})
    assert sess.run(v) == 2.0
    sess.run(train, {pred: True})
    assert sess.run(v) == 1.0


def test_gradients_in_a_body_of_what_is_outside(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    cube = x * x * x
    y = tf.while_loop(
        lambda i, _: i < 2, lambda i, a: (i + 1, tf.gradients(cube * a, x)[0]), [0, tf.ones([])]
    )[1]
    assert sess.run(y, {x: 2.0}) == 144.0
    constant = tf.while_loop(
        lambda i, _: i < 2, lambda i, a: (i + 1, tf.gradients(cube, x)[0]), [0, x]
    )[1]
    assert sess.run(constant, {x: 2.0}) == 12.0
    assert "Enter" not in _nodes().values()


def test_gradients_in_a_body_of_loops_and_conditionals_in_it(sess: Any) -> None:
    x = tf.placeholder(tf.float32, [])

    def body(i: Any, v: Any) -> tuple[Any, Any]:
        def inner(j: Any, a: Any) -> tuple[Any, Any]:
            return j + 1, tf.cond(j > 0, lambda: a * v, lambda: a * x)

        y = tf.while_loop(lambda j, _: j < 2, inner, [0, v])[1]
        return i + 1, tf.gradients(y, v)[0]

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    # v becomes 2 v x, twice.
    assert sess.run([y, tf.gradients(y, x)[0]], {x: 3.0}) == [108.0, 108.0]


def test_gradients_in_a_body_of_a_loop_around_it(sess: Any) -> None:
    """The rows of a Jacobian, one in each iteration."""
    x = tf.constant([1.0, 2.0, 3.0])
    cubes = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * x), [0, x])[1]
    rows = tf.map_fn(lambda k: tf.gradients(cubes[k], x)[0], tf.range(3), dtype=tf.float32)
    np.testing.assert_array_equal(sess.run(rows), np.diag([3.0, 12.0, 27.0]))


def test_gradients_in_a_branch_of_conditionals_and_loops_around_it(sess: Any) -> None:
    a, b = (tf.placeholder(tf.bool, []) for _ in range(2))
    x = tf.placeholder(tf.float32, [])
    chosen = tf.cond(b, lambda: x * x, lambda: -x)
    y = tf.while_loop(lambda i, _: i < 2, lambda i, p: (i + 1, p * x), [0, chosen])[1]
    slope = tf.cond(a, lambda: 2.0 * tf.gradients(y, x)[0], lambda: x)
    # Of x^4 and of -x^3.
    for feeds, expected in (({a: 1, b: 1}, 216.0), ({a: 1, b: 0}, -54.0), ({a: 0, b: 0}, 3.0)):
        assert sess.run(slope, {**feeds, x: 3.0}) == expected


def test_a_gradient_from_a_branch_goes_through_a_conditional_around_it(sess: Any) -> None:
    pred, asked = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    chosen = tf.cond(pred, lambda: x * x, lambda: -x)
    slope = tf.cond(asked, lambda: tf.gradients(chosen * x, x)[0], lambda: x)
    weighted = tf.cond(asked, lambda: tf.gradients(chosen, x, grad_ys=2.0 * x)[0], lambda: x)
    found = {
        (a, b): sess.run([slope, weighted], {pred: a, asked: b, x: 3.0})
        for a in (True, False)
        for b in (True, False)
    }
    assert found[True, True] == [27.0, 36.0]
    assert found[False, True] == [-6.0, -6.0]
    assert found[True, False] == found[False, False] == [3.0, 3.0]


def _cubed_or_negated(pred: Any, x: Any) -> Any:
    return tf.cond(pred, lambda: x * x * x, lambda: -x)


def _repeated(pred: Any, x: Any) -> Any:
    del pred
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]


def _chosen_in_a_loop_in_a_branch(pred: Any, x: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i > 1, lambda: a * x, lambda: a + x)

    return tf.cond(pred, lambda: tf.while_loop(lambda i, _: i < 3, body, [0, x])[1], lambda: -x)


def _slope_in_a_branch(pred: Any, x: Any) -> Any:
    def slope() -> Any:
        return tf.gradients(tf.cond(x > 1.0, lambda: x * x * x, lambda: -x * x), x)[0]

    return tf.cond(pred, slope, lambda: x)


@pytest.mark.parametrize(
    "build", [_cubed_or_negated, _repeated, _chosen_in_a_loop_in_a_branch, _slope_in_a_branch]
)
def test_gradients_are_exported(sess: Any, build: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float64, [])
    y = build(pred, x)
    before = tf.get_default_graph().as_graph_def()
    assert {"If", "While", "StatelessIf", "StatelessWhile"} & {node.op for node in before.node}
    slope = tf.gradients(y, x)[0]
    second = tf.gradients(slope, x)[0]
    nodes = _nodes()
    assert nodes[y.op.name] == "IdentityN"
    assert "_ToBool" not in nodes.values()
    for value in (True, False):
        for tensor in (y, slope, second):
            feeds = {pred: value, x: 3.0}
            assert _again(sess, tensor, feeds) == sess.run(tensor, feeds)


def test_conditionals_whose_nodes_nothing_reads_are_exported_as_nodes(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    chosen = _cubed_or_negated(pred, x)
    y = tf.cond(pred, lambda: chosen * x, lambda: x)
    slope = tf.gradients(chosen, x)[0]
    assert _nodes()[y.op.name] == "StatelessIf"
    for value, expected in ((True, [81.0, 27.0]), (False, [3.0, -1.0])):
        feeds = {pred: value, x: 3.0}
        assert [_again(sess, tensor, feeds) for tensor in (y, slope)] == expected


def test_a_conditional_in_a_meta_graph_trains(sess: Any) -> None:
    pred = tf.placeholder(tf.bool, [], name="pred")
    v = tf.get_variable("v", initializer=2.0)
    loss = tf.cond(pred, lambda: v * v, lambda: 3.0 * v)
    tf.train.GradientDescentOptimizer(0.25).minimize(loss, name="train")
    exported = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(exported)
        session.run(tf.global_variables_initializer())
        session.run("train", {"pred:0": True})
        assert session.run("v:0") == 1.0
        session.run("train", {"pred:0": False})
        assert session.run("v:0") == 0.25
