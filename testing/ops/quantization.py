"""Quantization: numbers as levels of a range, levels as other levels, and fake quantization."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check
from testing.ops.support.levels import (
    TYPES,
    Levels,
    away,
    clamped,
    drawn_range,
    drawn_scalars,
    levels_of,
    limits,
)
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Near, Outcome, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

_F = np.float32
_STRAIGHT = NotTested(
    "counts as if numbers were not rounded, which differences do not: see the golden cases"
)

# ---- Fake quantization ----


def _is_per_channel(op: str) -> bool:
    return "PerChannel" in op


def _make_fake(source: Source, op: Any) -> Case:
    per_channel = _is_per_channel(op.name)
    shape = source.small_shape(1 if per_channel and source.chance(0.95) else 0)
    bits = source.integer(2, 16) if source.chance(0.93) else source.pick((1, 17, 0, -1, 2**40))
    case = Case(op.name, [Input("float32", source.values("float32", shape))])
    if "Gradient" in op.name:
        gradients = shape if source.chance(0.95) else source.small_shape()
        case.inputs.insert(0, Input("float32", source.values("float32", gradients, "plain")))
    low, high = drawn_range(source)
    if "Args" in op.name:
        case.attrs = {"min": attr_text(low), "max": attr_text(high)}
    elif per_channel:
        count = shape[-1] if shape and source.chance(0.95) else source.size(4)
        drawn = [drawn_range(source) for _ in range(count)]
        ends = np.array(drawn, np.float32).reshape(count, 2)
        case.inputs += [Input("float32", ends[:, i].copy()) for i in (0, 1)]
    else:
        case.inputs += drawn_scalars(source, low, high)
    case.attrs["num_bits"] = attr_text(bits)
    case.attrs["narrow_range"] = attr_text(source.chance(0.4))
    return case


def _nudged(case: Case, x: Array) -> tuple[Any, ...]:
    """Ends, step and steps a unit of the range of each channel, and where it is zero alone."""
    bits = case.attr("num_bits")
    refuse_unless(2 <= bits <= 16, "num_bits")
    low: Any = None
    high: Any = None
    if "Args" in case.op:
        low, high = _F(case.attr("min")), _F(case.attr("max"))
        refuse_unless(low < high, "min")
    else:
        low, high = case.array(len(case.inputs) - 2), case.array(len(case.inputs) - 1)
        refuse_unless(not _is_per_channel(case.op) or x.ndim > 0, "inputs")
        wanted = x.shape[-1:] if _is_per_channel(case.op) else ()
        refuse_unless(low.shape == wanted, "min")
        refuse_unless(high.shape == wanted, "max")
    least, most = _F(1 if case.attr("narrow_range") else 0), _F(2**bits - 1)
    with np.errstate(all="ignore"):
        step = (high - low) / (most - least)
        zero = np.asarray(least - low / step)
        rounded = np.where(zero > least, away(zero), least)
        zero = np.where(zero > most, most, rounded).astype(np.float32)
        per_step = _F(1) / step
        is_zero = np.asarray((low == 0) & (high == 0))
        return (least - zero) * step, (most - zero) * step, step, per_step, is_zero


def _fake(case: Case) -> Outcome:
    x = case.array(0)
    low, high, step, per_step, is_zero = _nudged(case, x)
    with np.errstate(all="ignore"):
        inside = np.where(x < low, low, np.where(x > high, high, x)).astype(np.float32)
        zero = np.floor(-low * per_step + _F(0.5))
        value = np.floor((inside - low) * per_step - zero + _F(0.5)) * step
    return [Near(np.where(is_zero, _F(0), value), 0.0)]


def _fake_gradient(case: Case) -> Outcome:
    gradients, x = case.array(0), case.array(1)
    refuse_unless(gradients.shape == x.shape, "gradients")
    low, high, _, _, is_zero = _nudged(case, x)
    inside = is_zero | ((x >= low) & (x <= high))
    outputs: Outcome = [Near(np.where(inside, gradients, _F(0)), 0.0)]
    if "Args" in case.op:
        return outputs
    axes = tuple(range(x.ndim - 1)) if _is_per_channel(case.op) else None
    for beyond in (x < low, x > high):
        parts = np.where(beyond & ~inside, gradients, 0).astype(np.float64)
        value = np.asarray(parts.sum(axis=axes))
        bound = np.abs(parts).sum(axis=axes) * 2.0**-23
        outputs.append(Near(value, bound))
    return outputs


def _large_fake(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        count = 2 if "Gradient" in op else 1
        tensors = [values.of(500, 600) for _ in range(count)]
        ends: list[Any] = []
        if _is_per_channel(op):
            ends = [values.of(600, low=-1.0, high=0.0), values.of(600, low=0.1, high=1.0)]
        elif "Vars" in op:
            ends = [tf.constant(-1.0), tf.constant(1.5)]
        return function_of(op)(*tensors, *ends)

    return LargeCase(build, FLOAT32)


_X = np.array([[-9.0, -1.0, 0.5], [0.0, 2.0, 9.0]], np.float32)
_DY = np.array([[0.5, -1.25, 2.0], [0.125, 1.0, -0.75]], np.float32)


def _second_order(op: str) -> list[Check]:
    """The gradient op is linear in its first input; all numbers here are exact."""
    ends: tuple[Any, ...] = ()
    if _is_per_channel(op):
        ends = (np.full(3, -2.0, np.float32), np.full(3, 2.0, np.float32))
    elif "Vars" in op:
        ends = (np.float32(-2), np.float32(2))
    return [Check(lambda dy: function_of(op)(dy, tf.constant(_X), *ends), (_DY,), step=0.125)]


_FAKE = [
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
]

define_tests(_FAKE, cases=_make_fake, reference=_fake, gradient=_STRAIGHT, determinism=_large_fake)
define_tests(
    [f"{op}Gradient" for op in _FAKE],
    cases=_make_fake,
    reference=_fake_gradient,
    gradient=_second_order,
    determinism=_large_fake,
)

# ---- QuantizeAndDequantize ----


def _make_rounding(source: Source, op: Any) -> Case:
    dtype = source.pick(("float32", "float64"))
    low, high = drawn_range(source)
    bits = source.integer(1, 20) if source.chance(0.9) else source.pick((0, 61, 62, 63, 64, -1))
    case = Case(op.name, [Input(dtype, source.values(dtype, source.small_shape()))])
    case.attrs = {
        "T": type_attr(dtype),
        "signed_input": attr_text(source.chance(0.5)),
        "range_given": attr_text(source.chance(0.6)),
    }
    if op.name == "QuantizeAndDequantize":
        case.attrs |= {"input_min": attr_text(low), "input_max": attr_text(high)}
    else:
        shape = () if source.chance(0.96) else (2,)
        case.inputs += [Input(dtype, np.full(shape, end, dtype)) for end in (low, high)]
        case.attrs["narrow_range"] = attr_text(source.chance(0.5))
    if op.name == "QuantizeAndDequantizeV2":
        case.attrs["round_mode"] = attr_text(source.pick(("HALF_TO_EVEN", "HALF_UP")))
    if op.name == "QuantizeAndDequantizeV3":
        case.inputs.append(Input("int32", np.array(bits % 2**31, np.int32)))
    else:
        case.attrs["num_bits"] = attr_text(bits)
    return case


def _flag(case: Case, name: str) -> bool:
    return bool(case.attr(name)) if name in case.attrs else False


def _rounding(case: Case) -> Outcome:
    x = case.array(0)
    of = x.dtype.type
    is_signed, is_given = case.attr("signed_input"), case.attr("range_given")
    if len(case.inputs) > 1:
        low, high = case.array(1), case.array(2)
        refuse_unless(low.shape == high.shape == (), "input_min")
        low, high = low[()], high[()]
    else:
        low, high = of(_F(case.attr("input_min"))), of(_F(case.attr("input_max")))
    bits = int(case.array(3)) if len(case.inputs) > 3 else case.attr("num_bits")
    refuse_unless(0 < bits < (62 if is_signed else 63), "num_bits")
    refuse_unless(not is_given or low <= high, "input_min")
    if x.size == 0:
        return [x]
    if not is_given:
        low, high = x.min(), x.max()
    half = 2 ** (bits - 1)
    least = of(-half + (1 if _flag(case, "narrow_range") else 0)) if is_signed else of(0)
    most = of(half - 1) if is_signed else of(2 * half - 1)
    with np.errstate(all="ignore"):
        largest = np.finfo(x.dtype).max
        of_low = least / low if least * low > 0 else largest
        of_high = most / high if most * high > 0 else largest
        if of_low < of_high:
            scale, distance = of_low, low / least
            high = most * distance
        else:
            scale, distance = of_high, high / most
            low = least * distance
        inside = np.where(x < low, low, np.where(x > high, high, x)) if is_given else x
        level = (inside * scale).astype(x.dtype)
        up = "round_mode" in case.attrs and case.attr("round_mode") == "HALF_UP"
        value = (np.floor(level + of(0.5)) if up else np.rint(level)) * distance
    # What the least of numbers is, is not said where one of them is none.
    odd = np.full(x.shape, not is_given and bool(np.isnan(x).any()))
    return [Near(value.astype(x.dtype), 0.0, odd)]


def _large_rounding(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        x = values.of(300_000)
        if op == "QuantizeAndDequantize":
            return function_of(op)(x)
        ends = [values.of(low=-1.5, high=-1.0), values.of(low=1.0, high=1.5)]
        bits = [5] if op.endswith("V3") else []
        return [
            function_of(op)(x, *ends, *bits, range_given=True),
            function_of(op)(x, *ends, *bits, range_given=False),
        ]

    return LargeCase(build, FLOAT32_AND_64)


define_tests(
    ["QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"],
    cases=_make_rounding,
    reference=_rounding,
    gradient=_STRAIGHT,
    determinism=_large_rounding,
)

# ---- QuantizeV2 and Dequantize ----

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def _make_quantize(source: Source, op: Any) -> Case:
    dtype, mode = source.pick(TYPES), source.pick(_MODES)
    x = Input("float32", source.values("float32", source.small_shape()))
    if op.name == "Dequantize":
        x = levels_of(source, dtype, source.small_shape())
    case = Case(op.name, [x, *drawn_scalars(source, *drawn_range(source))])
    case.attrs = {"T": type_attr(dtype), "mode": attr_text(mode)}
    if op.name == "QuantizeV2":
        is_even = source.chance(0.5 if mode == "SCALED" else 0.05)
        rounding = "HALF_TO_EVEN" if is_even else "HALF_AWAY_FROM_ZERO"
        case.attrs["round_mode"] = attr_text(rounding)
    return case


def _ends(case: Case, first: int, count: int = 2) -> list[Any]:
    """Float scalars from input `first` on."""
    for i in range(first, first + count):
        refuse_unless(case.array(i).shape == (), f"input {i}")
    return [case.array(i)[()] for i in range(first, first + count)]


def _half(dtype: str) -> Any:
    least, most = limits(dtype)
    return (_F(most) - _F(least) + _F(1)) / _F(2) if least < 0 else _F(0)


def _quantize(case: Case) -> Outcome:
    dtype, mode = case.attr("T")[1], case.attr("mode")
    is_even = case.attr("round_mode") == "HALF_TO_EVEN"
    refuse_unless(not is_even or mode == "SCALED", "round_mode")
    low, high = _ends(case, 1)
    refuse_unless(not high < low, "max_range")
    largest = max(_F(1), abs(low), abs(high))
    low = min(_F(0), low)
    high = max(_F(0), high, low + largest / _F(100))
    least, most = limits(dtype)
    x = case.array(0)
    with np.errstate(all="ignore"):
        if mode == "SCALED":
            sides = [
                _F(level) / end if _F(level) * end > 0 else np.finfo(np.float32).max
                for level, end in ((least, low), (most, high))
            ]
            scale = min(sides)
            low, high = _F(least) / scale, _F(most) / scale
        else:
            scale = _F(np.float64(most - least) / np.float64(high - low))
        if mode == "MIN_FIRST":
            levels = away(x * scale) - (away(low * scale) - _F(least))
        else:
            inside = np.where(high < x, high, x)
            inside = np.where(inside < low, low, inside)
            shift, half = (low, _half(dtype)) if mode == "MIN_COMBINED" else (_F(0), _F(0))
            scaled = ((inside - shift) * scale - half).astype(np.float32)
            levels = np.rint(scaled) if is_even else away(scaled)
        # As processors convert a number that no int32 is, but for MIN_FIRST.
        above = 2.0**31 - 128 if mode == "MIN_FIRST" else least
        wide = np.where(levels >= 2.0**31, above, levels) if dtype == "qint32" else levels
    return [clamped(wide.astype(np.float64), dtype), Near(low, 0.0), Near(high, 0.0)]


def _dequantize(case: Case) -> Outcome:
    dtype, mode = case.attr("T")[1], case.attr("mode")
    low, high = _ends(case, 1)
    least, most = (_F(limit) for limit in limits(dtype))
    x = case.array(0).astype(np.float32)
    before, after = _F(0), _F(0)
    with np.errstate(all="ignore"):
        if mode == "SCALED":
            scale = max(low / least, high / most) if least < 0 else high / most
        elif mode == "MIN_COMBINED":
            before, scale, after = _half(dtype), (high - low) / (most - least), low
        else:
            steps = np.float64(limits(dtype)[1] - limits(dtype)[0])
            scale = _F(np.float64(high - low) / steps)
            rounded = low if low == high else away(low / scale) * scale
            after = rounded - least * scale
        return [Near((x + before) * scale + after, 0.0)]


def _quantized(values: Values, dtype: Any, *shape: int) -> Any:
    """Levels of numbers from -2 to 2."""
    return gen_ops.quantize_v2(values.of(*shape), -2.0, 2.0, dtype)[0]


def _large_quantize(values: Values) -> Any:
    x = values.of(300_000)
    return [
        gen_ops.dequantize(gen_ops.quantize_v2(x, -2.0, 1.5, dtype, mode)[0], -2.0, 1.5, mode)
        for dtype in (tf.quint8, tf.qint32)
        for mode in _MODES
    ]


define_tests(
    "QuantizeV2",
    cases=_make_quantize,
    reference=_quantize,
    determinism=LargeCase(_large_quantize, FLOAT32),
)
define_tests(
    "Dequantize",
    cases=_make_quantize,
    reference=_dequantize,
    determinism=LargeCase(_large_quantize, FLOAT32),
)

# ---- Levels as other levels ----


def _make_requantize(source: Source, op: Any) -> Case:
    types = {attr.name: source.pick(TYPES) for attr in op.attr if attr.type == "type"}
    source_type = types["T" if "T" in types else "Tinput"]
    per_channel = _is_per_channel(op.name)
    shape = source.small_shape(1 if per_channel and source.chance(0.96) else 0)
    case = Case(op.name, [levels_of(source, source_type, shape)])
    if per_channel:
        count = shape[-1] if shape and source.chance(0.95) else source.size(4)
        ends = np.array([drawn_range(source) for _ in range(count)], np.float32)
        case.inputs += [Input("float32", ends.reshape(count, 2)[:, i].copy()) for i in (0, 1)]
    else:
        case.inputs += drawn_scalars(source, *drawn_range(source))
    if op.name.startswith("Requantize"):
        case.inputs += drawn_scalars(source, *drawn_range(source))
    case.attrs = {name: type_attr(dtype) for name, dtype in types.items()}
    if op.name == "RequantizationRangePerChannel":
        case.attrs["clip_value_max"] = attr_text(source.pick((6.0, 0.125, 1e30)))
    return case


def _requantize(case: Case) -> Outcome:
    x = case.array(0)
    given = Levels(case.inputs[0].dtype, *_ends(case, 1))
    if case.op == "Requantize":
        low, high = _ends(case, 3)
        refuse_unless(low <= 0 and low <= high, "requested_output_min")
    elif x.size == 0:
        low = high = _F(0)
    else:
        low, high = (given.numbers(end) for end in (x.min(), x.max()))
        low = _F(0) if low > 0 else low
    ends = [Near(np.asarray(low), 0.0), Near(np.asarray(high), 0.0)]
    if case.op == "RequantizationRange":
        return ends
    return [Levels(case.attr("out_type")[1], low, high).levels(given.numbers(x)), *ends]


def _extents(case: Case) -> Array:
    x = case.array(0)
    refuse_unless(x.ndim > 0, "input")
    for i in (1, 2):
        refuse_unless(case.array(i).shape == x.shape[-1:], "input_min")
    return np.maximum(np.abs(case.array(1)), np.abs(case.array(2)))


def _range_of_channels(case: Case) -> Outcome:
    x, extents = case.array(0).astype(np.int64), _extents(case)
    rows = np.abs(x.reshape(-1, x.shape[-1])) if x.size else np.zeros((1, x.shape[-1]))
    reach = extents * rows.max(axis=0).astype(np.float32) / _F(2.0**31)
    extent = min(reach.max(initial=_F(0)), _F(case.attr("clip_value_max")))
    low = -extent if (x < 0).any() else _F(0)
    return [Near(np.asarray(low), 0.0), Near(np.asarray(extent), 0.0)]


def _requantize_channels(case: Case) -> Outcome:
    x, extents = case.array(0), _extents(case)
    low, high = _ends(case, 3)
    dtype = case.attr("out_type")[1]
    with np.errstate(all="ignore"):
        requested = max(abs(low), abs(high))
        scales = _F(limits(dtype)[1]) * (extents / requested / _F(2.0**31))
        scaled = np.rint(x.astype(np.float32) * scales)
    return [clamped(scaled.astype(np.float64), dtype), Near(low, 0.0), Near(high, 0.0)]


def _large_requantize(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        x = _quantized(values, tf.qint32, 500, 600)
        ends = (
            [np.full(600, end, np.float32) for end in (-2, 2)]
            if _is_per_channel(op)
            else [-2.0, 2.0]
        )
        if op == "RequantizationRangePerChannel":
            return function_of(op)(x, *ends, clip_value_max=6.0)
        if op == "RequantizationRange":
            return function_of(op)(x, *ends)
        if op == "QuantizeDownAndShrinkRange":
            found = function_of(op)(x, *ends, out_type=tf.quint8)
        else:
            found = function_of(op)(x, *ends, -1.0, 1.0, out_type=tf.quint8)
        return [gen_ops.dequantize(*found)]

    return LargeCase(build, FLOAT32)


define_tests(
    ["RequantizationRange", "Requantize", "QuantizeDownAndShrinkRange"],
    cases=_make_requantize,
    reference=_requantize,
    determinism=_large_requantize,
)
define_tests(
    "RequantizationRangePerChannel",
    cases=_make_requantize,
    reference=_range_of_channels,
    determinism=_large_requantize,
)
define_tests(
    "RequantizePerChannel",
    cases=_make_requantize,
    reference=_requantize_channels,
    determinism=_large_requantize,
)
