"""The parts of ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, math_ops, reductions
from millstream._impl.ops.nest import Composite
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.values.dtypes import DType


def rowids_of_splits(splits: Tensor) -> Tensor:
    """Of each value the row that it is in: how many rows end at it or before."""
    zero, one = (convert_to_tensor(number, splits.dtype) for number in (0, 1))
    places = gen_ops.range(zero, splits[-1], one)
    found = gen_ops.upper_bound(
        gen_ops.expand_dims(splits[1:], 0), gen_ops.expand_dims(places, 0), out_type=splits.dtype
    )
    return found[0]


class RaggedRows(TensorLike, Composite):
    """Rows of different lengths: values, and the splits at which rows begin and end."""

    _values: Any
    _row_splits: Tensor

    def _like(self, values: Any, row_splits: Any) -> Any:
        """A ragged tensor of other parts."""
        kind: Any = type(self)
        return kind(values, row_splits, internal=True)

    @property
    def values(self) -> Any:
        """What the rows are made of: a tensor or a ragged tensor."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """Where rows begin and end, one more than there are rows."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The tensor inside of all rows."""
        values: Any = self._values
        while isinstance(values, RaggedRows):
            values = values.values
        result: Tensor = values
        return result

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of each ragged dimension, outermost first."""
        inner = self._values
        rest = inner.nested_row_splits if isinstance(inner, RaggedRows) else ()
        return (self._row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions have rows of different lengths."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self.flat_values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self._row_splits.graph

    @property
    def op(self) -> Operation:
        """The operation that computes the elements."""
        return self.flat_values.op

    @property
    def shape(self) -> TensorShape:
        """Static shape, with None along ragged dimensions."""
        size = self._row_splits.shape[0].value
        inner = self._values.shape
        if inner.ndims is None:
            return TensorShape(None)
        return TensorShape([None if size is None else size - 1, None, *inner.as_list()[1:]])

    def get_shape(self) -> TensorShape:
        """Static shape: the property `shape`."""
        return self.shape

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Of each value the row that it is in."""
        with scopes.name_scope(name, "RaggedValueRowIds"):
            return rowids_of_splits(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The same of each ragged dimension, outermost first."""
        with scopes.name_scope(name, "RaggedNestedValueRowIds"):
            return tuple(rowids_of_splits(splits) for splits in self.nested_row_splits)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are."""
        dtype = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with scopes.name_scope(name, "RaggedNRows"):
            return gen_ops.shape(self._row_splits, out_type=dtype)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins."""
        with scopes.name_scope(name, "RaggedRowStarts"):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends."""
        with scopes.name_scope(name, "RaggedRowLimits"):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """How long rows are, along a dimension.

        Parameters
        ----------
        axis
            The dimension.
        name
            Name of the result.

        Returns
        -------
        Tensor or RaggedTensor
            A number for each row of the dimensions before.
        """
        with scopes.name_scope(name, "RaggedRowLengths"):
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedRows):
                return self.with_values(self._values.row_lengths(axis - 1))
            shape = gen_ops.shape(self._values, out_type=self._row_splits.dtype)
            count, size = shape[0], shape[axis - 1]
            return self.with_values(gen_ops.fill(gen_ops.reshape(count, [1]), size))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """How long the rows of each ragged dimension are, outermost first."""
        with scopes.name_scope(name, "RaggedNestedRowLengths"):
            return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """The sizes of the least tensor that holds all rows.

        Parameters
        ----------
        axis
            One dimension or several; by default all.
        name
            Name of the result.
        out_type
            int32 or int64; by default the type of the splits.
        """
        dtype = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with scopes.name_scope(name, "RaggedBoundingBox"):
            none = convert_to_tensor([0], self._row_splits.dtype)
            sizes = [gen_ops.reshape(self.nrows(), [1])]
            sizes += [
                gen_ops.reshape(reductions.reduce_max(array_join.concat([none, lengths], 0)), [1])
                for lengths in self.nested_row_lengths()
            ]
            inner = gen_ops.shape(self.flat_values, out_type=self._row_splits.dtype)[1:]
            whole = math_ops.cast(array_join.concat([*sizes, inner], 0), dtype)
            return whole if axis is None else gen_ops.gather_v2(whole, axis, 0)

    def consumers(self) -> list[Operation]:
        """The operations that take its parts."""
        parts = [self.flat_values, *self.nested_row_splits]
        return [op for part in parts for op in part.consumers()]

    # ---- Other values, other forms ----

    def with_values(self, new_values: Any) -> Any:
        """Rows like these of other values."""
        return self._like(new_values, self._row_splits)

    def with_flat_values(self, new_values: Any) -> Any:
        """Rows like these of other values inside of all rows."""
        inner = self._values
        nested = isinstance(inner, RaggedRows)
        return self.with_values(inner.with_flat_values(new_values) if nested else new_values)

    def with_row_splits_dtype(self, dtype: Any) -> Any:
        """The same with splits of int32 or int64."""
        wanted = dtypes.as_dtype(dtype)
        if wanted not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"dtype: dtype must be int32 or int64, got {wanted.name}")
        inner = self._values
        if isinstance(inner, RaggedRows):
            inner = inner.with_row_splits_dtype(wanted)
        return self._like(inner, math_ops.cast(self._row_splits, wanted))
