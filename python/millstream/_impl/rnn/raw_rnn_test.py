"""Networks whose inputs a function of the program makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(8)
_LENGTHS = [5, 2, 0, 4]
_X = _RANDOM.uniform(-1, 1, [5, 4, 3]).astype(np.float32)  # [time, batch, size]


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def _reads(cell: Any, x: Any) -> Any:
    """A function that gives the steps of a tensor [time, batch, size]."""

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        if output is None:
            state = cell.zero_state(4, tf.float32)
        following = tf.gather(x, tf.minimum(time, 4))
        following.set_shape([4, 3])
        return time >= tf.constant(_LENGTHS), following, state, output, None

    return loop_fn


def test_a_function_gives_what_a_network_takes(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    x = tf.constant(_X)
    array, last, nothing = tf.nn.raw_rnn(cell, _reads(cell, x))
    assert nothing is None
    assert cell.variables[0].op.name == "rnn/basic_lstm_cell/kernel"
    with tf.variable_scope("", reuse=True):
        outputs, state = tf.nn.dynamic_rnn(cell, x, _LENGTHS, dtype=tf.float32, time_major=True)
    session.run(tf.global_variables_initializer())
    found, expected = session.run([(array.stack(), last), (outputs, state)])
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        _close(one, other)


class Sum(tf.nn.rnn_cell.RNNCell):
    """Adds its inputs."""

    state_size = output_size = 3

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs + state, inputs + state


@pytest.mark.parametrize("batch", [2, None])
def test_what_is_emitted_and_kept_may_be_anything(batch: Any, session: tf.Session) -> None:
    first = tf.placeholder(tf.float32, [batch, 3])

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        if output is None:
            none_yet = {"sum": tf.zeros([], tf.float64), "time": tf.zeros([1], tf.int32)}
            ended = tf.zeros(tf.shape(first)[:1], tf.bool)
            return ended, first, tf.zeros_like(first), none_yet, (tf.constant(1.0), 7)
        emitted = {
            "sum": tf.cast(tf.reduce_sum(output, 1), tf.float64),
            "time": tf.fill([tf.shape(first)[0], 1], time),
        }
        ended = tf.reduce_sum(output, 1) > [5.0, 20.0]
        total, kept = loop_state
        return ended, output, state, emitted, (total * 2.0, kept)

    arrays, state, loop_state = tf.nn.raw_rnn(Sum(), loop_fn, scope="sum")
    stacked = tf.nest.map_structure(lambda array: array.stack(), arrays)
    assert stacked["sum"].dtype == tf.float64
    found, last, (total, kept) = session.run(
        [stacked, state, loop_state], {first: [[1, 1, 1], [0, 1, 0]]}
    )
    # The sum is doubled in each step. The first sequence ends after 6, the second after 32.
    assert found["sum"].tolist() == [[3, 1], [6, 2], [0, 4], [0, 8], [0, 16], [0, 32]]
    assert found["time"][:, 1, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert last.tolist() == [[2, 2, 2], [0, 32, 0]]
    assert (total, kept) == (64.0, 7)


def test_structures_must_be_those_of_the_cell() -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    x = tf.constant(_X)

    def wrong(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        return tf.constant([True] * 4), x[0], tf.zeros([4, 2]), output, None

    with pytest.raises(ValueError, match="not nested alike"):
        tf.nn.raw_rnn(cell, wrong)
    with pytest.raises(TypeError, match="loop_fn must be a callable"):
        tf.nn.raw_rnn(cell, 3)  # type: ignore[arg-type]
