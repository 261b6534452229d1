"""Ragged tensors repeated along their dimensions."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, math_ops
from millstream._impl.ops.ragged_rows import RaggedRows
from millstream._impl.ops.ragged_slicing import gather_rows

# How often a dimension is repeated: a number, or a scalar that a step computes.
_Count = int | Tensor


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:  # noqa: A002
    """What `tf.tile` gives of a ragged tensor.

    Raises
    ------
    ValueError
        Its rank is not known, or `multiples` does not have a number for each dimension.
    """
    with scopes.name_scope(name, "RaggedTile", [input, multiples]):
        if not isinstance(input, RaggedRows):
            raise TypeError(f"multiples: expected a tensor, got {multiples!r}")
        rank = input.shape.ndims
        if rank is None:
            raise ValueError("input: its rank must be known")
        numbers = convert_to_tensor(multiples, name="multiples")
        numbers.shape.assert_is_compatible_with([rank])
        known = constant_value(numbers)
        if known is not None:
            return _tiled(input, [int(number) for number in known])
        return _tiled(input, [numbers[axis] for axis in range(rank)])


def _is_one(count: _Count) -> bool:
    return isinstance(count, int) and count == 1


def _repeated(places: Tensor, count: _Count) -> Tensor:
    """A vector repeated as a whole."""
    return gen_ops.tile(places, array_join.stack([count]))


def _tiled(value: Any, counts: list[_Count]) -> Any:
    if all(_is_one(count) for count in counts):
        return value
    if not isinstance(value, RaggedRows):
        return gen_ops.tile(value, array_join.stack(counts))
    value = value.with_values(_tiled(value.values, [1, *counts[2:]]))
    value = _longer_rows(value, counts[1])
    if _is_one(counts[0]):
        return value
    rows = value.nrows()
    return gather_rows(value, _repeated(math_ops.range(rows, dtype=rows.dtype), counts[0]))


def _longer_rows(ragged: Any, count: _Count) -> Any:
    """Each row repeated within itself."""
    if _is_one(count):
        return ragged
    rows = ragged.nrows()
    numbers = gen_ops.expand_dims(math_ops.range(rows, dtype=rows.dtype), 1)
    each = gen_ops.reshape(gen_ops.tile(numbers, array_join.stack([1, count])), [-1])
    # Rows of the same number are neighbours now, and so one row.
    neighbours = gather_rows(ragged, each)
    ends = math_ops.range(rows + 1, dtype=rows.dtype) * math_ops.cast(count, rows.dtype)
    return ragged._like(neighbours.values, gen_ops.gather_v2(neighbours.row_splits, ends, 0))
