"""Sparse tensors as inputs of cases, and what references read of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from testing.ops.support.case import Case, Input
from testing.ops.support.number_types import Array
from testing.ops.support.reference import checked_size, refuse_unless
from testing.ops.support.source import Source

Index = tuple[int, ...]


class Sparse(NamedTuple):
    """A sparse tensor of a case: its indices, their values in the same order, and its shape."""

    indices: list[Index]
    values: Array
    shape: Index


def drawn_shape(source: Source, low: int = 1, high: int = 4) -> Index:
    """A shape of a sparse tensor."""
    return tuple(source.size(4) for _ in range(source.integer(low, high)))


def sparse_inputs(
    source: Source,
    dtype: str,
    shape: Sequence[int],
    style: str = "",
    *,
    index_type: str = "int64",
    in_order: bool = True,
    faults: float = 0.12,
) -> list[Input]:
    """The inputs of a sparse tensor: indices, values and shape; at times not legal ones."""
    places: Array = np.array(list(np.ndindex(*shape)), index_type).reshape(-1, len(shape))
    places = places[source.random.random(len(places)) < source.pick((0.2, 0.5, 0.9))]
    if not in_order:
        places = source.random.permutation(places)
    sizes = list(shape)
    count = len(places)
    if source.chance(faults):
        fault = source.integer(0, 4)
        if fault == 0 and len(places):
            places[source.integer(0, len(places) - 1), 0] = source.pick((-1, shape[0], 0))
        elif fault == 1:
            places = source.random.permutation(places)
        elif fault == 2:
            count += 1
        elif fault == 3:
            sizes = source.pick(([*sizes, 1], sizes[1:], [-1, *sizes[1:]]))
        elif len(places):
            places = np.repeat(places, 2, 0)[: len(places)]
    return [
        Input(index_type, places),
        Input(dtype, source.values(dtype, (count,), style)),
        Input("int64", np.array(sizes, np.int64).reshape(len(sizes))),
    ]


def read_sparse(
    case: Case, first: int, prefix: str = "", *, in_order: bool = True, bounded: bool = True
) -> Sparse:
    """Three inputs that follow each other, refused where they are no sparse tensor.

    Parameters
    ----------
    case, first
        The case, and the position of the indices among its inputs.
    prefix
        How the names of the arguments begin.
    in_order
        Whether indices must be in row-major order, each once.
    bounded
        Whether indices must be inside of the shape.
    """
    return sparse_of(case.array(first), case.array(first + 1), case.array(first + 2), prefix,
                     in_order=in_order, bounded=bounded)  # fmt: skip


def sparse_of(
    places: Array, values: Array, sizes: Array, prefix: str = "", *, in_order: bool = True,
    bounded: bool = True,
) -> Sparse:  # fmt: skip
    """The same of arrays."""
    refuse_unless(places.ndim == 2, f"{prefix}indices")
    refuse_unless(values.shape == (len(places),), f"{prefix}values")
    refuse_unless(sizes.shape == (places.shape[1],), f"{prefix}shape")
    shape = checked_size([int(size) for size in sizes], f"{prefix}shape")
    indices = [tuple(int(number) for number in row) for row in places]
    if bounded or in_order:
        for index in indices:
            inside = all(0 <= one < size for one, size in zip(index, shape, strict=True))
            refuse_unless(inside, f"{prefix}indices")
    if in_order:
        ordered = all(a < b for a, b in itertools.pairwise(indices))
        refuse_unless(ordered, f"{prefix}indices")
    return Sparse(indices, values, shape)


def sparse_outputs(indices: Sequence[Index], values: Any, shape: Index) -> list[Any]:
    """The outputs that make a sparse tensor."""
    return [
        np.array(list(indices), np.int64).reshape(len(indices), len(shape)),
        values,
        np.array(shape, np.int64).reshape(len(shape)),
    ]
