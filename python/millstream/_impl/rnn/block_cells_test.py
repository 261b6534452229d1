"""Cells that are one operation have the gradients of the same cells made of other operations.

The operations compute in float32 alone. The others do so here in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops

_BATCH, _SIZE, _UNITS, _TIME = 3, 2, 4, 5
_States = list[tf.Tensor]
_Function = Callable[..., _States]

_RANDOM = np.random.RandomState(7)


def _numbers(*shape: int) -> Any:
    return _RANDOM.uniform(-0.8, 0.8, shape)


_LSTM = [
    _numbers(_BATCH, _SIZE),
    _numbers(_BATCH, _UNITS),
    _numbers(_BATCH, _UNITS),
    _numbers(_SIZE + _UNITS, 4 * _UNITS),
    *(_numbers(_UNITS) for _ in range(3)),
    _numbers(4 * _UNITS),
]
_RUN = [_numbers(_TIME, _BATCH, _SIZE), *_LSTM[1:]]
_GRU = [
    _numbers(_BATCH, _SIZE),
    _numbers(_BATCH, _UNITS),
    _numbers(_SIZE + _UNITS, 2 * _UNITS),
    _numbers(_SIZE + _UNITS, _UNITS),
    _numbers(2 * _UNITS),
    _numbers(_UNITS),
]
# The gates i, ci, f and o among the columns of BlockLSTM's kernel, and of BlockLSTMV2's.
_COLUMNS, _COLUMNS_V2 = (0, 1, 2, 3), (0, 2, 1, 3)


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    """A graph of its own for each test."""
    with tf.Graph().as_default():
        yield


def _lstm_step(
    inputs: Sequence[Any], peephole: bool, forget_bias: float, columns: Sequence[int]
) -> _States:
    """The states i, cs, f, o, ci, co and h."""
    x, cs, h, w, wci, wcf, wco, b = inputs
    parts = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, 1)
    i, ci, f, o = (parts[column] for column in columns)
    if peephole:
        i, f = i + cs * wci, f + cs * wcf
    i, f, ci = tf.sigmoid(i), tf.sigmoid(f + forget_bias), tf.tanh(ci)
    cs = ci * i + cs * f
    o = tf.sigmoid(o + cs * wco if peephole else o)
    co = tf.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def _lstm_run(
    inputs: Sequence[Any], steps: int, peephole: bool, forget_bias: float, columns: Sequence[int]
) -> _States:
    """The states of all steps; zeros from `steps` on."""
    x, cs, h, *others = inputs
    rows = []
    for time in range(_TIME):
        row = _lstm_step([x[time], cs, h, *others], peephole, forget_bias, columns)
        cs, h = row[1], row[6]
        rows.append(row if time < steps else [tf.zeros_like(state) for state in row])
    return [tf.stack(states) for states in zip(*rows, strict=True)]


def _gru_step(inputs: Sequence[Any]) -> _States:
    x, h, w_ru, w_c, b_ru, b_c = inputs
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), w_c) + b_c)
    return [r, u, c, u * h + (1 - u) * c]


def _weighted_sum(tensors: Sequence[Any], others: Sequence[Any]) -> tf.Tensor:
    return tf.add_n(
        [
            tf.reduce_sum(tensor * tf.constant(other, tensor.dtype))
            for tensor, other in zip(tensors, others, strict=True)
            if tensor is not None
        ]
    )


def _gradients(
    function: _Function, dtype: tf.DType, arrays: Sequence[Any], which: Sequence[int], known: bool
) -> list[Any]:
    """Gradients of the outputs `which`, and those of their weighted sum, in turn.

    Both by the inputs; the second ones also by what comes down to the outputs.
    """
    random = np.random.RandomState(8)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(dtype, array.shape if known else None) for array in arrays]
        feeds = dict(zip(inputs, arrays, strict=True))
        outputs = [function(*inputs)[i] for i in which]
        shapes = [value.shape for value in session.run(outputs, feeds)]
        above = [tf.constant(random.uniform(-1, 1, shape), dtype) for shape in shapes]
        weights = [random.uniform(-1, 1, array.shape) for array in arrays]
        first = tf.gradients(outputs, inputs, above)
        second = tf.gradients(_weighted_sum(first, weights), [*inputs, *above])
        found = [gradient for gradient in [*first, *second] if gradient is not None]
        return [np.asarray(value, np.float64) for value in session.run(found, feeds)]


def _assert_same(
    function: _Function, expected: _Function, arrays: Sequence[Any], which: Sequence[int]
) -> None:
    wanted = _gradients(expected, tf.float64, arrays, which, True)
    wanted = [gradient for gradient in wanted if np.any(gradient)]
    for known in (True, False):
        found = _gradients(function, tf.float32, arrays, which, known)
        found = [gradient for gradient in found if np.any(gradient)]
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# The memory and the output; all states; some of them.
_LSTM_OUTPUTS = [[1, 6], [0, 1, 2, 3, 4, 5, 6], [6], [0, 4], [5]]


@pytest.mark.parametrize("which", _LSTM_OUTPUTS, ids=str)
@pytest.mark.parametrize("peephole", [False, True])
def test_a_step_of_an_lstm(peephole: bool, which: list[int]) -> None:
    _assert_same(
        lambda *inputs: list(
            gen_ops.lstm_block_cell(*inputs, use_peephole=peephole, forget_bias=0.5, cell_clip=0.0)
        ),
        lambda *inputs: _lstm_step(inputs, peephole, 0.5, _COLUMNS),
        _LSTM,
        which,
    )


@pytest.mark.parametrize("which", _LSTM_OUTPUTS, ids=str)
@pytest.mark.parametrize("steps", [_TIME, 3, 1])
@pytest.mark.parametrize("peephole", [False, True])
def test_a_run_of_an_lstm(peephole: bool, steps: int, which: list[int]) -> None:
    _assert_same(
        lambda *inputs: list(
            gen_ops.block_lstm(
                tf.constant(steps, tf.int64),
                *inputs,
                use_peephole=peephole,
                forget_bias=0.5,
                cell_clip=0.0,
            )
        ),
        lambda *inputs: _lstm_run(inputs, steps, peephole, 0.5, _COLUMNS),
        _RUN,
        which,
    )


@pytest.mark.parametrize("which", [[1, 6], [0, 1, 2, 3, 4, 5, 6]], ids=str)
@pytest.mark.parametrize("peephole", [False, True])
def test_a_run_whose_forget_gate_comes_second(peephole: bool, which: list[int]) -> None:
    _assert_same(
        lambda *inputs: list(
            gen_ops.block_lstmv2(
                tf.constant(4, tf.int64), *inputs, use_peephole=peephole, cell_clip=0.0
            )
        ),
        lambda *inputs: _lstm_run(inputs, 4, peephole, 0.0, _COLUMNS_V2),
        _RUN,
        which,
    )


@pytest.mark.parametrize("which", [[3], [0, 1, 2, 3], [2], [0, 3]], ids=str)
def test_a_step_of_gated_recurrent_units(which: list[int]) -> None:
    _assert_same(
        lambda *inputs: list(gen_ops.gru_block_cell(*inputs)),
        lambda *inputs: _gru_step(inputs),
        _GRU,
        which,
    )


@pytest.mark.parametrize("time", [0, _TIME])
def test_a_run_of_no_steps_has_gradients_of_zeros(time: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(array, tf.float32) for array in [_RUN[0][:time], *_RUN[1:]]]
        outputs = list(gen_ops.block_lstm(tf.constant(0, tf.int64), *inputs, use_peephole=True))
        first = tf.gradients(outputs, inputs)
        second = tf.gradients(_weighted_sum(first, [1.0] * len(first)), inputs)
        for gradient, array in zip(session.run(second), [_RUN[0][:time], *_RUN[1:]], strict=True):
            assert gradient.shape == array.shape
            assert not gradient.any()


def test_a_step_in_a_loop_is_differentiated_twice() -> None:
    x, _, state, *others = (tf.constant(array, tf.float32) for array in _LSTM)

    def next_state(h: Any) -> Any:
        return gen_ops.lstm_block_cell(x, h, h, *others)[6]

    _, in_loop = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, next_state(h)), [0, state])
    unrolled = next_state(next_state(next_state(state)))
    slopes = []
    for y in (in_loop, unrolled):
        (first,) = tf.gradients(y, state)
        slopes += tf.gradients(tf.reduce_sum(first * first), state)
    with tf.Session() as session:
        found, expected = session.run(slopes)
    assert expected.any()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_a_run_in_a_loop_is_differentiated_once() -> None:
    state = tf.constant(_RUN[2], tf.float32)
    others = [tf.constant(array, tf.float32) for array in _RUN]

    def next_state(h: Any) -> Any:
        inputs = [*others[:2], h, *others[3:]]
        return gen_ops.block_lstm(tf.constant(_TIME, tf.int64), *inputs)[6][-1]

    _, y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, next_state(h)), [0, state])
    (first,) = tf.gradients(y, state)
    with pytest.raises(tf.errors.UnimplementedError, match="BlockLSTMGrad in a loop cannot be"):
        tf.gradients(first, state)


def test_second_derivatives_of_a_run_stand_where_it_does() -> None:
    inputs = [tf.constant(array, tf.float32) for array in _RUN]
    with tf.device("/cpu:0"):
        h = gen_ops.block_lstm(tf.constant(_TIME, tf.int64), *inputs)[6]
    first = tf.gradients(h, inputs, colocate_gradients_with_ops=True)
    before = len(tf.get_default_graph().get_operations())
    tf.gradients(first[3], inputs[3], colocate_gradients_with_ops=True)
    made = tf.get_default_graph().get_operations()[before:]
    computing = [op for op in made if op.type in ("MatMul", "SigmoidGrad", "TanhGrad")]
    assert {op.type for op in computing} == {"MatMul", "SigmoidGrad", "TanhGrad"}
    assert {op.device for op in computing} == {h.op.device}
