"""Ops that combine rows of the same segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import float_dtypes_of, function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, integers, row_indices, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    checked_size,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_COUNTED = {Property.STATIC_SHAPE: "the last id, which a step reads, says how many rows there are"}

# ---- What segments are combined to ----

# The rows of a segment, and the dtype, to the result. Sums and products come with their bounds.
Combine = Callable[[Array, str], Any]


def _wide(rows: Array) -> Array:
    return rows.astype(np.clongdouble if np.iscomplexobj(rows) else np.longdouble)


def _tiny(dtype: str) -> float:
    return number_types.smallest_normal(dtype)


def _sum(rows: Array, dtype: str) -> Any:
    if not number_types.is_inexact(dtype):
        return np.sum(rows, 0, rows.dtype), 0.0
    scale = np.sum(np.abs(_wide(rows)), 0)
    bound = (np.where(np.isfinite(scale), scale, 0) + _tiny(dtype)) * number_types.epsilon(dtype)
    value = np.sum(_wide(rows), 0)
    # On the way some sums may overflow that the whole does not.
    bound = np.where((scale >= number_types.largest(dtype) / 2), np.inf, bound * (len(rows) + 1))
    return value, bound


def _mean(rows: Array, dtype: str) -> Any:
    value, bound = _sum(rows, dtype)
    if not number_types.is_inexact(dtype):
        whole = [int(number) for number in np.reshape(value, -1)]
        means = [abs(n) // len(rows) * (-1 if n < 0 else 1) for n in whole]
        return np.array(means, rows.dtype).reshape(np.shape(value)), 0.0
    least = number_types.epsilon(dtype) * _tiny(dtype)
    return value / len(rows), bound / len(rows) + least


def _sqrt_n(rows: Array, dtype: str) -> Any:
    value, bound = _sum(rows, dtype)
    root = np.sqrt(np.longdouble(len(rows)))
    more = np.abs(np.where(np.isfinite(value), value, 0)) * number_types.epsilon(dtype)
    return value / root, bound / root + more + number_types.epsilon(dtype) * _tiny(dtype)


def _prod(rows: Array, dtype: str) -> Any:
    if not number_types.is_inexact(dtype):
        return np.prod(rows, 0, rows.dtype), 0.0
    value = np.prod(_wide(rows), 0)
    sizes = np.abs(_wide(rows))
    logs = np.abs(np.log2(sizes, where=sizes > 0, out=np.zeros(sizes.shape, np.longdouble)))
    # On the way some products may overflow or vanish that the whole does not.
    odd = ~(np.sum(logs, 0) < abs(np.log2(_tiny(dtype))) / 2) | ~np.isfinite(np.sum(sizes, 0))
    relative = number_types.epsilon(dtype) * 2 * (len(rows) + 1)
    size = np.prod(np.where(np.isfinite(sizes), sizes, 1), 0)
    return value, np.where(odd, np.inf, np.where(odd, 0, size) * relative)


def _extreme(function: Callable[..., Any]) -> Combine:
    def compute(rows: Array, dtype: str) -> Any:
        if rows.dtype.kind != "f":
            return function(rows, 0), 0.0
        odd = np.isnan(rows).any(0)
        return np.where(odd, 0, function(np.where(np.isnan(rows), 0, rows), 0)), np.where(
            odd, np.inf, 0.0
        )

    return compute


def _limit(dtype: str, *, lowest: bool) -> Any:
    if number_types.is_inexact(dtype):
        return -number_types.largest(dtype) if lowest else number_types.largest(dtype)
    limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


_COMBINED: dict[str, tuple[Combine, Callable[[str], Any]]] = {
    "Sum": (_sum, lambda dtype: 0),
    "Mean": (_mean, lambda dtype: 0),
    "SqrtN": (_sqrt_n, lambda dtype: 0),
    "Prod": (_prod, lambda dtype: 1),
    "Max": (_extreme(np.max), lambda dtype: 0),
    "Min": (_extreme(np.min), lambda dtype: 0),
    "UnsortedMax": (_extreme(np.max), lambda dtype: _limit(dtype, lowest=True)),
    "UnsortedMin": (_extreme(np.min), lambda dtype: _limit(dtype, lowest=False)),
}


def _combined(
    kind: str, rows: Array, ids: list[int], count: int, row: tuple[int, ...], dtype: str
) -> Outcome:
    """The segments of `rows`, of which each has an id."""
    combine, empty = _COMBINED[kind]
    shape = checked_size([count, *row], "num_segments")
    inexact = number_types.is_inexact(dtype)
    wide: Any = np.clongdouble if np.iscomplexobj(rows) else np.longdouble
    result = np.full(shape, empty(dtype), wide if inexact else rows.dtype)
    bound = np.zeros(shape)
    if result.size:
        for segment in sorted({number for number in ids if number >= 0}):
            chosen = rows[[k for k, number in enumerate(ids) if number == segment]]
            value, of_value = combine(chosen, dtype)
            if kind.startswith("Unsorted") and inexact:
                value = (np.maximum if kind == "UnsortedMax" else np.minimum)(value, empty(dtype))
            result[segment], bound[segment] = value, of_value
    if not inexact:
        return [result]
    anything = ~np.isfinite(bound)
    if np.iscomplexobj(result):
        anything |= ~np.isfinite(result)
    return [Near(result, np.where(anything, 0, bound), anything)]


# ---- Sorted ids ----


def _sorted_ids(source: Source, count: int, dtype: str) -> Array:
    steps = source.index_values("int64", (count,), 0, source.integer(1, 2))
    ids = np.cumsum(steps).astype(dtype).reshape(count)
    if count > 1 and source.chance(0.1):
        ids[source.integer(0, count - 1)] = source.pick((-1, 0, ids[-1] + 1))
    return ids


def _make_sorted(source: Source, op: Any) -> Case:
    dtype, index = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    shape = source.small_shape(0 if source.chance(0.03) else 1, 3, 5)
    count = shape[0] if shape and source.chance(0.95) else source.integer(0, 4)
    ids = _sorted_ids(source, count, index)
    if source.chance(0.03):
        ids = ids.reshape(1, -1)
    inputs = [Input(dtype, source.values(dtype, shape)), Input(index, ids)]
    return Case(op.name, inputs, {"T": type_attr(dtype), "Tindices": type_attr(index)})


def _refuse_unsorted(ids: Array) -> list[int]:
    refuse_unless(ids.ndim == 1, "segment_ids")
    found = [int(number) for number in ids]
    refuse_unless(found == sorted(found) and min(found, default=0) >= 0, "segment_ids")
    return found


def _sorted(kind: str) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        data = numbers(case, 0)
        ids = _refuse_unsorted(case.array(1))
        refuse_unless(data.ndim >= 1 and len(data) == len(ids), "data")
        count = ids[-1] + 1 if ids else 0
        return _combined(kind, data, ids, count, data.shape[1:], case.inputs[0].dtype)

    return compute


_X = spread("x", 5, 2)
_CUBE = spread("cube", 2, 3, 2)
_IDS = np.array([0, 0, 1, 1, 3], np.int32)
_ROWS = np.array([4, 0, 2, 2, 1], np.int32)


def _with_zeros() -> Array:
    x = _X.copy()
    x[0, 0] = x[2, 1] = x[3, 1] = 0
    return x


def _sorted_checks(op: str) -> list[Check]:
    function = function_of(op)
    checks = [Check(lambda x: function(x, _IDS), (x,)) for x in (_X, _X[:, 0])]
    if op == "SegmentProd":
        checks.append(Check(lambda x: function(x, _IDS), (_with_zeros(),)))
    return checks


def _large_sorted(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        ids = tf.cast(tf.range(20_000) // 7, tf.int32)
        return function_of(op)(values.positive(20_000, 24), ids)

    return LargeCase(build, float_dtypes_of(op))


for _kind in ("Sum", "Mean", "Prod", "Max", "Min"):
    define_tests(
        f"Segment{_kind}",
        cases=_make_sorted,
        reference=_sorted(_kind),
        gradient=_sorted_checks,
        determinism=_large_sorted,
        exceptions=_COUNTED,
    )


# ---- Unsorted ids ----


def _make_unsorted(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4, 4)
    dtype = pick_type(source, op, "T")
    leading = shape[: source.integer(0, len(shape))]
    if source.chance(0.05):
        leading = source.small_shape(1, 2, 3)
    count = source.integer(0, 5) if source.chance(0.94) else -1
    index, count_type = source.pick(INDEX_TYPES), source.pick(INDEX_TYPES)
    ids = source.index_values(index, leading, -2, max(count - 1, -2))
    if ids.size and source.chance(0.06):
        ids.reshape(-1)[0] = source.pick((max(count, 0), np.iinfo(index).max))
    attrs = {"T": type_attr(dtype), "Tindices": type_attr(index)}
    attrs["Tnumsegments"] = type_attr(count_type)
    inputs = [Input(dtype, source.values(dtype, shape)), Input(index, ids)]
    return Case(op.name, [*inputs, scalar(count, count_type)], attrs)


def _unsorted(kind: str) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        data, ids, count = numbers(case, 0), case.array(1), integers(case, 2)[0]
        refuse_unless(count >= 0, "num_segments")
        refuse_unless(data.shape[: ids.ndim] == ids.shape, "segment_ids")
        refuse_unless((ids < count).all(), "segment_ids")
        row = data.shape[ids.ndim :]
        rows = data.reshape((ids.size, *row))
        found = [int(number) for number in ids.reshape(-1)]
        return _combined(kind, rows, found, count, row, case.inputs[0].dtype)

    return compute


def _unsorted_checks(op: str) -> list[Check]:
    function = function_of(op)
    ids, pairs = np.array([1, -1, 0, 1, 2], np.int32), np.array([[1, 0, 1], [2, -1, 0]], np.int32)
    checks = [
        Check(lambda x: function(x, ids, 3), (_X,)),
        Check(lambda x: function(x, pairs, 3), (_CUBE,)),
    ]
    if op == "UnsortedSegmentProd":
        checks.append(Check(lambda x: function(x, ids, 3), (_with_zeros(),)))
    return checks


def _large_unsorted(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        return function_of(op)(values.positive(20_000, 24), values.rows(20_000, 5000), 5001)

    return LargeCase(build, float_dtypes_of(op))


for _kind in ("Prod", "Max", "Min"):
    define_tests(
        f"UnsortedSegment{_kind}",
        cases=_make_unsorted,
        reference=_unsorted(_kind if _kind == "Prod" else f"Unsorted{_kind}"),
        gradient=_unsorted_checks,
        determinism=_large_unsorted,
    )


# ---- Rows that are chosen by index ----


def _make_sparse(source: Source, op: Any) -> Case:
    dtype, index = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    shape = source.small_shape(0 if source.chance(0.03) else 1, 3, 5)
    rows = shape[0] if shape else 1
    count = source.integer(0, 6) if rows else 0
    ids = _sorted_ids(source, count, "int32")
    attrs = {"T": type_attr(dtype), "Tidx": type_attr(index)}
    inputs = [Input(dtype, source.values(dtype, shape)), row_indices(source, (count,), rows, index)]
    if source.chance(0.04):
        ids = np.append(ids, ids[-1:] + 1).astype(np.int32)
    inputs.append(Input("int32", ids))
    if op.name.endswith("WithNumSegments"):
        count_type = source.pick(INDEX_TYPES)
        most = int(ids.max(initial=-1)) + 1
        number = most + source.integer(0, 3) if source.chance(0.9) else source.pick((-1, most - 1))
        inputs.append(scalar(number, count_type))
        attrs["Tnumsegments"] = type_attr(count_type)
    return Case(op.name, inputs, attrs)


def _sparse(kind: str) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        data, indices = numbers(case, 0), integers(case, 1)
        ids = _refuse_unsorted(case.array(2))
        refuse_unless(data.ndim >= 1, "data")
        refuse_unless(len(indices) == len(ids), "indices")
        refuse_unless(all(0 <= row < len(data) for row in indices), "indices")
        count = ids[-1] + 1 if ids else 0
        if len(case.inputs) > 3:
            refuse_unless(integers(case, 3)[0] >= count, "num_segments")
            count = integers(case, 3)[0]
        rows = data[np.array(indices, np.int64)]
        return _combined(kind, rows, ids, count, data.shape[1:], case.inputs[0].dtype)

    return compute


def _sparse_checks(op: str) -> list[Check]:
    function = function_of(op)
    more = (5,) if op.endswith("WithNumSegments") else ()
    return [
        Check(lambda x: function(x, _ROWS, _IDS, *more), (_X,)),
        Check(lambda x: function(x, _ROWS, _IDS, *more), (spread("vector", 5),)),
    ]


def _large_sparse(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        ids = tf.cast(tf.range(20_000) // 7, tf.int32)
        more = (3000,) if op.endswith("WithNumSegments") else ()
        return function_of(op)(values.of(500, 24), values.rows(20_000, 500), ids, *more)

    return LargeCase(build, float_dtypes_of(op))


for _kind in ("Sum", "Mean", "SqrtN"):
    for _ending in ("", "WithNumSegments"):
        define_tests(
            f"SparseSegment{_kind}{_ending}",
            cases=_make_sparse,
            reference=_sparse(_kind),
            gradient=_sparse_checks,
            determinism=_large_sparse,
            exceptions={} if _ending else _COUNTED,
        )


def _make_sparse_grad(source: Source, op: Any) -> Case:
    dtype, index = pick_type(source, op, "T"), source.pick(INDEX_TYPES)
    shape = source.small_shape(0 if source.chance(0.03) else 1, 3, 4)
    segments = shape[0] if shape else 1
    rows = source.integer(0, 5) if source.chance(0.95) else -1
    count = source.integer(0, 6) if segments and rows > 0 else 0
    ids = row_indices(source, (count,), segments, "int32")
    inputs = [Input(dtype, source.values(dtype, shape)), row_indices(source, (count,), rows, index)]
    if source.chance(0.04):
        ids = row_indices(source, (count + 1,), segments, "int32")
    inputs += [ids, scalar(rows, "int32")]
    return Case(op.name, inputs, {"T": type_attr(dtype), "Tidx": type_attr(index)})


def _sparse_grad(case: Case) -> Outcome:
    grad, indices, ids = numbers(case, 0), integers(case, 1), integers(case, 2)
    rows, dtype = integers(case, 3)[0], case.inputs[0].dtype
    refuse_unless(rows >= 0, "output_dim0")
    refuse_unless(grad.ndim >= 1, "grad")
    refuse_unless(len(indices) == len(ids), "indices")
    refuse_unless(all(0 <= row < rows for row in indices), "indices")
    refuse_unless(all(0 <= number < len(grad) for number in ids), "segment_ids")
    shape = checked_size([rows, *grad.shape[1:]], "output_dim0")
    sums, scale = np.zeros(shape, np.longdouble), np.zeros(shape, np.longdouble)
    for row, number in zip(indices, ids, strict=True):
        count = np.longdouble(ids.count(number))
        part = grad[number].astype(np.longdouble) / (
            count if case.op == "SparseSegmentMeanGrad" else np.sqrt(count)
        )
        sums[row] += part
        scale[row] += np.abs(part)
    odd = ~(scale < number_types.largest(dtype) / 2) & np.isfinite(scale)
    finite = np.where(np.isfinite(scale), scale, 0)
    bound = (finite + _tiny(dtype)) * number_types.epsilon(dtype) * (len(ids) + 2)
    return [Near(sums, bound, odd)]


def _sparse_grad_checks(op: str) -> list[Check]:
    function = function_of(op)
    return [Check(lambda x: function(x, _ROWS, _IDS, np.int32(6)), (spread("grad", 4, 2),))]


def _large_sparse_grad(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        ids = tf.cast(tf.range(20_000) // 7, tf.int32)
        return function_of(op)(values.of(3000, 24), values.rows(20_000, 500), ids, 500)

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    ["SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"],
    cases=_make_sparse_grad,
    reference=_sparse_grad,
    gradient=_sparse_grad_checks,
    determinism=_large_sparse_grad,
)
