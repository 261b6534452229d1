"""Ops on the places of elements of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import indices, integers, normalized, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.sparse import (
    drawn_shape,
    read_sparse,
    sparse_inputs,
    sparse_of,
    sparse_outputs,
)

_COUNTED = {Property.STATIC_SHAPE: "elements are counted in the step"}
_PLACES: Array = np.array([[0, 1], [0, 3], [2, 0], [2, 2]], np.int64)
_SHAPE: Array = np.array([4, 4], np.int64)


def _picked(values: Array, places: list[int]) -> Array:
    return values[np.array(places, np.int64)]


# ---- SparseReorder, SparseReshape ----


def _make_reorder(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    inputs = sparse_inputs(source, dtype, drawn_shape(source), in_order=False)
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _reorder(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "input_", in_order=False, bounded=False)
    order = sorted(range(len(sparse.indices)), key=lambda i: sparse.indices[i])
    places = [sparse.indices[i] for i in order]
    return sparse_outputs(places, _picked(sparse.values, order), sparse.shape)[:2]


define_tests(
    "SparseReorder",
    cases=_make_reorder,
    reference=_reorder,
    gradient=[
        Check(
            lambda v: gen_ops.sparse_reorder(_PLACES[[2, 0, 3, 1]], v, _SHAPE)[1],
            (spread("reorder", 4),),
        )
    ],
)


def _make_reshape(source: Source, op: Any) -> Case:
    shape = drawn_shape(source)
    places, _, sizes = sparse_inputs(source, "int64", shape, in_order=False)
    total = math.prod(shape)
    target = source.pick(([total], list(shape[::-1]), [1, *shape], [-1], [*shape, -1]))
    if source.chance(0.15):
        target = source.pick(([-1, -1], [total + 1], [-2, *shape], [2**62, 4], [-1, 0]))
    wanted = Input("int64", np.array(target, np.int64))
    return Case(op.name, [places, sizes, wanted])


def _reshape(case: Case) -> Outcome:
    places, sizes = case.array(0), case.array(1)
    sparse = sparse_of(places, np.zeros(len(places)), sizes, "input_", in_order=False)
    target, total = integers(case, 2), math.prod(sparse.shape)
    refuse_unless(target.count(-1) <= 1 and all(size >= -1 for size in target), "new_shape")
    if -1 in target:
        others = math.prod(size for size in target if size != -1)
        refuse_unless(others != 0, "new_shape")
        target[target.index(-1)] = total // others
    new_shape = checked_size(target, "new_shape")
    refuse_unless(math.prod(new_shape) == total, "new_shape")
    moved = []
    for index in sparse.indices:
        place = int(np.ravel_multi_index(index, sparse.shape)) if index else 0
        moved.append(tuple(int(i) for i in np.unravel_index(place, new_shape)))
    return sparse_outputs(moved, None, new_shape)[::2]


define_tests("SparseReshape", cases=_make_reshape, reference=_reshape)

# ---- SparseConcat, SparseSplit ----


def _make_concat(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = list(drawn_shape(source))
    axis = source.axis(len(shape), 0.95)
    parts = []
    for _ in range(source.integer(2, 3)):
        own = list(shape)
        own[axis % len(shape)] = source.size(3)
        if source.chance(0.05):
            own = source.pick(([*own, 2], [own[0] + 1, *own[1:]]))
        parts.append(sparse_inputs(source, dtype, own, faults=0.04))
    inputs = [part[k] for k in range(3) for part in parts]
    attrs = {
        "T": type_attr(dtype),
        "N": attr_text(len(parts)),
        "concat_dim": attr_text(axis),
    }
    return Case(op.name, inputs, attrs)


def _concat(case: Case) -> Outcome:
    count = len(case.inputs) // 3
    arrays = [[case.array(k * count + i) for k in range(3)] for i in range(count)]
    parts = [sparse_of(one[0], one[1], one[2], in_order=False, bounded=False) for one in arrays]
    shape = list(parts[0].shape)
    axis = normalized(case.attr("concat_dim"), len(shape), "concat_dim")
    moved, offset = [], 0
    for part in parts:
        refuse_unless(len(part.shape) == len(shape), "shapes")
        same = all(d == axis or part.shape[d] == shape[d] for d in range(len(shape)))
        refuse_unless(same, "shapes")
        for index in part.indices:
            moved.append((*index[:axis], index[axis] + offset, *index[axis + 1 :]))
        offset += part.shape[axis]
    shape[axis] = offset
    order = sorted(range(len(moved)), key=lambda i: moved[i])
    values = _picked(np.concatenate([part.values for part in parts]), order)
    return sparse_outputs([moved[i] for i in order], values, tuple(shape))


define_tests("SparseConcat", cases=_make_concat, reference=_concat)


def _make_split(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = drawn_shape(source)
    axis = source.axis(len(shape), 0.9)
    parts = source.integer(1, 3)
    inputs = [scalar(axis, "int64"), *sparse_inputs(source, dtype, shape, faults=0.08)]
    attrs = {"T": type_attr(dtype), "num_split": attr_text(parts)}
    return Case(op.name, inputs, attrs)


def _split(case: Case) -> Outcome:
    sparse = read_sparse(case, 1, in_order=False)
    axis = normalized(int(case.array(0)), len(sparse.shape), "split_dim")
    count, size = case.attr("num_split"), sparse.shape[axis]
    refuse_unless(count <= size, "num_split")
    outputs, begin = [], 0
    for i in range(count):
        end = begin + size // count + int(i < size % count)
        taken = [k for k, index in enumerate(sparse.indices) if begin <= index[axis] < end]
        moved = [
            (*index[:axis], index[axis] - begin, *index[axis + 1 :])
            for index in (sparse.indices[k] for k in taken)
        ]
        shape = (*sparse.shape[:axis], end - begin, *sparse.shape[axis + 1 :])
        outputs.append(sparse_outputs(moved, _picked(sparse.values, taken), shape))
        begin = end
    return [part[k] for k in range(3) for part in outputs]


define_tests(
    "SparseSplit",
    cases=_make_split,
    reference=_split,
    gradient=[
        Check(
            lambda v, dim=dim, parts=parts: list(
                gen_ops.sparse_split(np.array(dim, np.int64), _PLACES, v, _SHAPE, parts)[1]
            ),
            (spread("split", 4),),
        )
        for dim, parts in ((0, 2), (1, 3), (1, 1))
    ],
    exceptions=_COUNTED,
)

# ---- SparseSlice, SparseSliceGrad ----


def _make_slice(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = drawn_shape(source)
    start = [source.integer(0, size + 1) for size in shape]
    size = [source.integer(0, 5) for _ in shape]
    if source.chance(0.1):
        start = source.pick(([*start, 0], [-1, *start[1:]]))
    if source.chance(0.1):
        size = source.pick((size[:-1], [-1, *size[1:]], [2**63 - 1, *size[1:]]))
    inputs = sparse_inputs(source, dtype, shape, faults=0.06)
    inputs += [indices(source, start, "int64"), indices(source, size, "int64")]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _slice(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, in_order=False)
    start, size = integers(case, 3), integers(case, 4)
    refuse_unless(len(start) == len(sparse.shape) and min(start, default=0) >= 0, "start")
    refuse_unless(len(size) == len(sparse.shape) and min(size, default=0) >= 0, "size")
    bounds = list(zip(sparse.shape, start, size, strict=True))
    shape = tuple(min(count, max(whole - begin, 0)) for whole, begin, count in bounds)
    places, taken = [], []
    for k, index in enumerate(sparse.indices):
        moved = tuple(i - begin for i, begin in zip(index, start, strict=True))
        if all(0 <= i < count for i, count in zip(moved, shape, strict=True)):
            places.append(moved)
            taken.append(k)
    return sparse_outputs(places, _picked(sparse.values, taken), shape)


define_tests(
    "SparseSlice",
    cases=_make_slice,
    reference=_slice,
    gradient=[
        Check(
            lambda v: gen_ops.sparse_slice(
                _PLACES, v, _SHAPE, np.array([0, 1], np.int64), np.array([3, 2], np.int64)
            )[1],
            (spread("slice", 4),),
        )
    ],
    exceptions=_COUNTED,
)


def _make_slice_grad(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = drawn_shape(source)
    places = sparse_inputs(source, dtype, shape, faults=0)[0]
    assert places.value is not None
    start = [source.integer(0, max(size - 1, 0)) for size in shape]
    chosen = (places.value >= np.array(start)).all(axis=1)
    taken: Array = (places.value - np.array(start, np.int64))[chosen]
    if source.chance(0.1):
        taken = np.concatenate([taken, np.zeros((1, len(shape)), np.int64)])
    count = len(taken) + int(source.chance(0.05))
    inputs = [
        Input(dtype, source.values(dtype, (count,))),
        places,
        Input("int64", np.array(start[: None if source.chance(0.95) else -1], np.int64)),
        Input("int64", taken),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _slice_grad(case: Case) -> Outcome:
    gradient, places, start, taken = (case.array(i) for i in range(4))
    refuse_unless(places.shape[1] == taken.shape[1], "output_indices")
    refuse_unless(start.shape == (places.shape[1],), "input_start")
    refuse_unless(gradient.shape == (len(taken),), "backprop_val_grad")
    result = np.zeros(len(places), gradient.dtype)
    j = 0
    for k, index in enumerate(places):
        if j < len(taken) and (index == taken[j] + start).all():
            result[k] = gradient[j]
            j += 1
    refuse_unless(j == len(taken), "output_indices")
    return [result]


define_tests(
    "SparseSliceGrad",
    cases=_make_slice_grad,
    reference=_slice_grad,
    gradient=[
        Check(
            lambda dy: gen_ops.sparse_slice_grad(
                dy, _PLACES, np.array([0, 1], np.int64), np.array([[0, 0], [2, 1]], np.int64)
            ),
            (spread("sliced", 2),),
        )
    ],
    determinism=NotTested("moves elements, on one thread"),
)

# ---- SparseFillEmptyRows ----


def _make_fill(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    inputs = sparse_inputs(source, dtype, drawn_shape(source), in_order=source.chance(0.7))
    inputs.append(Input(dtype, source.values(dtype, () if source.chance(0.96) else (1,))))
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _fill(case: Case) -> Outcome:
    places, values, sizes = (case.array(i) for i in range(3))
    refuse_unless(places.shape == (len(values), len(sizes)), "indices")
    shape = checked_size([int(size) for size in sizes], "dense_shape")
    refuse_unless(len(shape) > 0, "dense_shape")
    refuse_unless(case.array(3).ndim == 0, "default_value")
    rows: list[list[int]] = [[] for _ in range(shape[0])]
    for k, index in enumerate(places):
        refuse_unless(0 <= index[0] < shape[0], "indices")
        rows[int(index[0])].append(k)
    new_places: list[Any] = []
    new_values: list[Any] = []
    reverse = np.zeros(len(values), np.int64)
    for row, elements in enumerate(rows):
        for k in elements:
            reverse[k] = len(new_values)
            new_places.append(tuple(places[k]))
            new_values.append(values[k])
        if not elements:
            new_places.append((row, *(0 for _ in shape[1:])))
            new_values.append(case.array(3)[()])
    filled = np.empty(len(new_values), values.dtype)
    filled[:] = new_values
    empty = np.array([not elements for elements in rows], np.bool_).reshape(len(rows))
    return [*sparse_outputs(new_places, filled, shape)[:2], empty, reverse]


define_tests(
    "SparseFillEmptyRows",
    cases=_make_fill,
    reference=_fill,
    gradient=[
        Check(
            lambda v, d: gen_ops.sparse_fill_empty_rows(_PLACES, v, _SHAPE, d)[1],
            (spread("fill", 4), spread("filler")),
        )
    ],
    exceptions=_COUNTED,
)


def _make_fill_grad(source: Source, op: Any) -> Case:
    dtype = source.pick(("float32", "float64", "float16", "int32", "int64", "complex64"))
    count = source.integer(0, 6)
    size = source.integer(0, count)
    chosen = np.sort(source.random.permutation(count)[:size]).astype(np.int64)
    if size and source.chance(0.1):
        chosen[0] = source.pick((-1, count, 2**62))
    inputs = [Input("int64", chosen), Input(dtype, source.values(dtype, (count,), "plain"))]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _fill_grad(case: Case) -> Outcome:
    reverse, gradient = case.array(0), numbers(case, 1)
    refuse_unless(all(0 <= place < len(gradient) for place in reverse), "reverse_index_map")
    rest = np.delete(gradient, reverse)
    dtype = case.inputs[1].dtype
    total = rest.astype(np.clongdouble if np.iscomplexobj(rest) else np.longdouble).sum()
    if not number_types.is_inexact(dtype):
        return [gradient[reverse], rest.sum(dtype=rest.dtype)]
    scale = np.abs(rest.astype(np.clongdouble)).sum()
    return [case.array(1)[reverse], summed(np.asarray(total), np.asarray(scale), 8, dtype)]


define_tests(
    "SparseFillEmptyRowsGrad",
    cases=_make_fill_grad,
    reference=_fill_grad,
    gradient=[
        Check(
            lambda dy, places=places: list(
                gen_ops.sparse_fill_empty_rows_grad(np.array(places, np.int64), dy)
            ),
            (spread("filled", 6),),
        )
        for places in ([0, 2, 3, 5], [0, 2, 2, 2])
    ],
)
