"""Cells around other cells: dropout, sums with the input, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_SIZE = 200


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Same(tf.nn.rnn_cell.RNNCell):
    """Gives its input and its state."""

    state_size = output_size = _SIZE

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.identity(inputs), tf.identity(state)


class SamePair(Same):
    """The same with the state of an LSTM."""

    state_size = tf.nn.rnn_cell.LSTMStateTuple(_SIZE, _SIZE)  # type: ignore[assignment]

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.identity(inputs), state


def _ones(rows: int = 1) -> Any:
    return tf.ones([rows, _SIZE])


def _kinds(value: Any) -> list[float]:
    return sorted(set(np.round(value, 4).ravel().tolist()))


# ---- Dropout ----


@pytest.mark.parametrize(
    ("arguments", "output_kinds", "state_kinds"),
    [
        ({}, [1.0], [1.0]),
        ({"input_keep_prob": 0.5}, [0.0, 2.0], [1.0]),
        ({"output_keep_prob": 0.8}, [0.0, 1.25], [1.0]),
        ({"state_keep_prob": 0.25}, [1.0], [0.0, 4.0]),
        ({"input_keep_prob": 0.5, "output_keep_prob": 0.5}, [0.0, 4.0], [1.0]),
    ],
)
@pytest.mark.parametrize("as_tensor", [False, True])
def test_parts_are_dropped_as_asked(
    arguments: dict[str, Any], output_kinds: Any, state_kinds: Any, as_tensor: bool,
    session: tf.Session,
) -> None:  # fmt: skip
    feeds = {}
    if as_tensor:
        for name, value in arguments.items():
            fed = tf.placeholder(tf.float32, [])
            feeds[fed] = value
            arguments = {**arguments, name: fed}
    cell = tf.nn.rnn_cell.DropoutWrapper(Same(), **arguments)
    output, state = session.run(cell(_ones(), _ones()), feeds)
    assert _kinds(output) == output_kinds
    assert _kinds(state) == state_kinds


def test_the_memory_is_not_dropped(session: tf.Session) -> None:
    state = tf.nn.rnn_cell.LSTMStateTuple(_ones(), _ones())
    cell = tf.nn.rnn_cell.DropoutWrapper(SamePair(), state_keep_prob=0.5)
    _, after = session.run(cell(_ones(), state))
    assert _kinds(after.c) == [1.0]
    assert _kinds(after.h) == [0.0, 2.0]


def _first_alone(state: Any) -> Any:
    return [True, False] if isinstance(state, list) else True


@pytest.mark.parametrize(
    ("visitor", "dropped"),
    [
        (lambda state: False, [False, False, False]),
        (lambda state: True, [True, True, True]),
        (lambda state: not isinstance(state, list), [True, False, False]),
        (_first_alone, [True, True, False]),
    ],
)
def test_a_visitor_says_what_is_dropped(
    visitor: Callable[[Any], Any], dropped: list[bool], session: tf.Session
) -> None:
    class Nested(SamePair):
        state_size = (_SIZE, [_SIZE, _SIZE])  # type: ignore[assignment]

    cell = tf.nn.rnn_cell.DropoutWrapper(
        Nested(), state_keep_prob=0.5, dropout_state_filter_visitor=visitor
    )
    _, after = cell(_ones(), (_ones(), [_ones(), _ones()]))
    assert isinstance(after[1], list)
    values = session.run(tf.nest.flatten(after))
    assert [_kinds(value) == [0.0, 2.0] for value in values] == dropped


@pytest.mark.parametrize("is_variational", [False, True])
def test_variational_dropout_is_the_same_in_all_steps(
    is_variational: bool, session: tf.Session
) -> None:
    cell = tf.nn.rnn_cell.DropoutWrapper(
        Same(),
        input_keep_prob=0.5,
        state_keep_prob=0.5,
        output_keep_prob=0.5,
        variational_recurrent=is_variational,
        input_size=_SIZE,
        dtype=tf.float32,
    )
    steps = [cell(_ones(3), _ones(3)) for _ in range(2)]
    (one, state), (other, later) = session.run(steps)
    assert _kinds(one) == [0.0, 4.0]
    assert _kinds(state) == [0.0, 2.0]
    for each, again in ((one, other), (state, later)):
        assert (each == again).all() == is_variational
        assert (each == each[0]).all() == is_variational
    assert not (session.run(steps[0][0]) == one).all()


def test_a_seed_decides(session: tf.Session) -> None:
    found = []
    for seed in (7, 7, 8):
        cell = tf.nn.rnn_cell.DropoutWrapper(
            Same(), input_keep_prob=0.5, state_keep_prob=0.5, seed=seed
        )
        found.append(session.run(cell(_ones(), _ones())))
    for part in range(2):
        assert (found[0][part] == found[1][part]).all()
        assert not (found[0][part] == found[2][part]).all()
    assert not (found[0][0] == found[0][1]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"input_keep_prob": 1.5}, "Parameter input_keep_prob must be between 0 and 1"),
        ({"output_keep_prob": -1.0}, "Parameter output_keep_prob must be between 0 and 1"),
        (
            {"variational_recurrent": True},
            "When variational_recurrent=True, dtype must be provided",
        ),
        (
            {"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5},
            "input_size must be provided",
        ),
    ],
)
def test_arguments_of_dropout_are_checked(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.nn.rnn_cell.DropoutWrapper(Same(), **arguments)
    with pytest.raises(TypeError, match=r"'cell' .* is not an RNNCell"):
        tf.nn.rnn_cell.DropoutWrapper(None)
    with pytest.raises(TypeError, match="dropout_state_filter_visitor"):
        tf.nn.rnn_cell.DropoutWrapper(Same(), dropout_state_filter_visitor=3)


# ---- Others ----


def test_wrappers_have_what_their_cell_has(session: tf.Session) -> None:
    inner = tf.nn.rnn_cell.BasicLSTMCell(3)
    cell: Any = tf.nn.rnn_cell.DropoutWrapper(inner, output_keep_prob=0.5)
    cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.DeviceWrapper(cell, "/cpu:0"))
    assert (cell.state_size, cell.output_size) == (inner.state_size, 3)
    output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    assert isinstance(state, tf.nn.rnn_cell.LSTMStateTuple)
    assert state.h.device == "/device:CPU:0"
    assert cell.variables == inner.variables == tf.global_variables()
    assert inner.variables[0].op.name == "basic_lstm_cell/kernel"
    session.run(tf.global_variables_initializer())
    assert session.run(output).shape == (2, 3)
    assert cell.wrapped_cell.wrapped_cell.wrapped_cell is inner


def test_the_input_is_added(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.ResidualWrapper(Same())
    output, state = session.run(cell(_ones(), 3.0 * _ones()))
    assert (_kinds(output), _kinds(state)) == ([2.0], [3.0])
    product = tf.nn.rnn_cell.ResidualWrapper(Same(), residual_fn=lambda x, y: x * y * 5.0)
    assert _kinds(session.run(product(_ones(), _ones())[0])) == [5.0]
    gru = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3))
    with pytest.raises(ValueError, match="are incompatible"):
        gru(_ones(), gru.zero_state(1, tf.float32))
