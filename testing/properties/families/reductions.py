"""Reductions, sums of many tensors, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from testing.properties import number_types
from testing.properties.case import Case, Input, attr_text
from testing.properties.families.rows import summed
from testing.properties.families.shapes import INDEX_TYPES, integers, normalized, scalar
from testing.properties.number_types import Array
from testing.properties.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refer,
    refuse_unless,
    type_attr,
)
from testing.properties.source import Source


def _make_reduction(source: Source, op: Any) -> Case:
    types = [attr.name for attr in op.attr]
    dtype = pick_type(source, op, "T") if "T" in types else "bool"
    x = Input(dtype, source.values(dtype, source.small_shape()))
    assert x.value is not None
    rank = x.value.ndim
    axes = [int(axis) for axis in source.random.permutation(rank)[: source.integer(0, rank)]]
    axes = [axis - rank if source.chance(0.4) else axis for axis in axes]
    if source.chance(0.1):
        axes.append(source.pick((rank, -rank - 1, 0, 2**31 - 1)))
    index_type = source.pick(INDEX_TYPES)
    values: Array = np.array(axes, index_type).reshape(len(axes))
    if len(axes) == 1 and source.chance(0.5):
        values = values.reshape(())
    if source.chance(0.02):
        values = values.reshape(1, -1)
    keep = source.chance(0.5)
    case = Case(op.name, [x, Input(index_type, values)], values={"keep": keep})
    case.attrs = {"Tidx": type_attr(index_type), "keep_dims": attr_text(keep)}
    if "T" in types:
        case.attrs["T"] = type_attr(dtype)
    return case


def _axes(case: Case) -> tuple[int, ...]:
    x, axes = case.array(0), case.array(1)
    refuse_unless(axes.ndim <= 1, "reduction_indices")
    found = [normalized(axis, x.ndim, "reduction_indices") for axis in integers(case, 1)]
    refuse_unless(len(set(found)) == len(found), "reduction_indices")
    return tuple(found)


def _counted(case: Case, axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= case.array(0).shape[axis]
    return count


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def _sum(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.sum(x, axes, x.dtype, keepdims=keep)]
    sums = np.asarray(np.sum(_wide(x), axes, keepdims=keep))
    scale = np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep))
    return [summed(sums, scale, _counted(case, axes), dtype)]


def _mean(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    count = _counted(case, axes)
    if not number_types.is_inexact(dtype):
        wide = np.uint64 if x.dtype.kind == "u" else np.int64
        sums = np.asarray(np.sum(x, axes, wide, keepdims=keep))
        means = [
            0 if count == 0 else abs(int(s)) // count * (-1 if s < 0 else 1) for s in sums.flat
        ]
        return [np.array(means, x.dtype).reshape(sums.shape)]
    sums = np.asarray(np.sum(_wide(x), axes, keepdims=keep))
    scale = np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep))
    near = summed(sums, scale, count + 2, dtype)
    if count == 0:
        return [Near(sums + np.nan, 0.0, near.any_where if np.iscomplexobj(sums) else None)]
    return [Near(near.value / count, near.bound / count + _tiny(dtype), near.any_where)]


def _tiny(dtype: str) -> float:
    return number_types.smallest_normal(dtype) * number_types.epsilon(dtype) * 2


def _prod(case: Case) -> Outcome:
    axes, keep = _axes(case), case.values["keep"]
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.prod(x, axes, x.dtype, keepdims=keep)]
    value = np.asarray(np.prod(_wide(x), axes, keepdims=keep))
    # On the way some products may overflow or vanish that the whole does not.
    sizes = np.abs(np.log2(np.abs(_wide(x)), where=x != 0, out=np.zeros(x.shape, np.longdouble)))
    way = np.asarray(np.sum(sizes, axes, keepdims=keep))
    odd = ~(way < abs(np.log2(number_types.smallest_normal(dtype))))
    odd |= ~np.isfinite(np.asarray(np.sum(np.abs(_wide(x)), axes, keepdims=keep)))
    count = _counted(case, axes)
    bound = np.abs(np.where(odd, 0, value)) * (number_types.epsilon(dtype) * 2 * max(count, 1))
    return [Near(value, np.asarray(bound, np.float64) + _tiny(dtype), odd)]


def _extremum(function: Callable[..., Any], largest: bool) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        axes, keep = _axes(case), case.values["keep"]
        x = numbers(case, 0)
        if x.dtype.kind == "f":
            first = -np.inf if largest else np.inf
            value = function(x, axes, keepdims=keep, initial=first)
            return [Near(np.asarray(value), 0.0)]  # which of two zeros comes is not said
        limits = np.iinfo(x.dtype)
        first = limits.min if largest else limits.max
        return [np.asarray(function(x, axes, keepdims=keep, initial=first)).astype(x.dtype)]

    return compute


def _truth(function: Callable[..., Any]) -> Callable[[Case], Outcome]:
    return lambda case: [
        np.asarray(function(case.array(0), _axes(case), keepdims=case.values["keep"]))
    ]


refer("Sum", _make_reduction, _sum)
refer("Mean", _make_reduction, _mean)
refer("Prod", _make_reduction, _prod)
refer("Max", _make_reduction, _extremum(np.max, True))
refer("Min", _make_reduction, _extremum(np.min, False))
refer("All", _make_reduction, _truth(np.all))
refer("Any", _make_reduction, _truth(np.any))


def _make_arg(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.shape(0 if source.chance(0.05) else 1)
    x = Input(dtype, source.values(dtype, shape))
    dimension = scalar(source.axis(len(shape)), source.pick(INDEX_TYPES))
    out = source.pick(INDEX_TYPES)
    attrs = {"T": type_attr(dtype), "Tidx": type_attr(dimension.dtype)}
    attrs["output_type"] = type_attr(out)
    return Case(op.name, [x, dimension], attrs, {"out": out})


def _arg(case: Case) -> Outcome:
    """The first extreme element that is no NaN; 0 where there is none."""
    x = numbers(case, 0)
    refuse_unless(x.ndim >= 1, "input")
    axis = normalized(integers(case, 1)[0], x.ndim, "dimension")
    refuse_unless(x.shape[axis] > 0, "input")
    largest = case.op == "ArgMax"
    rows = np.moveaxis(x, axis, -1)
    found = np.zeros(rows.shape[:-1], case.values["out"])
    if found.size:
        for place in np.ndindex(found.shape):
            best = None
            for i, element in enumerate(rows[place]):
                better = best is None or (element > best if largest else element < best)
                if element == element and better:
                    best, found[place] = element, i
    return [found]


refer(["ArgMax", "ArgMin"], _make_arg, _arg)


# ---- AddN, L2Loss ----


def _make_add_n(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    count = source.integer(1, 11)
    shape = source.small_shape(0, 8, 4)
    inputs = [Input(dtype, source.values(dtype, shape)) for _ in range(count)]
    if count > 1 and source.chance(0.2):
        inputs[-1] = Input(dtype, None, "", 0)
    elif source.chance(0.06):
        inputs[-1] = Input(dtype, source.values(dtype, source.small_shape()))
    return Case(op.name, inputs, {"T": type_attr(dtype), "N": attr_text(count)})


def _add_n(case: Case) -> Outcome:
    parts = [numbers(case, i) for i in range(len(case.inputs))]
    dtype = case.inputs[0].dtype
    refuse_unless(all(part.shape == parts[0].shape for part in parts), "inputs")
    if not number_types.is_inexact(dtype):
        return [np.sum(parts, 0, parts[0].dtype)]
    if len(parts) == 1:
        return [Near(parts[0], 0.0)]
    stacked = _wide(np.stack(parts))
    sums, scale = np.sum(stacked, 0), np.sum(np.abs(stacked), 0)
    return [summed(np.asarray(sums), np.asarray(scale), len(parts), dtype)]


refer("AddN", _make_add_n, _add_n)


def _make_l2(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    return Case(
        op.name, [Input(dtype, source.values(dtype, source.shape()))], {"T": type_attr(dtype)}
    )


def _l2(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    total = np.asarray(np.sum(_wide(x) ** 2))
    near = summed(total, total, x.size + 2, dtype)
    return [Near(total / 2, near.bound, near.any_where)]


refer("L2Loss", _make_l2, _l2)


# ---- Products of matrices ----


def _make_product(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rows, inner, columns = (source.size(7) for _ in range(3))
    batched = op.name.startswith("Batch")
    flags = ("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b")
    turned = [source.chance(0.5) for _ in flags]
    shapes = [[rows, inner], [inner, columns]]
    shapes = [shape[::-1] if turn else shape for shape, turn in zip(shapes, turned, strict=True)]
    if source.chance(0.1):
        shapes[source.integer(0, 1)] = list(source.small_shape(0, 3))
    if batched:
        batch = source.small_shape(0, 4, 3)
        pair = source.broadcast_pair() if source.chance(0.1) else (batch, batch)
        if op.name == "BatchMatMulV2" and source.chance(0.5):
            ones = tuple(1 if source.chance(0.4) else size for size in batch)
            pair = (batch, ones[source.integer(0, len(ones)) :])
        shapes = [[*one, *shape] for one, shape in zip(pair, shapes, strict=True)]
    style = source.pick(("small", "plain", "plain", "edges"))
    inputs = [Input(dtype, source.values(dtype, shape, style)) for shape in shapes]
    if source.chance(0.1):
        inputs[1] = Input(dtype, None, "", 0)
    attrs = {"T": type_attr(dtype)} | dict(zip(flags, map(attr_text, turned), strict=True))
    return Case(op.name, inputs, attrs, {"turned": turned})


def _product(case: Case) -> Outcome:
    a, b = numbers(case, 0), numbers(case, 1)
    batched = case.op.startswith("Batch")
    if batched:
        refuse_unless(a.ndim >= 2, "x")
        refuse_unless(b.ndim >= 2, "y")
        if case.op == "BatchMatMul":
            refuse_unless(a.shape[:-2] == b.shape[:-2], "y")
    else:
        refuse_unless(a.ndim == 2, "a")
        refuse_unless(b.ndim == 2, "b")
    a, b = (
        (np.conj(x) if batched else x).swapaxes(-1, -2) if turn else x
        for x, turn in zip((a, b), case.values["turned"], strict=True)
    )
    refuse_unless(a.shape[-1] == b.shape[-2], "b")
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        refuse_unless(False, "y")
    dtype = case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        return [np.matmul(a, b)]
    return [multiplied(longer(a), longer(b), dtype)]


def multiplied(a: Array, b: Array, dtype: str) -> Near:
    """The product with the bound that any order of additions keeps.

    Where numbers are infinite, and where a product overflows on its way, all is open but for NaN.
    """
    value = np.matmul(a, b)
    scale = np.matmul(np.abs(a), np.abs(b))
    near = summed(value, scale, 2 * a.shape[-1] + 2, dtype)
    odd = near.any_where
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        odd = np.isinf(scale) | np.isnan(scale) | (odd if odd is not None else False)
    return Near(near.value, near.bound, odd)


refer(["MatMul", "BatchMatMul", "BatchMatMulV2"], _make_product, _product)
