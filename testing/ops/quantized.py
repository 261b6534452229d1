"""Arithmetic on quantized tensors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.levels import (
    TYPES,
    Levels,
    clamped,
    drawn_range,
    drawn_scalars,
    levels_of,
    range_of_product,
)
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    RefusedError,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import Window, drawn_pair, image_sizes

_F = np.float32


def _type(source: Source) -> str:
    """The types of real programs more often than others."""
    return source.pick(("quint8", "quint8", *TYPES))


def _ends(case: Case, *inputs: int) -> list[Any]:
    """Float scalars."""
    for i in inputs:
        refuse_unless(case.array(i).shape == (), f"input {i}")
    return [case.array(i)[()] for i in inputs]


def _range(low: Any, high: Any) -> Outcome:
    return [Near(np.asarray(low, np.float32), 0.0), Near(np.asarray(high, np.float32), 0.0)]


# ---- Sums and products, element by element ----


def _make_binary(source: Source, op: Any) -> Case:
    types = {name: _type(source) for name in ("T1", "T2")}
    types["Toutput"] = "qint32" if source.chance(0.6) else _type(source)
    shapes = source.broadcast_pair()
    inputs = [levels_of(source, types[f"T{i + 1}"], shapes[i]) for i in (0, 1)]
    inputs += drawn_scalars(source, *drawn_range(source), *drawn_range(source))
    return Case(op.name, inputs, {name: type_attr(dtype) for name, dtype in types.items()})


def _summed_range(ends: list[Any], factor: int) -> tuple[Any, Any]:
    most = np.abs(np.array(ends, np.float32)).max() * _F(factor)
    return -most, most


def _summand(levels: Levels, x: Array, of_sum: Levels) -> Array:
    """Levels as levels of the sum: a line, but for one alone."""
    if x.size == 1:
        return of_sum.levels(levels.numbers(x)).astype(np.float64)
    of_zero, of_one = (of_sum.places(levels.numbers(np.asarray(i))) for i in (0, 1))
    return np.asarray(x * (of_one - of_zero) + of_zero)


def _binary(case: Case) -> Outcome:
    x, y = case.array(0), case.array(1)
    dtype = case.attr("Toutput")[1]
    ends = _ends(case, 2, 3, 4, 5)
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise RefusedError("y") from None
    levels = [Levels(case.inputs[i].dtype, *ends[2 * i : 2 * i + 2]) for i in (0, 1)]
    if case.op == "QuantizedMul":
        low, high = range_of_product(levels[0], levels[1], dtype)
        with np.errstate(all="ignore"):
            zeros = [one.places(np.asarray(_F(0))) for one in levels]
            z = (x.astype(np.float64) - zeros[0]) * (y.astype(np.float64) - zeros[1])
    else:
        low, high = _summed_range(ends, 1 << 14)
        of_sum = Levels(dtype, low, high)
        z = _summand(levels[0], x, of_sum) + _summand(levels[1], y, of_sum)
    return [clamped(np.broadcast_to(z, shape), dtype), *_range(low, high)]


# ---- BiasAdd ----


def _make_bias(source: Source, op: Any) -> Case:
    types = {name: _type(source) for name in ("T1", "T2", "out_type")}
    shape = source.small_shape(2 if source.chance(0.95) else 0)
    count = shape[-1] if shape and source.chance(0.95) else source.size(4)
    inputs = [levels_of(source, types["T1"], shape), levels_of(source, types["T2"], (count,))]
    inputs += drawn_scalars(source, *drawn_range(source), *drawn_range(source))
    return Case(op.name, inputs, {name: type_attr(dtype) for name, dtype in types.items()})


def _bias(case: Case) -> Outcome:
    x, bias = case.array(0), case.array(1)
    ends = _ends(case, 2, 3, 4, 5)
    refuse_unless(x.ndim >= 2, "input")
    refuse_unless(bias.shape == x.shape[-1:], "bias")
    low, high = _summed_range(ends, 1 << 17)
    numbers = Levels(case.inputs[0].dtype, *ends[:2]).numbers(x)
    biases = Levels(case.inputs[1].dtype, *ends[2:]).numbers(bias)
    sums = Levels(case.attr("out_type")[1], low, high)
    return [sums.levels(numbers + biases), *_range(low, high)]


# ---- Products of matrices, and convolutions ----


def _centered(case: Case, ends: list[Any]) -> tuple[list[Levels], list[Array]]:
    """Factors as whole numbers, less the level of zero."""
    levels = [Levels(case.inputs[i].dtype, *ends[2 * i : 2 * i + 2]) for i in (0, 1)]
    arrays = []
    for i, one in enumerate(levels):
        zero = min(max(float(one.places(np.asarray(_F(0)))), -(2.0**30)), 2.0**30)
        centered = case.array(i).astype(np.int64) - int(zero)
        arrays.append(centered.astype(np.int32).astype(np.int64))
    return levels, arrays


def _products(case: Case, levels: list[Levels], sums: Array, dtype: str) -> Outcome:
    """Sums of products of 8 bits are 32 bits long, others 64."""
    if case.array(0).itemsize + case.array(1).itemsize == 2:
        sums = sums.astype(np.int32)
    low, high = range_of_product(levels[0], levels[1], dtype)
    return [clamped(sums.astype(np.float64), dtype), *_range(low, high)]


def _make_matmul(source: Source, op: Any) -> Case:
    types = {"T1": _type(source), "T2": _type(source)}
    types["Toutput"] = "qint32" if source.chance(0.6) else _type(source)
    rows, inner, columns = source.size(7), source.size(7), source.size(7)
    flips = [source.chance(0.4), source.chance(0.4)]
    a, b = [rows, inner], [inner, columns]
    if source.chance(0.05):
        b[0] += 1
    shapes = [shape[::-1] if flip else shape for shape, flip in zip((a, b), flips, strict=True)]
    inputs = [levels_of(source, types[f"T{i + 1}"], shapes[i]) for i in (0, 1)]
    if source.chance(0.03):
        inputs[0] = levels_of(source, types["T1"], shapes[0][:1])
    inputs += drawn_scalars(source, *drawn_range(source), *drawn_range(source))
    attrs = {name: type_attr(dtype) for name, dtype in types.items()}
    attrs |= {"transpose_a": attr_text(flips[0]), "transpose_b": attr_text(flips[1])}
    return Case(op.name, inputs, attrs)


def _matmul(case: Case) -> Outcome:
    ends = _ends(case, 2, 3, 4, 5)
    refuse_unless(case.array(0).ndim == 2, "a")
    levels, (a, b) = _centered(case, ends)
    a, b = (x.T if case.attr(f"transpose_{n}") else x for x, n in ((a, "a"), (b, "b")))
    refuse_unless(a.shape[1] == b.shape[0], "b")
    with np.errstate(all="ignore"):
        return _products(case, levels, a @ b, case.attr("Toutput")[1])


def _make_conv(source: Source, op: Any) -> Case:
    types = {"Tinput": _type(source), "Tfilter": _type(source)}
    types["out_type"] = "qint32" if source.chance(0.6) else _type(source)
    channels = source.integer(1, 4)
    image = image_sizes(source, channels)
    filters = [*drawn_pair(source, 1, 3), channels, source.integer(1, 4)]
    if source.chance(0.05):
        filters[2] += 1
    inputs = [
        levels_of(source, types["Tinput"], image),
        levels_of(source, types["Tfilter"], filters),
    ]
    inputs += drawn_scalars(source, *drawn_range(source), *drawn_range(source))
    attrs = {name: type_attr(dtype) for name, dtype in types.items()}
    dilations = [1, *(drawn_pair(source, 1, 2) if source.chance(0.3) else [1, 1]), 1]
    attrs |= {
        "strides": attr_text([1, *drawn_pair(source, 1, 3), 1]),
        "dilations": attr_text(dilations),
        "padding": attr_text(source.pick(("SAME", "VALID"))),
    }
    return Case(op.name, inputs, attrs)


def _conv(case: Case) -> Outcome:
    ends = _ends(case, 2, 3, 4, 5)
    levels, (image, filters) = _centered(case, ends)
    refuse_unless(image.shape[3] == filters.shape[2], "filter")
    places = [
        Window(
            filters.shape[i],
            case.attr("strides")[i + 1],
            case.attr("dilations")[i + 1],
            case.attr("padding"),
        ).places(image.shape[i + 1], "filter")
        for i in (0, 1)
    ]
    sums = np.zeros((len(image), len(places[0]), len(places[1]), filters.shape[3]), np.int64)
    for (i, rows), (j, columns) in itertools.product(*(list(enumerate(one)) for one in places)):
        for (p, y), (q, x) in itertools.product(rows, columns):
            with np.errstate(all="ignore"):
                sums[:, i, j] += image[:, y, x] @ filters[p, q]
    return _products(case, levels, sums, case.attr("out_type")[1])


# ---- Activations ----


def _make_relu(source: Source, op: Any) -> Case:
    dtype = _type(source)
    inputs = [levels_of(source, dtype, source.small_shape())]
    if op.name == "QuantizedReluX":
        inputs += drawn_scalars(source, source.integer(-8, 40) / 8)
    inputs += drawn_scalars(source, *drawn_range(source))
    out_type = dtype if source.chance(0.95) else "qint16"
    return Case(op.name, inputs, {"Tinput": type_attr(dtype), "out_type": type_attr(out_type)})


def _relu(case: Case) -> Outcome:
    x, dtype = case.array(0), case.inputs[0].dtype
    refuse_unless(case.attr("out_type")[1] == dtype, "out_type")
    numbers = _ends(case, *range(1, len(case.inputs)))
    low, high = numbers[-2:]
    levels = Levels(dtype, low, high)
    most = np.asarray(np.iinfo(np.int32).max)
    if case.op != "QuantizedRelu":
        limit = numbers[0] if case.op == "QuantizedReluX" else _F(6)
        most = levels.levels(np.asarray(limit))
    zero = levels.levels(np.asarray(_F(0)))
    value = np.maximum(np.minimum(x.astype(np.int64), most), zero)
    return [value.astype(x.dtype), *_range(low, high)]


# ---- Large graphs ----


def _levels(values: Values, *shape: int) -> Any:
    """Levels of numbers from -2 to 2."""
    return gen_ops.quantize_v2(values.of(*shape), -2.0, 2.0, tf.quint8)[0]


_ENDS = (-2.0, 2.0)


def _arguments(op: str, values: Values) -> Any:
    """What an op is given, and its attributes."""
    if op in ("QuantizedAdd", "QuantizedMul"):
        return [_levels(values, 500, 600), _levels(values, 600), *_ENDS, *_ENDS], {}
    if op == "QuantizedBiasAdd":
        inputs = [_levels(values, 500, 600), _levels(values, 600), *_ENDS, *_ENDS]
        return inputs, {"out_type": tf.qint32}
    if op == "QuantizedMatMul":
        return [_levels(values, 300, 200), _levels(values, 200, 300), *_ENDS, *_ENDS], {}
    if op == "QuantizedConv2D":
        filters = _levels(values, 3, 3, 32, 16)
        inputs = [_levels(values, 8, 40, 40, 32), filters, *_ENDS, *_ENDS]
        return inputs, {"strides": [1, 1, 1, 1], "padding": "SAME"}
    limit = [1.0] if op == "QuantizedReluX" else []
    return [_levels(values, 500, 600), *limit, *_ENDS], {}


def _large(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        inputs, attrs = _arguments(op, values)
        return [gen_ops.dequantize(*function_of(op)(*inputs, **attrs))]

    return LargeCase(build, FLOAT32)


for _names, _make, _reference in (
    (["QuantizedAdd", "QuantizedMul"], _make_binary, _binary),
    (["QuantizedBiasAdd"], _make_bias, _bias),
    (["QuantizedMatMul"], _make_matmul, _matmul),
    (["QuantizedConv2D"], _make_conv, _conv),
    (["QuantizedRelu", "QuantizedRelu6", "QuantizedReluX"], _make_relu, _relu),
):
    define_tests(_names, cases=_make, reference=_reference, determinism=_large)
