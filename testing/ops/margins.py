"""Ops that put margins around tensors, and that roll and transpose them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, indices, integers, normalized
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.support.variants import check_of_lists

_X = spread("x", 2, 3, 4)
_A = spread("a", 3, 4)


# ---- PadV2 ----


def _paddings(source: Source, rank: int, most: list[int]) -> Input:
    """Paddings up to `most` a dimension; at times ones that do not fit."""
    dtype = source.pick(INDEX_TYPES)
    values = np.array(
        [[source.integer(0, max(size, 0)) for _ in range(2)] for size in most], dtype
    ).reshape(rank, 2)
    if rank and source.chance(0.15):
        choices = (-1, 2**62, 2**63 - 1, 7) if dtype == "int64" else (-1, -2, -(2**31), 7)
        values[source.integer(0, rank - 1), source.integer(0, 1)] = source.pick(choices)
    if source.chance(0.05):
        values = source.index_values(dtype, source.pick(((rank + 1, 2), (rank, 3), (2,))), 0, 2)
    return Input(dtype, values)


def _make_pad(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, source.small_shape(0, 6, 4))
    rank = tensor.value.ndim  # type: ignore[union-attr]
    paddings = _paddings(source, rank, [2] * rank)
    value = Input(tensor.dtype, source.values(tensor.dtype, () if source.chance(0.95) else (1,)))
    attrs = {"T": type_attr(tensor.dtype), "Tpaddings": type_attr(paddings.dtype)}
    return Case(op.name, [tensor, paddings, value], attrs)


def _pairs(case: Case, x: Array) -> list[tuple[int, int]]:
    paddings = case.array(1)
    refuse_unless(paddings.shape == (x.ndim, 2) and (paddings >= 0).all(), "paddings")
    return [(int(before), int(after)) for before, after in paddings]


def _pad(case: Case) -> Outcome:
    x, value = case.array(0), case.array(2)
    pairs = _pairs(case, x)
    refuse_unless(value.ndim == 0, "constant_values")
    sizes = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True)]
    padded = np.empty(checked_size(sizes, "paddings"), x.dtype)
    padded[...] = value
    padded[_inside(x.shape, pairs)] = x
    return [padded]


def _inside(shape: tuple[int, ...], pairs: list[tuple[int, int]]) -> tuple[slice, ...]:
    return tuple(slice(a, a + size) for (a, _), size in zip(pairs, shape, strict=True))


define_tests(
    "PadV2",
    cases=_make_pad,
    reference=_pad,
    gradient=[
        Check(lambda a, v: gen_ops.pad_v2(a, [[1, 0], [0, 2], [3, 1]], v), (_X, spread("v"))),
    ],
)


# ---- MirrorPad and MirrorPadGrad ----


def _make_mirrored(source: Source, op: Any) -> Case:
    """A case of MirrorPad, or of its gradient: then the tensor has the shape with the margin."""
    mode = source.pick(("REFLECT", "SYMMETRIC"))
    shape = source.small_shape(0, 5, 4)
    most = [min(size - (mode == "REFLECT"), 3) for size in shape]
    paddings = _paddings(source, len(shape), most)
    value = paddings.value
    assert value is not None
    fitting = value.shape == (len(shape), 2) and ((value >= 0) & (value < 10)).all()
    if op.name == "MirrorPadGrad" and fitting:
        shape = tuple(size + int(sum(pair)) for size, pair in zip(shape, value, strict=True))
    tensor = any_tensor(source, op, shape)
    if op.name == "MirrorPadGrad":
        dtype = pick_type(source, op, "T")
        while dtype in ("bool", "string") or dtype.startswith("q"):
            dtype = pick_type(source, op, "T")
        tensor = Input(dtype, source.values(dtype, shape))
    attrs = {"T": type_attr(tensor.dtype), "Tpaddings": type_attr(paddings.dtype)}
    attrs["mode"] = attr_text(mode)
    return Case(op.name, [tensor, paddings], attrs)


def _mirrored_indices(case: Case, shape: tuple[int, ...]) -> list[Array]:
    """For each dimension, where each element of the padded tensor comes from."""
    offset = 1 if case.attr("mode") == "REFLECT" else 0
    found = []
    for size, (before, after) in zip(shape, case.array(1), strict=True):
        refuse_unless(max(int(before), int(after)) <= size - offset, "paddings")
        places = [before - 1 + offset - i for i in range(before)]
        places += [*range(size), *(size - 1 - offset - i for i in range(after))]
        found.append(np.array(places, int).reshape(len(places)))
    return found


def _mirror_pad(case: Case) -> Outcome:
    x = case.array(0)
    _pairs(case, x)
    return [x[np.ix_(*_mirrored_indices(case, x.shape))] if x.ndim else x]


def _mirror_pad_grad(case: Case) -> Outcome:
    dy, dtype = case.array(0), case.inputs[0].dtype
    pairs = _pairs(case, dy)
    sizes = [size - sum(pair) for size, pair in zip(dy.shape, pairs, strict=True)]
    refuse_unless(min(sizes, default=0) >= 0, "paddings")
    numbers = number_types.as_numbers(dy, dtype)
    if dy.ndim == 0:
        return [numbers]
    places = np.ix_(*_mirrored_indices(case, tuple(sizes)))
    if not number_types.is_inexact(dtype):
        sums = np.zeros(sizes, numbers.dtype)
        np.add.at(sums, places, numbers)
        return [sums]
    wide = np.clongdouble if np.iscomplexobj(numbers) else np.longdouble
    exact, scale = np.zeros(sizes, wide), np.zeros(sizes, np.longdouble)
    np.add.at(exact, places, numbers.astype(wide))
    np.add.at(scale, places, np.abs(numbers.astype(wide)))
    return [summed(exact, scale, reduce(lambda n, pair: n * (1 + 2 * any(pair)), pairs, 1), dtype)]


def _mirror_checks(op: str) -> list[Check]:
    function = gen_ops.mirror_pad if op == "MirrorPad" else gen_ops.mirror_pad_grad
    x = _A if op == "MirrorPad" else spread("padded", 6, 6)
    return [
        Check(lambda a: function(a, [[2, 1], [0, 2]], mode="REFLECT"), (x,)),
        Check(lambda a: function(a, [[1, 2], [0, 2]], mode="SYMMETRIC"), (x,)),
    ]


def _large_mirrored(values: Values) -> Any:
    image = values.of(300, 400, 3)
    return [
        gen_ops.mirror_pad(image, [[3, 3], [2, 5], [0, 0]], mode="REFLECT"),
        gen_ops.mirror_pad_grad(image, [[3, 3], [2, 5], [0, 0]], mode="SYMMETRIC"),
    ]


_LARGE = LargeCase(_large_mirrored)
define_tests(
    "MirrorPad",
    cases=_make_mirrored,
    reference=_mirror_pad,
    gradient=_mirror_checks,
)
define_tests(
    "MirrorPadGrad",
    cases=_make_mirrored,
    reference=_mirror_pad_grad,
    gradient=_mirror_checks,
    determinism=_LARGE,
)


# ---- Roll ----


def _make_roll(source: Source, op: Any) -> Case:
    shape = source.shape(0 if source.chance(0.03) else 1, 5)
    tensor = any_tensor(source, op, shape)
    count = source.integer(0, 3)
    axes = [source.axis(len(shape), 0.97) for _ in range(count)]
    shifts = [source.integer(-9, 9) for _ in range(count)]
    if shifts and source.chance(0.1):
        shifts[0] = source.pick((2**31 - 1, -(2**31), 2**63 - 1, -(2**63)))
    shift, axis = indices(source, shifts), indices(source, axes)
    if count == 1 and source.chance(0.5):
        shift.value, axis.value = (part.value.reshape(()) for part in (shift, axis))  # type: ignore[union-attr]
    if source.chance(0.05):
        shift = indices(source, [*shifts, 1])
    attrs = {"T": type_attr(tensor.dtype), "Tshift": type_attr(shift.dtype)}
    attrs["Taxis"] = type_attr(axis.dtype)
    return Case(op.name, [tensor, shift, axis], attrs)


def _roll(case: Case) -> Outcome:
    x = case.array(0)
    refuse_unless(x.ndim >= 1, "input")
    refuse_unless(case.array(1).shape == case.array(2).shape, "shift")
    for shift, axis in zip(integers(case, 1), integers(case, 2), strict=True):
        dimension = normalized(axis, x.ndim, "axis")
        size = x.shape[dimension]
        x = np.roll(x, shift % size if size else 0, dimension) if x.size else x
    return [x]


define_tests(
    "Roll",
    cases=_make_roll,
    reference=_roll,
    gradient=[
        Check(lambda a: gen_ops.roll(a, [1, -2], [0, 2]), (_X,)),
        Check(lambda a: gen_ops.roll(a, 5, -1), (_X,)),
        check_of_lists(lambda a: gen_ops.roll(a, [1], [0]), 2),
    ],
)


# ---- ConjugateTranspose ----


def _make_transpose(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    rank = tensor.value.ndim  # type: ignore[union-attr]
    permutation = [int(axis) for axis in source.random.permutation(rank)]
    if permutation and source.chance(0.15):
        permutation[0] = source.pick((rank, -rank - 1, permutation[-1], 2**31 - 1))
    by = indices(source, permutation)
    return Case(op.name, [tensor, by], {"T": type_attr(tensor.dtype), "Tperm": type_attr(by.dtype)})


def _conjugate_transpose(case: Case) -> Outcome:
    x, permutation = case.array(0), integers(case, 1)
    refuse_unless(sorted(permutation) == list(range(x.ndim)), "perm")
    turned = x.transpose(permutation)
    return [np.conj(turned) if np.iscomplexobj(x) else turned]


define_tests(
    "ConjugateTranspose",
    cases=_make_transpose,
    reference=_conjugate_transpose,
    gradient=[Check(lambda a: gen_ops.conjugate_transpose(a, [2, 0, 1]), (_X,))],
)
