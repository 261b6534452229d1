"""Ops that move blocks into the batch or the channels: they are compared bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, indices, integers, zero_of
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.support.windows import laid, laid_sizes, unlaid

# ---- Space and batch ----


def _margins(source: Source, pairs: list[list[int]]) -> Input:
    dtype = source.pick(INDEX_TYPES)
    return Input(dtype, np.array(pairs, dtype).reshape(len(pairs), 2))


def _drawn_blocks(source: Source, count: int) -> tuple[list[int], list[list[int]]]:
    """Sizes of a block, and pairs of margins."""
    sizes = [source.pick((1, 2, 2, 3)) for _ in range(count)]
    pairs = [[source.pick((0, 0, 1, 2)) for _ in range(2)] for _ in range(count)]
    if count and source.chance(0.1):
        source.pick(pairs)[source.integer(0, 1)] = source.pick((-1, -(2**31)))
    return sizes, pairs


def _drawn_shape(
    source: Source, to_batch: bool, sizes: list[int], pairs: list[list[int]], rest: list[int]
) -> tuple[int, ...]:
    """The shape of an input that the blocks fit, mostly."""
    batch = source.size(2) if to_batch else source.size(2) * math.prod(sizes)
    shape = [batch]
    for size, (before, after) in zip(sizes, pairs, strict=True):
        blocks = source.size(3)
        margin = before + after if 0 <= before + after < 8 else 0
        shape.append(max(blocks * size - margin, 0) if to_batch else blocks)
    if source.chance(0.1):
        shape[source.integer(0, len(shape) - 1)] += 1
    return (*shape, *rest)


def _make_by_inputs(source: Source, op: Any) -> Case:
    to_batch = op.name == "SpaceToBatchND"
    count = source.integer(0, 3)
    sizes, pairs = _drawn_blocks(source, count)
    rest = [source.size(3) for _ in range(source.integer(0, 2))]
    tensor = any_tensor(source, op, _drawn_shape(source, to_batch, sizes, pairs, rest))
    if sizes and source.chance(0.08):
        sizes[source.integer(0, count - 1)] = source.pick((0, -1, 2**31 - 1, 2**33 + 1))
    if source.chance(0.05):
        pairs.append([0, 0])
    block, margins = indices(source, sizes), _margins(source, pairs)
    attrs = {
        "T": type_attr(tensor.dtype),
        "Tblock_shape": type_attr(block.dtype),
        "Tpaddings" if to_batch else "Tcrops": type_attr(margins.dtype),
    }
    return Case(op.name, [tensor, block, margins], attrs)


def _make_by_attr(source: Source, op: Any) -> Case:
    to_batch = op.name == "SpaceToBatch"
    size = source.pick((2, 2, 3))
    pairs = _drawn_blocks(source, 2)[1]
    shape = _drawn_shape(source, to_batch, [size, size], pairs, [source.size(3)])
    tensor = any_tensor(source, op, shape[:3] if source.chance(0.04) else shape)
    margins = _margins(source, pairs)
    if source.chance(0.06):
        size = source.pick((1, 0, -1))
    attrs = {
        "T": type_attr(tensor.dtype),
        "block_size": attr_text(size),
        "Tpaddings" if to_batch else "Tidx": type_attr(margins.dtype),
    }
    return Case(op.name, [tensor, margins], attrs, {"size": size})


def _pairs(case: Case, i: int, count: int, argument: str) -> list[tuple[int, int]]:
    margins = case.array(i)
    refuse_unless(margins.shape == (count, 2), argument)
    pairs = [(int(before), int(after)) for before, after in margins]
    refuse_unless(all(min(pair) >= 0 for pair in pairs), argument)
    return pairs


def _to_batch(x: Array, sizes: list[int], pairs: list[tuple[int, int]], zero: Any) -> Array:
    refuse_unless(math.prod(sizes) * max(x.shape[0], 1) < 2**63, "block_shape")
    for i, (size, pair) in enumerate(zip(sizes, pairs, strict=True)):
        refuse_unless((x.shape[i + 1] + sum(pair)) % size == 0, "paddings")
    count, rest = len(sizes), x.shape[len(sizes) + 1 :]
    inner = zip(x.shape[1:], pairs, strict=False)
    padded = np.empty((x.shape[0], *[n + sum(pair) for n, pair in inner], *rest), x.dtype)
    padded[...] = zero
    places = zip(x.shape[1:], pairs, strict=False)
    padded[(slice(None), *[slice(pair[0], pair[0] + n) for n, pair in places])] = x
    split = [x.shape[0]]
    for i, size in enumerate(sizes):
        split += [padded.shape[i + 1] // size, size]
    parts = padded.reshape(*split, *rest)
    order = [2 * i + 2 for i in range(count)] + [0] + [2 * i + 1 for i in range(count)]
    parts = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    return parts.reshape(x.shape[0] * math.prod(sizes), *parts.shape[count + 1 :])


def _from_batch(x: Array, sizes: list[int], pairs: list[tuple[int, int]]) -> Array:
    elements = math.prod(sizes)
    refuse_unless(elements < 2**63 and x.shape[0] % elements == 0, "block_shape")
    count, rest = len(sizes), x.shape[len(sizes) + 1 :]
    batch, blocks = x.shape[0] // elements, x.shape[1 : count + 1]
    parts = x.reshape(*sizes, batch, *blocks, *rest)
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    parts = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    wide = [n * size for n, size in zip(blocks, sizes, strict=True)]
    whole = parts.reshape(batch, *wide, *rest)
    taken = [slice(None)]
    for size, (before, after) in zip(wide, pairs, strict=True):
        refuse_unless(before + after <= size, "crops")
        taken.append(slice(before, size - after))
    return np.ascontiguousarray(whole[tuple(taken)])


def _by_inputs(case: Case) -> Outcome:
    x, sizes = case.array(0), integers(case, 1)
    to_batch = case.op == "SpaceToBatchND"
    refuse_unless(all(size >= 1 for size in sizes), "block_shape")
    pairs = _pairs(case, 2, len(sizes), "paddings" if to_batch else "crops")
    refuse_unless(x.ndim > len(sizes), "input")
    if to_batch:
        return [_to_batch(x, sizes, pairs, zero_of(x))]
    return [_from_batch(x, sizes, pairs)]


def _by_attr(case: Case) -> Outcome:
    x, size = case.array(0), case.values["size"]
    to_batch = case.op == "SpaceToBatch"
    refuse_unless(size >= 2, "block_size")
    refuse_unless(x.ndim == 4, "input")
    pairs = _pairs(case, 1, 2, "paddings" if to_batch else "crops")
    if to_batch:
        return [_to_batch(x, [size, size], pairs, zero_of(x))]
    return [_from_batch(x, [size, size], pairs)]


_SPACE, _BATCH = spread("space", 2, 3, 4, 2), spread("batch", 12, 2, 2, 2)
_PAIRS = [[1, 0], [0, 2]]
define_tests(
    "SpaceToBatchND",
    cases=_make_by_inputs,
    reference=_by_inputs,
    gradient=[
        Check(lambda x: gen_ops.space_to_batch_nd(x, [2, 3], _PAIRS), (_SPACE,)),
        Check(lambda x: gen_ops.space_to_batch_nd(x, [3], [[0, 0]]), (_SPACE,)),
    ],
)
define_tests(
    "BatchToSpaceND",
    cases=_make_by_inputs,
    reference=_by_inputs,
    gradient=[Check(lambda x: gen_ops.batch_to_space_nd(x, [2, 3], _PAIRS), (_BATCH,))],
)
define_tests(
    "SpaceToBatch",
    cases=_make_by_attr,
    reference=_by_attr,
    gradient=[Check(lambda x: gen_ops.space_to_batch(x, [[1, 0], [0, 2]], 2), (_SPACE,))],
)
define_tests(
    "BatchToSpace",
    cases=_make_by_attr,
    reference=_by_attr,
    gradient=[Check(lambda x: gen_ops.batch_to_space(x, [[1, 0], [0, 2]], 2), (_BATCH,))],
)

# ---- Space and depth ----


def _make_depth(source: Source, op: Any) -> Case:
    first, size = source.chance(0.4), source.pick((2, 2, 3))
    few, deep = source.size(2), source.size(2)
    if op.name == "SpaceToDepth":
        shape = [source.size(2), few * size, source.size(2) * size, deep]
    else:
        shape = [source.size(2), few, source.size(2), deep * size * size]
    if source.chance(0.1):
        shape[source.integer(0, 3)] += 1
    shape = laid_sizes(shape, first)
    tensor = any_tensor(source, op, tuple(shape[:3] if source.chance(0.04) else shape))
    if source.chance(0.06):
        size = source.pick((1, 0, -1))
    attrs = {
        "T": type_attr(tensor.dtype),
        "block_size": attr_text(size),
        "data_format": attr_text("NCHW" if first else "NHWC"),
    }
    return Case(op.name, [tensor], attrs, {"first": first, "size": size})


def _depth(case: Case) -> Outcome:
    x, first, size = case.array(0), case.values["first"], case.values["size"]
    refuse_unless(size >= 2, "block_size")
    refuse_unless(x.ndim == 4, "input")
    count, height, width, depth = unlaid(x, first).shape
    if case.op == "SpaceToDepth":
        refuse_unless(height % size == 0 and width % size == 0, "input")
        rows, columns = height // size, width // size
        parts = unlaid(x, first).reshape(count, rows, size, columns, size, depth)
        deep = parts.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows, columns, size**2 * depth)
        return [np.ascontiguousarray(laid(deep, first))]
    refuse_unless(depth % size**2 == 0, "input")
    parts = unlaid(x, first).reshape(count, height, width, size, size, depth // size**2)
    wide = parts.transpose(0, 1, 3, 2, 4, 5)
    wide = wide.reshape(count, height * size, width * size, depth // size**2)
    return [np.ascontiguousarray(laid(wide, first))]


def _depth_checks(op: str) -> list[Check]:
    move = gen_ops.space_to_depth if op == "SpaceToDepth" else gen_ops.depth_to_space
    wide, deep = spread("wide", 1, 4, 2, 3), spread("deep", 2, 1, 2, 8)
    last = wide if op == "SpaceToDepth" else deep
    first = spread("first", 1, 4, 4, 2)
    return [
        Check(lambda x: move(x, 2), (last,)),
        Check(lambda x: move(x, 2, "NCHW"), (first,)),
    ]


define_tests(
    ["SpaceToDepth", "DepthToSpace"], cases=_make_depth, reference=_depth, gradient=_depth_checks
)
