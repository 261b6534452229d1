"""Ops that move elements of whole tensors: they are compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import (
    INDEX_TYPES,
    any_tensor,
    indices,
    integers,
    normalized,
    scalar,
    zero_of,
)
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import HUGE, Source
from testing.ops.support.variants import check_of_lists

_X = spread("x", 2, 3, 4)
_A = spread("a", 2, 3)
_WIDE = spread("wide", 2, 6)

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


define_tests(
    "Tile",
    cases=_make_tile,
    reference=_tile,
    gradient=[
        Check(lambda a: gen_ops.tile(a, [2, 1, 3]), (_X,)),
        Check(lambda a: gen_ops.tile(a, np.array([], np.int32)), (spread("scalar"),)),
    ],
)


def _make_broadcast_to(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, source.small_shape(0, 6, 4))
    assert tensor.value is not None
    sizes = [source.integer(0, 3) if size == 1 else size for size in tensor.value.shape]
    sizes = [source.integer(1, 2) for _ in range(source.integer(0, 2))] + sizes
    if sizes and source.chance(0.2):
        place = source.integer(0, len(sizes) - 1)
        sizes[place] = source.pick((-1, 0, 5))
    if source.chance(0.05):
        sizes = sizes[1:]
    by = indices(source, sizes)
    attrs = {"T": type_attr(tensor.dtype), "Tidx": type_attr(by.dtype)}
    return Case(op.name, [tensor, by], attrs)


def _broadcast_to(case: Case) -> Outcome:
    x, shape = case.array(0), checked_size(integers(case, 1), "shape")
    fitting = len(shape) >= x.ndim and all(
        own in (1, size) for own, size in zip(x.shape[::-1], shape[::-1], strict=False)
    )
    refuse_unless(fitting, "shape")
    if 0 in shape:
        return [np.empty(shape, x.dtype)]
    return [np.broadcast_to(x, shape)]


define_tests(
    "BroadcastTo",
    cases=_make_broadcast_to,
    reference=_broadcast_to,
    gradient=[
        Check(lambda a: gen_ops.broadcast_to(a, [4, 2, 3]), (_A,)),
        Check(lambda a: gen_ops.broadcast_to(a, [2, 2, 3]), (spread("b", 2, 1),)),
        Check(lambda a: gen_ops.broadcast_to(a, [3]), (spread("scalar"),)),
        Check(lambda a: gen_ops.broadcast_to(a, [2, 3]), (_A,)),
    ],
)


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


define_tests(
    "Transpose",
    cases=_make_transpose,
    reference=_transpose,
    gradient=[
        Check(lambda a: gen_ops.transpose(a, [2, 0, 1]), (_X,)),
        check_of_lists(lambda a: gen_ops.transpose(gen_ops.pack([a, a]), [1, 0])[1], 2),
    ],
)


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


define_tests(
    "Pad",
    cases=_make_pad,
    reference=_pad,
    gradient=[Check(lambda a: gen_ops.pad(a, [[1, 0], [0, 2], [3, 1]]), (_X,))],
)


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


def _make_old_concat(source: Source, op: Any) -> Case:
    """A case of ConcatV2, with the axis, which is int32, first."""
    case = _make_concat(source, op)
    *parts, axis = case.inputs
    for part in parts:
        part.same_as += 1 if part.same_as >= 0 else 0
    del case.attrs["Tidx"]
    case.inputs = [scalar(int(axis.value), "int32"), *parts]  # type: ignore[arg-type]
    return case


def _concat(case: Case) -> Outcome:
    count = len(case.inputs) - 1
    first = 1 if case.op == "Concat" else 0
    parts = [case.array(first + i) for i in range(count)]
    rank = parts[0].ndim
    refuse_unless(rank >= 1 and all(part.ndim == rank for part in parts), "values")
    axis = normalized(integers(case, 0 if first else count)[0], rank, "axis")
    rest = [part.shape[:axis] + part.shape[axis + 1 :] for part in parts]
    refuse_unless(all(shape == rest[0] for shape in rest), "values")
    return [np.concatenate(parts, axis)]


_PARTS = (_A, spread("b", 2, 1), spread("c", 2, 2))
define_tests(
    "ConcatV2",
    cases=_make_concat,
    reference=_concat,
    gradient=[
        Check(lambda *xs: gen_ops.concat_v2(xs, 1), _PARTS),
        Check(lambda *xs: gen_ops.concat_v2(xs, -1), _PARTS),
        Check(lambda *xs: gen_ops.concat_v2(xs, np.int64(0)), (_A, _A + 1)),
        Check(lambda x: gen_ops.concat_v2([x, x], 0), (_A,)),
        check_of_lists(lambda x: gen_ops.concat_v2([x, x], 0), 4),
    ],
)


define_tests(
    "Concat",
    cases=_make_old_concat,
    reference=_concat,
    gradient=[
        Check(lambda *xs: gen_ops.concat(1, xs), _PARTS),
        Check(lambda *xs: gen_ops.concat(-1, xs), _PARTS),
    ],
)


def _make_parallel_concat(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    count = source.integer(1, 4)
    row = source.small_shape(0, 3, 3)
    shapes = [(1, *row) for _ in range(count)]
    if source.chance(0.1):
        shapes[-1] = source.pick((row, (2, *row), (1, *row, 1)))
    inputs = [Input(dtype, source.values(dtype, shape)) for shape in shapes]
    whole = (count + (1 if source.chance(0.05) else 0), *row)
    if source.chance(0.05):
        whole = source.pick((row, (count, 7), (count, *row, -1)))
    attrs = {"T": type_attr(dtype), "N": attr_text(count), "shape": attr_text(("shape", whole))}
    return Case(op.name, inputs, attrs, {"whole": whole})


def _parallel_concat(case: Case) -> Outcome:
    parts, whole = [case.array(i) for i in range(len(case.inputs))], case.values["whole"]
    refuse_unless(whole and whole[0] == len(parts), "shape")
    refuse_unless(all(part.shape == (1, *whole[1:]) for part in parts), "values")
    return [np.concatenate(parts, 0)]


_ROWS = (spread("row", 1, 3), spread("other_row", 1, 3))
define_tests(
    "ParallelConcat",
    cases=_make_parallel_concat,
    reference=_parallel_concat,
    gradient=[Check(lambda *xs: gen_ops.parallel_concat(xs, shape=[2, 3]), _ROWS)],
)


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


define_tests(
    "Split",
    cases=_make_split,
    reference=_split,
    gradient=[
        Check(lambda x: gen_ops.split(1, x, num_split=3), (_WIDE,)),
        Check(lambda x: gen_ops.split(1, x, num_split=3)[2], (_WIDE,)),
        Check(lambda x: gen_ops.split(0, x, num_split=1), (_WIDE,)),
        check_of_lists(lambda x: gen_ops.split(0, x, num_split=2)[1], 1),
    ],
)


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


define_tests(
    "SplitV",
    cases=_make_split_v,
    reference=_split_v,
    gradient=[
        Check(lambda x: gen_ops.split_v(x, [1, 3, 2], 1, num_split=3), (_WIDE,)),
        Check(lambda x: gen_ops.split_v(x, [4, -1], -1, num_split=2)[1], (_WIDE,)),
        check_of_lists(lambda x: gen_ops.split_v(x, [1, -1], 0, num_split=2)[0], 1),
    ],
)


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


define_tests(
    "Pack",
    cases=_make_pack,
    reference=_pack,
    gradient=[
        Check(lambda *xs: gen_ops.pack(xs), (_A, _A + 1)),
        Check(lambda *xs: gen_ops.pack(xs, axis=-1), (_A, _A + 1, _A + 2)),
        check_of_lists(lambda x: gen_ops.reshape(gen_ops.pack([x, x], axis=-1), [4]), 4),
    ],
)


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


define_tests(
    "Unpack",
    cases=_make_unpack,
    reference=_unpack,
    gradient=[
        Check(lambda x: gen_ops.unpack(x, num=2), (_A,)),
        Check(lambda x: gen_ops.unpack(x, num=3, axis=1), (_A,)),
        Check(lambda x: gen_ops.unpack(x, num=3, axis=-1)[1], (_A,)),
        check_of_lists(lambda x: gen_ops.pack(gen_ops.unpack(x, num=2)[:1]), 1),
    ],
)
