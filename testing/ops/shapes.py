"""Ops that ask for shapes, change them, or make tensors from sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import (
    INDEX_TYPES,
    any_tensor,
    drawn_sizes,
    indices,
    integers,
    normalized,
    scalar,
)
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    RefusedError,
    checked_size,
    longer,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import HUGE, Source

_X = spread("x", 2, 3, 4)


# ---- Reshape, ExpandDims, Squeeze ----


def _make_reshape(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    sizes = list(tensor.value.shape)
    if source.chance(0.8) and tensor.value.size:
        left, sizes = tensor.value.size, []
        while left > 1 and len(sizes) < 6:
            divisors = [n for n in range(1, left + 1) if left % n == 0]
            sizes.append(source.pick(divisors))
            left //= sizes[-1]
        sizes.append(left)
    if sizes and source.chance(0.4):
        place = source.integer(0, len(sizes) - 1)
        sizes[place] = source.pick((-1, -1, -1, -1, 0, -2, 7, *HUGE))
    if source.chance(0.1):
        sizes.append(source.pick((-1, 1, 0, 2**33)))
    shape = indices(source, sizes)
    attrs = {"T": type_attr(tensor.dtype), "Tshape": type_attr(shape.dtype)}
    return Case(op.name, [tensor, shape], attrs)


def _reshape(case: Case) -> Outcome:
    x, sizes = case.array(0), integers(case, 1)
    refuse_unless(sizes.count(-1) <= 1 and min(sizes, default=0) >= -1, "shape")
    known = checked_size([size for size in sizes if size != -1], "shape")
    product = 1
    for size in known:
        product *= size
    if -1 in sizes:
        refuse_unless(product != 0 and x.size % product == 0, "shape")
        sizes[sizes.index(-1)] = x.size // product
    else:
        refuse_unless(product == x.size, "shape")
    return [x.reshape(sizes)]


define_tests(
    "Reshape",
    cases=_make_reshape,
    reference=_reshape,
    gradient=[
        Check(lambda a: gen_ops.reshape(a, [4, 6]), (_X,)),
        Check(lambda a: gen_ops.reshape(a, [-1]), (_X,)),
    ],
)


def _make_expand_dims(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    axis = source.axis(tensor.value.ndim + 1)
    dim = scalar(axis, source.pick(INDEX_TYPES))
    if source.chance(0.2) and dim.value is not None:
        dim.value = dim.value.reshape(1)
    attrs = {"T": type_attr(tensor.dtype), "Tdim": type_attr(dim.dtype)}
    return Case(op.name, [tensor, dim], attrs)


def _expand_dims(case: Case) -> Outcome:
    x = case.array(0)
    axis = normalized(integers(case, 1)[0], x.ndim + 1, "dim")
    return [np.expand_dims(x, axis)]


define_tests(
    "ExpandDims",
    cases=_make_expand_dims,
    reference=_expand_dims,
    gradient=[
        Check(lambda a: gen_ops.expand_dims(a, 1), (_X,)),
        Check(lambda a: gen_ops.expand_dims(a, -1), (_X,)),
    ],
)


def _make_squeeze(source: Source, op: Any) -> Case:
    shape = tuple(1 if source.chance(0.5) else size for size in source.shape())
    tensor = any_tensor(source, op, shape)
    ones = [i for i, size in enumerate(shape) if size == 1]
    axes: list[int] = []
    if ones and source.chance(0.7):
        axes = [source.pick(ones) for _ in range(source.integer(1, 2))]
        axes = [axis - len(shape) if source.chance(0.5) else axis for axis in axes]
    if source.chance(0.15):
        axes.append(source.pick((0, len(shape), -len(shape) - 1, 2**40, -(2**63), 2**63 - 1)))
    attrs = {"T": type_attr(tensor.dtype), "squeeze_dims": attr_text(axes)}
    return Case(op.name, [tensor], attrs, {"axes": axes})


def _squeeze(case: Case) -> Outcome:
    x, axes = case.array(0), case.values["axes"]
    dropped = {normalized(axis, x.ndim, "squeeze_dims") for axis in axes}
    for axis in dropped:
        refuse_unless(x.shape[axis] == 1, "squeeze_dims")
    if not axes:
        dropped = {i for i, size in enumerate(x.shape) if size == 1}
    return [x.reshape([size for i, size in enumerate(x.shape) if i not in dropped])]


_UNIT = spread("unit", 2, 1, 3, 1)
define_tests(
    "Squeeze",
    cases=_make_squeeze,
    reference=_squeeze,
    gradient=[
        Check(gen_ops.squeeze, (_UNIT,)),
        Check(lambda a: gen_ops.squeeze(a, [1]), (_UNIT,)),
    ],
)


# ---- Shape, ShapeN, Rank, Size ----


def _make_asked(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    case = Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})
    case.values["out"] = "int32"
    if op.name != "Rank" and source.chance(0.6):
        case.values["out"] = source.pick(INDEX_TYPES)
        case.attrs["out_type"] = type_attr(case.values["out"])
    return case


def _make_shape_n(source: Source, op: Any) -> Case:
    count = source.integer(1, 4)
    dtype = pick_type(source, op, "T")
    inputs = [Input(dtype, source.values(dtype, source.shape())) for _ in range(count)]
    out = source.pick(INDEX_TYPES)
    attrs = {"T": type_attr(dtype), "N": attr_text(count), "out_type": type_attr(out)}
    return Case(op.name, inputs, attrs, {"out": out})


def _sizes(case: Case, values: Any) -> Array:
    refuse_unless(np.max(values, initial=0) <= np.iinfo(case.values["out"]).max, "input")
    return np.array(values, case.values["out"])


def _define_asked(op: str, answer: Callable[[Array], Any]) -> None:
    define_tests(
        op, cases=_make_asked, reference=lambda case: [_sizes(case, answer(case.array(0)))]
    )


_define_asked("Shape", lambda x: x.shape)
_define_asked("Rank", lambda x: x.ndim)
_define_asked("Size", lambda x: x.size)
define_tests(
    "ShapeN",
    cases=_make_shape_n,
    reference=lambda case: [_sizes(case, case.array(i).shape) for i in range(len(case.inputs))],
)


# ---- Fill and Range ----


def _make_fill(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    dims = indices(source, drawn_sizes(source))
    value = Input(dtype, source.values(dtype, (1,) if source.chance(0.05) else ()))
    attrs = {"T": type_attr(dtype), "index_type": type_attr(dims.dtype)}
    return Case(op.name, [dims, value], attrs)


def _fill(case: Case) -> Outcome:
    shape = checked_size(integers(case, 0), "dims")
    value = case.array(1)
    refuse_unless(value.ndim == 0, "value")
    filled = np.empty(shape, value.dtype)
    filled[...] = value
    return [filled]


_VALUE = spread("value")
define_tests(
    "Fill",
    cases=_make_fill,
    reference=_fill,
    gradient=[
        Check(lambda a: gen_ops.fill([2, 3], a), (_VALUE,)),
        Check(lambda a: gen_ops.fill(np.array([], np.int32), a), (_VALUE,)),
    ],
)


def _make_range(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tidx")
    case = Case(op.name, [], {"Tidx": type_attr(dtype)})
    if dtype in INDEX_TYPES:
        bounds = [source.integer(-20, 20) for _ in range(2)] + [source.integer(-5, 5)]
        if source.chance(0.3):
            limits = np.iinfo(dtype)
            edge = source.pick((limits.max, limits.min))
            place = source.integer(0, 2)
            bounds[place] = edge
            step = max(abs(edge) // 50, 1)
            bounds[2] = source.pick((step, -step, edge)) if place != 2 else edge
        case.inputs = [scalar(bound, dtype) for bound in bounds]
        return case
    numbers = [source.integer(-20, 20) / source.pick((1, 1, 3, 10)) for _ in range(2)]
    numbers.append(source.pick((0.5, 1.0, 2.0, -0.25, -1.0, 0.0, np.inf, np.nan, 0.1, -0.3)))
    for number in numbers:
        value = np.array(number, np.float32 if dtype == "bfloat16" else dtype)
        case.inputs.append(Input(dtype, number_types.from_numbers(value, dtype)))
    return case


def _range(case: Case) -> Outcome:
    values = [number_types.as_numbers(case.array(i), case.inputs[i].dtype) for i in range(3)]
    if values[0].dtype.kind == "i":
        start, limit, delta = (int(value) for value in values)
        refuse_unless(delta != 0, "delta")
        refuse_unless(start <= limit if delta > 0 else start >= limit, "limit")
        elements = range(start, limit, delta)
        if len(elements) > 10**6:
            raise RefusedError("limit")
        return [np.array(elements, values[0].dtype)]
    return [_real_range(values, case.inputs[0].dtype)]


def _real_range(bounds: list[Array], dtype: str) -> Near:
    # In the type itself, which decides how many there are when the last one ends on the limit.
    start, limit, delta = bounds
    refuse_unless(delta != 0 and not np.isnan(delta), "delta")
    refuse_unless(not (delta > 0 and start > limit), "limit")
    refuse_unless(not (delta < 0 and start < limit), "limit")
    with np.errstate(all="ignore"):
        count = int(np.ceil(np.abs((limit - start) / delta)))
    start, delta = longer(start), longer(delta)
    wanted = start + delta * np.arange(count) if count > 1 else np.full(count, start)
    bound = (np.abs(start) + np.abs(wanted)) * number_types.epsilon(dtype)
    return Near(wanted, bound)


define_tests(
    "Range",
    cases=_make_range,
    reference=_range,
    determinism=NotTested("one thread makes all elements"),
)


# ---- Shapes as values ----


def _make_gradient_args(source: Source, op: Any) -> Case:
    x, y = source.broadcast_pair()
    dtype = source.pick(INDEX_TYPES)
    sizes = [list(x), list(y)]
    if source.chance(0.2) and sizes[0]:
        sizes[0][0] = source.pick((-1, 2**31 - 1, 0))
    inputs = [indices(source, shape, dtype) for shape in sizes]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _gradient_args(case: Case) -> Outcome:
    x, y = integers(case, 0), integers(case, 1)
    dtype = case.inputs[0].dtype
    if x == y:
        return [np.zeros(0, dtype), np.zeros(0, dtype)]
    rank = max(len(x), len(y))
    x, y = [1] * (rank - len(x)) + x, [1] * (rank - len(y)) + y
    refuse_unless(all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)), "s1")
    return [np.array([i for i in range(rank) if s[i] == 1], dtype) for s in (x, y)]


define_tests("BroadcastGradientArgs", cases=_make_gradient_args, reference=_gradient_args)


def _broadcast_args(case: Case) -> Outcome:
    x, y = integers(case, 0), integers(case, 1)
    rank = max(len(x), len(y))
    x, y = [1] * (rank - len(x)) + x, [1] * (rank - len(y)) + y
    refuse_unless(all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)), "s1")
    sizes = [b if a == 1 else a for a, b in zip(x, y, strict=True)]
    return [np.array(sizes, case.inputs[0].dtype).reshape(rank)]


define_tests("BroadcastArgs", cases=_make_gradient_args, reference=_broadcast_args)


def _make_concat_offset(source: Source, op: Any) -> Case:
    base = list(source.shape(1))
    count = source.integer(2, 4)
    axis = source.axis(len(base))
    shapes = []
    for _ in range(count):
        shape = list(base)
        if -len(base) <= axis < len(base):
            shape[axis] = source.pick((0, 1, 2, 5, 2**31 - 1)) if source.chance(0.5) else 3
        if source.chance(0.05):
            shape[0] += 1
        if source.chance(0.03):
            shape.append(1)
        shapes.append(Input("int32", np.array([min(s, 2**31 - 1) for s in shape], np.int32)))
    return Case(op.name, [scalar(axis, "int32"), *shapes], {"N": attr_text(count)})


def _concat_offset(case: Case) -> Outcome:
    shapes = [integers(case, i) for i in range(1, len(case.inputs))]
    rank = len(shapes[0])
    refuse_unless(all(len(shape) == rank for shape in shapes), "shape")
    axis = normalized(integers(case, 0)[0], rank, "concat_dim")
    for shape in shapes:
        refuse_unless(all(shape[i] == shapes[0][i] for i in range(rank) if i != axis), "shape")
    offsets, total = [], 0
    for shape in shapes:
        refuse_unless(total < 2**31, "shape")
        offset = np.zeros(rank, np.int32)
        offset[axis] = total
        offsets.append(offset)
        total += shape[axis]
    return list(offsets)


define_tests("ConcatOffset", cases=_make_concat_offset, reference=_concat_offset)


def _make_permutation(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    values = source.random.permutation(source.integer(0, 9)).astype(dtype)
    if values.size and source.chance(0.25):
        values[0] = source.pick((-1, values.size, 0, np.iinfo(dtype).max, np.iinfo(dtype).min))
    return Case(op.name, [Input(dtype, values)], {"T": type_attr(dtype)})


def _inverted(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(sorted(x.tolist()) == list(range(x.size)), "x")
    return [np.argsort(x).astype(x.dtype)]


define_tests("InvertPermutation", cases=_make_permutation, reference=_inverted)
