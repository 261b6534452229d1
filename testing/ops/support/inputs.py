"""Inputs that cases of several families have, and what references read of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input
from testing.ops.support.number_types import Array
from testing.ops.support.reference import pick_type, refuse_unless
from testing.ops.support.source import HUGE, Source

INDEX_TYPES = ("int32", "int64")


def any_tensor(source: Source, op: Any, shape: tuple[int, ...] | None = None) -> Input:
    """A tensor of any type that attribute T may be."""
    dtype = pick_type(source, op, "T")
    return Input(dtype, source.values(dtype, source.shape() if shape is None else shape))


def indices(source: Source, values: list[int], dtype: str = "") -> Input:
    """A vector of indices; those that do not fit into int32 only as int64."""
    dtype = dtype or source.pick(INDEX_TYPES)
    if any(not -(2**31) <= value < 2**31 for value in values):
        dtype = "int64"
    return Input(dtype, np.array(values, dtype).reshape(len(values)))


def scalar(value: int, dtype: str) -> Input:
    """A scalar index."""
    limits = np.iinfo(dtype)
    return Input(dtype, np.array(min(max(value, limits.min), limits.max), dtype))


def row_indices(source: Source, shape: Any, rows: int, dtype: str = "") -> Input:
    """Indices of rows; at times one that is not there."""
    dtype = dtype or source.pick(INDEX_TYPES)
    values = source.index_values(dtype, shape, 0, max(rows - 1, 0))
    if values.size and source.chance(0.12):
        limits = np.iinfo(dtype)
        values.reshape(-1)[source.integer(0, values.size - 1)] = source.pick(
            (-1, rows, limits.max, limits.min)
        )
    return Input(dtype, values)


def drawn_sizes(source: Source) -> list[int]:
    """Sizes of a small tensor; at times ones that overflow, negative ones, or empty huge ones."""
    sizes = list(source.small_shape())
    if source.chance(0.3):
        sizes.insert(source.integer(0, len(sizes)), source.pick((-1, 0, *HUGE)))
        sizes.insert(source.integer(0, len(sizes)), source.pick((-(2**31), 0, 0, *HUGE)))
    # What neither overflows nor is empty, but takes all memory, says nothing.
    product = 1
    for size in sizes:
        product *= size
    return sizes if product < 10**6 or product >= 2**63 else [0, *sizes]


def integers(case: Case, i: int) -> list[int]:
    """The elements of an input of integers."""
    return [int(value) for value in case.array(i).reshape(-1)]


def normalized(axis: int, rank: int, argument: str) -> int:
    """The axis counted from the front; refuses one that is not there."""
    refuse_unless(-rank <= axis < rank, argument)
    return axis % rank


def zero_of(array: Array) -> Any:
    """What the holes of a copy are filled with."""
    return b"" if array.dtype == object else array.dtype.type(0)
