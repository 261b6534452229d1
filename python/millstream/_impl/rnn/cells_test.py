"""Cells: what a step computes, the names of variables, and when they are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(3)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _values(*shape: int) -> Any:
    return _RANDOM.uniform(-1, 1, shape).astype(np.float32)


def _filled(session: tf.Session, variables: Any) -> dict[str, Any]:
    """Numbers for variables, which have them from now on, by the names after the first "/"."""
    numbers = {}
    for variable in variables:
        value = _values(*variable.shape.as_list())
        session.run(variable.assign(value))
        numbers[variable.op.name.partition("/")[2]] = value
    return numbers


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _names(variables: Any) -> list[str]:
    return [variable.op.name for variable in variables]


# ---- Numbers ----


def test_a_plain_cell_is_one_layer(session: tf.Session) -> None:
    x, state = _values(2, 3), _values(2, 4)
    cell = tf.nn.rnn_cell.BasicRNNCell(4)
    output, after = cell(tf.constant(x), tf.constant(state))
    assert output is after
    assert output.op.name == "basic_rnn_cell/Tanh"
    assert (cell.state_size, cell.output_size) == (4, 4)
    v = _filled(session, cell.variables)
    expected = np.tanh(np.concatenate([x, state], 1) @ v["kernel"] + v["bias"])
    np.testing.assert_allclose(session.run(output), expected, rtol=1e-5, atol=1e-6)


def test_a_gated_cell_resets_and_keeps_its_state(session: tf.Session) -> None:
    x, state = _values(2, 3), _values(2, 4)
    cell = tf.nn.rnn_cell.GRUCell(4, activation=tf.nn.relu)
    output, after = cell(tf.constant(x), tf.constant(state))
    assert output is after
    session.run(tf.global_variables_initializer())
    assert session.run(cell.variables[1]).tolist() == [1.0] * 8
    assert session.run(cell.variables[3]).tolist() == [0.0] * 4
    v = _filled(session, cell.variables)
    gates = _sigmoid(np.concatenate([x, state], 1) @ v["gates/kernel"] + v["gates/bias"])
    reset, keep = np.split(gates, 2, 1)
    joined = np.concatenate([x, reset * state], 1)
    candidate = np.maximum(joined @ v["candidate/kernel"] + v["candidate/bias"], 0)
    expected = keep * state + (1 - keep) * candidate
    np.testing.assert_allclose(session.run(output), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_tuple", [True, False])
def test_a_basic_lstm_writes_keeps_and_shows_its_memory(
    is_tuple: bool, session: tf.Session
) -> None:
    x, c, h = _values(2, 3), _values(2, 4), _values(2, 4)
    cell = tf.nn.rnn_cell.BasicLSTMCell(4, forget_bias=0.5, state_is_tuple=is_tuple)
    state: Any = tf.nn.rnn_cell.LSTMStateTuple(tf.constant(c), tf.constant(h))
    assert cell.state_size == ((4, 4) if is_tuple else 8)
    output, after = cell(tf.constant(x), state if is_tuple else tf.concat(state, 1))
    v = _filled(session, cell.variables)
    parts = np.split(np.concatenate([x, h], 1) @ v["kernel"] + v["bias"], 4, 1)
    write, new, keep, show = parts
    memory = c * _sigmoid(keep + 0.5) + _sigmoid(write) * np.tanh(new)
    expected = np.tanh(memory) * _sigmoid(show)
    found, held = session.run([output, after])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    if is_tuple:
        assert isinstance(after, tf.nn.rnn_cell.LSTMStateTuple)
        held = np.concatenate(held, 1)
    np.testing.assert_allclose(held, np.concatenate([memory, expected], 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_tuple", [True, False])
def test_an_lstm_has_peepholes_clips_and_a_projection(is_tuple: bool, session: tf.Session) -> None:
    x, c, h = _values(2, 3), _values(2, 4), _values(2, 2)
    cell = tf.nn.rnn_cell.LSTMCell(
        4, use_peepholes=True, cell_clip=0.4, num_proj=2, proj_clip=0.3, state_is_tuple=is_tuple
    )
    assert (cell.state_size, cell.output_size) == ((4, 2) if is_tuple else 6, 2)
    state: Any = (tf.constant(c), tf.constant(h))
    output, after = cell(tf.constant(x), state if is_tuple else tf.concat(state, 1))
    v = _filled(session, cell.variables)
    parts = np.split(np.concatenate([x, h], 1) @ v["kernel"] + v["bias"], 4, 1)
    write, new, keep, show = parts
    memory = c * _sigmoid(keep + 1 + v["w_f_diag"] * c)
    memory = np.clip(memory + _sigmoid(write + v["w_i_diag"] * c) * np.tanh(new), -0.4, 0.4)
    shown = _sigmoid(show + v["w_o_diag"] * memory) * np.tanh(memory)
    expected = np.clip(shown @ v["projection/kernel"], -0.3, 0.3)
    found, held = session.run([output, after])
    held = np.concatenate(held, 1) if is_tuple else held
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(held, np.concatenate([memory, expected], 1), rtol=1e-5, atol=1e-6)
    assert np.abs(memory).max() == np.float32(0.4)


def test_cells_stand_on_top_of_each_other(session: tf.Session) -> None:
    cells = [tf.nn.rnn_cell.BasicRNNCell(size) for size in (4, 3)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    x, one, other = _values(2, 5), _values(2, 4), _values(2, 3)
    output, states = cell(tf.constant(x), (tf.constant(one), tf.constant(other)))
    assert _names(cell.variables) == [
        f"multi_rnn_cell/cell_{i}/basic_rnn_cell/{name}"
        for i in range(2)
        for name in ("kernel", "bias")
    ]
    v = _filled(session, cell.variables)
    start = "cell_%d/basic_rnn_cell/"
    for i, state in enumerate((one, other)):
        kernel, bias = (v[start % i + name] for name in ("kernel", "bias"))
        x = np.tanh(np.concatenate([x, state], 1) @ kernel + bias)
        np.testing.assert_allclose(session.run(states[i]), x, rtol=1e-5, atol=1e-6)
    assert session.run(output).tolist() == session.run(states[1]).tolist()


def test_states_may_be_one_tensor(session: tf.Session) -> None:
    cells = [tf.nn.rnn_cell.BasicRNNCell(size) for size in (4, 3)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=False)
    assert cell.state_size == 7
    output, state = cell(tf.ones([2, 5]), cell.zero_state(2, tf.float32))
    session.run(tf.global_variables_initializer())
    found, held = session.run([output, state])
    assert held.shape == (2, 7)
    np.testing.assert_array_equal(held[:, 4:], found)


# ---- Variables ----


def test_a_cell_has_its_variables_once() -> None:
    cell = tf.nn.rnn_cell.LSTMCell(4, name="mine", initializer=tf.ones_initializer())
    state = cell.zero_state(2, tf.float64)
    with tf.variable_scope("net"):
        for _ in range(2):
            _, state = cell(tf.ones([2, 3], tf.float64), state)
    assert _names(tf.trainable_variables()) == ["net/mine/kernel", "net/mine/bias"]
    assert cell.trainable_weights == tf.trainable_variables()
    assert cell.variables[0].dtype.base_dtype == tf.float64
    assert cell.variables[0].shape.as_list() == [7, 16]


def test_cells_of_a_kind_are_numbered_and_shared_by_reuse() -> None:
    x = tf.ones([2, 3])
    make: Callable[..., Any] = tf.nn.rnn_cell.GRUCell
    for _ in range(2):
        cell = make(2)
        cell(x, cell.zero_state(2, tf.float32))
    again = make(2, reuse=True)
    again(x, again.zero_state(2, tf.float32))
    assert len(tf.trainable_variables()) == 8
    assert again.variables == tf.trainable_variables()[:4]
    assert tf.trainable_variables()[4].op.name == "gru_cell_1/gates/kernel"
    scoped = make(2)
    scoped(x, scoped.zero_state(2, tf.float32), scope="given")
    assert scoped.variables[0].op.name == "given/gates/kernel"


class OwnCell(tf.nn.rnn_cell.RNNCell):
    """A cell of a program."""

    state_size = output_size = 3

    def call(self, inputs: Any, state: Any) -> Any:
        w = tf.get_variable("w", [2, 3])
        local = tf.get_variable("count", [], trainable=False)
        output = tf.matmul(inputs, w) + state * local
        return output, output


def test_a_cell_of_a_program_makes_variables_in_call() -> None:
    cell = OwnCell()
    x = tf.ones([1, 2])
    _, state = cell(x, cell.zero_state(1, tf.float32))
    cell(x, state)
    assert _names(tf.global_variables()) == ["own_cell/w", "own_cell/count"]
    assert _names(cell.trainable_weights) == ["own_cell/w"]
    assert _names(cell.non_trainable_weights) == ["own_cell/count"]
    other = OwnCell(name="other")
    other(x, state)
    assert _names(other.weights) == ["other/w", "other/count"]


class BuiltCell(OwnCell):
    def build(self, input_shape: Any) -> None:
        self.w = self.add_variable("w", [input_shape[-1], 3])
        super().build(input_shape)

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.matmul(inputs, self.w), state


def test_a_cell_of_a_program_makes_variables_in_build() -> None:
    cell = BuiltCell()
    cell(tf.ones([1, 2]), cell.zero_state(1, tf.float32))
    assert _names(cell.weights) == ["built_cell/w"]


def test_shards_are_warned_of(caplog: pytest.LogCaptureFixture, session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.LSTMCell(4, num_unit_shards=2)
    assert "num_unit_shards" in caplog.text
    output, _ = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    assert _names(cell.trainable_weights) == [
        "lstm_cell/kernel/part_0", "lstm_cell/kernel/part_1", "lstm_cell/bias"
    ]  # fmt: skip
    session.run(tf.global_variables_initializer())
    assert session.run(output).shape == (2, 4)
    caplog.clear()
    tf.nn.rnn_cell.BasicLSTMCell(4, state_is_tuple=False)
    assert "Using a concatenated state is slower" in caplog.text
    caplog.clear()
    tf.nn.rnn_cell.MultiRNNCell([cell, cell])
    assert "are the same object and will share weights" in caplog.text


# ---- States ----


def test_zero_states_are_nested_as_the_sizes(session: tf.Session) -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2), tf.nn.rnn_cell.GRUCell(3)])
    batch = tf.placeholder(tf.int32, [])
    state = cell.zero_state(batch, tf.float16)
    assert state[0].c.op.name == "MultiRNNCellZeroState/BasicLSTMCellZeroState/zeros"
    assert state[0].c.shape.as_list() == [None, 2]
    assert state[0].dtype == tf.float16
    values = session.run(state, {batch: 4})
    assert values[1].tolist() == [[0, 0, 0]] * 4
    by_input = cell.get_initial_state(inputs=tf.ones([4, 7]))
    assert by_input[1].shape.as_list() == [4, 3]


def test_sizes_may_be_shapes(session: tf.Session) -> None:
    class Image(tf.nn.rnn_cell.RNNCell):
        state_size = tf.TensorShape([2, 3])

    state = Image().zero_state(2, tf.float32)
    assert state.shape.as_list() == [2, 2, 3]
    assert session.run(state).shape == (2, 2, 3)


# ---- Bad input ----


def _called(make: Callable[..., Any], x: Any) -> Any:
    cell = make(3)
    return cell(x, cell.zero_state(2, tf.float32))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda cells: _called(cells.GRUCell, tf.placeholder(tf.float32, [2, None])),
            r"Expected inputs.shape\[-1\] to be known, saw shape: \(2, \?\)",
        ),
        (
            lambda cells: _called(cells.BasicLSTMCell, tf.ones([2, 3, 4])),
            "expected ndim=2, found ndim=3",
        ),
        (
            lambda cells: _called(cells.BasicRNNCell, tf.ones([2, 3], tf.int32)),
            "RNN cell only supports floating point inputs, but saw dtype: int32",
        ),
        (
            lambda cells: cells.MultiRNNCell([]),
            "Must specify at least one cell for MultiRNNCell",
        ),
        (
            lambda cells: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False),
            "Some cells return tuples of states, but the flag state_is_tuple is not set",
        ),
        (
            lambda cells: cells.MultiRNNCell([cells.GRUCell(2)])(tf.ones([2, 2]), tf.ones([2, 2])),
            "Expected state to be a tuple of length 1",
        ),
        (
            lambda cells: cells.GRUCell(2).get_initial_state(batch_size=3),
            "batch_size and dtype cannot be None",
        ),
        (
            lambda cells: cells.GRUCell(2).get_initial_state(tf.ones([4, 2]), batch_size=3),
            "batch size from input tensor is different from the input param",
        ),
        (
            lambda cells: cells.GRUCell(2).get_initial_state(tf.ones([4, 2]), dtype=tf.float64),
            "dtype from input tensor is different from the input param",
        ),
    ],
)  # fmt: skip
def test_what_a_cell_does_not_take_is_named(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(tf.nn.rnn_cell)


def test_what_is_no_cell_is_refused() -> None:
    with pytest.raises(TypeError, match="cells must be a list or tuple"):
        tf.nn.rnn_cell.MultiRNNCell(tf.nn.rnn_cell.GRUCell(2))
    with pytest.raises(TypeError, match=r"'cell' .* is not an RNNCell: 'output_size' property"):
        tf.nn.rnn_cell.ResidualWrapper(len)
    mixed = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([1]), tf.ones([1], tf.float64))
    with pytest.raises(TypeError, match="Inconsistent internal state: float32 vs float64"):
        print(mixed.dtype)
    with pytest.raises(NotImplementedError, match="state_size"):
        print(tf.nn.rnn_cell.RNNCell().state_size)
