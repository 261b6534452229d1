"""Networks whose steps have operations of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(4)
_LENGTHS = [5, 2, 0, 4]
_X = _RANDOM.uniform(-1, 1, [5, 4, 3]).astype(np.float32)  # [time, batch, size]


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _expected(x: Any, weights: Any, lengths: Any, state: Any = None) -> tuple[Any, Any]:
    """Outputs and the last state of a plain cell over [time, batch, size]."""
    kernel, bias = weights
    state = np.zeros([x.shape[1], bias.size], np.float32) if state is None else state
    outputs = []
    for time, step in enumerate(x):
        output = np.tanh(np.concatenate([step, state], 1) @ kernel + bias)
        ended = (time >= np.asarray(lengths))[:, np.newaxis]
        outputs.append(np.where(ended, 0, output))
        state = np.where(ended, state, output)
    return np.stack(outputs), state


def _reverse(x: Any, lengths: Any) -> Any:
    result = x.copy()
    for i, length in enumerate(lengths):
        result[:length, i] = x[:length, i][::-1]
    return result


def _weights(session: tf.Session, cell: Any) -> Any:
    session.run(tf.global_variables_initializer())
    return session.run(cell.variables)


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [None, _LENGTHS])
@pytest.mark.parametrize("is_fed", [False, True])
def test_sequences_end_at_their_lengths(lengths: Any, is_fed: bool, session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    x = tf.placeholder(tf.float32, [None, 3] if is_fed else [4, 3])
    given = tf.placeholder(tf.int64, [None]) if is_fed and lengths else lengths
    steps = [x + tf.constant(step - _X[0]) for step in _X]
    outputs, state = tf.nn.static_rnn(cell, steps, dtype=tf.float32, sequence_length=given)
    weights = _weights(session, cell)
    feeds = {x: _X[0], **({given: lengths} if is_fed and lengths else {})}
    found, last = session.run([outputs, state], feeds)
    expected = _expected(_X, weights, lengths or [5] * 4)
    _close(found, expected[0])
    _close(last, expected[1])
    batch = None if is_fed and lengths else 4
    assert outputs[0].shape.as_list() in ([batch, 2], [4, 2])
    assert [v.op.name for v in cell.variables] == [
        "rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"
    ]  # fmt: skip


def test_a_state_is_given_and_kept_past_the_end(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    before = _RANDOM.rand(4, 2).astype(np.float32)
    outputs, state = tf.nn.static_rnn(
        cell, list(_X), tf.constant(before), sequence_length=_LENGTHS, scope="mine"
    )
    assert cell.variables[0].op.name == "mine/basic_rnn_cell/kernel"
    weights = _weights(session, cell)
    expected = _expected(_X, weights, _LENGTHS, before)
    found, last = session.run([outputs, state])
    _close(found, expected[0])
    _close(last, expected[1])
    np.testing.assert_array_equal(last[2], before[2])


@pytest.mark.parametrize("lengths", [None, _LENGTHS])
def test_gradients_reach_inputs_and_variables(lengths: Any, session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    x = tf.placeholder(tf.float32, _X.shape)
    outputs, state = tf.nn.static_rnn(
        cell, tf.unstack(x), dtype=tf.float32, sequence_length=lengths
    )
    loss = tf.reduce_sum(tf.stack(outputs) ** 2) + tf.reduce_sum(state)
    slopes = tf.gradients(loss, [x, *cell.variables])
    kernel, bias = _weights(session, cell)
    found = session.run(slopes, {x: _X})

    def loss_of(*at: Any) -> float:
        outputs, state = _expected(at[0], at[1:], lengths or [5] * 4)
        return float((outputs**2).sum() + state.sum())

    at = [value.astype(np.float64) for value in (_X, kernel, bias)]
    for which, slope in enumerate(found):
        for place in [tuple(0 for _ in slope.shape), tuple(n - 1 for n in slope.shape)]:
            moved = [[value.copy() for value in at] for _ in range(2)]
            moved[0][which][place] += 1e-5
            moved[1][which][place] -= 1e-5
            difference = (loss_of(*moved[0]) - loss_of(*moved[1])) / 2e-5
            np.testing.assert_allclose(slope[place], difference, rtol=1e-3, atol=1e-5)
    if lengths:
        assert (found[0][2:, 1] == 0).all()


def test_cells_on_top_of_each_other_have_states_of_their_own(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(n) for n in (3, 2)])
    outputs, state = tf.nn.static_rnn(cell, list(_X), dtype=tf.float32, sequence_length=_LENGTHS)
    session.run(tf.global_variables_initializer())
    found, last = session.run([outputs, state])
    assert isinstance(last[0], tf.nn.rnn_cell.LSTMStateTuple)
    np.testing.assert_array_equal(last[1].h[0], found[4][0])
    np.testing.assert_array_equal(last[1].h[1], found[1][1])
    assert (last[0].c[2] == 0).all()
    assert cell.variables[0].op.name == "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel"
    assert len(cell.variables) == len(tf.global_variables()) == 4


def test_a_cell_of_a_program_shares_its_variables_between_steps(session: tf.Session) -> None:
    class Plain(tf.nn.rnn_cell.RNNCell):
        """Older programs say all of a step themselves."""

        state_size = output_size = 3

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or "plain"):
                output = inputs * tf.get_variable("w", [3]) + state
            return output, output

    outputs, _ = tf.nn.static_rnn(Plain(), list(_X), dtype=tf.float32)
    assert [v.op.name for v in tf.global_variables()] == ["rnn/plain/w"]
    session.run(tf.global_variables_initializer())
    w = session.run(tf.global_variables()[0])
    _close(session.run(outputs), np.cumsum(_X * w, 0))


@pytest.mark.parametrize("lengths", [None, _LENGTHS])
def test_one_cell_begins_at_the_end(lengths: Any, session: tf.Session) -> None:
    cells = [tf.nn.rnn_cell.BasicRNNCell(2) for _ in range(2)]
    outputs, *states = tf.nn.static_bidirectional_rnn(
        cells[0], cells[1], list(_X), dtype=tf.float32, sequence_length=lengths
    )
    assert [cell.variables[0].op.name for cell in cells] == [
        f"bidirectional_rnn/{way}/basic_rnn_cell/kernel" for way in ("fw", "bw")
    ]
    assert outputs[0].shape.as_list() == [4, 4]
    session.run(tf.global_variables_initializer())
    weights = session.run([cell.variables for cell in cells])
    found, last = session.run([outputs, states])
    ends = lengths or [5] * 4
    ahead, state_fw = _expected(_X, weights[0], ends)
    back, state_bw = _expected(_reverse(_X, ends), weights[1], ends)
    _close(found, np.concatenate([ahead, _reverse(back, ends)], 2))
    _close(last, [state_fw, state_bw])


class _Saver:
    """Keeps states in variables."""

    def __init__(self) -> None:
        self.kept = {
            name: tf.get_variable(name, [4, 2], initializer=tf.zeros_initializer())
            for name in ("c", "h")
        }

    def state(self, name: str) -> Any:
        return self.kept[name].read_value()

    def save_state(self, name: str, value: Any) -> Any:
        return tf.assign(self.kept[name], value)


def test_a_state_is_kept_between_runs(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    saver = _Saver()
    outputs, state = tf.nn.static_state_saving_rnn(cell, list(_X), saver, ("c", "h"))
    twice, end = tf.nn.static_rnn(
        cell, [*_X, *_X], dtype=tf.float32, scope=tf.VariableScope(True, "rnn")
    )
    session.run(tf.global_variables_initializer())
    first = session.run(outputs[-1])
    found, last = session.run([outputs, state])
    expected, held = session.run([twice, end])
    _close(first, expected[4])
    _close(found, expected[5:])
    _close(last, held)
    kept = session.run(saver.kept)
    _close([kept["c"], kept["h"]], held)


# ---- Bad input ----


def _run(inputs: Any, **arguments: Any) -> Any:
    return tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(2), inputs, **arguments)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: _run(tf.ones([2, 3])), TypeError, "inputs must be a sequence"),
        (lambda: _run([]), ValueError, "inputs must not be empty"),
        (
            lambda: _run([tf.ones([2, 3])]),
            ValueError,
            "If no initial_state is provided, dtype must be specified",
        ),
        (
            lambda: _run([tf.ones([2, 3])], dtype=tf.float32, sequence_length=3),
            ValueError,
            "sequence_length must be a vector of length batch_size",
        ),
        (
            lambda: _run([tf.placeholder(tf.float32, [2, None])], dtype=tf.float32),
            ValueError,
            r"Input size \(dimension 0 of inputs\) must be accessible via shape inference, but "
            "saw value None",
        ),
        (lambda: _run([tf.ones([2, 3]), tf.ones([4, 3])]), ValueError, "not compatible"),
        (
            lambda: tf.nn.static_state_saving_rnn(
                tf.nn.rnn_cell.BasicLSTMCell(2), [tf.ones([4, 3])], _Saver(), "c"
            ),
            ValueError,
            "state_name should be the same type as cell.state_size",
        ),
        (
            lambda: tf.nn.static_state_saving_rnn(
                tf.nn.rnn_cell.BasicLSTMCell(2), [tf.ones([4, 3])], _Saver(), ("c",)
            ),
            ValueError,
            r"#elems\(state_name\) != #elems\(state_size\): 1 vs. 2",
        ),
    ],
)
def test_what_it_does_not_take_is_named(call: Callable[[], Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
