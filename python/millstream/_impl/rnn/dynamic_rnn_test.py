"""Networks whose steps are iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(6)
_LENGTHS = [5, 2, 0, 4]
_X = _RANDOM.uniform(-1, 1, [4, 5, 3]).astype(np.float32)  # [batch, time, size]


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _expected(x: Any, weights: Any, lengths: Any, state: Any = None) -> tuple[Any, Any]:
    """Outputs and the last state of a plain cell over [batch, time, size]."""
    kernel, bias = weights
    state = np.zeros([len(x), bias.size], np.float32) if state is None else state
    outputs = []
    for time in range(x.shape[1]):
        output = np.tanh(np.concatenate([x[:, time], state], 1) @ kernel + bias)
        ended = (time >= np.asarray(lengths))[:, np.newaxis]
        outputs.append(np.where(ended, 0, output))
        state = np.where(ended, state, output)
    return np.stack(outputs, 1), state


def _weights(session: tf.Session, cell: Any) -> Any:
    session.run(tf.global_variables_initializer())
    return session.run(cell.variables)


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [None, _LENGTHS, [1, 2, 0, 3]])
@pytest.mark.parametrize("shape", [[4, 5, 3], [None, None, 3]])
@pytest.mark.parametrize("time_major", [False, True])
def test_sequences_end_at_their_lengths(
    lengths: Any, shape: Any, time_major: bool, session: tf.Session
) -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    x = tf.placeholder(tf.float32, shape)
    given = None if lengths is None else tf.placeholder(tf.int64, [None])
    value = tf.transpose(x, [1, 0, 2]) if time_major else x
    outputs, state = tf.nn.dynamic_rnn(cell, value, given, dtype=tf.float32, time_major=time_major)
    dims = shape[:2][::-1] if time_major else shape[:2]
    assert outputs.shape.as_list() == [*dims, 2]
    assert state.shape.as_list() == [shape[0], 2]
    weights = _weights(session, cell)
    feeds = {x: _X, **({} if given is None else {given: lengths})}
    found, last = session.run([outputs, state], feeds)
    expected = _expected(_X, weights, lengths or [5] * 4)
    _close(np.swapaxes(found, 0, 1) if time_major else found, expected[0])
    _close(last, expected[1])


def test_operations_and_variables_have_the_names_that_programs_know() -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(_X), _LENGTHS, dtype=tf.float32)
    assert [v.name for v in tf.trainable_variables()] == [
        "rnn/basic_lstm_cell/kernel:0", "rnn/basic_lstm_cell/bias:0"
    ]  # fmt: skip
    assert outputs.op.name == "rnn/transpose_1"
    assert [state.c.op.name, state.h.op.name] == ["rnn/while/Exit_3", "rnn/while/Exit_4"]
    names = {op.name for op in tf.get_default_graph().get_operations()}
    assert {"rnn/while/basic_lstm_cell/MatMul", "rnn/CheckSeqLen", "rnn/time"} <= names
    stacked = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2)] * 1)
    tf.nn.dynamic_rnn(stacked, tf.constant(_X), dtype=tf.float32, scope="deep")
    names = {op.name for op in tf.get_default_graph().get_operations()}
    assert "deep/multi_rnn_cell/cell_0/gru_cell/gates/kernel" in names
    assert "deep/while/deep/multi_rnn_cell/cell_0/gru_cell/MatMul" in names


def test_a_state_is_given_and_kept_past_the_end(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    before = _RANDOM.rand(4, 2).astype(np.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, _X, _LENGTHS, tf.constant(before))
    weights = _weights(session, cell)
    found, last = session.run([outputs, state])
    expected = _expected(_X, weights, _LENGTHS, before)
    _close(found, expected[0])
    _close(last, expected[1])
    np.testing.assert_array_equal(last[2], before[2])


@pytest.mark.parametrize("kind", ["GRUCell", "BasicLSTMCell", "LSTMCell"])
@pytest.mark.parametrize("lengths", [None, _LENGTHS])
def test_a_loop_computes_what_steps_do(kind: str, lengths: Any, session: tf.Session) -> None:
    cells = [getattr(tf.nn.rnn_cell, kind)(n) for n in (3, 2)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    by_loop = tf.nn.dynamic_rnn(cell, _X, lengths, dtype=tf.float32)
    with tf.variable_scope("", reuse=True):
        steps, last = tf.nn.static_rnn(
            cell, tf.unstack(tf.constant(_X), axis=1), dtype=tf.float32, sequence_length=lengths
        )
    session.run(tf.global_variables_initializer())
    assert len(tf.global_variables()) == len(cell.variables)
    found, expected = session.run([by_loop, (tf.stack(steps, 1), last)])
    _close(found[0], expected[0])
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        _close(one, other)


@pytest.mark.parametrize("lengths", [None, _LENGTHS])
@pytest.mark.parametrize("time_major", [False, True])
def test_one_cell_begins_at_the_end(lengths: Any, time_major: bool, session: tf.Session) -> None:
    cells = [tf.nn.rnn_cell.BasicRNNCell(2) for _ in range(2)]
    x = np.swapaxes(_X, 0, 1) if time_major else _X
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        cells[0], cells[1], tf.constant(x), lengths, dtype=tf.float32, time_major=time_major
    )
    assert [cell.variables[0].op.name for cell in cells] == [
        f"bidirectional_rnn/{way}/basic_rnn_cell/kernel" for way in ("fw", "bw")
    ]
    session.run(tf.global_variables_initializer())
    weights = session.run([cell.variables for cell in cells])
    found, last = session.run([outputs, states])
    if time_major:
        found = [np.swapaxes(each, 0, 1) for each in found]
    ends = lengths or [5] * 4
    ahead, state_fw = _expected(_X, weights[0], ends)
    back, state_bw = _expected(_reverse(_X, ends), weights[1], ends)
    _close(found, [ahead, _reverse(back, ends)])
    _close(last, [state_fw, state_bw])


def _reverse(x: Any, lengths: Any) -> Any:
    result = x.copy()
    for i, length in enumerate(lengths):
        result[i, :length] = x[i, :length][::-1]
    return result


class Pair(tf.nn.rnn_cell.RNNCell):
    """Takes a pair and a dictionary, and gives such."""

    state_size = {"sum": 3}  # noqa: RUF012  (as programs say it)
    output_size = (3, 3)

    def call(self, inputs: Any, state: Any) -> Any:
        total = inputs[0] + 2.0 * inputs[1] + state["sum"]
        return (total, inputs[1]), {"sum": total}


def test_inputs_states_and_outputs_may_be_nested(session: tf.Session) -> None:
    outputs, state = tf.nn.dynamic_rnn(Pair(), (_X, _X), _LENGTHS, dtype=tf.float32)
    found, last = session.run([outputs, state])
    inside = np.arange(5) < np.asarray(_LENGTHS)[:, np.newaxis]
    kept = np.where(inside[..., np.newaxis], _X, 0)
    _close(last["sum"], 3 * kept.sum(1))
    _close(found[0], np.where(inside[..., np.newaxis], 3 * np.cumsum(_X, 1), 0))
    _close(found[1], kept)


def test_no_steps_leave_the_state(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.GRUCell(2)
    x = tf.placeholder(tf.float32, [4, None, 3])
    outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    found, last = session.run([outputs, state], {x: np.zeros([4, 0, 3])})
    assert found.shape == (4, 0, 2)
    assert last.tolist() == [[0, 0]] * 4


class Older(tf.nn.rnn_cell.RNNCell):
    """Older programs say all of a step themselves."""

    state_size = output_size = 3

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with tf.variable_scope(scope or type(self).__name__):
            output = tf.layers.dense(tf.concat([inputs, state], 1), 3, tf.tanh)
        return output, output


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_a_cell_of_a_program_has_variables_of_any_type(dtype: Any, session: tf.Session) -> None:
    x = tf.constant(_X, dtype)
    outputs, _ = tf.nn.dynamic_rnn(Older(), x, _LENGTHS, dtype=dtype)
    kernel, bias = tf.trainable_variables()
    assert [kernel.op.name, bias.op.name] == ["rnn/Older/dense/kernel", "rnn/Older/dense/bias"]
    assert kernel.dtype.base_dtype == dtype
    session.run(tf.global_variables_initializer())
    values, weights = session.run([x, [kernel, bias]])
    wide = [value.astype(np.float64) for value in weights]
    expected = _expected(values.astype(np.float64), wide, _LENGTHS)[0]
    # A step of half rounds a sum of 6 products and its tangent: some 2^-11 of 1, five times.
    bound = 1e-2 if dtype == tf.float16 else 1e-5
    np.testing.assert_allclose(session.run(outputs), expected, rtol=0, atol=bound)


# ---- Gradients ----


@pytest.mark.parametrize("lengths", [None, _LENGTHS])
def test_gradients_are_those_of_steps(lengths: Any, session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    x = tf.placeholder(tf.float32, [None, None, 3])
    outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    fixed = tf.reshape(x, [4, 5, 3])
    with tf.variable_scope("", reuse=True):
        steps, last = tf.nn.static_rnn(
            cell, tf.unstack(fixed, axis=1), dtype=tf.float32, sequence_length=lengths
        )
    slopes = []
    for output, end in ((outputs, state), (tf.stack(steps, 1), last)):
        loss = tf.reduce_sum(output**2) + tf.reduce_sum(end.c * end.h)
        slopes.append(tf.gradients(loss, [x, *cell.variables]))
    session.run(tf.global_variables_initializer())
    found, expected = session.run(slopes, {x: _X})
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert np.abs(found[1]).max() > 0.01


# ---- Bad input ----


def _run(inputs: Any, **arguments: Any) -> Any:
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), inputs, **arguments)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _run(_X), "If there is no initial_state, you must give a dtype"),
        (lambda: _run(tf.ones([3]), dtype=tf.float32), "to have rank at least 2"),
        (lambda: _run(tf.ones([3, 4]), dtype=tf.float32), "rank"),
        (
            lambda: _run(tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32),
            r"Input size \(depth of inputs\) must be accessible via shape inference",
        ),
        (
            lambda: _run(_X, dtype=tf.float32, sequence_length=3),
            "sequence_length must be a vector of length batch_size, but saw shape",
        ),
        (
            lambda: tf.nn.dynamic_rnn(Pair(), (_X, _X[:, 1:]), dtype=tf.float32),
            "Time steps is not the same for all the elements in the input in a batch",
        ),
        (
            lambda: tf.nn.dynamic_rnn(Pair(), (_X, _X[1:]), dtype=tf.float32),
            "Batch_size is not the same for all the elements in the input",
        ),
    ],
)
def test_what_it_does_not_take_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_lengths_are_counted_in_each_step(session: tf.Session) -> None:
    lengths = tf.placeholder(tf.int32, [None])
    outputs, _ = _run(_X, dtype=tf.float32, sequence_length=lengths)
    session.run(tf.global_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
        session.run(outputs, {lengths: [1, 2, 3]})
