"""Ops that reverse the order of elements: they are compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, indices, integers, normalized
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_X = spread("x", 2, 3, 4)


def _flipped(x: Array, axes: list[int]) -> Array:
    return np.flip(x, tuple(axes)) if axes else x


def _make_reverse(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    rank = tensor.value.ndim + (1 if source.chance(0.05) else 0)
    dims = np.array([source.chance(0.5) for _ in range(rank)], bool)
    return Case(op.name, [tensor, Input("bool", dims)], {"T": type_attr(tensor.dtype)})


def _reverse(case: Case) -> Outcome:
    x, dims = case.array(0), case.array(1)
    refuse_unless(dims.shape == (x.ndim,), "dims")
    return [_flipped(x, [int(axis) for axis in np.flatnonzero(dims)])]


def _large(values: Values) -> Any:
    x = values.of(70, 50, 90)
    axes = ([0], [1], [2], [0, 1, 2])
    reversed_ = [gen_ops.reverse_v2(x, list(some)) for some in axes]
    return [*reversed_, gen_ops.reverse(x, [True, False, True])]


define_tests(
    "Reverse",
    cases=_make_reverse,
    reference=_reverse,
    gradient=[Check(lambda x: gen_ops.reverse(x, [True, False, True]), (_X,))],
    determinism=LargeCase(_large),
)


def _make_reverse_v2(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    assert tensor.value is not None
    rank = tensor.value.ndim
    axes = [int(axis) for axis in source.random.permutation(rank)][: source.integer(0, rank)]
    axes = [axis - rank if source.chance(0.4) else axis for axis in axes]
    if axes and source.chance(0.2):
        axes[0] = source.pick((rank, -rank - 1, axes[-1], 2**31 - 1))
    by = indices(source, axes)
    return Case(op.name, [tensor, by], {"T": type_attr(tensor.dtype), "Tidx": type_attr(by.dtype)})


def _reverse_v2(case: Case) -> Outcome:
    x = case.array(0)
    axes = [normalized(axis, x.ndim, "axis") for axis in integers(case, 1)]
    refuse_unless(len(set(axes)) == len(axes), "axis")
    return [_flipped(x, axes)]


define_tests(
    "ReverseV2",
    cases=_make_reverse_v2,
    reference=_reverse_v2,
    gradient=[
        Check(lambda x: gen_ops.reverse_v2(x, [2, 0]), (_X,)),
        Check(lambda x: gen_ops.reverse_v2(x, np.array([-1], np.int64)), (_X,)),
    ],
    determinism=LargeCase(_large),
)


def _make_sequences(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op, source.small_shape(0 if source.chance(0.05) else 2, 6))
    assert tensor.value is not None
    shape, rank = tensor.value.shape, tensor.value.ndim
    dims = [int(axis) for axis in source.random.permutation(rank)][:2]
    while len(dims) < 2 or source.chance(0.1):
        dims = [source.pick((-1, 0, 1, rank, 2**40)) for _ in range(2)]
    batch_dim, seq_dim = dims
    batch, steps = (shape[dim] if 0 <= dim < rank else 2 for dim in dims)
    if source.chance(0.05):
        batch += 1
    dtype = source.pick(INDEX_TYPES)
    lengths = source.index_values(dtype, (batch,), 0, steps)
    if batch and source.chance(0.15):
        limits = np.iinfo(dtype)
        lengths[source.integer(0, batch - 1)] = source.pick((-1, steps + 1, limits.max, limits.min))
    attrs = {
        "T": type_attr(tensor.dtype),
        "Tlen": type_attr(dtype),
        "seq_dim": attr_text(seq_dim),
        "batch_dim": attr_text(batch_dim),
    }
    return Case(op.name, [tensor, Input(dtype, lengths)], attrs)


def _sequences(case: Case) -> Outcome:
    x, lengths = case.array(0), integers(case, 1)
    batch_dim, seq_dim = case.attr("batch_dim"), case.attr("seq_dim")
    refuse_unless(0 <= batch_dim < x.ndim, "batch_dim")
    refuse_unless(0 <= seq_dim < x.ndim and seq_dim != batch_dim, "seq_dim")
    refuse_unless(len(lengths) == x.shape[batch_dim], "seq_lengths")
    reversed_ = x.copy()
    # Views: the sequences, with their steps in front.
    from_ = np.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    to = np.moveaxis(reversed_, (batch_dim, seq_dim), (0, 1))
    for i, length in enumerate(lengths):
        refuse_unless(0 <= length <= x.shape[seq_dim], "seq_lengths")
        to[i, :length] = from_[i, :length][::-1]
    return [reversed_]


def _large_sequences(values: Values) -> Any:
    lengths = values.rows(300, 400)
    return [
        gen_ops.reverse_sequence(values.of(300, 400, 3), lengths, seq_dim=1),
        gen_ops.reverse_sequence(values.of(400, 2, 300), lengths, seq_dim=0, batch_dim=2),
    ]


define_tests(
    "ReverseSequence",
    cases=_make_sequences,
    reference=_sequences,
    gradient=[
        Check(lambda x: gen_ops.reverse_sequence(x, [2, 3], seq_dim=1), (_X,)),
        Check(lambda x: gen_ops.reverse_sequence(x, [1, 0, 2, 2], seq_dim=0, batch_dim=2), (_X,)),
    ],
    determinism=LargeCase(_large_sequences),
)
