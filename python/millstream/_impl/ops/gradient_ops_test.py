"""Gradients, as Python programs ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_what_stops_gradients_may_be_a_tensor_or_a_list() -> None:
    x = tf.constant([1.0, 2.0])
    z = x * x
    for stops in (z, [z], (z,)):
        assert tf.gradients(z * x, x, stop_gradients=stops)[0].eval().tolist() == [1.0, 4.0]
    for stops in (None, []):
        assert tf.gradients(z * x, x, stop_gradients=stops)[0].eval().tolist() == [3.0, 12.0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_relu6_has_no_gradient_at_its_ends(dtype: tf.DType) -> None:
    x = tf.constant([-1.0, 0.0, 3.0, 6.0, 7.0], dtype)
    y = tf.nn.relu6(x)
    assert y.eval().tolist() == [0.0, 0.0, 3.0, 6.0, 6.0]
    assert tf.gradients(y, x)[0].eval().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_a_power_near_the_limit_has_no_gradient_where_nothing_asks_for_it() -> None:
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], tf.float16)
    y = tf.constant(6.0, tf.float16)
    weights = tf.constant([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], tf.float16)  # 6**6 log(6) overflows
    by_exponent = tf.gradients(tf.pow(x, y * tf.ones_like(x)), y, weights)[0]
    assert by_exponent.eval() == pytest.approx(64.0 * np.log(2.0), rel=2e-3)
    by_base = tf.gradients(tf.pow(x, y), x, weights)[0]
    assert by_base.eval().tolist() == [6.0, 192.0, 0.0, 0.0, 0.0, 0.0]


def test_weights_may_have_another_shape_that_fits() -> None:
    x = tf.constant([1.0, 2.0])
    weight = tf.constant([2.0])
    assert tf.gradients(tf.reduce_max(x), x, weight)[0].eval().tolist() == [0.0, 2.0]
    cube = tf.ones([2, 3, 4])
    numbers = np.arange(24.0, dtype=np.float32).reshape([2, 3, 4])
    (found,) = tf.gradients(tf.reshape(cube, [1, 8, 3]), cube, tf.constant(numbers))
    assert found.eval().tolist() == numbers.tolist()
    with pytest.raises(ValueError, match="Incompatible shapes between op input"):
        tf.gradients(tf.identity(x), x, tf.constant([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="grad_ys: expected float32"):
        tf.gradients(tf.identity(x), x, tf.constant([1.0, 2.0], tf.float64))


def test_a_weight_of_unknown_shape_gets_that_of_the_gradient() -> None:
    x = tf.placeholder(tf.float32, [2, None])
    weight = tf.placeholder(tf.float32)
    assert weight.shape.ndims is None
    (found,) = tf.gradients(tf.identity(x), x, weight)
    assert found is weight
    assert weight.shape.as_list() == [2, None]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("indices", [1, [1, 0, 1], [[1, 0], [0, 0]]])
def test_gradient_of_a_gather_along_a_computed_axis(
    indices: Any, dtype: tf.DType, axis: int
) -> None:
    values = np.random.RandomState(3).standard_normal([2, 3, 4])
    x = tf.placeholder(tf.float64, [2, 3, 4])
    fed = tf.placeholder(dtype, [])
    computed = tf.square(tf.gather(x, indices, axis=fed))
    constant = tf.square(tf.gather(x, indices, axis=axis))
    found, expected = tf.gradients(computed, x)[0], tf.gradients(constant, x)[0]
    assert found.shape.as_list() == [2, 3, 4]
    feeds = {x: values, fed: axis}
    np.testing.assert_allclose(
        found.eval(feeds), tf.convert_to_tensor(expected).eval(feeds), rtol=1e-12
    )


def test_gradients_are_colocated_with_the_operations_that_they_are_of() -> None:
    with tf.device("/cpu:0"):
        x = tf.constant([[1.0, 2.0]], name="x")
        w = tf.constant([[3.0], [4.0]], name="w")
    product = tf.matmul(x, w, name="product")
    loss = product * product + tf.matmul(x, w, name="again")
    own = tf.gradients(loss, w)[0]
    assert own.op.colocation_groups() == [b"loc:@" + own.op.name.encode()]
    total = tf.gradients(loss, w, colocate_gradients_with_ops=True)[0]
    assert total.op.type == "AddN"
    assert total.op.colocation_groups() == [b"loc:@again"]
    assert total.device == ""
    groups = {tensor.op.colocation_groups()[0] for tensor in total.op.inputs}
    assert groups == {b"loc:@product", b"loc:@again"}
    assert total.eval().tolist() == own.eval().tolist() == [[23.0], [46.0]]


def test_gradients_of_one_device_are_summed_there_before_they_are_sent() -> None:
    with tf.device("/cpu:0"):
        x = tf.identity(tf.constant(3.0), name="x")
    with tf.device("/cpu:1"):
        squares = tf.square(x, name="a") + tf.square(x, name="b")
    with tf.device("/cpu:2"):
        far = tf.negative(x, name="c")
    total = tf.gradients(squares + far, x, colocate_gradients_with_ops=True)[0]
    assert (total.device, total.op.colocation_groups()) == ("/device:CPU:0", [b"loc:@x"])
    near, other = total.op.inputs
    assert near.op.type == "AddN"
    assert (near.device, near.op.colocation_groups()) == ("/device:CPU:1", [b"loc:@b"])
    assert (other.device, other.op.colocation_groups()) == ("/device:CPU:2", [b"loc:@c"])


def _made_since(first: int) -> list[Any]:
    return tf.get_default_graph().get_operations()[first:]


def _loop(x: Any) -> Any:
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.exp(x)), [0, x])[1]


def test_gradients_ask_for_the_device_of_the_block() -> None:
    with tf.device("/cpu:0"):
        x = tf.constant([1.0, 2.0])
        y = tf.exp(x) * x
    first = len(_made_since(0))
    with tf.device("/job:a"), tf.device("/cpu:1"):
        tf.gradients(y, x)
    assert {operation.device for operation in _made_since(first)} == {"/job:a/device:CPU:1"}
    first = len(_made_since(0))
    with tf.device("/cpu:1"), tf.device(None):
        tf.gradients(y, x)
    assert {operation.device for operation in _made_since(first)} == {""}
    first = len(_made_since(0))
    with tf.device("/cpu:1"):
        tf.gradients(y, x, colocate_gradients_with_ops=True)
    assert {operation.device for operation in _made_since(first)} == {"/device:CPU:0"}


def test_device_functions_see_the_operations_of_gradients() -> None:
    x = tf.constant([1.0, 2.0])
    y = tf.exp(x) * x
    first = len(_made_since(0))
    seen = []

    def device(operation: Any) -> str:
        seen.append(operation.name)
        return "/cpu:2" if operation.type == "Mul" else ""

    with tf.device("/cpu:1"), tf.device(device):
        tf.gradients(y, x)
    made = _made_since(first)
    assert seen == [operation.name for operation in made]
    for operation in made:
        expected = "/device:CPU:2" if operation.type == "Mul" else "/device:CPU:1"
        assert operation.device == expected


def test_the_block_of_a_loops_gradient_is_not_that_of_the_loop() -> None:
    x = tf.constant(0.5)
    with tf.device("/cpu:0"):
        y = _loop(x)
    first = len(_made_since(0))
    with tf.device("/cpu:1"):
        dx = tf.gradients(y, x)[0]
    devices = {operation.device for operation in _made_since(first)}
    # The lists of what the loop keeps for its gradient ask for nothing: they stand together.
    assert devices == {"", "/device:CPU:1"}
    pushes = [op for op in _made_since(first) if op.type == "TensorListPushBack"]
    assert pushes
    assert {operation.device for operation in pushes} == {""}
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        expected = np.exp(1.5) * (1 + 3 * 0.5)
        np.testing.assert_allclose(session.run(dx), expected, rtol=1e-6)


def test_gradients_wait_for_the_control_inputs_of_the_block(session: tf.Session) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    x = tf.constant(0.5)

    @tf.custom_gradient
    def doubled(value: Any) -> Any:
        return value * 2.0, lambda dy: dy * tf.constant(2.0)

    for y, expected in (
        (x * x, 1.0),
        (x, 1.0),
        (doubled(x), 2.0),
        (_loop(x), np.exp(1.5) * 2.5),
        (tf.cond(x > 0.0, lambda: tf.exp(x), lambda: x), np.exp(0.5)),
    ):
        before = session.run(count)
        with tf.control_dependencies([count.assign_add(1.0)]):
            dx = tf.gradients(y, x)[0]
        np.testing.assert_allclose(session.run(dx), expected, rtol=1e-6)
        assert session.run(count) == before + 1.0


def test_a_weight_that_is_the_gradient_waits(session: tf.Session) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    x, weight = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.control_dependencies([count.assign_add(1.0)]):
        dx = tf.gradients(x, x, grad_ys=weight)[0]
    assert session.run(dx).tolist() == [3.0, 4.0]
    assert session.run(count) == 1.0


def test_the_gradient_of_a_loop_may_wait_for_its_result(session: tf.Session) -> None:
    x = tf.constant(0.5)
    y = _loop(x)
    count = tf.Variable(0.0)
    session.run(count.initializer)
    with tf.control_dependencies([count.assign_add(y)]):
        dx = tf.gradients(y, x)[0]
    np.testing.assert_allclose(session.run(dx), np.exp(1.5) * 2.5, rtol=1e-6)
    np.testing.assert_allclose(session.run(count), np.exp(1.5) * 0.5, rtol=1e-6)


def test_what_a_branch_computes_may_wait_in_it(session: tf.Session) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    fed = tf.placeholder(tf.bool, [])
    x = tf.constant(0.5)

    def slope() -> Any:
        with tf.control_dependencies([count.assign_add(1.0)]):
            return tf.gradients(tf.exp(x), x)[0]

    found = tf.cond(fed, slope, lambda: tf.constant(0.0))
    assert session.run(found, {fed: False}) == 0.0
    assert session.run(count) == 0.0
    np.testing.assert_allclose(session.run(found, {fed: True}), np.exp(0.5), rtol=1e-6)
    assert session.run(count) == 1.0


@tf.custom_gradient
def _doubled(value: Any) -> Any:
    return value * 2.0, lambda dy: dy * tf.constant(2.0)


def _shrunk(a: Any) -> Any:
    return tf.while_loop(lambda i, b: i < 2, lambda i, b: (i + 1, b * a), [0, a])[1]


def _maybe(a: Any) -> Any:
    return tf.cond(a > 1.0, lambda: tf.exp(a), lambda: a)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (tf.square, lambda a: 2 * a),
        (tf.identity, lambda a: 1.0),
        (_doubled, lambda a: 2.0),
        (_shrunk, lambda a: 3 * a * a),
        (_maybe, lambda a: np.exp(a) if a > 1 else 1.0),
    ],
)
def test_gradients_in_a_body_may_wait_for_what_is_outside_of_the_loop(
    session: tf.Session, function: Any, slope: Any
) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    outside = count.assign_add(1.0)

    def body(i: Any, a: Any) -> Any:
        y = function(a)
        with tf.control_dependencies([outside]):
            return i + 1, a * 0.5 + tf.gradients(y, a)[0] * 0.25

    found = tf.while_loop(lambda i, a: i < 3, body, [0, 0.5])[1]
    expected = 0.5
    for _ in range(3):
        expected = expected * 0.5 + slope(expected) * 0.25
    np.testing.assert_allclose(session.run(found), expected, rtol=1e-5)
    assert session.run(count) == 1.0


def test_what_is_in_a_branch_in_a_body_may_wait_for_what_is_outside_of_the_loop(
    session: tf.Session,
) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    outside = count.assign_add(1.0)

    def slope(a: Any) -> Any:
        with tf.control_dependencies([outside]):
            return tf.gradients(tf.exp(a), a)[0]

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i < 2, lambda: slope(a), lambda: a)

    found = tf.while_loop(lambda i, a: i < 3, body, [0, 0.5])[1]
    np.testing.assert_allclose(session.run(found), np.exp(np.exp(0.5)), rtol=1e-5)
    assert session.run(count) == 1.0


def test_gradients_of_what_is_outside_of_a_loop_may_be_taken_in_its_body(
    session: tf.Session,
) -> None:
    x = tf.constant(0.5)
    y = tf.exp(x)

    def body(i: Any, a: Any) -> Any:
        with tf.control_dependencies([tf.assert_less(i, 3)]):
            return i + 1, a + tf.gradients(y, x)[0]

    found = tf.while_loop(lambda i, a: i < 3, body, [0, 0.0])[1]
    np.testing.assert_allclose(session.run(found), 3 * np.exp(0.5), rtol=1e-5)


def test_the_gradient_is_that_of_a_weighted_sum() -> None:
    x = tf.constant(3.0)
    assert tf.gradients([x * x, 2.0 * x], x)[0].eval() == 8.0
    assert tf.gradients([x * x, 2.0 * x], x, [10.0, None])[0].eval() == 62.0
    assert tf.gradients([x, x], [x, x])[1].eval() == 2.0
    with pytest.raises(ValueError, match="grad_ys: expected 1 of them, got 2"):
        tf.gradients(x * x, x, [1.0, 2.0])


def test_a_weight_may_be_rows() -> None:
    x = tf.constant([[1.0], [2.0], [3.0]])
    rows = tf.IndexedSlices(tf.constant([[5.0]]), tf.constant([2]), tf.constant([3, 1]))
    assert tf.gradients(x * 2.0, x, rows)[0].eval().tolist() == [[0.0], [0.0], [10.0]]


def test_lists_may_be_empty() -> None:
    x = tf.constant(3.0)
    assert tf.gradients([], x) == [None]
    assert tf.gradients(x, []) == []
    assert tf.gradients([], []) == []


def test_what_nothing_depends_on_has_zeros_or_none(session: tf.Session) -> None:
    x, rows = tf.constant(3.0), tf.constant([[1.0, 2.0]])
    w = tf.Variable([4.0, 5.0, 6.0])
    n = tf.constant([1, 2])
    session.run(w.initializer)
    assert tf.gradients(x * x, [rows, w, n]) == [None, None, None]
    for zero in (tf.UnconnectedGradients.ZERO, "zero"):
        found = tf.gradients(x * x, [x, rows, w, n], unconnected_gradients=zero)
        slope, by_rows, by_w, by_n = session.run(found)
        assert slope == 6.0
        assert (by_rows.tolist(), by_w.tolist()) == ([[0.0, 0.0]], [0.0, 0.0, 0.0])
        assert (by_n.tolist(), by_n.dtype) == ([0, 0], np.int32)
    for none in (tf.UnconnectedGradients.NONE, "none"):
        assert tf.gradients(x * x, rows, unconnected_gradients=none) == [None]
    assert tf.UnconnectedGradients("zero") is tf.UnconnectedGradients.ZERO
    with pytest.raises(ValueError, match="unconnected_gradients: expected 'none' or 'zero'"):
        tf.gradients(x * x, rows, unconnected_gradients="one")


def test_hints_change_nothing() -> None:
    x = tf.constant([1.0, 2.0])
    y = x * x + tf.exp(x) * x
    methods = [
        None,
        tf.AggregationMethod.DEFAULT,
        tf.AggregationMethod.ADD_N,
        tf.AggregationMethod.EXPERIMENTAL_TREE,
        tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ]
    expected = tf.gradients(y, x)[0].eval().tolist()
    for method in methods:
        for gate in (False, True):
            (dx,) = tf.gradients(y, x, gate_gradients=gate, aggregation_method=method)
            assert dx.eval().tolist() == expected
            found = tf.hessians(y, x, gate_gradients=gate, aggregation_method=method)[0]
            assert found.shape.as_list() == [2, 2]
    with pytest.raises(ValueError, match="Invalid aggregation_method specified: 7"):
        tf.gradients(y, x, aggregation_method=7)


def test_names_are_below_the_scope() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.name_scope("model"):
        y = tf.square(x)
        names = [
            tf.gradients(y, x)[0].op.name,
            tf.gradients(y, x)[0].op.name,
            tf.gradients(y, x, name="back")[0].op.name,
            tf.gradients(y, x, name=None)[0].op.name,
        ]
    scopes = [name.split("/model/Square_grad/")[0] for name in names]
    assert scopes == ["model/gradients", "model/gradients_1", "model/back", "model/gradients_2"]


def test_tensors_of_two_graphs_are_refused() -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph as"):
        tf.gradients(x, other)
    with pytest.raises(ValueError, match="must be from the same graph as"):
        tf.gradients(x, x, stop_gradients=other)


def test_a_constant_that_waits_does_so_where_a_loop_or_a_branch_reads_it(
    session: tf.Session,
) -> None:
    count = tf.Variable(0.0)
    session.run(count.initializer)
    x = tf.constant(0.5)
    with tf.control_dependencies([count.assign_add(1.0)]):
        dx = tf.gradients(x, x)[0]
    looped = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + dx), [0, 0.5])[1]
    assert session.run(looped) == 3.5
    assert session.run(count) == 1.0
    taken = tf.cond(tf.placeholder_with_default(True, []), lambda: dx + 1.0, lambda: dx)
    assert session.run(taken) == 2.0
    assert session.run(count) == 2.0
