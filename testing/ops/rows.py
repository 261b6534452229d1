"""Ops that choose, deal out and put together elements or rows by number."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, NotCompared, spread
from testing.ops.support.inputs import (
    INDEX_TYPES,
    any_tensor,
    integers,
    normalized,
    row_indices,
    scalar,
    zero_of,
)
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.variants import check_of_lists

_X = spread("x", 4, 3)
_CUBE = spread("cube", 2, 3, 4)
_ROWS = np.array([[2, 0], [2, 3]], np.int32)
_PAIRS = np.array([[1, 0, 1], [2, 2, 0]], np.int32)


def _large_rows(values: Values) -> Any:
    data, rows = values.of(20_000, 16), values.rows(20_000, 50)
    table = values.of(50, 16)
    gathered = tf.gather(table, rows)
    return [
        gathered,
        tf.convert_to_tensor(tf.gradients(gathered, table, data)[0]),
        gen_ops.unsorted_segment_sum(data, rows, 50),
        gen_ops.dynamic_partition(data, values.rows(20_000, 3), 3),
        gen_ops.dynamic_stitch([values.rows(20_000, 20_000)], [data]),
    ]


LARGE_ROWS = LargeCase(_large_rows)


# ---- Gather and GatherV2 ----


def _make_gather(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tparams")
    batch = list(source.small_shape(0, 2, 3)) if source.chance(0.3) else []
    shape = [*batch, *source.small_shape(0 if source.chance(0.03) else 1, 4, 4)]
    rank = len(shape)
    axis = source.integer(min(len(batch), rank - 1), rank - 1) if rank else 0
    if source.chance(0.4):
        axis -= rank
    if source.chance(0.06):
        axis = source.axis(rank, 0)
    rows = shape[axis] if -rank <= axis < rank else 1
    indices = row_indices(source, [*batch, *source.small_shape(0, 2, 4)], rows)
    assert indices.value is not None
    batch_dims = len(batch)
    if batch and source.chance(0.3):
        batch_dims -= indices.value.ndim
    if source.chance(0.05):
        batch_dims = source.pick((-1, 1, 7, -9, 2**32, -(2**63), 2**63 - 1))
    index = scalar(axis, source.pick(INDEX_TYPES))
    inputs = [Input(dtype, source.values(dtype, shape)), indices, index]
    attrs = {"Tparams": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    attrs |= {"Taxis": type_attr(index.dtype), "batch_dims": attr_text(batch_dims)}
    return Case(op.name, inputs, attrs, {"batch_dims": batch_dims})


def gathered(params: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    """Slices along an axis; the first dimensions of both are gone through together."""
    shape = (*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1 :])
    result = np.empty(shape, params.dtype)
    # Indices are no harm where there is no dimension that they could be out of.
    if 0 not in params.shape[:axis]:
        legal = (indices >= 0) & (indices < params.shape[axis])
        refuse_unless(legal.all(), "indices")
    if result.size:
        for batch in np.ndindex(*params.shape[:batch_dims]):
            result[batch] = np.take(params[batch], indices[batch], axis - batch_dims)
    return result


def _gather(case: Case) -> Outcome:
    params, indices, batch_dims = case.array(0), case.array(1), case.values["batch_dims"]
    refuse_unless(params.ndim >= 1, "params")
    axis = normalized(integers(case, 2)[0], params.ndim, "axis")
    refuse_unless(-indices.ndim <= batch_dims <= indices.ndim, "batch_dims")
    batch_dims += indices.ndim if batch_dims < 0 else 0
    refuse_unless(batch_dims <= axis, "batch_dims")
    refuse_unless(params.shape[:batch_dims] == indices.shape[:batch_dims], "indices")
    return [gathered(params, indices, axis, batch_dims)]


def _computed(axis: int) -> Any:
    """An axis that is known when the graph runs."""
    return tf.placeholder_with_default(np.array(axis, np.int64), None)


def _gather_checks(op: str) -> list[Check]:
    columns = np.array([2, 0, 2, 1], np.int64)
    gather = gen_ops.gather_v2
    return [
        Check(lambda a: gather(a, _ROWS, 0), (_X,)),
        Check(lambda a: gather(a, np.int32(3), 0), (_X,)),
        Check(lambda a: gather(a, columns, 1), (_X,)),
        Check(lambda a: gather(a, _ROWS[:, :1], -1), (_CUBE,)),
        Check(lambda a: gather(a, np.int32(1), 1), (_CUBE,)),
        Check(lambda a: gather(a, _PAIRS, 1, batch_dims=1), (_CUBE,)),
        Check(lambda a: gather(a, _PAIRS, 2, batch_dims=1), (_CUBE,)),
        Check(lambda a: gather(a, _PAIRS, 2, batch_dims=2), (_CUBE,)),
        Check(lambda a: gather(a, _PAIRS, -1, batch_dims=-1), (_CUBE,)),
        Check(lambda a: gather(a, columns[:2], 1, batch_dims=1), (_CUBE,)),
        Check(lambda a: gather(a, columns, _computed(1)), (_X,)),
        Check(lambda a: gather(a, _ROWS, _computed(-2)), (_X,)),
        Check(lambda a: gather(a, _PAIRS, _computed(2), batch_dims=1), (_CUBE,)),
        Check(lambda a: gather(a, _PAIRS, _computed(-1), batch_dims=-1), (_CUBE,)),
    ]


def _make_first_axis_gather(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tparams")
    shape = source.small_shape(0 if source.chance(0.03) else 1, 4, 4)
    indices = row_indices(source, source.small_shape(0, 2, 4), shape[0] if shape else 1)
    attrs = {"Tparams": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    return Case(op.name, [Input(dtype, source.values(dtype, shape)), indices], attrs)


def _first_axis_gather(case: Case) -> Outcome:
    refuse_unless(case.array(0).ndim >= 1, "params")
    return [gathered(case.array(0), case.array(1), 0, 0)]


define_tests(
    "Gather",
    cases=_make_first_axis_gather,
    reference=_first_axis_gather,
    gradient=[Check(lambda a: gen_ops.gather(a, _ROWS), (_X,))],
)

define_tests(
    "GatherV2",
    cases=_make_gather,
    reference=_gather,
    gradient=_gather_checks,
    determinism=LARGE_ROWS,
)


# ---- OneHot ----


def _make_one_hot(source: Source, op: Any) -> Case:
    dtype, index_type = pick_type(source, op, "T"), pick_type(source, op, "TI")
    shape = source.shape(0, 5, 4)
    depth = source.integer(0, 5)
    if source.chance(0.1):
        depth = source.pick((-1, -(2**31), 2**31 - 1 if 0 in shape else 3))
    low = 0 if index_type == "uint8" else -2
    indices = Input(index_type, source.index_values(index_type, shape, low, 6))
    if max(shape, default=0) >= 2**31:
        indices.value = np.zeros(shape, index_type)
    axis = -1
    if source.chance(0.5):
        axis = source.integer(-1, len(shape))
    if source.chance(0.06):
        axis = source.pick((-2, len(shape) + 1, 2**40, 2**63 - 1, -(2**63)))
    scalars = [
        Input(dtype, source.values(dtype, (1,) if source.chance(0.02) else ())) for _ in range(2)
    ]
    attrs = {"T": type_attr(dtype), "TI": type_attr(index_type), "axis": attr_text(axis)}
    inputs = [indices, scalar(depth, "int32"), *scalars]
    return Case(op.name, inputs, attrs, {"axis": axis})


def _one_hot(case: Case) -> Outcome:
    indices, depth, axis = case.array(0), integers(case, 1)[0], case.values["axis"]
    refuse_unless(depth >= 0, "depth")
    refuse_unless(-1 <= axis <= indices.ndim, "axis")
    refuse_unless(case.array(2).ndim == 0, "on_value")
    refuse_unless(case.array(3).ndim == 0, "off_value")
    axis = indices.ndim if axis == -1 else axis
    shape = checked_size([*indices.shape[:axis], depth, *indices.shape[axis:]], "depth")
    result = np.empty(shape, case.array(2).dtype)
    if result.size:
        result[...] = case.array(3)
        places = np.arange(depth).reshape([depth if i == axis else 1 for i in range(len(shape))])
        result[np.expand_dims(indices, axis) == places] = case.array(2)
    return [result]


define_tests("OneHot", cases=_make_one_hot, reference=_one_hot)


# ---- Select ----


def _make_select(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.shape()
    condition = source.pick((shape, shape, (), shape[:1]))
    if source.chance(0.08):
        condition = source.small_shape()
    other = shape if source.chance(0.95) else source.small_shape()
    inputs = [Input("bool", source.values("bool", condition))]
    inputs += [Input(dtype, source.values(dtype, one)) for one in (shape, other)]
    if source.chance(0.1):
        inputs[2] = Input(dtype, None, "", 1)
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _select(case: Case) -> Outcome:
    condition, then, otherwise = (case.array(i) for i in range(3))
    refuse_unless(then.shape == otherwise.shape, "e")
    if condition.ndim == 1 and then.ndim > 1:
        refuse_unless(condition.shape == then.shape[:1], "condition")
        condition = condition.reshape([-1] + [1] * (then.ndim - 1))
        return [np.where(np.broadcast_to(condition, then.shape), then, otherwise)]
    refuse_unless(condition.ndim == 0 or condition.shape == then.shape, "condition")
    return [np.where(condition, then, otherwise)]


def _select_checks(op: str) -> list[Check]:
    x, y = spread("x", 3, 2), spread("y", 3, 2)
    rows = np.array([True, False, True])
    cells = np.array([[True, False], [False, False], [True, True]])
    return [
        Check(lambda a, b: gen_ops.select(tf.constant(cells), a, b), (x, y)),
        Check(lambda a, b: gen_ops.select(tf.constant(rows), a, b), (x, y)),
        Check(lambda a, b: gen_ops.select(tf.constant(True), a, b), (x, y)),
        check_of_lists(
            lambda a: gen_ops.select(tf.constant([True, False]), a, gen_ops.roll(a, [1], [0])), 2
        ),
    ]


define_tests("Select", cases=_make_select, reference=_select, gradient=_select_checks)


# ---- DynamicPartition and DynamicStitch ----


def _make_partition(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4, 4)
    leading = shape[: source.integer(0, len(shape))]
    count = source.integer(1, 4)
    tensor = any_tensor(source, op, shape)
    if source.chance(0.05):
        leading = source.small_shape(1, 3, 3)
    partitions = row_indices(source, leading, count, "int32")
    attrs = {"T": type_attr(tensor.dtype), "num_partitions": attr_text(count)}
    return Case(op.name, [tensor, partitions], attrs, {"count": count})


def _partition(case: Case) -> Outcome:
    data, partitions, count = case.array(0), case.array(1), case.values["count"]
    refuse_unless(data.shape[: partitions.ndim] == partitions.shape, "data")
    refuse_unless(((partitions >= 0) & (partitions < count)).all(), "partitions")
    return [data[partitions == i] for i in range(count)]


_PARTS = np.array([2, 0, 2, 1], np.int32)
define_tests(
    "DynamicPartition",
    cases=_make_partition,
    reference=_partition,
    gradient=[
        Check(lambda a: gen_ops.dynamic_partition(a, _PARTS, 4), (_X,)),
        Check(lambda a: gen_ops.dynamic_partition(a, _PARTS, 3)[2], (_X,)),
        Check(lambda a: gen_ops.dynamic_partition(a, _PAIRS, 3), (_CUBE,)),
        check_of_lists(lambda a: gen_ops.dynamic_partition(a, [1, 0], 2)[0], 1),
    ],
    determinism=LARGE_ROWS,
    exceptions={Property.STATIC_SHAPE: "rows are counted in the step"},
)


def _make_stitch(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    row = source.small_shape(0, 3, 3)
    count = source.integer(1, 3)
    indices, data = [], []
    for _ in range(count):
        shape = source.small_shape(0, 2, 3)
        values = source.index_values("int32", shape, 0, 12)
        if values.size and source.chance(0.06):
            values.reshape(-1)[0] = source.pick((-1, -(2**31)))
        indices.append(Input("int32", values))
        rest = row if source.chance(0.97) else source.small_shape(0, 2, 3)
        data.append(Input(dtype, source.values(dtype, [*shape, *rest])))
    return Case(op.name, indices + data, {"T": type_attr(dtype), "N": attr_text(count)})


def _stitch(case: Case) -> Outcome:
    count = len(case.inputs) // 2
    rows = []
    for i in range(count):
        indices, data = case.array(i), case.array(count + i)
        refuse_unless(data.shape[: indices.ndim] == indices.shape, "data")
        refuse_unless((indices >= 0).all(), "indices")
        rows.append(data.shape[indices.ndim :])
    refuse_unless(all(row == rows[0] for row in rows), "data")
    total = max(int(case.array(i).max(initial=-1)) + 1 for i in range(count))
    merged = np.empty((total, *rows[0]), case.array(count).dtype)
    merged[...] = zero_of(merged)
    for i in range(count):
        flat = case.array(i).reshape(-1)
        data = case.array(count + i).reshape([flat.size, *rows[0]])
        for place, index in enumerate(flat):
            merged[index] = data[place]
    return [merged]


_PLACES = [np.array([4, 0, 6, 1], np.int32), np.array(3, np.int32)]
define_tests(
    ["DynamicStitch", "ParallelDynamicStitch"],
    cases=_make_stitch,
    reference=_stitch,
    gradient=lambda op: [
        Check(lambda a, b: function_of(op)(_PLACES, [a, b]), (_X, spread("row", 3))),
        check_of_lists(
            lambda a: function_of(op)([[1, 0]], [a]),
            2,
            NotCompared("its gradient gathers variants, of which Gather has no gradient"),
        ),
    ],
    determinism=LARGE_ROWS,
    exceptions={
        Property.STATIC_SHAPE: (
            "graph programs see an unknown number of rows where nothing is stitched"
        )
    },
)


# ---- UnsortedSegmentSum ----


def _make_segment_sum(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4, 4)
    tensor = any_tensor(source, op, shape)
    leading = shape[: source.integer(0, len(shape))]
    if source.chance(0.05):
        leading = source.small_shape(1, 2, 3)
    segments = source.integer(0, 5)
    if source.chance(0.08):
        segments = source.pick((-1, 2**31 - 1 if 0 in shape else -5))
    index_type, count_type = source.pick(INDEX_TYPES), source.pick(INDEX_TYPES)
    ids = source.index_values(index_type, leading, -2, max(segments - 1, -2) if segments < 9 else 4)
    if ids.size and source.chance(0.08):
        ids.reshape(-1)[0] = source.pick((segments, np.iinfo(index_type).max))
    attrs = {"T": type_attr(tensor.dtype), "Tindices": type_attr(index_type)}
    attrs["Tnumsegments"] = type_attr(count_type)
    return Case(op.name, [tensor, Input(index_type, ids), scalar(segments, count_type)], attrs)


def _segment_sum(case: Case) -> Outcome:
    data, ids = case.array(0), case.array(1)
    dtype, segments = case.inputs[0].dtype, integers(case, 2)[0]
    refuse_unless(segments >= 0, "num_segments")
    refuse_unless(data.shape[: ids.ndim] == ids.shape, "segment_ids")
    row = data.shape[ids.ndim :]
    shape = checked_size([segments, *row], "num_segments")
    refuse_unless((ids < segments).all(), "segment_ids")
    numbers = number_types.as_numbers(data, dtype)
    inexact = number_types.is_inexact(dtype)
    wide = np.complex128 if dtype in number_types.COMPLEX else np.float64
    sums = np.zeros(shape, wide if inexact else numbers.dtype)
    scale = np.zeros(shape)
    for place in np.ndindex(ids.shape):
        if ids[place] >= 0 and sums.size:
            sums[ids[place]] += numbers[place]
            if inexact:
                scale[ids[place]] += np.abs(numbers[place].astype(wide))
    if not inexact:
        return [sums]
    return [summed(sums, scale, ids.size, dtype)]


_SEGMENTS = np.array([1, -1, 0, 1], np.int32)
define_tests(
    "UnsortedSegmentSum",
    cases=_make_segment_sum,
    reference=_segment_sum,
    gradient=[
        Check(lambda a: gen_ops.unsorted_segment_sum(a, _SEGMENTS, 3), (_X,)),
        Check(lambda a: gen_ops.unsorted_segment_sum(a, _PAIRS, 3), (_CUBE,)),
    ],
    determinism=LARGE_ROWS,
)
