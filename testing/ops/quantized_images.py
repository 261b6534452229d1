"""Quantized tensors in other shapes, joined and cut, and quantized images."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.levels import (
    TYPES,
    Levels,
    away,
    clamped,
    drawn_range,
    drawn_scalars,
    levels_of,
)
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Near,
    Outcome,
    refuse_unless,
    type_attr,
    ulps,
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


# ---- Pooling ----


def _make_pool(source: Source, op: Any) -> Case:
    dtype = _type(source)
    image = image_sizes(source, source.size(4))
    inputs = [levels_of(source, dtype, image), *drawn_scalars(source, *drawn_range(source))]
    attrs = {
        "T": type_attr(dtype),
        "ksize": attr_text([1, *drawn_pair(source, 1, 4), 1]),
        "strides": attr_text([1, *drawn_pair(source, 1, 3), 1]),
        "padding": attr_text(source.pick(("SAME", "VALID"))),
    }
    return Case(op.name, inputs, attrs)


def _pool(case: Case) -> Outcome:
    image, (low, high) = case.array(0), _ends(case, 1, 2)
    places = [
        Window(case.attr("ksize")[i], case.attr("strides")[i], 1, case.attr("padding")).places(
            image.shape[i], "input"
        )
        for i in (1, 2)
    ]
    shape = (image.shape[0], len(places[0]), len(places[1]), image.shape[3])
    value = np.zeros(shape, image.dtype)
    for i, j in itertools.product(range(shape[1]), range(shape[2])):
        if value.size == 0:
            break
        rows, columns = [[at for _, at in places[d][k]] for d, k in ((0, i), (1, j))]
        block = image[:, rows][:, :, columns].astype(np.int64)
        if case.op == "QuantizedMaxPool":
            value[:, i, j] = block.max(axis=(1, 2))
        else:
            mean = block.sum(axis=(1, 2)) / (len(rows) * len(columns))
            value[:, i, j] = np.trunc(mean).astype(image.dtype)
    return [value, *_range(low, high)]


# ---- Shapes ----


def _make_reshape(source: Source, op: Any) -> Case:
    dtype = _type(source)
    shape = source.small_shape()
    count = int(np.prod(shape))
    factors = [k for k in range(1, count + 1) if count % k == 0] or [0]
    first = source.pick(factors)
    sizes = [first, -1 if source.chance(0.5) and count else count // max(first, 1)]
    if source.chance(0.08):
        sizes[source.integer(0, 1)] = source.pick((-1, -2, 7, 2**40))
    index = source.pick(("int32", "int64"))
    wanted = np.array(sizes, np.int64).astype(index)
    inputs = [
        levels_of(source, dtype, shape),
        Input(index, wanted),
        *drawn_scalars(source, *drawn_range(source)),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype), "Tshape": type_attr(index)})


def _reshape(case: Case) -> Outcome:
    x, sizes = case.array(0), [int(size) for size in case.array(1)]
    low, high = _ends(case, 2, 3)
    refuse_unless(min(sizes) >= -1 and sizes.count(-1) <= 1, "shape")
    known = int(np.prod([size for size in sizes if size >= 0], dtype=object))
    if -1 in sizes:
        refuse_unless(known > 0 and x.size % known == 0, "shape")
    else:
        refuse_unless(known == x.size, "shape")
    return [x.reshape(sizes), *_range(low, high)]


def _make_concat(source: Source, op: Any) -> Case:
    dtype = _type(source)
    count = source.integer(2, 3)
    shape = list(source.small_shape(1))
    axis = source.axis(len(shape), 0.93)
    shapes = [list(shape) for _ in range(count)]
    if -len(shape) <= axis < len(shape):
        for one in shapes:
            one[axis] = source.size(4)
    if source.chance(0.05):
        shapes[0][source.integer(0, len(shape) - 1)] += 1
    ends = [drawn_range(source) for _ in range(count)]
    if source.chance(0.4):
        ends = [ends[0]] * count
    inputs = [Input("int32", np.array(axis, np.int32))]
    inputs += [levels_of(source, dtype, one) for one in shapes]
    for i in (0, 1):
        inputs += drawn_scalars(source, *(pair[i] for pair in ends))
    return Case(op.name, inputs, {"T": type_attr(dtype), "N": attr_text(count)})


def _concat(case: Case) -> Outcome:
    count, axis = case.attr("N"), int(case.array(0))
    arrays = [case.array(1 + i) for i in range(count)]
    numbers = _ends(case, *range(1 + count, 1 + 3 * count))
    lows, highs = numbers[:count], numbers[count:]
    rank = arrays[0].ndim
    refuse_unless(-rank <= axis < rank, "concat_dim")
    without = [[*x.shape[: axis % rank], *x.shape[axis % rank + 1 :]] for x in arrays]
    refuse_unless(all(one == without[0] for one in without), "values")
    dtype = case.inputs[1].dtype
    whole = Levels(dtype, min(lows), max(highs))
    parts = []
    for x, low, high in zip(arrays, lows, highs, strict=True):
        same = low == whole.low and high == whole.high
        parts.append(x if same else whole.levels(Levels(dtype, low, high).numbers(x)))
    return [np.concatenate(parts, axis), *_range(whole.low, whole.high)]


# ---- Normalization ----


def _make_batch_norm(source: Source, op: Any) -> Case:
    types = {"Tinput": _type(source), "out_type": source.pick(("qint32", *TYPES))}
    image = image_sizes(source, source.size(4))
    case = Case(op.name, [levels_of(source, types["Tinput"], image)])
    case.inputs += drawn_scalars(source, *drawn_range(source))
    for _ in range(4):
        count = image[3] + (1 if source.chance(0.02) else 0)
        case.inputs.append(levels_of(source, types["Tinput"], (count,)))
        case.inputs += drawn_scalars(source, *drawn_range(source))
    case.attrs = {name: type_attr(dtype) for name, dtype in types.items()}
    case.attrs["variance_epsilon"] = attr_text(source.pick((0.001, 8.0)))
    case.attrs["scale_after_normalization"] = attr_text(source.chance(0.5))
    return case


def _batch_norm(case: Case) -> Outcome:
    dtype, to = case.inputs[0].dtype, case.attr("out_type")[1]
    image = case.array(0)
    numbers = []
    for k in range(5):
        low, high = _ends(case, 3 * k + 1, 3 * k + 2)
        levels = case.array(3 * k)
        refuse_unless(k == 0 or levels.shape == image.shape[3:], "m")
        numbers.append(Levels(dtype, low, high).numbers(levels))
    t, mean, variance, beta, gamma = numbers
    with np.errstate(all="ignore"):
        scale = _F(1) / np.sqrt(variance + _F(case.attr("variance_epsilon")))
        if case.attr("scale_after_normalization"):
            scale = scale * gamma
        value = (t - mean) * scale + beta
    return [Levels(to, -(2**20), 2**20).levels(value), *_range(-(2**20), 2**20)]


def _make_instance_norm(source: Source, op: Any) -> Case:
    image = image_sizes(source, source.size(4))
    if source.chance(0.04):
        image = image[:3]
    inputs = [levels_of(source, "quint8", image), *drawn_scalars(source, *drawn_range(source))]
    given = source.chance(0.4)
    low, high = drawn_range(source) if given else (0.0, 0.0)
    attrs = {
        "T": type_attr("quint8"),
        "output_range_given": attr_text(given),
        "given_y_min": attr_text(low),
        "given_y_max": attr_text(high),
    }
    return Case(op.name, inputs, attrs)


def _instance_norm(case: Case) -> Outcome:
    x, given = case.array(0), case.attr("output_range_given")
    low, high = _F(case.attr("given_y_min")), _F(case.attr("given_y_max"))
    refuse_unless(not given or low < high, "given_y_min")
    refuse_unless(x.ndim == 4, "x")
    numbers = np.asarray(Levels("quint8", *_ends(case, 1, 2)).numbers(x), np.float64)
    y = numbers
    if x.size:
        centered = numbers - numbers.mean(axis=(1, 2), keepdims=True)
        variance = (centered**2).mean(axis=(1, 2), keepdims=True)
        y = centered / np.sqrt(variance + np.float64(_F(1e-5)))
    if not given:
        low, high = (_F(y.min()), _F(y.max())) if y.size else (_F(0), _F(0))
        high = max(high, low + _F(0.001))
    ends: Outcome = [ulps(np.asarray(end), "float32", 8) for end in (low, high)]
    # A sum in another order may move a number to the next level.
    got = Levels("quint8", low, high).levels(y.astype(np.float32)).astype(np.int64)
    return [_near_levels(got, 1), *ends]


def _near_levels(levels: Array, most: int) -> Drawn:
    """Levels that may differ by `most`."""

    def check(values: Array) -> str:
        far = np.abs(values.astype(np.int64) - levels) > most
        return f"differs from {levels} by more than {most}: {values}" if far.any() else ""

    return Drawn(levels.shape, check)


# ---- Other sizes of images ----


def _make_resize(source: Source, op: Any) -> Case:
    dtype = source.pick(("quint8", "qint32", "float32"))
    image = image_sizes(source, source.integer(1, 3))
    sizes = [source.integer(1, 7), source.integer(1, 7)]
    if source.chance(0.05):
        sizes[source.integer(0, 1)] = source.pick((0, -1))
    pixels = Input(dtype, source.values(dtype, image, "plain"))
    if dtype != "float32":
        pixels = levels_of(source, dtype, image)
    inputs = [
        pixels,
        Input("int32", np.array(sizes, np.int32)),
        *drawn_scalars(source, *drawn_range(source)),
    ]
    flags = source.pick(((False, False), (True, False), (False, True), (True, True)))
    attrs = {
        "T": type_attr(dtype),
        "align_corners": attr_text(flags[0]),
        "half_pixel_centers": attr_text(flags[1]),
    }
    return Case(op.name, inputs, attrs)


def _line(case: Case, before: int, after: int) -> list[tuple[int, int, float]]:
    corners, centers = case.attr("align_corners"), case.attr("half_pixel_centers")
    step = _F(before) / _F(after)
    if corners and after > 1:
        step = _F(before - 1) / _F(after - 1)
    found = []
    for i in range(after):
        place = (_F(i) + _F(0.5)) * step - _F(0.5) if centers else _F(i) * step
        floor = np.floor(place)
        high = min(int(np.ceil(place)), before - 1)
        found.append((min(max(int(floor), 0), high), high, float(place - floor)))
    return found


def _resize(case: Case) -> Outcome:
    image, sizes = case.array(0), case.array(1)
    low, high = _ends(case, 2, 3)
    refuse_unless(not (case.attr("align_corners") and case.attr("half_pixel_centers")), "size")
    refuse_unless(image.shape[1] > 0 and image.shape[2] > 0, "images")
    refuse_unless((sizes > 0).all(), "size")
    dtype = case.inputs[0].dtype
    value = np.zeros((len(image), *sizes, image.shape[3]))
    for (i, row), (j, column) in itertools.product(
        enumerate(_line(case, image.shape[1], int(sizes[0]))),
        enumerate(_line(case, image.shape[2], int(sizes[1]))),
    ):
        lines = []
        for y in row[:2]:
            left, right = (image[:, y, x].astype(np.float64) for x in column[:2])
            lines.append(left + (right - left) * column[2])
        value[:, i, j] = lines[0] + (lines[1] - lines[0]) * row[2]
    result: Any = Near(value, np.abs(image).max(initial=0) * 2.0**-22)
    if dtype != "float32":
        result = clamped(away(value), dtype)
    return [result, *_range(low, high)]


# ---- Large graphs ----


def _levels(values: Values, *shape: int) -> Any:
    """Levels of numbers from -2 to 2."""
    return gen_ops.quantize_v2(values.of(*shape), -2.0, 2.0, tf.quint8)[0]


_ENDS = (-2.0, 2.0)


def _arguments(op: str, values: Values) -> Any:
    """What an op is given, and its attributes."""
    if op == "QuantizedReshape":
        return [_levels(values, 500, 600), [600, -1], *_ENDS], {}
    if op == "QuantizedConcat":
        tensors = [_levels(values, 500, 300), _levels(values, 500, 300)]
        return [1, tensors, [-2.0, -1.0], [2.0, 2.0]], {}
    images = _levels(values, 8, 40, 40, 32)
    if op in ("QuantizedAvgPool", "QuantizedMaxPool"):
        windows = {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
        return [images, *_ENDS], windows
    if op == "QuantizedBatchNormWithGlobalNormalization":
        vectors = [part for _ in range(4) for part in (_levels(values, 32), 0.0, 2.0)]
        attrs = {"variance_epsilon": 0.1, "scale_after_normalization": True}
        return [images, *_ENDS, *vectors], {"out_type": tf.qint32, **attrs}
    size = [[50, 70]] if op == "QuantizedResizeBilinear" else []
    return [images, *size, *_ENDS], {}


def _large(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        inputs, attrs = _arguments(op, values)
        return [gen_ops.dequantize(*function_of(op)(*inputs, **attrs))]

    return LargeCase(build, FLOAT32)


for _names, _make, _reference in (
    (["QuantizedAvgPool", "QuantizedMaxPool"], _make_pool, _pool),
    (["QuantizedReshape"], _make_reshape, _reshape),
    (["QuantizedConcat"], _make_concat, _concat),
    (["QuantizedBatchNormWithGlobalNormalization"], _make_batch_norm, _batch_norm),
    (["QuantizedInstanceNorm"], _make_instance_norm, _instance_norm),
    (["QuantizedResizeBilinear"], _make_resize, _resize),
):
    define_tests(_names, cases=_make, reference=_reference, determinism=_large)
