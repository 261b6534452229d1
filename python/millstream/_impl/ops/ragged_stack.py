"""Tensors and ragged tensors of one rank as one ragged tensor."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSORS, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops
from millstream._impl.ops.ragged_slicing import gather_rows
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
        return _stacked([_ragged(one, min(max(axis, depth), rank - 1)) for one in tensors], axis)


def _ragged(tensor: Any, ragged_rank: int) -> Any:
    """The same tensor with more ragged dimensions."""
    if ragged_rank <= 0:
        return tensor
    if isinstance(tensor, RaggedTensor):
        return tensor.with_values(_ragged(tensor.values, ragged_rank - 1))
    return RaggedTensor.from_tensor(tensor, ragged_rank=ragged_rank)


def _stacked(tensors: list[Any], axis: int) -> Any:
    first = tensors[0]
    is_ragged = isinstance(first, RaggedTensor)
    if first.shape.ndims == 0 or (axis and not is_ragged):
        return array_join.stack(tensors, axis)
    if axis == 0:
        counts = array_join.stack([_row_count(one) for one in tensors])
        return RaggedTensor.from_row_lengths(_joined(tensors), counts, validate=False)
    if axis > 1:
        return first.with_values(_stacked([one.values for one in tensors], axis - 1))
    # Row i of the first tensor, of the second, ..., then row i + 1 of the first.
    rows = first.nrows(dtypes.int64)
    count = len(tensors)
    places = gen_ops.reshape(math_ops.range(rows * count), array_join.stack([count, rows]))
    order = gen_ops.reshape(array_ops.transpose(places), [-1])
    splits = math_ops.range(rows + 1) * count
    values = gather_rows(_joined(tensors), order)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _row_count(tensor: Any) -> Tensor:
    if isinstance(tensor, RaggedTensor):
        return tensor.nrows(dtypes.int64)
    return array_ops.shape(tensor, out_type=dtypes.int64)[0]


def _joined(tensors: list[Any]) -> Any:
    """The rows of all, one after the other."""
    if not isinstance(tensors[0], RaggedTensor):
        return array_join.concat(tensors, 0)
    lengths = [math_ops.cast(one.row_lengths(), dtypes.int64) for one in tensors]
    values = _joined([one.values for one in tensors])
    return RaggedTensor.from_row_lengths(values, array_join.concat(lengths, 0), validate=False)
