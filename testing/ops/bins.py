"""Ops that space numbers evenly, find numbers among sorted ones, and count them."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, integers, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

# ---- LinSpace ----


def _scalar_or_not(source: Source) -> tuple[int, ...]:
    return () if source.chance(0.97) else source.pick(((1,), (2,)))


def _make_lin_space(source: Source, op: Any) -> Case:
    dtype, index = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    ends = [Input(dtype, source.values(dtype, _scalar_or_not(source), "plain")) for _ in range(2)]
    num = scalar(source.integer(-1, 9), index)
    attrs = {"T": type_attr(dtype), "Tidx": type_attr(index)}
    return Case(op.name, [*ends, num], attrs)


def _lin_space(case: Case) -> Outcome:
    start, stop, num = numbers(case, 0), numbers(case, 1), integers(case, 2)[0]
    refuse_unless(start.ndim == 0 and stop.ndim == 0, "start")
    refuse_unless(num > 0, "num")
    exact = np.linspace(np.float64(start), np.float64(stop), num)
    dtype = case.inputs[0].dtype
    largest = max(abs(float(start)), abs(float(stop)), number_types.smallest_normal(dtype))
    return [Near(exact, largest * number_types.epsilon(dtype) * 4)]


define_tests(
    "LinSpace",
    cases=_make_lin_space,
    reference=_lin_space,
    gradient=[
        Check(lambda a, b: gen_ops.lin_space(a, b, 5), (spread("start"), spread("stop"))),
        Check(lambda a, b: gen_ops.lin_space(a, b, 1), (spread("start"), spread("stop"))),
    ],
    determinism=NotTested("runs on one thread"),
)


# ---- UnravelIndex ----


def _make_unravel(source: Source, op: Any) -> Case:
    dtype = source.pick(INDEX_TYPES)
    dims = [source.integer(1, 4) for _ in range(source.integer(0, 4))]
    if dims and source.chance(0.1):
        dims[0] = source.pick((0, -1, 2**31 - 1))
    if dtype == "int64" and source.chance(0.05):
        dims += [2**62, 3]
    total = max(int(np.prod([size for size in dims if 0 < size < 9], dtype=np.int64)), 1)
    shape = source.pick(((), (source.integer(0, 5),), (source.integer(1, 5),)))
    if source.chance(0.05):
        shape = (2, 2)
    places = source.index_values(dtype, shape, 0, total - 1)
    if places.size and source.chance(0.08):
        places.reshape(-1)[0] = source.pick((-1, total, np.iinfo(dtype).max))
    inputs = [Input(dtype, places), Input(dtype, np.array(dims, dtype).reshape(len(dims)))]
    return Case(op.name, inputs, {"Tidx": type_attr(dtype)})


def _unravel(case: Case) -> Outcome:
    places, dims = case.array(0), integers(case, 1)
    refuse_unless(places.ndim <= 1, "indices")
    total = 1
    for size in dims:
        refuse_unless(size > 0, "dims")
        total *= size
    refuse_unless(total < 2**63, "dims")
    rest = [int(place) for place in places.reshape(-1)]
    refuse_unless(all(0 <= place < total for place in rest), "indices")
    rows = []
    for size in reversed(dims):
        rows.append([place % size for place in rest])
        rest = [place // size for place in rest]
    return [np.array(rows[::-1], places.dtype).reshape(len(dims), *places.shape)]


define_tests("UnravelIndex", cases=_make_unravel, reference=_unravel)


# ---- LowerBound, UpperBound, Bucketize ----

_ORDERED = (*number_types.REALS, *number_types.INTEGERS)


def _without_nan(stored: Array, dtype: str) -> Array:
    values = number_types.as_numbers(stored, dtype)
    return np.where(values == values, stored, np.zeros((), stored.dtype))


def _make_bound(source: Source, op: Any) -> Case:
    dtype, out = source.pick(_ORDERED), source.pick(INDEX_TYPES)
    rows = source.integer(0, 3)
    shapes: list[tuple[int, ...]] = [(rows, source.integer(0, 7)), (rows, source.integer(0, 5))]
    if source.chance(0.08):
        shapes[1] = source.pick(((rows + 1, 2), (rows,), (rows, 2, 1)))
    style = source.pick(("small", "plain", "edges"))
    arrays = [_without_nan(source.values(dtype, shape, style), dtype) for shape in shapes]
    order = np.argsort(number_types.as_numbers(arrays[0], dtype), -1, kind="stable")
    inputs = [Input(dtype, np.take_along_axis(arrays[0], order, -1)), Input(dtype, arrays[1])]
    return Case(op.name, inputs, {"T": type_attr(dtype), "out_type": type_attr(out)}, {"out": out})


def _bound(case: Case) -> Outcome:
    rows, values = numbers(case, 0), numbers(case, 1)
    refuse_unless(rows.ndim == 2, "sorted_inputs")
    refuse_unless(values.ndim == 2 and len(values) == len(rows), "values")
    side: Any = "left" if case.op == "LowerBound" else "right"
    found = np.zeros(values.shape, case.values["out"])
    for i, row in enumerate(rows):
        found[i] = np.searchsorted(row, values[i], side)
    return [found]


define_tests(["LowerBound", "UpperBound"], cases=_make_bound, reference=_bound)


def _make_bucketize(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    boundaries = sorted(source.integer(-4, 4) / 2 for _ in range(source.integer(0, 5)))
    if len(boundaries) > 1 and source.chance(0.06):
        boundaries.reverse()
    x = Input(dtype, source.values(dtype, source.shape()))
    attrs = {"T": type_attr(dtype), "boundaries": attr_text(boundaries)}
    return Case(op.name, [x], attrs, {"boundaries": boundaries})


def _bucketize(case: Case) -> Outcome:
    boundaries = case.values["boundaries"]
    refuse_unless(boundaries == sorted(boundaries), "boundaries")
    x = case.array(0)
    below = [~(x < boundary) for boundary in boundaries]
    return [np.sum(below, 0, dtype=np.int32) if below else np.zeros(x.shape, np.int32)]


define_tests(
    "Bucketize",
    cases=_make_bucketize,
    reference=_bucketize,
    determinism=NotTested("gives integers"),
)


# ---- Bincount and HistogramFixedWidth ----


def _make_bincount(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0, 3, 4)
    arr = source.index_values("int32", shape, 0, 6)
    if arr.size and source.chance(0.06):
        arr.reshape(-1)[-1] = source.pick((-1, -(2**31), 2**31 - 1))
    weights = shape if source.chance(0.7) else (0,)
    if source.chance(0.05):
        weights = source.small_shape(1, 2, 4)
    inputs = [Input("int32", arr), scalar(source.integer(-1, 8), "int32")]
    inputs.append(Input(dtype, source.values(dtype, weights)))
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _bincount(case: Case) -> Outcome:
    arr, size, weights = case.array(0), integers(case, 1)[0], case.array(2)
    refuse_unless(size >= 0, "size")
    refuse_unless(weights.size == 0 or weights.shape == arr.shape, "weights")
    refuse_unless((arr >= 0).all(), "arr")
    dtype = case.inputs[2].dtype
    kept = arr.reshape(-1) < size
    places = arr.reshape(-1)[kept]
    added = weights.reshape(-1)[kept] if weights.size else np.ones(places.size, weights.dtype)
    if not number_types.is_inexact(dtype):
        sums = np.zeros(size, weights.dtype)
        np.add.at(sums, places, added)
        return [sums]
    exact, scale = np.zeros(size, np.longdouble), np.zeros(size, np.longdouble)
    np.add.at(exact, places, added.astype(np.longdouble))
    np.add.at(scale, places, np.abs(added.astype(np.longdouble)))
    return [summed(exact, scale, max(arr.size, 1), dtype)]


_PLACES = np.array([1, 0, 3, 1], np.int32)


def _large_counts(values: Values) -> Any:
    numbers_of = values.of(300_000)
    weighted = gen_ops.bincount(values.rows(300_000, 50), np.int32(40), numbers_of)
    limits = gen_ops.cast(np.array([-1.0, 1.0]), values.dtype)
    return [weighted, gen_ops.histogram_fixed_width(numbers_of, limits, np.int32(20))]


_LARGE = LargeCase(_large_counts, FLOAT32_AND_64)
define_tests(
    "Bincount",
    cases=_make_bincount,
    reference=_bincount,
    gradient=[Check(lambda w: gen_ops.bincount(_PLACES, np.int32(3), w), (spread("w", 4),))],
    determinism=_LARGE,
)


def _make_histogram(source: Source, op: Any) -> Case:
    dtype, out = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    limits: Array = np.array(sorted(source.integer(-5, 5) for _ in range(2))).astype(dtype)
    if source.chance(0.1):
        limits = limits[::-1].copy() if source.chance(0.5) else limits[:1]
    values = source.values(dtype, source.shape())
    inputs = [Input(dtype, values), Input(dtype, limits), scalar(source.integer(0, 6), "int32")]
    return Case(op.name, inputs, {"T": type_attr(dtype), "dtype": type_attr(out)}, {"out": out})


def _histogram(case: Case) -> Outcome:
    values, limits, bins = case.array(0), case.array(1), integers(case, 2)[0]
    refuse_unless(bins > 0, "nbins")
    refuse_unless(limits.shape == (2,) and limits[0] < limits[1], "value_range")
    refuse_unless(bins == 1 or not np.isnan(values.astype(np.float64)).any(), "values")
    low, high = limits.astype(np.float64)
    inside = np.clip(values, limits[0], limits[1]).reshape(-1).astype(np.float64)
    places = np.nan_to_num((inside - low) / (high / bins - low / bins))
    found = np.minimum(places, bins - 1).astype(np.int64)
    return [np.bincount(found, minlength=bins).astype(case.values["out"])]


define_tests(
    "HistogramFixedWidth",
    cases=_make_histogram,
    reference=_histogram,
    determinism=_LARGE,
)
