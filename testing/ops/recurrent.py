"""Cells of recurrent networks, and runs of them over sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.number_types import Array, epsilon, smallest_normal
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

_LSTM = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
_GRU = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
_STATES = ("i", "cs", "f", "o", "ci", "co")
# Kernels compute in float32. Results are sums of a few hundred products at most of numbers below
# 10, each rounded to 2^-24 of its size, and pass through functions whose slope is 1 at most.
_BOUND = 2e-4
_IN_FLOAT32 = NotTested(
    "it computes in float32, whose rounding hides differences. Golden cases check gradients, and "
    "block_cells_test.py compares those of first and second order with those of the same cells "
    "made of other operations"
)


def _has_time(op: str) -> bool:
    return op.startswith("Block")


# ---- Random cases ----


def _add(source: Source, case: Case, dtype: str, shape: tuple[int, ...]) -> None:
    """An input of numbers near 1; at times of another shape."""
    if source.chance(0.02):
        shape = source.small_shape(0, 4)
    values = np.asarray(source.values(dtype, shape, "plain") / 8, dtype)
    case.inputs.append(Input(dtype, values))


def _make(source: Source, op: Any, shapes: Callable[[int, int, int], list[Any]]) -> Case:
    """A case whose inputs have the shapes that are made of batch, input and units."""
    dtype = pick_type(source, op, "T")
    case = Case(op.name, attrs={"T": type_attr(dtype)})
    for shape in shapes(source.size(4), source.size(4), source.size(3)):
        _add(source, case, dtype, shape)
    return case


def _make_lstm(source: Source, op: Any) -> Case:
    time = source.size(3)
    before = (time,) if _has_time(op.name) else ()
    is_gradient = "Grad" in op.name

    def shapes(batch: int, size: int, units: int) -> list[Any]:
        found: list[Any] = [(*before, batch, size), (batch, units), (batch, units)]
        found += [(size + units, 4 * units), (units,), (units,), (units,), (4 * units,)]
        states = (9 if before else 8) if is_gradient else 0
        return found + [(*before, batch, units)] * states

    case = _make(source, op, shapes)
    if before:
        count = (
            source.pick((-1, time + 1, 2**40)) if source.chance(0.07) else source.integer(0, time)
        )
        case.inputs.insert(0, Input("int64", np.array(count, np.int64)))
    case.values["peephole"] = source.chance(0.5)
    case.attrs["use_peephole"] = attr_text(case.values["peephole"])
    if not is_gradient:
        clip = source.pick((-1.0, 0.0, 0.5, 3.0))
        case.values |= {"clip": clip, "bias": 0.0}
        case.attrs["cell_clip"] = attr_text(clip)
        if not op.name.endswith("V2"):
            case.values["bias"] = source.pick((0.0, 1.0, -0.5))
            case.attrs["forget_bias"] = attr_text(case.values["bias"])
    return case


def _make_gru(source: Source, op: Any) -> Case:
    def shapes(batch: int, size: int, units: int) -> list[Any]:
        rows = size + units
        found = [(batch, size), (batch, units), (rows, 2 * units), (rows, units)]
        return [*found, (2 * units,), (units,)] + [(batch, units)] * (4 if "Grad" in op.name else 0)

    return _make(source, op, shapes)


# ---- References ----


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _near(case: Case, values: list[Array]) -> Outcome:
    """Results in the type of a case, that of its last input."""
    dtype = case.inputs[-1].dtype
    rounding = epsilon(dtype)
    return [
        Near(
            value, _BOUND * (1 + np.abs(value)) + rounding * np.abs(value) + smallest_normal(dtype)
        )
        for value in values
    ]


def _checked(case: Case, names: tuple[str, ...], shapes: list[Any], first: int) -> list[Array]:
    """The inputs from `first` on, with these shapes."""
    found = [longer(numbers(case, first + i)) for i in range(len(names))]
    for name, value, shape in zip(names, found, shapes, strict=True):
        refuse_unless(value.shape == shape, name)
    return found


def _lstm_inputs(case: Case, more: tuple[str, ...]) -> tuple[int, list[Array]]:
    """The number of steps to compute, and the inputs; those of a step get a dimension of time."""
    first = 1 if _has_time(case.op) else 0
    x, state = case.array(first).shape, case.array(first + 1).shape
    refuse_unless(len(x) == first + 2, "x")
    refuse_unless(len(state) == 2, "cs_prev")
    batch, size, units = x[-2], x[-1], state[1]
    shapes: list[Any] = [x, (batch, units), (batch, units), (size + units, 4 * units)]
    shapes += [(units,), (units,), (units,), (4 * units,)]
    shapes += [(*x[:-1], units)] * len(more)
    found = _checked(case, _LSTM + more, shapes, first)
    if not first:
        in_time = (0, *range(8, len(found)))
        return 1, [v[np.newaxis] if i in in_time else v for i, v in enumerate(found)]
    steps = case.array(0)
    refuse_unless(steps.shape == () and 0 <= steps <= x[0], "seq_len_max")
    return int(steps), found


def _columns(case: Case) -> tuple[int, ...]:
    """Where the gates i, ci, f and o are among the columns."""
    return (0, 2, 1, 3) if case.op.endswith("V2") else (0, 1, 2, 3)


def _lstm(case: Case) -> Outcome:
    steps, (x, cs, h, w, wci, wcf, wco, b) = _lstm_inputs(case, ())
    if not case.values["peephole"]:
        wci, wcf, wco = np.zeros_like(wci), np.zeros_like(wcf), np.zeros_like(wco)
    clip = case.values["clip"]
    outputs = [np.zeros((len(x), *cs.shape)) for _ in range(7)]
    for t in range(steps):
        parts = np.split(np.concatenate([x[t], h], 1) @ w + b, 4, 1)
        i, ci, f, o = (parts[column] for column in _columns(case))
        i = _sigmoid(i + cs * wci)
        f = _sigmoid(f + case.values["bias"] + cs * wcf)
        ci = np.tanh(ci)
        cs = ci * i + cs * f
        if clip > 0:
            cs = np.clip(cs, -clip, clip)
        o = _sigmoid(o + cs * wco)
        co = np.tanh(cs)
        h = co * o
        for output, value in zip(outputs, (i, cs, f, o, ci, co, h), strict=True):
            output[t] = value
    return _near(case, outputs if _has_time(case.op) else [output[0] for output in outputs])


def _lstm_step_gradient(
    case: Case, before: Array, weights: list[Array], states: list[Array], dcs: Array, dh: Array
) -> tuple[Array, Array, list[Array]]:
    """The gradients for the memory before, for the gates, and for the weights of peepholes."""
    i, cs, f, o, ci, co = states
    wci, wcf, wco = (v if case.values["peephole"] else np.zeros_like(v) for v in weights)
    do = o * (1 - o) * dh * co
    dcs = (1 - co * co) * dh * o + dcs + do * wco
    df, di = f * (1 - f) * dcs * before, i * (1 - i) * dcs * ci
    parts = [di, (1 - ci * ci) * dcs * i, df, do]
    gates = np.concatenate([parts[column] for column in _columns(case)], 1)
    sums = [(di * before).sum(0), (df * before).sum(0), (do * cs).sum(0)]
    if not case.values["peephole"]:
        sums = [np.zeros_like(each) for each in sums]
    return dcs * f + di * wci + df * wcf, gates, sums


def _lstm_cell_gradient(case: Case) -> Outcome:
    _, inputs = _lstm_inputs(case, (*_STATES, "cs_grad", "h_grad"))
    states = [state[0] for state in inputs[8:]]
    before, gates, sums = _lstm_step_gradient(
        case, inputs[1], inputs[4:7], states[:6], states[6], states[7]
    )
    return _near(case, [before, gates, *sums])


def _lstm_gradient(case: Case) -> Outcome:
    steps, inputs = _lstm_inputs(case, (*_STATES, "h", "cs_grad", "h_grad"))
    x, cs_prev, h_prev, w = inputs[:4]
    h, dcs, dh = inputs[14:]
    dx, dw, db = np.zeros_like(x), np.zeros_like(w), np.zeros_like(inputs[7])
    before, back = np.zeros_like(cs_prev), np.zeros_like(h_prev)
    sums = [np.zeros_like(inputs[4])] * 3
    for t in reversed(range(steps)):
        states = [state[t] for state in inputs[8:14]]
        memory, hidden = (inputs[9][t - 1], h[t - 1]) if t else (cs_prev, h_prev)
        before, gates, more = _lstm_step_gradient(
            case, memory, inputs[4:7], states, dcs[t] + before, dh[t] + back
        )
        joined = gates @ w.T
        dx[t], back = joined[:, : x.shape[2]], joined[:, x.shape[2] :]
        dw += np.concatenate([x[t], hidden], 1).T @ gates
        db += gates.sum(0)
        sums = [one + other for one, other in zip(sums, more, strict=True)]
    return _near(case, [dx, before, back, dw, *sums, db])


def _gru_inputs(case: Case, more: tuple[str, ...]) -> list[Array]:
    x, h = case.array(0).shape, case.array(1).shape
    refuse_unless(len(x) == 2, "x")
    refuse_unless(len(h) == 2, "h_prev")
    state, rows, units = (x[0], h[1]), x[1] + h[1], h[1]
    shapes: list[Any] = [x, state, (rows, 2 * units), (rows, units), (2 * units,), (units,)]
    return _checked(case, _GRU + more, shapes + [state] * len(more), 0)


def _gru(case: Case) -> Outcome:
    x, h, w_ru, w_c, b_ru, b_c = _gru_inputs(case, ())
    r, u = np.split(_sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru), 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ w_c + b_c)
    return _near(case, [r, u, c, u * h + (1 - u) * c])


def _gru_gradient(case: Case) -> Outcome:
    x, h, w_ru, w_c, _, _, r, u, c, dh = _gru_inputs(case, ("r", "u", "c", "d_h"))
    size = x.shape[1]
    candidate = dh * (1 - u) * (1 - c * c)
    of_candidate = candidate @ w_c.T
    reset = of_candidate[:, size:]
    gates = np.concatenate([reset * h * r * (1 - r), dh * (h - c) * u * (1 - u)], 1)
    of_gates = gates @ w_ru.T
    dx = of_gates[:, :size] + of_candidate[:, :size]
    return _near(case, [dx, of_gates[:, size:] + reset * r + dh * u, candidate, gates])


# ---- Large cases ----


def _lstm_tensors(values: Values, time: int) -> list[Any]:
    batch, size, units = 48, 40, 64
    before = [time] if time else []
    shapes = [[*before, batch, size], [batch, units], [batch, units], [size + units, 4 * units]]
    shapes += [[units], [units], [units], [4 * units]]
    return [values.of(*shape, low=-0.3, high=0.3) for shape in shapes]


def _large_lstm(name: str) -> LargeCase:
    """Outputs and gradients of an op, which is given or whose gradient is."""
    op = name.replace("Grad", "")

    def build(values: Values) -> Any:
        inputs = _lstm_tensors(values, 6 if _has_time(op) else 0)
        steps = [tf.constant(5, tf.int64)] if _has_time(op) else []
        found = function_of(op)(*steps, *inputs, use_peephole=True)
        return [*found, *tf.gradients([found[1], found[6]], inputs)]

    return LargeCase(build, (tf.float32, tf.float16))


def _large_gru(values: Values) -> Any:
    batch, size, units = 48, 40, 64
    shapes = [[batch, size], [batch, units], [size + units, 2 * units], [size + units, units]]
    shapes += [[2 * units], [units]]
    inputs = [values.of(*shape, low=-0.3, high=0.3) for shape in shapes]
    found = gen_ops.gru_block_cell(*inputs)
    return [*found, *tf.gradients(found[3], inputs)]


_LARGE_GRU = LargeCase(_large_gru, (tf.float32,))

define_tests(
    ["LSTMBlockCell", "BlockLSTM", "BlockLSTMV2"],
    cases=_make_lstm,
    reference=_lstm,
    gradient=_IN_FLOAT32,
    determinism=_large_lstm,
)
define_tests(
    "LSTMBlockCellGrad",
    cases=_make_lstm,
    reference=_lstm_cell_gradient,
    gradient=_IN_FLOAT32,
    determinism=_large_lstm,
)
define_tests(
    ["BlockLSTMGrad", "BlockLSTMGradV2"],
    cases=_make_lstm,
    reference=_lstm_gradient,
    gradient=_IN_FLOAT32,
    determinism=_large_lstm,
)
define_tests(
    "GRUBlockCell", cases=_make_gru, reference=_gru, gradient=_IN_FLOAT32, determinism=_LARGE_GRU
)
define_tests(
    "GRUBlockCellGrad",
    cases=_make_gru,
    reference=_gru_gradient,
    gradient=_IN_FLOAT32,
    determinism=_LARGE_GRU,
)
