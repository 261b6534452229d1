"""Ops that move elements: they are compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.properties.case import Case, Input, attr_text
from testing.properties.families.shapes import (
    INDEX_TYPES,
    any_tensor,
    indices,
    integers,
    normalized,
    scalar,
)
from testing.properties.number_types import Array
from testing.properties.reference import (
    Outcome,
    RefusedError,
    checked_size,
    pick_type,
    refer,
    refuse_unless,
    type_attr,
)
from testing.properties.source import HUGE, Source


def zero_of(array: Array) -> Any:
    """What the holes of a copy are filled with."""
    return b"" if array.dtype == object else array.dtype.type(0)


# ---- Tile, Transpose, Pad ----


def _make_tile(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    most = 3 if tensor.value.ndim < 4 else 2
    multiples = [source.integer(0 if source.chance(0.1) else 1, most) for _ in tensor.value.shape]
    if multiples and source.chance(0.25):
        place = source.integer(0, len(multiples) - 1)
        multiples[place] = source.pick((-1, 0, 2**62, 2**63 - 1, -(2**63)))
    if source.chance(0.05):
        multiples.append(1)
    by = indices(source, multiples)
    attrs = {"T": type_attr(tensor.dtype), "Tmultiples": type_attr(by.dtype)}
    return Case(op.name, [tensor, by], attrs)


def _tile(case: Case) -> Outcome:
    x, multiples = case.array(0), integers(case, 1)
    refuse_unless(len(multiples) == x.ndim and min(multiples, default=0) >= 0, "multiples")
    sizes = [size * by for size, by in zip(x.shape, multiples, strict=True)]
    shape = checked_size(sizes, "multiples")
    if 0 in shape:
        return [np.empty(shape, x.dtype)]
    return [np.tile(x, multiples) if x.ndim else x]


refer("Tile", _make_tile, _tile)


def _make_transpose(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    rank = tensor.value.ndim
    permutation = [int(axis) for axis in source.random.permutation(rank)]
    if source.chance(0.2):
        permutation = [axis - rank if source.chance(0.5) else axis for axis in permutation]
    if permutation and source.chance(0.2):
        permutation[0] = source.pick((rank, -rank - 1, permutation[-1], 2**31 - 1))
    if source.chance(0.05):
        permutation.append(rank)
    by = indices(source, permutation)
    return Case(op.name, [tensor, by], {"T": type_attr(tensor.dtype), "Tperm": type_attr(by.dtype)})


def _transpose(case: Case) -> Outcome:
    x, permutation = case.array(0), integers(case, 1)
    refuse_unless(len(permutation) == x.ndim, "perm")
    refuse_unless(sorted(permutation) == list(range(x.ndim)), "perm")
    return [x.transpose(permutation)]


refer("Transpose", _make_transpose, _transpose)


def _make_pad(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, source.shape(0, 6, 4))
    assert tensor.value is not None
    rank = tensor.value.ndim
    dtype = source.pick(INDEX_TYPES)
    paddings = source.index_values(dtype, (rank, 2), 0, 2)
    if rank and source.chance(0.2):
        choices = (-1, 2**62, 2**63 - 1) if dtype == "int64" else (-1, -2, -(2**31))
        paddings[source.integer(0, rank - 1), source.integer(0, 1)] = source.pick(choices)
    if source.chance(0.05):
        paddings = source.index_values(dtype, source.pick(((rank + 1, 2), (rank, 3), (2,))), 0, 2)
    attrs = {"T": type_attr(tensor.dtype), "Tpaddings": type_attr(dtype)}
    return Case(op.name, [tensor, Input(dtype, paddings)], attrs)


def _pad(case: Case) -> Outcome:
    x, paddings = case.array(0), case.array(1)
    refuse_unless(paddings.shape == (x.ndim, 2) and (paddings >= 0).all(), "paddings")
    pairs = [(int(before), int(after)) for before, after in paddings]
    sizes = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True)]
    padded = np.empty(checked_size(sizes, "paddings"), x.dtype)
    padded[...] = zero_of(x)
    inside = tuple(slice(a, a + size) for (a, _), size in zip(pairs, x.shape, strict=True))
    padded[inside] = x
    return [padded]


refer("Pad", _make_pad, _pad)


# ---- Slices ----


def _make_slice(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    begin = [source.integer(0, size) for size in tensor.value.shape]
    sizes = [
        source.pick((-1, source.integer(0, min(whole - first, 2**40))))
        for first, whole in zip(begin, tensor.value.shape, strict=True)
    ]
    if begin and source.chance(0.25):
        edges = (-1, -2, -(2**63), *HUGE)
        source.pick((begin, sizes))[source.integer(0, len(begin) - 1)] = source.pick(edges)
    if source.chance(0.05):
        begin.append(0)
    dtype = source.pick(INDEX_TYPES)
    if any(abs(value) >= 2**31 for value in begin + sizes):
        dtype = "int64"
    inputs = [tensor, indices(source, begin, dtype), indices(source, sizes, dtype)]
    return Case(op.name, inputs, {"T": type_attr(tensor.dtype), "Index": type_attr(dtype)})


def _slice(case: Case) -> Outcome:
    x, begin, sizes = case.array(0), integers(case, 1), integers(case, 2)
    refuse_unless(len(begin) == x.ndim, "begin")
    refuse_unless(len(sizes) == x.ndim, "size")
    taken = []
    for first, size, whole in zip(begin, sizes, x.shape, strict=True):
        refuse_unless(0 <= first <= whole, "begin")
        refuse_unless(size >= -1 and (size == -1 or first + size <= whole), "size")
        taken.append(slice(first, whole if size == -1 else first + size))
    return [np.asarray(x[tuple(taken)], x.dtype)]


refer("Slice", _make_slice, _slice)

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _strided_entries(source: Source, rank: int, case: Case) -> list[list[int]]:
    """Bounds and strides, and the masks in the case."""
    count = source.integer(0, min(rank + 1, 5)) if source.chance(0.9) else source.integer(0, 9)
    begin = [source.integer(-6, 6) for _ in range(count)]
    end = [source.integer(-7, 7) for _ in range(count)]
    strides = [source.pick((1, 1, 1, 2, 3, -1, -2)) for _ in range(count)]
    if count and source.chance(0.2):
        edges = (0, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
        place = source.integer(0, count - 1)
        source.pick((begin, end, strides))[place] = source.pick(edges)
    for name in _MASKS:
        mask = 0
        for i in range(count):
            rare = name in ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
            mask |= source.chance(0.12 if rare else 0.3) << i
        if source.chance(0.03):
            mask = source.pick((-1, 2**31, 2**63 - 1))
        case.values[name] = mask
        case.attrs[name] = attr_text(mask)
    return [begin, end, strides]


def _index_type(source: Source, lists: list[list[int]]) -> str:
    large = any(not -(2**31) <= value < 2**31 for values in lists for value in values)
    return "int64" if large else source.pick(INDEX_TYPES)


def _make_strided_slice(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    case = Case(op.name)
    lists = _strided_entries(source, tensor.value.ndim, case)
    dtype = _index_type(source, lists)
    case.inputs = [tensor, *(indices(source, values, dtype) for values in lists)]
    case.attrs |= {"T": type_attr(tensor.dtype), "Index": type_attr(dtype)}
    return case


def _key(case: Case, shape: tuple[int, ...], first: int) -> tuple[Any, ...]:
    """The slice as NumPy's index."""
    begin, end, strides = (integers(case, i) for i in range(first, first + 3))
    masks = [case.values[name] for name in _MASKS]
    key: list[Any] = []
    has_ellipsis = False
    taken = [i for i in range(len(begin)) if not masks[2] >> i & 1 and not masks[3] >> i & 1]
    refuse_unless(len(taken) <= len(shape), "input")
    dimension = 0
    for i, stride in enumerate(strides):
        if masks[2] >> i & 1:
            refuse_unless(not has_ellipsis, "ellipsis_mask")
            has_ellipsis = True
            key.append(Ellipsis)
            dimension = len(shape) - len([j for j in taken if j > i])
        elif masks[3] >> i & 1:
            key.append(None)
        else:
            key.append(
                _range_of(begin[i], end[i], stride, [m >> i & 1 for m in masks], shape[dimension])
            )
            dimension += 1
    return tuple(key)


def _range_of(begin: int, end: int, stride: int, masked: list[int], size: int) -> Any:
    refuse_unless(stride != 0, "strides")
    if masked[4]:
        refuse_unless(stride > 0, "strides")
        refuse_unless(-size <= begin < size, "begin")
        return begin
    return slice(None if masked[0] else begin, None if masked[1] else end, stride)


def _strided_slice(case: Case) -> Outcome:
    x = case.array(0)
    return [np.asarray(x[_key(case, x.shape, 1)], x.dtype)]


refer("StridedSlice", _make_strided_slice, _strided_slice)


def _make_strided_slice_grad(source: Source, op: Any) -> Case:
    shape = source.small_shape()
    case = Case(op.name)
    lists = _strided_entries(source, len(shape), case)
    dtype = _index_type(source, lists)
    case.inputs = [indices(source, values, dtype) for values in [list(shape), *lists]]
    try:
        sliced = np.zeros(shape)[_key(case, shape, 1)].shape
    except RefusedError:
        sliced = ()
    if source.chance(0.1):
        sliced = source.small_shape()
    dy = any_tensor(source, op, sliced)
    case.inputs.append(dy)
    case.attrs |= {"T": type_attr(dy.dtype), "Index": type_attr(dtype)}
    return case


def _strided_slice_grad(case: Case) -> Outcome:
    shape, dy = checked_size(integers(case, 0), "shape"), case.array(4)
    key = _key(case, shape, 1)
    whole = np.empty(shape, dy.dtype)
    whole[...] = zero_of(dy)
    refuse_unless(np.asarray(whole[key]).shape == dy.shape, "dy")
    whole[key] = dy
    return [whole]


refer("StridedSliceGrad", _make_strided_slice_grad, _strided_slice_grad)


# ---- Concatenation and its inverses ----


def _make_concat(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    base = list(source.shape(0 if source.chance(0.05) else 1, 6))
    axis = source.axis(len(base))
    count = source.integer(2, 4)
    inputs = []
    for _ in range(count):
        shape = list(base)
        if -len(base) <= axis < len(base) and base[axis] < 2**31:
            shape[axis] = source.size(4)
        if shape and source.chance(0.03):
            shape[source.integer(0, len(shape) - 1)] += 1
        inputs.append(Input(dtype, source.values(dtype, shape)))
    if source.chance(0.1):
        inputs[1] = Input(dtype, None, "", 0)
    index = scalar(axis, source.pick(INDEX_TYPES))
    attrs = {"T": type_attr(dtype), "N": attr_text(count), "Tidx": type_attr(index.dtype)}
    return Case(op.name, [*inputs, index], attrs)


def _concat(case: Case) -> Outcome:
    parts = [case.array(i) for i in range(len(case.inputs) - 1)]
    rank = parts[0].ndim
    refuse_unless(rank >= 1 and all(part.ndim == rank for part in parts), "values")
    axis = normalized(integers(case, len(parts))[0], rank, "axis")
    rest = [part.shape[:axis] + part.shape[axis + 1 :] for part in parts]
    refuse_unless(all(shape == rest[0] for shape in rest), "values")
    return [np.concatenate(parts, axis)]


refer("ConcatV2", _make_concat, _concat)


def _make_split(source: Source, op: Any) -> Case:
    count = source.integer(1, 4)
    shape = list(source.small_shape(1, 5, 3))
    axis = source.axis(len(shape))
    if -len(shape) <= axis < len(shape) and source.chance(0.9):
        shape[axis] = count * source.integer(0, 3)
    tensor = any_tensor(source, op, tuple(shape))
    attrs = {"T": type_attr(tensor.dtype), "num_split": attr_text(count)}
    return Case(op.name, [scalar(axis, "int32"), tensor], attrs, {"count": count})


def _split(case: Case) -> Outcome:
    x, count = case.array(1), case.values["count"]
    axis = normalized(integers(case, 0)[0], x.ndim, "split_dim")
    refuse_unless(x.shape[axis] % count == 0, "value")
    return list(np.split(x, count, axis))


refer("Split", _make_split, _split)


def _make_split_v(source: Source, op: Any) -> Case:
    sizes = [source.integer(0, 3) for _ in range(source.integer(1, 4))]
    shape = list(source.small_shape(1, 5, 3))
    axis = source.axis(len(shape))
    if -len(shape) <= axis < len(shape):
        shape[axis] = sum(sizes)
    if source.chance(0.4):
        place = source.integer(0, len(sizes) - 1)
        sizes[place] = source.pick((-1, -1, -1, -2, sizes[place] + 1, *HUGE))
    tensor = any_tensor(source, op, tuple(shape))
    by = indices(source, sizes)
    count = len(sizes) + (1 if source.chance(0.03) else 0)
    attrs = {"T": type_attr(tensor.dtype), "Tlen": type_attr(by.dtype)}
    attrs["num_split"] = attr_text(count)
    return Case(op.name, [tensor, by, scalar(axis, "int32")], attrs, {"count": count})


def _split_v(case: Case) -> Outcome:
    x, sizes = case.array(0), integers(case, 1)
    refuse_unless(len(sizes) == case.values["count"], "size_splits")
    axis = normalized(integers(case, 2)[0], x.ndim, "split_dim")
    refuse_unless(min(sizes) >= -1 and sizes.count(-1) <= 1, "size_splits")
    if -1 in sizes:
        left = x.shape[axis] - sum(size for size in sizes if size >= 0)
        refuse_unless(left >= 0, "size_splits")
        sizes[sizes.index(-1)] = left
    refuse_unless(sum(sizes) == x.shape[axis], "size_splits")
    return list(np.split(x, np.cumsum(sizes)[:-1], axis))


refer("SplitV", _make_split_v, _split_v)


def _make_pack(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.shape(0, 6)
    count = source.integer(1, 4)
    shapes = [shape if source.chance(0.97) else source.small_shape() for _ in range(count)]
    inputs = [Input(dtype, source.values(dtype, one)) for one in shapes]
    axis = source.axis(len(shape) + 1)
    attrs = {"T": type_attr(dtype), "N": attr_text(count), "axis": attr_text(axis)}
    return Case(op.name, inputs, attrs, {"axis": axis})


def _pack(case: Case) -> Outcome:
    parts = [case.array(i) for i in range(len(case.inputs))]
    refuse_unless(all(part.shape == parts[0].shape for part in parts), "values")
    axis = normalized(case.values["axis"], parts[0].ndim + 1, "axis")
    return [np.stack(parts, axis)]


refer("Pack", _make_pack, _pack)


def _make_unpack(source: Source, op: Any) -> Case:
    shape = source.shape(0 if source.chance(0.05) else 1, 6, 4)
    tensor = any_tensor(source, op, shape)
    axis = source.axis(len(shape))
    legal = -len(shape) <= axis < len(shape) and shape[axis] < 100 and source.chance(0.93)
    count = shape[axis] if legal else source.integer(0, 3)
    attrs = {"T": type_attr(tensor.dtype), "num": attr_text(count), "axis": attr_text(axis)}
    return Case(op.name, [tensor], attrs, {"axis": axis, "count": count})


def _unpack(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 1, "value")
    axis = normalized(case.values["axis"], x.ndim, "axis")
    refuse_unless(x.shape[axis] == case.values["count"], "value")
    pieces = np.moveaxis(x, axis, 0)
    return [pieces[i : i + 1].reshape(pieces.shape[1:]) for i in range(len(pieces))]


refer("Unpack", _make_unpack, _unpack)
