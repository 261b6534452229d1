"""Partitioners: functions that say into how many parts a variable is cut along each dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, takes
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape, as_shape

Partitioner = Callable[..., list[int]]


class Partition(NamedTuple):
    """Where a part lies in its variable: the ``partition_info`` of initializers."""

    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]


def known_sizes(shape: TensorShape) -> list[int]:
    """The sizes of the dimensions; REQUIRES: the shape is fully defined."""
    return [size for size in shape.as_list() if size is not None]


def _known(shape: Any, axis: int) -> list[int]:
    """The sizes of the dimensions of a variable that is to be cut along `axis`."""
    static = as_shape(shape)
    if not static.is_fully_defined():
        raise ValueError(f"shape: expected a fully defined one, got {static}")
    sizes = known_sizes(static)
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"axis: expected a dimension of the shape {sizes}, got {axis}")
    return sizes


def _bytes_of(dtype: Any, bytes_per_string_element: int) -> int:
    kind = dtypes.as_dtype(dtype).base_dtype
    size: int = bytes_per_string_element if kind == dtypes.string else kind.size
    return size


def _cut(sizes: list[int], axis: int, count: int) -> list[int]:
    counts = [1] * len(sizes)
    counts[axis] = count
    return counts


@public("fixed_size_partitioner")
@takes(num_shards=INTEGER, axis=INTEGER)
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts into a fixed number of parts.

    Parameters
    ----------
    num_shards
        The number of parts; a dimension of a smaller size is cut into parts of size 1.
    axis
        The dimension that is cut.

    Raises
    ------
    ValueError
        `num_shards` is below 1.

    Examples
    --------
    >>> table = tf.get_variable("table", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    >>> [part.shape.as_list() for part in table]
    [[3, 2], [2, 2]]
    """
    if num_shards < 1:
        raise ValueError(f"num_shards: must be positive, got {num_shards}")

    def partitioner(shape: Any, **_: Any) -> list[int]:
        sizes = _known(shape, axis)
        return _cut(sizes, axis, max(1, min(num_shards, sizes[axis])))

    return partitioner


@public("variable_axis_size_partitioner")
@takes(max_shard_bytes=INTEGER, axis=INTEGER, bytes_per_string_element=INTEGER, max_shards=INTEGER)
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """A partitioner that cuts into as many parts as keep each part small.

    Parameters
    ----------
    max_shard_bytes
        The greatest size of a part in bytes. A part with a single slice may be greater.
    axis
        The dimension that is cut.
    bytes_per_string_element
        The size that is assumed of a string.
    max_shards
        The greatest number of parts, which comes before `max_shard_bytes`; None for any.

    Raises
    ------
    ValueError
        A number is below 1.

    Examples
    --------
    >>> part = tf.variable_axis_size_partitioner(max_shard_bytes=16)
    >>> part(shape=tf.TensorShape([5, 2]), dtype=tf.float32)
    [3, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "max_shard_bytes and bytes_per_string_element: must be positive, got "
            f"{max_shard_bytes} and {bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards: must be positive, got {max_shards}")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known(shape, axis)
        size = sizes[axis]
        slice_bytes = math.prod(sizes) // max(size, 1) * _bytes_of(dtype, bytes_per_string_element)
        in_part = max(1, max_shard_bytes // max(slice_bytes, 1))
        count = max(1, -(-size // in_part))
        return _cut(sizes, axis, count if max_shards is None else min(count, max_shards))

    return partitioner


@public("min_max_variable_partitioner")
@takes(
    max_partitions=INTEGER, axis=INTEGER, min_slice_size=INTEGER, bytes_per_string_element=INTEGER
)
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner that cuts into as many parts as keep each part large.

    Parameters
    ----------
    max_partitions
        The greatest number of parts.
    axis
        The dimension that is cut.
    min_slice_size
        The number of bytes that makes a part of its own worth while.
    bytes_per_string_element
        The size that is assumed of a string.

    Raises
    ------
    ValueError
        A number is below 1.

    Examples
    --------
    >>> part = tf.min_max_variable_partitioner(max_partitions=3, min_slice_size=8)
    >>> part(shape=tf.TensorShape([5, 2]), dtype=tf.float32)
    [3, 1]
    """
    if max_partitions < 1 or min_slice_size < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "max_partitions, min_slice_size and bytes_per_string_element: must be positive, got "
            f"{max_partitions}, {min_slice_size} and {bytes_per_string_element}"
        )

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known(shape, axis)
        total = math.prod(sizes) * _bytes_of(dtype, bytes_per_string_element)
        worth = -(-total // min_slice_size)
        return _cut(sizes, axis, max(1, min(sizes[axis], max_partitions, worth)))

    return partitioner


def counts_of(partitioner: Any, name: str, shape: TensorShape, dtype: DType) -> list[int]:
    """The number of parts along each dimension of a new variable, as a partitioner gives it.

    Raises
    ------
    ValueError
        The shape is not known or is that of a scalar, or the partitioner does not give one number
        for each dimension, or numbers below 1, or cuts along two dimensions.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but is {shape}"
        )
    sizes = shape.as_list()
    if not sizes:
        raise ValueError(f"A partitioned variable must have rank at least 1: {name} is a scalar")
    given = partitioner(shape=shape, dtype=dtype)
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"partitioner: expected a list of numbers for {name}, got {given!r}")
    if len(given) != len(sizes):
        raise ValueError(
            f"partitioner: expected {len(sizes)} numbers for {name} of shape {sizes}, got {given}"
        )
    counts = [int(count) for count in given]
    if any(count < 1 for count in counts):
        raise ValueError(f"partitioner: expected positive numbers for {name}, got {given}")
    if sum(count > 1 for count in counts) > 1:
        raise ValueError(
            f"partitioner: can only slice a variable along one dimension, got {given} for {name}"
        )
    return counts


def partitions(sizes: list[int], counts: list[int]) -> Iterator[Partition]:
    """The parts of a variable in order: as equal as can be, the greater ones first."""
    axis = cut_axis(counts)
    least, greater = divmod(sizes[axis], counts[axis])
    start = 0
    for index in range(counts[axis]):
        offset, shape = [0] * len(sizes), list(sizes)
        offset[axis], shape[axis] = start, least + (index < greater)
        start += shape[axis]
        yield Partition(list(sizes), offset, shape)


def cut_axis(counts: list[int]) -> int:
    """The dimension that is cut; the first if none is."""
    return next((axis for axis, count in enumerate(counts) if count > 1), 0)
