"""Steps behind the longest sequence of a batch: nothing that is there comes into any result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

STEPS, BATCH, INPUTS, UNITS = 6, 3, 4, 5
LENGTHS = [2, 3, 1]
LONGEST = max(LENGTHS)

_CELLS: dict[str, Callable[[], Any]] = {
    "basic": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS),
    "relu": lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS, activation=tf.nn.relu),
    "gru": lambda: tf.nn.rnn_cell.GRUCell(UNITS),
    "basic_lstm": lambda: tf.nn.rnn_cell.BasicLSTMCell(UNITS),
    "lstm": lambda: tf.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True, cell_clip=3.0, num_proj=2),
    "joined_state": lambda: tf.nn.rnn_cell.LSTMCell(UNITS, state_is_tuple=False),
    "multi": lambda: tf.nn.rnn_cell.MultiRNNCell([_CELLS["gru"](), _CELLS["basic_lstm"]()]),
    "residual": lambda: tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(INPUTS)),
}
_EACH_CELL = pytest.mark.parametrize("cell", _CELLS.values(), ids=_CELLS.keys())
_EACH_PADDING = pytest.mark.parametrize("padding", [np.nan, np.inf, -np.inf])


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def _session(*disabled: str) -> tf.Session:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session


def _padded(padding: float, axis: int = 1) -> Any:
    """Sequences [batch, time, inputs] that are `padding` behind the longest one."""
    x = np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32)
    x[:, LONGEST:] = padding
    return np.moveaxis(x, 1, axis)


def _compare(fetches: Any, feeds: dict[Any, Any]) -> None:
    """Check that results are finite, and those of the loop that runs its steps alone."""
    with _session("raise_loops") as plain:
        wanted = plain.run(fetches, feeds)
    for value in wanted:
        assert np.isfinite(value).all()
    for disabled in ([], ["unroll_loops"], ["join_products", "share_strips"]):
        with _session(*disabled) as session:
            for actual, expected in zip(session.run(fetches, feeds), wanted, strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def _with_gradients(results: Any, x: Any) -> list[Any]:
    flat = tf.nest.flatten(results)
    loss = tf.add_n([tf.reduce_sum(value * value) for value in flat])
    gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
    assert None not in gradients
    return [*flat, *gradients]


@_EACH_PADDING
@_EACH_CELL
def test_padding_comes_into_no_result(cell: Callable[[], Any], padding: float) -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    results = tf.nn.dynamic_rnn(cell(), x, lengths, dtype=tf.float32)
    _compare(_with_gradients(results, x), {x: _padded(padding), lengths: LENGTHS})


@_EACH_PADDING
def test_padding_comes_into_no_result_of_both_directions(padding: float) -> None:
    x = tf.placeholder(tf.float32, [STEPS, BATCH, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    forward, backward = tf.nn.rnn_cell.LSTMCell(UNITS), tf.nn.rnn_cell.GRUCell(UNITS)
    results = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, x, lengths, dtype=tf.float32, time_major=True
    )
    _compare(_with_gradients(results, x), {x: _padded(padding, axis=0), lengths: LENGTHS})


def test_padding_comes_into_no_result_of_doubles() -> None:
    x = tf.placeholder(tf.float64, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int64, [BATCH])
    results = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(UNITS), x, lengths, dtype=tf.float64)
    feeds = {x: _padded(np.nan).astype(np.float64), lengths: LENGTHS}
    _compare(_with_gradients(results, x), feeds)


def test_padding_comes_into_no_gradient_of_a_gradient() -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(UNITS), x, lengths, dtype=tf.float32)
    gradient = tf.gradients(tf.reduce_sum(outputs * outputs), x)[0]
    second = tf.gradients(tf.reduce_sum(gradient * gradient), tf.trainable_variables())
    _compare([gradient, *second], {x: _padded(np.nan), lengths: LENGTHS})


def test_a_gradient_of_outputs_behind_the_sequences_is_not_read() -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), x, lengths, dtype=tf.float32)
    upstream = np.ones((BATCH, STEPS, UNITS), np.float32)
    upstream[:, LONGEST:] = np.nan
    gradients = tf.gradients(outputs, [x, *tf.trainable_variables()], tf.constant(upstream))
    _compare(gradients, {x: _padded(np.nan), lengths: LENGTHS})


def test_a_state_that_is_infinite_at_the_end_comes_into_no_gradient() -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    cell = tf.nn.rnn_cell.BasicRNNCell(UNITS, activation=tf.nn.relu)
    with tf.variable_scope("network", initializer=tf.constant_initializer(2.0)):
        _, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    gradients = tf.gradients(tf.minimum(state, 1.0), [x, *tf.trainable_variables()])
    # The sums of the last step are infinite.
    sequences = np.zeros((BATCH, STEPS, INPUTS), np.float32)
    sequences[:, LONGEST - 1] = 3e38
    feeds = {x: sequences, lengths: [LONGEST] * BATCH}
    with _session() as session:
        assert np.isinf(session.run(state, feeds)).all()
    _compare(gradients, feeds)


class _Counting(tf.nn.rnn_cell.BasicRNNCell):
    """A cell whose state also has the number of the steps."""

    @property
    def state_size(self) -> Any:
        return (self.output_size, tf.TensorShape([]))

    def call(self, inputs: Any, state: Any) -> Any:
        output, _ = super().call(inputs, state[0])
        return output, (output, state[1] + 1.0)


def test_states_without_rows_count_the_steps_of_the_longest_sequence() -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    start = (tf.zeros([BATCH, UNITS]), tf.constant(0.0))
    _, (_, count) = tf.nn.dynamic_rnn(_Counting(UNITS), x, lengths, start)
    with _session() as session:
        assert session.run(count, {x: _padded(np.nan), lengths: LENGTHS}) == LONGEST


class _Reading(tf.nn.rnn_cell.BasicRNNCell):
    """A cell that counts the steps of each sequence and reads an array at the largest count."""

    def __init__(self, array: Any) -> None:
        super().__init__(UNITS)
        self._array = array

    @property
    def state_size(self) -> Any:
        return (self.output_size, 1)

    def call(self, inputs: Any, state: Any) -> Any:
        number = self._array.read(tf.reduce_max(state[1]))
        output, _ = super().call(inputs + number, state[0])
        return output, (output, state[1] + 1)


def test_an_array_may_have_elements_for_the_steps_of_the_longest_sequence_alone() -> None:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    lengths = tf.placeholder(tf.int32, [BATCH])
    array = tf.TensorArray(tf.float32, LONGEST, clear_after_read=False)
    array = array.unstack(np.arange(LONGEST, dtype=np.float32))
    start = (tf.zeros([BATCH, UNITS]), tf.zeros([BATCH, 1], tf.int32))
    _, state = tf.nn.dynamic_rnn(_Reading(array), x, lengths, start, tf.float32)
    with _session() as session:
        last, count = session.run(state, {x: _padded(np.nan), lengths: LENGTHS})
    assert np.isfinite(last).all()
    np.testing.assert_array_equal(count[:, 0], LENGTHS)
