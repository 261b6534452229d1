"""Loops over rows, and their gradients, that become one operation: map_fn, scan, and the like."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

ROWS, COLUMNS = 7, 5


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _numbers(*shape: int) -> Any:
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def _run(fetches: Any, feeds: Any = None, disabled: tuple[str, ...] = ()) -> tuple[Any, set[str]]:
    """Return the values, and the ops of the nodes that a step runs."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        values = session.run(fetches, feeds, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    return values, {label.split(" = ")[1].split("(")[0] for label in labels}


def _check(fetches: list[Any], op: str | None, feeds: Any = None) -> None:
    """Check that loops became the op, or kept their arrays, and that no bit differs."""
    values, ops = _run(fetches, feeds)
    keeps_arrays = any(name == "_Loop" or name.startswith("TensorArray") for name in ops)
    assert keeps_arrays == (op is None)
    if op is None:
        return
    assert op in ops
    plain, plain_ops = _run(fetches, feeds, ("vectorize_maps",))
    assert "_Loop" in plain_ops
    for actual, expected in zip(values, plain, strict=True):
        assert actual.shape == expected.shape
        assert actual.tobytes() == expected.tobytes()


def test_a_map_is_computed_at_once() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias = tf.identity(tf.Variable(_numbers(COLUMNS)))
    _check([tf.map_fn(lambda row: tf.tanh(row * 2.0 + bias), x)], "_FusedElementwise")


def test_a_map_of_several_tensors() -> None:
    x, y = tf.constant(_numbers(ROWS, 2, 3)), tf.constant(_numbers(ROWS + 1, 2, 3)[:ROWS])
    pairs = tf.map_fn(lambda pair: (pair[0] * pair[1], -pair[0]), (x, y))
    _check(list(pairs), "_FusedElementwise")
    _check([tf.vectorized_map(lambda row: row + row * row, x)], "_FusedElementwise")


def test_rows_may_be_scalars() -> None:
    x = tf.constant(_numbers(ROWS))
    _check([tf.map_fn(lambda number: tf.exp(number) - 1.0, x)], "_FusedElementwise")
    _check([tf.scan(lambda total, number: total * 0.5 + number, x)], "_ScanRows")


@pytest.mark.parametrize("columns", [1, 5, 64, 1024, 1500, 3000])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("with_initial", [False, True])
def test_a_scan_goes_from_row_to_row(columns: int, reverse: bool, with_initial: bool) -> None:
    x = tf.placeholder(tf.float32, [None, columns])
    factor = tf.constant(_numbers(columns))
    initial = tf.constant(_numbers(columns + 1)[1:]) if with_initial else None
    result = tf.scan(lambda total, row: tf.tanh(total * factor + row), x, initial, reverse=reverse)
    _check([result], "_ScanRows", {x: _numbers(ROWS, columns)})


def test_values_may_repeat_along_a_row() -> None:
    x = tf.constant(_numbers(ROWS, 1200, 3))
    short, long = tf.constant(_numbers(3)), tf.constant(_numbers(1200, 3))
    result = tf.scan(lambda total, row: total * short + row * long, x)
    _check([result], "_ScanRows")


def test_several_variables() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    start = (tf.zeros([COLUMNS]), tf.ones([COLUMNS]))
    # Each one becomes the other one.
    pair = tf.scan(lambda pair, row: (pair[1] + row, pair[0] * 0.5), x, start)
    _check(list(pair), "_ScanRows")
    fibonacci = tf.scan(lambda pair, _: (pair[1], pair[0] + pair[1]), x, start)
    _check(list(fibonacci), "_ScanRows")


def test_a_fold_keeps_the_last_value() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    _check([tf.foldl(lambda total, row: tf.maximum(total, row) - 0.25, x)], "_ScanRows")
    _check([tf.foldr(lambda total, row: total * 0.5 + row, x)], "_ScanRows")


def test_a_loop_without_rows() -> None:
    x = tf.placeholder(tf.float32, [COLUMNS])
    last = tf.while_loop(
        lambda i, _: i < 100, lambda i, y: (i + 1, y * (1.5 - 0.5 * y * x)), [0, x]
    )[1]
    _check([last], "_ScanRows", {x: np.full(COLUMNS, 0.75, np.float32)})


def test_results_are_read_in_the_step() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    mapped = tf.map_fn(lambda row: row * row + 1.0, x)
    scanned = tf.scan(lambda total, row: total + row, x)
    _check([tf.reduce_sum(scanned * mapped, 1), mapped], "_ScanRows")


def test_results_may_be_targets() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    mapped = tf.map_fn(lambda row: row * 2.0, x)
    scanned = tf.scan(lambda total, row: total + row, x)
    _, ops = _run([mapped.op, scanned.op])
    assert {"_FusedElementwise", "_ScanRows"} <= ops
    assert "_Loop" not in ops
    with tf.control_dependencies([mapped.op]):
        after = tf.identity(mapped)
    _check([after], "_FusedElementwise")


def test_empty_tensors() -> None:
    x = tf.placeholder(tf.float32, [None, COLUMNS])
    mapped = tf.map_fn(lambda row: row * 2.0, x)
    assert _run(mapped, {x: np.zeros((0, COLUMNS), np.float32)})[0].shape[0] == 0
    wide = tf.placeholder(tf.float32, [ROWS, None])
    result = tf.scan(lambda total, row: total + row, wide)
    assert _run(result, {wide: np.zeros((ROWS, 0), np.float32)})[0].shape == (ROWS, 0)


def _twice(row: Any) -> Any:
    array = tf.TensorArray(tf.float32, 1).write(0, row)
    return array.read(0) * 2.0


@pytest.mark.parametrize(
    "function",
    [
        lambda row: tf.reshape(tf.matmul(row[None], tf.ones([COLUMNS, COLUMNS])), [COLUMNS]),
        lambda row: row * tf.random_uniform([COLUMNS]),
        lambda row: tf.reduce_sum(row) * row,
        lambda row: tf.check_numerics(row, "bad") * 2.0,
        lambda row: tf.cond(row[0] > 0, lambda: row * 2.0, lambda: row * 3.0),
        lambda row: row * tf.ones([2, COLUMNS]),
        lambda row: tf.zeros([COLUMNS]) + 1.0,
        _twice,
    ],
)
def test_other_bodies_stay_loops(function: Callable[[Any], Any]) -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    _check([tf.map_fn(function, x)], None)


def test_other_types_stay_loops() -> None:
    _check([tf.map_fn(lambda row: row * 2, tf.range(ROWS))], None)
    halves = tf.constant(_numbers(ROWS, COLUMNS).astype(np.float64))
    _check([tf.map_fn(lambda row: row * 2.0, halves)], None)


def test_assertions_stay() -> None:
    def checked(row: Any) -> Any:
        with tf.control_dependencies([tf.Assert(row[0] < 100.0, [row])]):
            return row * 2.0

    x = tf.placeholder(tf.float32, [ROWS, COLUMNS])
    result = tf.map_fn(checked, x)
    _check([result], None, {x: _numbers(ROWS, COLUMNS)})
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="iteration"):
        session.run(result, {x: np.full((ROWS, COLUMNS), 200, np.float32)})


def test_what_a_row_waits_for_stays() -> None:
    divisor = tf.placeholder(tf.int32, [])

    def waiting(row: Any) -> Any:
        with tf.control_dependencies([1 // divisor]):
            return tf.identity(row) * 2.0

    result = tf.map_fn(waiting, tf.constant(_numbers(ROWS, COLUMNS)))
    _check([result], None, {divisor: 1})
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="iteration"):
        session.run(result, {divisor: 0})


def test_an_array_must_have_room_for_its_rows() -> None:
    rows = tf.TensorArray(tf.float32, ROWS - 1).unstack(_numbers(ROWS, COLUMNS))
    _, total = tf.while_loop(
        lambda i, _: i < ROWS - 1,
        lambda i, total: (i + 1, total * 0.5 + rows.read(i)),
        [0, tf.zeros([COLUMNS])],
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="index 6"):
        session.run(total)


def test_variables_are_read_in_each_row() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias, factor = tf.Variable(_numbers(COLUMNS)), tf.Variable(0.5)
    mapped = tf.map_fn(lambda row: tf.tanh(row * factor.read_value() + bias.read_value()), x)
    _check([mapped], "_FusedElementwise")
    scanned = tf.scan(lambda total, row: total * bias.read_value() - row * bias.read_value(), x)
    _check([scanned], "_ScanRows")
    # Both, and what is read outside.
    _check([scanned * mapped, bias.read_value()], "_ScanRows")


def test_what_a_loop_reads_of_a_variable_is_that_of_its_turn() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias = tf.Variable(np.zeros(COLUMNS, np.float32))
    with tf.control_dependencies([tf.assign(bias, np.ones(COLUMNS, np.float32))]):
        second = tf.map_fn(lambda row: row * 2.0 + bias.read_value(), x)
    with tf.control_dependencies([second]):
        last = tf.assign(bias, np.full(COLUMNS, 5, np.float32))
    (found, _), ops = _run([second, last])
    assert "_Loop" not in ops
    np.testing.assert_array_equal(found, _numbers(ROWS, COLUMNS) * np.float32(2) + np.float32(1))


def test_updates_do_not_move_behind_a_loop_that_waits_for_them() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias, other = (tf.Variable(np.zeros(COLUMNS, np.float32)) for _ in range(2))
    step = tf.train.GradientDescentOptimizer(1.0)
    # Updates of one optimizer become one operation, where the last one stands.
    gradient = tf.constant(np.full(COLUMNS, -1, np.float32))
    first = step.apply_gradients([(gradient, bias)])
    with tf.control_dependencies([first]):
        mapped = tf.map_fn(lambda row: row * 2.0 + bias.read_value(), x)
    last = step.apply_gradients([(gradient, other)])
    (found, _), ops = _run([mapped, last])
    assert "_Loop" not in ops
    np.testing.assert_array_equal(found, _numbers(ROWS, COLUMNS) * np.float32(2) + np.float32(1))


def test_variables_of_other_shapes_and_types_stay_in_loops() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    wide = tf.Variable(_numbers(2, COLUMNS))
    _check([tf.map_fn(lambda row: row * wide.read_value(), x)], None)
    count = tf.Variable(3)
    _check([tf.map_fn(lambda row: row * tf.cast(count.read_value(), tf.float32), x)], None)


def test_a_variable_that_a_row_changes_stays_in_the_loop() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    total = tf.Variable(np.zeros(COLUMNS, np.float32))

    def added(row: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(total, row)]):
            return row * 2.0 + total.read_value()

    mapped = tf.map_fn(added, x, parallel_iterations=1)
    _check([mapped], None)
    rows = _numbers(ROWS, COLUMNS)
    np.testing.assert_allclose(_run(mapped)[0], rows * 2 + np.cumsum(rows, 0), rtol=1e-5, atol=1e-5)


def test_a_variable_without_a_value_is_an_error() -> None:
    bias = tf.Variable(_numbers(COLUMNS))
    mapped = tf.map_fn(lambda row: row + bias.read_value(), tf.constant(_numbers(ROWS, COLUMNS)))
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(mapped)


def test_a_row_waits_for_a_variable_without_a_value() -> None:
    bias = tf.Variable(_numbers(COLUMNS))

    def waiting(row: Any) -> Any:
        with tf.control_dependencies([bias.read_value()]):
            return tf.identity(row) * 2.0

    mapped = tf.map_fn(waiting, tf.constant(_numbers(ROWS, COLUMNS)))
    _check([mapped], None)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(mapped)


def test_a_result_may_be_what_all_rows_read() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias = tf.placeholder(tf.float32, [COLUMNS])
    feeds = {bias: _numbers(COLUMNS)}
    types = (tf.float32, tf.float32)
    pair = tf.map_fn(lambda row: (row + bias, bias), x, types)
    _check(list(pair), "_FusedElementwise", feeds)
    start = (tf.zeros([COLUMNS]), tf.ones([COLUMNS]))
    # A state that becomes what all rows read keeps the loop.
    pair = tf.scan(lambda pair, row: (pair[0] * pair[1] + row, bias), x, start)
    _check(list(pair), None, feeds)
    # Along a row it is repeated, but as a result it is not.
    number = tf.placeholder(tf.float32, [])
    pair = tf.map_fn(lambda row: (row + number, number), x, types)
    _check(list(pair), None, {number: 0.5})


def _with_gradients(values: list[Any], xs: list[Any]) -> list[Any]:
    """The values, and gradients of something that depends on each of them differently."""
    total = tf.add_n([tf.reduce_sum(value * value * (0.5 + k)) for k, value in enumerate(values)])
    return [*values, *tf.gradients(total, xs)]


def _check_gradients(values: list[Any], xs: list[Any], op: str, feeds: Any = None) -> None:
    """Check that neither a loop nor an array nor a list remains, and that no bit differs."""
    fetches = _with_gradients(values, xs)
    _check(fetches, op, feeds)
    _, ops = _run(fetches, feeds)
    assert not any(name.startswith("TensorList") for name in ops)


def test_the_gradient_of_a_map_is_computed_at_once() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias = tf.identity(tf.Variable(_numbers(COLUMNS)))
    mapped = tf.map_fn(lambda row: tf.tanh(row * 2.0 + bias) * row, x)
    _check_gradients([mapped], [x], "_FusedElementwise")
    _, ops = _run(_with_gradients([mapped], [x]))
    assert "_ScanRows" not in ops


def test_the_gradient_of_what_all_rows_read_is_a_sum_over_rows() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias = tf.identity(tf.Variable(_numbers(COLUMNS)))
    mapped = tf.map_fn(lambda row: tf.exp(row - bias) * bias, x)
    _check_gradients([mapped], [x, bias], "_ScanRows")


def test_the_gradient_of_a_map_of_several_tensors() -> None:
    x, y = tf.constant(_numbers(ROWS, 2, 3)), tf.constant(_numbers(ROWS + 1, 2, 3)[:ROWS])
    pairs = tf.map_fn(lambda pair: (pair[0] * pair[1], -pair[0]), (x, y))
    _check_gradients(list(pairs), [x, y], "_FusedElementwise")
    mapped = tf.vectorized_map(lambda row: {"sum": row + row * row, "exp": tf.exp(row)}, x)
    _check_gradients([mapped["sum"], mapped["exp"]], [x], "_FusedElementwise")


@pytest.mark.parametrize("columns", [1, 5, 1500])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("with_initial", [False, True])
def test_the_gradient_of_a_scan_goes_back(columns: int, reverse: bool, with_initial: bool) -> None:
    x = tf.placeholder(tf.float32, [None, columns])
    factor = tf.identity(tf.constant(_numbers(columns)))
    initial = tf.constant(_numbers(columns + 1)[1:]) if with_initial else None
    result = tf.scan(lambda total, row: tf.tanh(total * factor + row), x, initial, reverse=reverse)
    xs = [x, factor] + ([initial] if with_initial else [])
    _check_gradients([result], xs, "_ScanRows", {x: _numbers(ROWS, columns)})


def test_the_gradients_of_several_variables() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    start = (tf.zeros([COLUMNS]), tf.ones([COLUMNS]))
    pair = tf.scan(lambda pair, row: (pair[1] * row, tf.sin(pair[0]) + row), x, start)
    _check_gradients(list(pair), [x], "_ScanRows")


def test_the_gradient_of_a_fold() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    for fold in (tf.foldl, tf.foldr):
        folded = fold(lambda total, row: tf.tanh(total) * row - 0.25, x)
        _check_gradients([folded], [x], "_ScanRows")


def test_the_gradient_of_a_loop_without_rows() -> None:
    x = tf.placeholder(tf.float32, [COLUMNS])
    last = tf.while_loop(
        lambda i, _: i < 100, lambda i, y: (i + 1, y * (1.5 - 0.5 * y * x)), [0, x]
    )[1]
    _check_gradients([last], [x], "_ScanRows", {x: np.full(COLUMNS, 0.75, np.float32)})


def test_gradients_go_through_several_loops() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    mapped = tf.map_fn(lambda row: tf.tanh(row) * row, x)
    scanned = tf.scan(lambda total, row: tf.tanh(total + row), mapped)
    _check_gradients([mapped, tf.map_fn(tf.exp, scanned)], [x], "_ScanRows")


def test_two_gradients_of_one_loop() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    mapped = tf.map_fn(lambda row: tf.tanh(row) * row, x)
    first = tf.gradients(tf.reduce_sum(mapped), x)[0]
    second = tf.gradients(tf.reduce_sum(mapped * mapped), x)[0]
    _check([mapped, first, second], "_FusedElementwise")


def test_a_list_is_made_where_the_loop_that_goes_back_stays() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    # The gradient of a maximum selects, which no elementwise operation on floats does.
    mapped = tf.map_fn(lambda row: tf.maximum(tf.tanh(row), 0.25 * row), x)
    fetches = _with_gradients([mapped], [x])
    values, ops = _run(fetches)
    assert {"_FusedElementwise", "_Loop", "TensorListFromTensor"} <= ops
    plain, _ = _run(fetches, None, ("vectorize_maps",))
    for actual, expected in zip(values, plain, strict=True):
        assert actual.tobytes() == expected.tobytes()


def test_gradients_of_variables_that_rows_read_are_the_same() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    bias, factor = tf.Variable(_numbers(COLUMNS)), tf.Variable(0.5)
    mapped = tf.map_fn(lambda row: tf.tanh(row * factor.read_value()) * bias.read_value(), x)
    scanned = tf.scan(lambda total, row: tf.tanh(total * bias.read_value() + row), mapped)
    fetches = _with_gradients([mapped, scanned], [x, bias, factor])
    values, ops = _run(fetches)
    assert "_ScanRows" in ops
    plain, _ = _run(fetches, None, ("vectorize_maps",))
    for actual, expected in zip(values, plain, strict=True):
        assert actual.tobytes() == expected.tobytes()


def test_gradients_are_the_same() -> None:
    x = tf.constant(_numbers(ROWS, COLUMNS))
    mapped = tf.map_fn(lambda row: tf.tanh(row) * row, x)
    scanned = tf.scan(lambda total, row: tf.tanh(total + row), mapped)
    first = tf.gradients(tf.reduce_sum(scanned * scanned), x)[0]
    second = tf.gradients(tf.reduce_sum(first * first), x)[0]
    fetches = [mapped, scanned, first, second]
    for disabled in ((), ("vectorize_maps",)):
        values, _ = _run(fetches, None, disabled)
        plain, _ = _run(fetches, None, ("raise_loops",))
        for actual, expected in zip(values, plain, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


_UNARY = [tf.tanh, tf.exp, tf.negative, tf.square, tf.sigmoid, tf.nn.relu, tf.abs]
_BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]


def _random_body(source: random.Random, values: list[Any]) -> Any:
    """A value of some operations on these values, which stay small."""
    for _ in range(source.randint(1, 6)):
        if source.random() < 0.4:
            values.append(tf.tanh(source.choice(_UNARY)(tf.tanh(source.choice(values)))))
        else:
            x, y = source.choice(values), source.choice(values)
            values.append(source.choice(_BINARY)(x, y))
    return tf.tanh(values[-1])


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int) -> None:
    source = random.Random(seed)
    columns = source.choice([1, 3, 16, 100, 1100])
    x, y = tf.constant(_numbers(ROWS, columns)), tf.constant(_numbers(ROWS + 3, columns)[3:])
    others = [tf.constant(_numbers(columns)), tf.constant(0.5)]
    start = [tf.constant(_numbers(columns + k)[k:]) for k in range(source.randint(1, 3))]
    variable = tf.Variable(_numbers(columns + 4)[4:])

    def scanned(states: list[Any], rows: tuple[Any, Any]) -> list[Any]:
        pool = [*states, *rows, *others, variable.read_value()]
        return [_random_body(source, list(pool)) + 0.0 * state for state in states]

    def mapped(rows: tuple[Any, Any]) -> Any:
        pool = [*rows, *others, variable.read_value()]
        return _random_body(source, pool) + 0.0 * rows[0]

    scan = tf.scan(scanned, (x, y), start, reverse=source.random() < 0.5)
    _check(scan, "_ScanRows")
    each = tf.map_fn(mapped, (x, y), tf.float32)
    _check([each], "_FusedElementwise")
    # Some gradients are computed by loops.
    fetches = _with_gradients([*scan, each], [x])
    values, _ = _run(fetches)
    plain, _ = _run(fetches, None, ("vectorize_maps",))
    for actual, expected in zip(values, plain, strict=True):
        np.testing.assert_array_equal(actual, expected)
