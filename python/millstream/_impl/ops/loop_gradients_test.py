"""Gradients of loops, against numeric ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(name="sess")
def _session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def _for(count: Any, body: Callable[..., Any], *start: Any) -> Any:
    """The values after `count` iterations of a body that takes the iteration and values."""

    def step(i: Any, *values: Any) -> Any:
        after = body(i, *values)
        return (i + 1, *(after if isinstance(after, tuple) else (after,)))

    return tf.while_loop(lambda i, *values: i < count, step, [0, *start])[1:]


def _check(sess: Any, y: Any, x: Any, *points: Any, feed: Any = None) -> None:
    """Compare the first two derivatives of y by the scalar x, a placeholder of float64."""
    derivative = y
    for order in (1, 2):
        lower, (derivative,) = derivative, tf.gradients(derivative, x)
        for point in points:
            step = 1e-5
            high, low = (sess.run(lower, {x: point + d, **(feed or {})}) for d in (step, -step))
            expected = (high - low) / (2 * step)
            actual = sess.run(derivative, {x: point, **(feed or {})})
            # Differences have an error of the order of step**2 and of 1e-16 / step.
            np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6, err_msg=str(order))


def _placeholder() -> Any:
    return tf.placeholder(tf.float64, [])


@pytest.mark.parametrize("count", [0, 1, 5])
def test_variables_and_what_comes_from_outside(sess: Any, count: int) -> None:
    x = _placeholder()
    (power,) = _for(count, lambda i, p: p * x, x * x)
    _check(sess, power + x * x * x, x, 1.3, -0.7)


def test_variables_that_depend_on_each_other(sess: Any) -> None:
    x = _placeholder()
    _, _, y = _for(4, lambda i, a, b, c: (b * x, a + tf.sin(c), c + a * b), x, 2.0 * x, 1.0 + x)
    _check(sess, y, x, 0.4, 1.1)


def test_the_number_of_iterations_may_depend_on_the_values(sess: Any) -> None:
    x = _placeholder()
    root = tf.while_loop(
        lambda y: tf.abs(y * y - x) > 1e-12, lambda y: 0.5 * (y + x / y), [x + 1.0]
    )
    (slope,) = tf.gradients(root, x)
    np.testing.assert_allclose(sess.run([root, slope], {x: 2.0}), [2**0.5, 0.5 * 2**-0.5])


def test_a_variable_that_only_the_condition_reads(sess: Any) -> None:
    x = _placeholder()
    root, _ = tf.while_loop(
        lambda y, error: error > 1e-9,
        lambda y, error: (0.5 * (y + x / y), tf.abs(y * y - x)),
        [x, tf.constant(1.0, tf.float64)],
    )
    (slope,) = tf.gradients(root, x)
    np.testing.assert_allclose(sess.run([root, slope], {x: 2.0}), [2**0.5, 0.5 * 2**-0.5])


def test_three_loops_one_in_the_other(sess: Any) -> None:
    x = _placeholder()

    def innermost(i: Any, j: Any) -> Callable[..., Any]:
        return lambda k, c: c * x + tf.cast(i + j * k, tf.float64)

    def middle(i: Any) -> Callable[..., Any]:
        return lambda j, b: tf.sin(_for(j + 1, innermost(i, j), b)[0]) + b * x

    (y,) = _for(3, lambda i, a: _for(i, middle(i), a)[0] * x, x)
    _check(sess, y, x, 0.6, 1.2)


def test_conditionals_in_loops(sess: Any) -> None:
    x = _placeholder()

    def body(i: Any, v: Any) -> Any:
        def less() -> Any:
            return tf.cond(i > 2, lambda: v / (1.0 + x), lambda: tf.constant(0.5, tf.float64))

        return tf.cond(v > 2.0, less, lambda: v * v * x)

    (y,) = _for(7, body, 1.5 + 0.0 * x)
    _check(sess, y, x, 0.9, 1.3, 2.1)


@pytest.mark.parametrize("is_known", [True, False])
def test_vectors_in_branches_in_loops(sess: Any, is_known: bool) -> None:
    """Where a branch is not taken, there is no vector to keep."""
    x = _placeholder()
    start = tf.constant([0.5, -1.0, 2.0], tf.float64)
    if not is_known:
        start = tf.placeholder_with_default(start, [None])

    def body(i: Any, v: Any) -> Any:
        def less() -> Any:
            return tf.cond(i > 3, lambda: tf.sin(v * v) * x, lambda: tf.gather(v, [2, i % 3, 1]))

        return tf.cond(tf.equal(i % 2, 1), less, lambda: tf.tanh(v * x) + v)

    (y,) = _for(6, body, start * x)
    _check(sess, tf.reduce_sum(y * y), x, 0.7, 1.4)


def test_loops_in_branches(sess: Any) -> None:
    x = _placeholder()
    p = tf.placeholder(tf.bool, [])
    scale = tf.Variable(np.float64(1.5))
    sess.run(scale.initializer)
    y = tf.cond(p, lambda: _for(3, lambda i, v: v * x * scale, x)[0], lambda: x * scale)
    for value in (True, False):
        _check(sess, y, x, 0.8, feed={p: value})
    (by_scale,) = tf.gradients(y, scale)
    assert sess.run(by_scale, {x: 2.0, p: False}) == 2.0
    assert sess.run(by_scale, {x: 2.0, p: True}) == 3 * 1.5**2 * 16.0


def test_loops_in_branches_in_loops(sess: Any) -> None:
    x = _placeholder()

    def body(i: Any, v: Any) -> Any:
        def inner() -> Any:
            return _for(i, lambda j, w: tf.cond(w > v, lambda: w * x, lambda: w + x), v)[0]

        return tf.cond(tf.equal(i % 2, 0), inner, lambda: tf.sin(v) + x)

    (y,) = _for(6, body, x)
    _check(sess, y, x, 0.7, 1.4)


def test_shapes_that_change(sess: Any) -> None:
    x = _placeholder()
    _, grown = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, tf.concat([v, v[-1:] * x], 0)),
        [0, tf.ones([1], tf.float64) * x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    _check(sess, tf.reduce_sum(grown), x, 1.3)


def test_matrices_and_variables(sess: Any) -> None:
    start = np.array([[1.0, 2.0]])
    weights = tf.get_variable("w", initializer=np.array([[0.5, -0.25], [1.0, 0.75]]))
    bias = tf.get_variable("b", initializer=np.array([0.1, 0.2]))
    (y,) = _for(3, lambda i, v: tf.tanh(tf.matmul(v, weights) + bias), start)
    loss = tf.reduce_sum(y * y)
    slopes = tf.gradients(loss, [weights, bias])
    sess.run(tf.global_variables_initializer())
    found = sess.run(slopes)
    for variable, slope in zip((weights, bias), found, strict=True):
        value = sess.run(variable)
        for index in np.ndindex(value.shape):
            results = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[index] += step
                variable.load(moved, sess)
                results.append(sess.run(loss))
            variable.load(value, sess)
            expected = (results[0] - results[1]) / 2e-6
            np.testing.assert_allclose(slope[index], expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("ids", [[1, 3, 1], []])
def test_rows_of_a_table(sess: Any, ids: list[int]) -> None:
    table = tf.get_variable("table", initializer=np.arange(8.0).reshape(4, 2))
    rows = tf.constant(ids, tf.int32)

    def body(i: Any, total: Any) -> Any:
        row = tf.nn.embedding_lookup(table, rows[i : i + 1])
        return total + tf.reduce_sum(row * row)

    (total,) = _for(len(ids), body, tf.constant(0.0, tf.float64))
    (slope,) = tf.gradients(total, table)
    assert isinstance(slope, tf.IndexedSlices)
    sess.run(table.initializer)
    expected = np.zeros([4, 2])
    np.add.at(expected, ids, 2 * np.arange(8.0).reshape(4, 2)[ids])
    np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(slope)), expected)
    assert len(sess.run(slope.indices)) == len(ids)


def test_none_where_a_loop_does_not_depend_on_x(sess: Any) -> None:
    x = _placeholder()
    first, second = _for(3, lambda i, a, b: (a * 2.0, b * x), x, x)
    assert tf.gradients(second, [tf.constant(1.0)]) == [None]
    (one,) = tf.gradients(first, x)
    assert sess.run(one, {x: 5.0}) == 8.0
    stopped = _for(3, lambda i, a: tf.stop_gradient(a) * 2.0, x)
    assert sess.run(tf.gradients(stopped, x, unconnected_gradients="zero"), {x: 1.0}) == [0.0]


def test_loops_without_back_prop(sess: Any) -> None:
    x = _placeholder()
    loop = tf.while_loop(lambda v: v < 5.0, lambda v: v * 2.0, [x], back_prop=False)
    assert tf.gradients(loop, x) == [None]
    assert sess.run(tf.gradients(loop + x, x), {x: 1.0}) == [1.0]


def test_gradients_in_a_body(sess: Any) -> None:
    x = _placeholder()

    def body(i: Any, v: Any) -> Any:
        loss = (v - 3.0) * (v - x)
        slope, outer = tf.gradients(loss, [v, x])
        return v - 0.25 * slope + 0.0 * outer

    (y,) = _for(30, body, 0.0 * x)
    np.testing.assert_allclose(sess.run(y, {x: 1.0}), 2.0, rtol=1e-6)


def test_gradients_in_a_body_of_a_loop_in_it(sess: Any) -> None:
    x = _placeholder()

    def body(i: Any, v: Any) -> Any:
        (cube,) = _for(2, lambda j, a: a * v, v)
        return tf.gradients(cube, v)[0]

    (y,) = _for(2, body, x)
    # v becomes 3 v^2, twice.
    assert sess.run([y, tf.gradients(y, x)[0]], {x: 2.0}) == [432.0, 864.0]


def test_gradients_in_a_body_of_what_is_outside(sess: Any) -> None:
    """The rows of a Jacobian, one in each iteration."""
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = x * x * x + tf.reduce_sum(x)
    rows = tf.map_fn(lambda k: tf.gradients(y[k], x)[0], tf.range(3), dtype=tf.float64)
    np.testing.assert_array_equal(sess.run(rows), np.diag([3.0, 12.0, 27.0]) + 1.0)


def test_a_step_without_gradients_keeps_nothing(sess: Any) -> None:
    x = _placeholder()
    (y,) = _for(5, lambda i, v: tf.sin(v) * x, x)
    tf.gradients(y, x)
    names: list[str] = []
    metadata = tf.RunMetadata()
    sess.run(y, {x: 1.0}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    for device in metadata.step_stats.dev_stats:
        names += [node.node_name for node in device.node_stats]
    assert any("Sin" in name for name in names)
    assert not [name for name in names if "TensorList" in name]


def test_tensors_of_other_loops_are_refused(sess: Any) -> None:
    x = _placeholder()
    inside: list[Any] = []

    def body(i: Any, v: Any) -> Any:
        inside.append(v * x)
        return inside[-1]

    (y,) = _for(3, body, x)
    with pytest.raises(ValueError, match="in a loop that ys are not in"):
        tf.gradients(y, inside[0])
    with pytest.raises(ValueError, match="of one loop or of none"):
        tf.gradients([y, inside[0]], x)


def test_many_iterations(sess: Any) -> None:
    x = _placeholder()
    (y,) = _for(20_000, lambda i, v: v * x, x)
    assert sess.run(tf.gradients(y, x), {x: 1.0}) == [20_001.0]


def test_gradient_functions_in_python(sess: Any) -> None:
    x = _placeholder()
    scale = tf.constant(2.0, tf.float64)

    @tf.custom_gradient
    def cubed(v: Any) -> Any:
        def slope(dy: Any) -> Any:
            factor = tf.cond(v > 1.0, lambda: tf.constant(3.0, tf.float64), lambda: scale + 1.0)
            return dy * factor * v * v

        return v * v * v, slope

    (y,) = _for(3, lambda i, v: cubed(v) * 0.5 + x, x)
    _check(sess, y, x, 0.9, 1.2)
    (nested,) = _for(2, lambda i, v: _for(i + 1, lambda j, w: tf.sin(cubed(w)), v)[0], x)
    _check(sess, nested, x, 0.8)


def test_second_gradients_of_loops_over_arrays(sess: Any) -> None:
    x = _placeholder()
    factors = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(
        tf.constant([1.0, 2.0, 0.5], tf.float64) * x
    )

    def body(i: Any, v: Any, out: Any) -> Any:
        v = tf.sin(v * factors.read(i))
        return v, out.write(i, v * x)

    y, out = _for(3, body, x, tf.TensorArray(tf.float64, 3))
    _check(sess, y + tf.reduce_sum(out.stack()), x, 0.7, 1.3)


def test_arrays_made_in_loops(sess: Any) -> None:
    """Each iteration of the outer loop has arrays of its own."""
    x = _placeholder()
    rows = tf.constant([[0.5, -1.0], [1.5, 2.0], [0.25, 0.75]], tf.float64)

    def power(v: Any) -> Any:
        return _for(2, lambda i, w: w * v * x, v)[0]

    def body(total: Any, row: Any) -> Any:
        mapped = tf.map_fn(power, row * x)
        return total * x + tf.cond(mapped[0] > 0.5, lambda: mapped, lambda: tf.sin(mapped))

    y = tf.reduce_sum(tf.scan(body, rows))
    _check(sess, y, x, 0.7, 1.3)


def test_arrays_made_in_branches_in_loops(sess: Any) -> None:
    x = _placeholder()
    start = tf.constant([0.5, -1.0], tf.float64)

    def body(i: Any, v: Any) -> Any:
        return tf.cond(i > 1, lambda: tf.map_fn(lambda w: tf.sin(w * x), v), lambda: v * x)

    (y,) = _for(4, body, start)
    _check(sess, tf.reduce_sum(y), x, 0.7, 1.3)


def test_a_gradient_goes_from_variable_to_variable() -> None:
    count = 40
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [])
        start = [x, *(tf.constant(0.0) for _ in range(count - 1))]

        def body(i: Any, *values: Any) -> Any:
            return i + 1, values[-1], *(value * 1.0 for value in values[:-1])

        last = tf.while_loop(lambda i, *_: i < count - 1, body, [0, *start])[-1]
        slope = tf.gradients(last, x)[0]
        assert sess.run([last, slope], {x: 3.0}) == [3.0, 1.0]


def test_gradients_of_many_variables(sess: Any) -> None:
    xs = [tf.constant(float(i)) for i in range(100)]
    ys = tf.while_loop(lambda i, *_: i < 2, lambda i, *v: (i + 1, *(2.0 * a for a in v)), [0, *xs])
    first = tf.gradients([y * y for y in ys[1:]], xs)
    second = [tf.gradients(gradient, x)[0] for gradient, x in list(zip(first, xs, strict=True))[:3]]
    assert sess.run(first) == [32.0 * i for i in range(100)]
    assert sess.run(second) == [32.0] * 3
