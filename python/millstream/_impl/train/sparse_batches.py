"""How sparse tensors go through queues of batches: each element as three strings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import serialization_ops
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape

STORED = TensorShape([3])  # shape of an element in a queue


@dataclasses.dataclass(frozen=True)
class SparseColumn:
    """One component of all sources, which is sparse.

    Parameters
    ----------
    dtype
        Type of the values.
    rank
        How many dimensions it has; None if that is not known.
    """

    dtype: DType
    rank: int | None

    def restored(self, strings: Tensor, enqueue_many: bool) -> SparseTensor:
        """The sparse tensor that a batch of elements is."""
        rank = self.rank if enqueue_many or self.rank is None else self.rank + 1
        return serialization_ops.deserialize_many_sparse(strings, self.dtype, rank)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, (SparseTensor, SparseTensorValue))


def stored(value: Any, enqueue_many: bool) -> Tensor:
    """A sparse tensor as strings: one element, or with `enqueue_many` one for each row."""
    store = (
        serialization_ops.serialize_many_sparse
        if enqueue_many
        else serialization_ops.serialize_sparse
    )
    return store(value)


def columns_of(lists: Sequence[Sequence[Any]]) -> list[SparseColumn | None]:
    """Which components of the sources are sparse; None for one of tensors.

    Raises
    ------
    TypeError
        A component is sparse in some sources only, or of several types.
    ValueError
        Its sources have different ranks.
    """
    return [_column(column) for column in zip(*lists, strict=True)]


def _column(values: Sequence[Any]) -> SparseColumn | None:
    if not any(_is_sparse(value) for value in values):
        return None
    if not all(_is_sparse(value) for value in values):
        raise TypeError("tensors_list: a component is sparse in some sources, and in others not")
    tensors = [
        value if isinstance(value, SparseTensor) else SparseTensor.from_value(value)
        for value in values
    ]
    types = {tensor.dtype for tensor in tensors}
    if len(types) > 1:
        first, second = sorted(kind.name for kind in types)[:2]
        raise TypeError(f"Expected types to be consistent: {first} vs. {second}.")
    ranks = {tensor.shape.ndims for tensor in tensors if tensor.shape.ndims is not None}
    if len(ranks) > 1:
        raise ValueError(f"tensors_list: a sparse component has different ranks: {sorted(ranks)}")
    return SparseColumn(types.pop(), next(iter(ranks), None))
