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
        A tensor where no dimension behind the first is ragged: scalars, or tensors that are stacked
        along a last dimension.

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
        depth = max(getattr(one, "ragged_rank", 0) for one in tensors)
        depth = min(max(axis, depth), rank - 1)
        rows = [with_ragged_rank(RaggedTensor, one, depth) for one in tensors]
        return with_splits_of(_stacked(rows, axis), tensors)


def _stacked(tensors: list[Any], axis: int) -> Any:
    first = tensors[0]
    is_ragged = isinstance(first, RaggedTensor)
    if first.shape.ndims == 0 or (axis and not is_ragged):
        return array_join.stack(tensors, axis)
    if axis == 0:
        counts = array_join.stack([_row_count(one) for one in tensors])
        return RaggedTensor.from_row_lengths(joined_rows(tensors), counts, validate=False)
    if axis > 1:
        return first.with_values(_stacked([one.values for one in tensors], axis - 1))
    splits = math_ops.range(first.nrows(dtypes.int64) + 1) * len(tensors)
    return RaggedTensor.from_row_splits(rows_in_turn(tensors), splits, validate=False)


def _row_count(tensor: Any) -> Tensor:
    if isinstance(tensor, RaggedTensor):
        return tensor.nrows(dtypes.int64)
    return array_ops.shape(tensor, out_type=dtypes.int64)[0]
