"""Tensors and ragged tensors of one rank as one ragged tensor."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSORS, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops
from millstream._impl.ops.ragged_reductions import (
    common_splits,
    joined_rows,
    rows_in_turn,
    with_ragged_rank,
    with_splits_of,
)
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.values import dtypes


@public("ragged.stack")
@takes(values=TENSORS, axis=INTEGER)
def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors of one rank along a new dimension; their rows may have different lengths.

    Parameters
    ----------
    values
        A list of tensors and ragged tensors.
    axis
        The new dimension.
    name
        Name of the result.

    Returns
    -------
    RaggedTensor or Tensor
        A tensor for scalars, and for tensors of one shape whose new dimension is the last one or
        the one before it, but not the first.

    Raises
    ------
    ValueError
        There are none, their ranks differ or are unknown, or `axis` is out of range.

    Examples
    --------
    >>> rows = tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])])
    >>> tf.get_default_session().run(rows).to_list()
    [[1, 2], [3]]
    """
    given = [values] if isinstance(values, (Tensor, RaggedTensor)) else list(values)
    if not given:
        raise ValueError("values: there must be one tensor or more")
    with scopes.name_scope(name, "RaggedConcat", given):
        tensors = [
            one if isinstance(one, RaggedTensor) else convert_to_tensor(one, name="values")
            for one in given
        ]
        rank = tensors[0].shape.ndims
        if rank is None or any(one.shape.ndims != rank for one in tensors):
            raise ValueError(f"values: expected tensors of one known rank, got {tensors}")
        if not -rank - 1 <= axis <= rank:
            raise ValueError(f"axis={axis} out of bounds: expected {-rank - 1}<=axis<{rank + 1}")
        axis += rank + 1 if axis < 0 else 0
        return with_splits_of(_stacked(tensors, axis), tensors)


def _stacked(tensors: list[Any], axis: int) -> Any:
    rank = tensors[0].shape.ndims
    ragged_rank = max(getattr(one, "ragged_rank", 0) for one in tensors)
    is_last = axis == rank or (axis == rank - 1 > 0 and _fit(tensors))
    if ragged_rank == 0 and is_last:
        return array_join.stack(tensors, axis)
    rows = [with_ragged_rank(RaggedTensor, one, max(ragged_rank, 1)) for one in tensors]
    if axis == 0:
        counts = array_join.stack([_row_count(one) for one in rows])
        return RaggedTensor.from_row_lengths(joined_rows(rows), counts, validate=False)
    if axis > 1:
        inner = _stacked([one.values for one in rows], axis - 1)
        return rows[0]._like(inner, common_splits(rows))
    splits = math_ops.range(rows[0].nrows(dtypes.int64) + 1) * len(rows)
    return RaggedTensor.from_row_splits(rows_in_turn(rows), splits, validate=False)


def _fit(tensors: list[Any]) -> bool:
    """Whether tensors may be of one shape, as far as that is known."""
    return all(tensors[0].shape.is_compatible_with(one.shape) for one in tensors)


def _row_count(tensor: Any) -> Tensor:
    if isinstance(tensor, RaggedTensor):
        return tensor.nrows(dtypes.int64)
    return array_ops.shape(tensor, out_type=dtypes.int64)[0]
