"""Sums and their like along the dimensions of ragged tensors, and ragged tensors side by side."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, check_ops, math_ops, reductions
from millstream._impl.ops.ragged_broadcast import of_elements
from millstream._impl.ops.ragged_rows import RaggedRows, rowids_of_splits
from millstream._impl.ops.ragged_slicing import gather_rows
from millstream._impl.values import dtypes

_SEGMENTS = {
    "reduce_sum": gen_ops.unsorted_segment_sum,
    "reduce_prod": gen_ops.unsorted_segment_prod,
    "reduce_max": gen_ops.unsorted_segment_max,
    "reduce_min": gen_ops.unsorted_segment_min,
}
# Of truth values the least or the largest, as numbers.
_TRUTHS = {"reduce_all": "reduce_min", "reduce_any": "reduce_max"}


def reduced(ragged: Any, kind: str, axis: Any, keep: bool, name: str | None) -> Any:
    """What a function such as ``"reduce_sum"`` gives of a ragged tensor.

    Raises
    ------
    ValueError
        The dimensions are to be kept, or there is no such dimension.
    NotImplementedError
        There is no such function of ragged tensors.
    """
    if keep:
        raise ValueError("keepdims=True is not supported for RaggedTensors.")
    with scopes.name_scope(name, f"Ragged{kind.title().replace('_', '')}", [ragged]):
        if axis is None:
            whole: Any = getattr(reductions, kind)
            return whole(ragged.flat_values)
        axes = axes_of(axis, ragged.shape.ndims)
        if kind in _TRUTHS:
            counted = ragged.with_flat_values(math_ops.cast(ragged.flat_values, dtypes.int32))
            found = _along(counted, _TRUTHS[kind], axes)
            return _mapped(found, lambda flat: gen_ops.greater(flat, 0))
        if kind != "reduce_mean":
            return _along(ragged, kind, axes)
        ones = ragged.with_flat_values(gen_ops.ones_like(ragged.flat_values))
        return _along(ragged, "reduce_sum", axes) / _along(ones, "reduce_sum", axes)


def axes_of(axis: Any, rank: int | None) -> list[int]:
    """The dimensions, the last first. ValueError if there are none such among `rank`."""
    found = []
    for one in axis if isinstance(axis, (list, tuple)) else [axis]:
        if rank is None and one < 0:
            raise ValueError(f"axis: {one} counts from the end, and the rank is unknown")
        place = one + (rank or 0) if one < 0 else int(one)
        if rank is not None and not 0 <= place < rank:
            raise ValueError(f"axis: expected a dimension of {rank}, got {one}")
        found.append(place)
    return sorted(found, reverse=True)


def _mapped(value: Any, function: Any) -> Any:
    """A function of a tensor, or of the flat values of a ragged one."""
    if isinstance(value, RaggedRows):
        return value.with_flat_values(function(value.flat_values))
    return function(value)


def _along(value: Any, kind: str, axes: list[int]) -> Any:
    for axis in axes:
        value = _along_one(value, kind, axis)
    return value


def _along_one(value: Any, kind: str, axis: int) -> Any:
    if kind not in _SEGMENTS:
        raise NotImplementedError(f"tf.{kind} of a RaggedTensor is not there along dimensions")
    if not isinstance(value, RaggedRows):
        return getattr(reductions, kind)(value, axis)
    if axis > 1:
        return value.with_values(_along_one(value.values, kind, axis - 1))
    rows = value.row_splits
    if axis == 1:
        return combined(kind, value.values, rowids_of_splits(rows), value.nrows())
    starts = gen_ops.gather_v2(rows, rowids_of_splits(rows), 0)
    places = math_ops.range(rows[-1], dtype=rows.dtype) - starts
    return combined(kind, value.values, places, _longest(value.row_lengths()))


def _longest(lengths: Tensor) -> Tensor:
    found = reductions.reduce_max(lengths)
    longest: Tensor = gen_ops.maximum(found, gen_ops.zeros_like(found))
    return longest


def combined(kind: str, values: Any, segments: Tensor, count: Tensor) -> Any:
    """The values of each segment as one; those that are rows, element by element."""
    if not isinstance(values, RaggedRows):
        return _SEGMENTS[kind](values, segments, count)
    lengths = values.row_lengths()
    longest = gen_ops.unsorted_segment_max(lengths, segments, count)
    longest = gen_ops.maximum(longest, gen_ops.zeros_like(longest))
    none = convert_to_tensor([0], longest.dtype)
    splits = array_join.concat([none, reductions.cumsum(longest)], 0)
    starts = gen_ops.gather_v2(splits, segments, 0)
    _, places = gen_ops.ragged_range(
        starts, starts + lengths, convert_to_tensor(1, starts.dtype), Tsplits=splits.dtype
    )
    return values._like(combined(kind, values.values, places, splits[-1]), splits)


def joined_rows(tensors: list[Any]) -> Any:
    """The rows of all, one after the other. Ragged tensors have one ragged rank."""
    if not isinstance(tensors[0], RaggedRows):
        return array_join.concat(tensors, 0)
    lengths = array_join.concat([_int64(one.row_lengths()) for one in tensors], 0)
    splits = array_join.concat(
        [convert_to_tensor([0], dtypes.int64), reductions.cumsum(lengths)], 0
    )
    return tensors[0]._like(joined_rows([one.values for one in tensors]), splits)


def _int64(tensor: Any) -> Tensor:
    found: Tensor = math_ops.cast(tensor, dtypes.int64)
    return found


def side_by_side(tensors: list[Any], axis: int) -> Any:
    """Ragged tensors of one ragged rank, one after the other along a dimension."""
    first = tensors[0]
    if axis == 0 or not isinstance(first, RaggedRows):
        return joined_rows(tensors) if axis == 0 else array_join.concat(tensors, axis)
    if axis > 1:
        inner = side_by_side([one.values for one in tensors], axis - 1)
        return first._like(inner, common_splits(tensors))
    rows = rows_in_turn(tensors)
    return rows._like(rows.values, rows.row_splits[:: len(tensors)])


def common_splits(tensors: list[Any]) -> Tensor:
    """The splits that ragged tensors have in common; a step checks that."""
    first: Tensor = tensors[0].row_splits
    checks = [
        check_ops.assert_equal(
            _int64(first),
            _int64(one.row_splits),
            message=f"Inputs must have identical ragged splits, and those at index 0 and {i} have "
            "others.",
        )
        for i, one in enumerate(tensors)
        if one.row_splits is not first
    ]
    with scopes.control_dependencies(checks):
        return gen_ops.identity(first) if checks else first


def rows_in_turn(tensors: list[Any]) -> Any:
    """Row 0 of each, then row 1 of each, and so on. They must have as many rows."""
    rows = tensors[0].nrows(dtypes.int64)
    count = len(tensors)
    checks = [
        check_ops.assert_equal(
            rows,
            one.nrows(dtypes.int64),
            message=f"Input tensors at index 0 and {i} have incompatible shapes: as many rows are "
            "expected.",
        )
        for i, one in enumerate(tensors)
        if i
    ]
    with scopes.control_dependencies(checks):
        rows = gen_ops.identity(rows)
    places = gen_ops.reshape(math_ops.range(rows * count), array_join.stack([count, rows]))
    order = gen_ops.reshape(gen_ops.transpose(places, [1, 0]), [-1])
    return gather_rows(joined_rows(tensors), order)


def with_splits_of(value: Any, tensors: list[Any]) -> Any:
    """A result with splits of int32 if all ragged tensors that it is made of have these."""
    kinds = {one.row_splits.dtype for one in tensors if isinstance(one, RaggedRows)}
    if not isinstance(value, RaggedRows) or not kinds:
        return value
    return value.with_row_splits_dtype(kinds.pop() if len(kinds) == 1 else dtypes.int64)


def with_ragged_rank(kind: Any, value: Any, ragged_rank: int) -> Any:
    """The same tensor with so many ragged dimensions, as far as its rank allows.

    Parameters
    ----------
    kind
        The class of ragged tensors.
    value, ragged_rank
        The tensor, which may be ragged, and the number of dimensions.
    """
    if ragged_rank <= 0:
        return value
    if isinstance(value, RaggedRows):
        return value.with_values(with_ragged_rank(kind, value.values, ragged_rank - 1))
    tensor = convert_to_tensor(value, name="values")
    most = ragged_rank if tensor.shape.ndims is None else min(ragged_rank, tensor.shape.ndims - 1)
    return kind.from_tensor(tensor, ragged_rank=most) if most > 0 else tensor


class RaggedFunctions(RaggedRows):
    """What functions of tensors ask of a ragged tensor that they are given."""

    def _reduced(self, kind: str, axis: Any, keep: bool, name: str | None) -> Any:
        """What `tf.reduce_sum` and its like give."""
        return reduced(self, kind, axis, keep, name)

    def _side_by_side(self, values: Any, axis: Any, name: str | None) -> Any:
        """What `tf.concat` gives of tensors of which one at least is ragged."""
        with scopes.name_scope(name, "RaggedConcat", list(values)):
            rank = self.shape.ndims
            if rank is None and axis < 0:
                raise ValueError(f"axis: {axis} counts from the end, and the rank is unknown")
            place = int(axis) + (rank or 0) if axis < 0 else int(axis)
            depth = max(getattr(one, "ragged_rank", 1) for one in values)
            tensors = [with_ragged_rank(type(self), one, depth) for one in values]
            return with_splits_of(side_by_side(tensors, place), values)

    def _rows_at(self, indices: Any) -> Any:
        """What `tf.gather` gives."""
        if not isinstance(indices, RaggedRows):
            return gather_rows(self, convert_to_tensor(indices, name="indices"))
        rows = gather_rows(self, indices.flat_values)
        for splits in reversed(indices.nested_row_splits):
            rows = self._like(rows, splits)
        return rows

    def _of_elements(self, function: Any, arguments: Any, is_broadcast: bool) -> Any:
        """What an operation on elements gives."""
        return of_elements(function, arguments, {}, is_broadcast)
