"""Ops that take slices of tensors: they are compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread, with_arguments
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, indices, integers, zero_of
from testing.ops.support.reference import (
    Outcome,
    RefusedError,
    checked_size,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import HUGE, Source
from testing.ops.support.variants import check_of_lists


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


_X = spread("x", 4, 3, 5)
_LONG_BEGIN, _LONG_SIZE = np.array([0, 1, 0], np.int64), np.array([4, 1, 5], np.int64)
define_tests(
    "Slice",
    cases=_make_slice,
    reference=_slice,
    gradient=[
        Check(lambda a: gen_ops.slice(a, [1, 0, 2], [2, 3, -1]), (_X,)),
        Check(lambda a: gen_ops.slice(a, _LONG_BEGIN, _LONG_SIZE), (_X,)),
        check_of_lists(lambda a: gen_ops.slice(a, [1], [1]), 1),
    ],
)

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


def slice_key(case: Case, shape: tuple[int, ...], first: int) -> tuple[Any, ...]:
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
    return [np.asarray(x[slice_key(case, x.shape, 1)], x.dtype)]


_Bounds = tuple[list[int], list[int], list[int]]
_BOUNDS: _Bounds = ([1, 0, 1], [3, 3, 4], [1, 2, 1])
_SLICES: list[tuple[_Bounds, dict[str, int]]] = [
    (_BOUNDS, {}),
    (([3, 2, 4], [0, 0, 0], [-1, -1, -2]), {}),
    (([0, 1, 0], [2, 0, 3], [1, 1, 1]), {"shrink_axis_mask": 2, "begin_mask": 4}),
    (([0, 0, 1], [0, 0, 4], [1, 1, 2]), {"ellipsis_mask": 1, "new_axis_mask": 2}),
    (([-2, 0], [0, 2], [1, 1]), {"end_mask": 1}),
]
define_tests(
    "StridedSlice",
    cases=_make_strided_slice,
    reference=_strided_slice,
    gradient=[
        *(
            Check(with_arguments(gen_ops.strided_slice, *bounds, **masks), (_X,))
            for bounds, masks in _SLICES
        ),
        check_of_lists(lambda a: gen_ops.strided_slice(a, [0], [1], [1]), 1),
    ],
)


def _make_strided_slice_grad(source: Source, op: Any) -> Case:
    shape = source.small_shape()
    case = Case(op.name)
    lists = _strided_entries(source, len(shape), case)
    dtype = _index_type(source, lists)
    case.inputs = [indices(source, values, dtype) for values in [list(shape), *lists]]
    try:
        sliced = np.zeros(shape)[slice_key(case, shape, 1)].shape
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
    key = slice_key(case, shape, 1)
    whole = np.empty(shape, dy.dtype)
    whole[...] = zero_of(dy)
    refuse_unless(np.asarray(whole[key]).shape == dy.shape, "dy")
    whole[key] = dy
    return [whole]


define_tests(
    "StridedSliceGrad",
    cases=_make_strided_slice_grad,
    reference=_strided_slice_grad,
    gradient=[
        Check(
            lambda dy: gen_ops.strided_slice_grad([4, 3, 5], *_BOUNDS, dy),
            (spread("dy", 2, 2, 3),),
        )
    ],
)


def make_slice_value(source: Source, op: Any) -> Case:
    """A tensor, a slice of it, and what comes into its place."""
    whole = any_tensor(source, op, source.small_shape())
    assert whole.value is not None
    case = Case(op.name)
    lists = _strided_entries(source, whole.value.ndim, case)
    dtype = _index_type(source, lists)
    case.inputs = [whole, *(indices(source, values, dtype) for values in lists)]
    try:
        sliced = np.zeros(whole.value.shape)[slice_key(case, whole.value.shape, 1)].shape
    except RefusedError:
        sliced = ()
    if source.chance(0.1):
        sliced = source.small_shape()
    case.inputs.append(Input(whole.dtype, source.values(whole.dtype, sliced)))
    case.attrs |= {"T": type_attr(whole.dtype), "Index": type_attr(dtype)}
    return case


def _slice_update(case: Case) -> Outcome:
    whole, value = case.array(0).copy(), case.array(4)
    key = slice_key(case, whole.shape, 1)
    refuse_unless(np.asarray(whole[key]).shape == value.shape, "value")
    whole[key] = value
    return [whole]


define_tests(
    "TensorStridedSliceUpdate",
    cases=make_slice_value,
    reference=_slice_update,
    gradient=[
        Check(
            lambda x, value: gen_ops.tensor_strided_slice_update(x, *_BOUNDS, value),
            (_X, spread("value", 2, 2, 3)),
        ),
        Check(
            lambda x, value: gen_ops.tensor_strided_slice_update(
                x, *_SLICES[2][0], value, **_SLICES[2][1]
            ),
            (_X, spread("value", 2, 3)),
        ),
        check_of_lists(
            lambda a: gen_ops.tensor_strided_slice_update(
                a, [0], [1], [1], gen_ops.slice(a, [1], [1])
            ),
            2,
        ),
    ],
)
