"""Rows and parts of rows of ragged tensors, by Python's indices and slices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join
from millstream._impl.ops.ragged_rows import RaggedRows

_WHOLE = slice(None)


def slice_ragged(ragged: Any, key: Any) -> Any:
    """The value of ``ragged[key]``.

    Raises
    ------
    ValueError
        An integer picks within rows, which have different lengths.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    with scopes.name_scope(None, "RaggedGetItem"):
        return _outer(ragged, _without_ellipsis(ragged, keys))


def _without_ellipsis(ragged: Any, keys: list[Any]) -> list[Any]:
    places = [i for i, one in enumerate(keys) if one is Ellipsis]
    if not places:
        return keys
    if len(places) > 1:
        raise ValueError("key: an index can only have a single ellipsis")
    place = places[0]
    rank = ragged.shape.ndims
    if place == len(keys) - 1:
        return keys[:-1]
    if rank is None:
        raise ValueError("key: ellipsis not supported for unknown shape RaggedTensors")
    given = sum(1 for one in keys if one is not None) - 1
    return [*keys[:place], *([_WHOLE] * (rank - given)), *keys[place + 1 :]]


def _dense(tensor: Any, keys: list[Any]) -> Any:
    return tensor[tuple(keys)] if keys else tensor


def _outer(values: Any, keys: list[Any]) -> Any:
    if not isinstance(values, RaggedRows):
        return _dense(values, keys)
    if not keys:
        return values
    first, rest = keys[0], keys[1:]
    if first is None:
        found = _outer(values, rest)
        if not isinstance(found, RaggedRows):
            return gen_ops.expand_dims(found, 0)
        count = found.nrows()
        return found._like(found, array_join.stack([gen_ops.zeros_like(count), count]))
    if isinstance(first, slice):
        if first == _WHOLE:
            return _inner(values, rest)
        begins, ends = values.row_starts()[first], values.row_limits()[first]
        return _inner(_rows_between(values, begins, ends), rest)
    begin, end = values.row_splits[:-1][first], values.row_splits[1:][first]
    return _outer(values.values[begin:end], rest)


def _inner(ragged: Any, keys: list[Any]) -> Any:
    """Keys within all rows."""
    if not keys:
        return ragged
    first, rest = keys[0], keys[1:]
    if first is None:
        # Each row becomes the only one of a row.
        count = ragged.nrows()
        ends = gen_ops.range(gen_ops.zeros_like(count), count + 1, gen_ops.ones_like(count))
        return ragged._like(_inner(ragged, rest), ends)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if first != _WHOLE:
        ragged = _parts_of_rows(ragged, first)
    inner = ragged.values
    if not rest:
        return ragged
    changed = (
        _inner(inner, rest) if isinstance(inner, RaggedRows) else _dense(inner, [_WHOLE, *rest])
    )
    return ragged._like(changed, ragged.row_splits)


def _rows_between(ragged: Any, begins: Tensor, ends: Tensor) -> Any:
    """Rows of the values between these."""
    one = convert_to_tensor(1, begins.dtype)
    return _picked(ragged, begins, ends, one)


def _picked(ragged: Any, begins: Tensor, ends: Tensor, step: Any) -> Any:
    splits, places = gen_ops.ragged_range(begins, ends, step, Tsplits=begins.dtype)
    return ragged._like(gather_rows(ragged.values, places), splits)


def gather_rows(values: Any, places: Tensor) -> Any:
    """The rows of a tensor, or of a ragged tensor, at these places."""
    if not isinstance(values, RaggedRows):
        return gen_ops.gather_v2(values, places, 0)
    rank = 1 if places.shape.ndims is None else places.shape.ndims
    found = gen_ops.ragged_gather(
        list(values.nested_row_splits), values.flat_values, places,
        OUTPUT_RAGGED_RANK=values.ragged_rank + rank - 1,
    )  # fmt: skip
    splits, result = found[0], found[1]
    for one in reversed(splits):
        result = values._like(result, one)
    return result


def _parts_of_rows(ragged: Any, part: slice) -> Any:
    """The same part of each row, cut off where a row is shorter."""
    dtype = ragged.row_splits.dtype
    step = 1 if part.step is None else part.step
    if not isinstance(step, int) or step == 0:
        raise ValueError(f"key: the step of a slice of rows must be an integer but 0, got {step!r}")
    starts = ragged.row_starts()
    lengths = ragged.row_lengths()
    low = 0 if step > 0 else -1
    highest = lengths if step > 0 else lengths - 1

    def place(bound: Any) -> Any:
        number = convert_to_tensor(bound, dtype)
        from_end = gen_ops.add(lengths, gen_ops.minimum(number, convert_to_tensor(0, dtype)))
        whole = gen_ops.select_v2(
            gen_ops.less(number, convert_to_tensor(0, dtype)), from_end, number
        )
        return gen_ops.minimum(gen_ops.maximum(whole, convert_to_tensor(low, dtype)), highest)

    none = gen_ops.zeros_like(lengths)
    if step > 0:
        begin = none if part.start is None else place(part.start)
        end = lengths if part.stop is None else place(part.stop)
    else:
        begin = highest if part.start is None else place(part.start)
        end = none - 1 if part.stop is None else place(part.stop)
    return _picked(ragged, starts + begin, starts + end, convert_to_tensor(step, dtype))
