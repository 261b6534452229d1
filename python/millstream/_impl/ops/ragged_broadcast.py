"""Functions of elements on ragged tensors, beside which other tensors are broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import ragged_among
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, check_ops, math_ops
from millstream._impl.ops.ragged_rows import RaggedRows, rowids_of_splits


def of_elements(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_broadcast: bool = False,
) -> Any:
    """The result of a function of the values inside of all rows, in the same rows.

    Parameters
    ----------
    function
        Gets flat values in place of ragged tensors, and gives a tensor of as many rows.
    args, kwargs
        Its arguments; ragged tensors among them, also in lists, have rows of the same lengths.
    is_broadcast
        Whether other tensors among the arguments are broadcast to the rows. Else the function gets
        them as they are.

    Raises
    ------
    ValueError
        The rows differ, as far as known, or a tensor has too many dimensions.
    """
    found = [*_ragged_in(args), *_ragged_in(kwargs.values())]
    if not found:
        return function(*args, **kwargs)
    with scopes.control_dependencies(checks_of_splits(found)):
        result = function(
            *[_flat(one, found[0], is_broadcast) for one in args],
            **{name: _flat(one, found[0], is_broadcast) for name, one in kwargs.items()},
        )
    return in_rows(found[0], result)


def _ragged_in(arguments: Iterable[Any]) -> Iterator[RaggedRows]:
    for argument in arguments:
        items = argument if isinstance(argument, (list, tuple)) else (argument,)
        yield from (item for item in items if isinstance(item, RaggedRows))


def _flat(argument: Any, rows: RaggedRows, is_broadcast: bool) -> Any:
    """What the function gets in place of an argument."""
    if isinstance(argument, RaggedRows):
        return argument.flat_values
    if isinstance(argument, (list, tuple)) and ragged_among(argument) is not None:
        return [_flat(item, rows, is_broadcast) for item in argument]
    if is_broadcast and isinstance(argument, (TensorLike, np.ndarray, list, tuple)):
        return _spread(argument, rows)
    return argument


def in_rows(like: RaggedRows, values: Any) -> Any:
    """Values, a tensor or a ragged tensor, in all rows of `like`."""
    for splits in reversed(like.nested_row_splits):
        values = like._like(values, splits)
    return values


def checks_of_splits(found: Sequence[RaggedRows]) -> list[Any]:
    """Checks of a step that all have rows of the same lengths."""
    first = found[0]
    checks = []
    for other in found[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError("Inputs must have identical ragged splits")
        pairs = zip(first.nested_row_splits, other.nested_row_splits, strict=True)
        for one, another in pairs:
            if one is another:
                continue
            if one.dtype != another.dtype:
                raise ValueError("Inputs must have identical ragged splits, of one type")
            checks.append(
                check_ops.assert_equal(
                    one, another, message="Inputs must have identical ragged splits"
                )
            )
    return checks


def checked_rows(one: RaggedRows, other: RaggedRows) -> tuple[Any, Any]:
    """What the rows of two are made of. A step fails where these have other lengths."""
    if one.row_splits is other.row_splits:
        return one.values, other.values
    check = check_ops.assert_equal(
        one.row_splits,
        math_ops.cast(other.row_splits, one.row_splits.dtype),
        message="Inputs must have identical ragged splits",
    )
    with scopes.control_dependencies([check]):
        return gen_ops.identity(one.values), gen_ops.identity(other.values)


# ---- Broadcasting ----


def _spread(value: Any, rows: RaggedRows) -> Any:
    """What stands beside the flat values of rows when a tensor is broadcast to the rows."""
    wanted = None if isinstance(value, TensorLike) else rows.dtype.base_dtype
    tensor = convert_to_tensor(value, wanted)
    rank, flat_rank = tensor.shape.ndims, rows.flat_values.shape.ndims
    if rank == 0:
        return tensor
    if rank is None or flat_rank is None:
        raise ValueError(
            f"the ranks of tensors beside ragged ones must be known, got {tensor!r} beside {rows!r}"
        )
    outer = rank - (flat_rank - 1)  # dimensions that rows have, too
    if outer <= 0:
        return tensor
    if outer > rows.ragged_rank + 1:
        raise ValueError(
            f"Unable to broadcast: {tensor!r} has more dimensions than {rows!r}; a ragged tensor "
            "is not broadcast to more"
        )
    sizes = tensor.shape.as_list()[:outer]
    if all(size == 1 for size in sizes):
        return gen_ops.squeeze(tensor, list(range(outer)))
    return _elements_at(tensor, rows, sizes)


def _elements_at(tensor: Tensor, rows: RaggedRows, sizes: list[int | None]) -> Tensor:
    """An element of the tensor for each of the flat values, by the place that the value has.

    `sizes` are those of the tensor's dimensions that rows have, too.
    """
    dtype = rows.row_splits.dtype
    shape = gen_ops.shape(tensor, out_type=dtype)
    places: list[Tensor] = []
    checks: list[Any] = []
    for axis, place in enumerate(_places(rows, len(sizes))):
        if sizes[axis] == 1:
            places.append(gen_ops.zeros_like(place))
            continue
        size = shape[axis] if sizes[axis] is None else convert_to_tensor(sizes[axis], dtype)
        lengths = _lengths(rows, axis + rows.ragged_rank + 1 - len(sizes))
        checks.append(_check_of_size(size, sizes[axis], lengths, axis))
        places.append(gen_ops.minimum(place, size - 1))
    with scopes.control_dependencies(checks):
        return gen_ops.gather_nd(tensor, array_join.stack(places, 1))


def _check_of_size(size: Tensor, known: int | None, lengths: Tensor, axis: int) -> Any:
    """A check of a step that a dimension has size 1, or that of all rows."""
    message = f"Unable to broadcast: dimension size mismatch in dimension {axis}"
    if known is None:
        # Where the size is 1, both sides are 0.
        one = convert_to_tensor(1, size.dtype)
        counts = math_ops.cast(gen_ops.not_equal(size, one), size.dtype)
        size, lengths = size * counts, lengths * counts
    return check_ops.assert_equal(lengths, size, message=message)


def _lengths(rows: RaggedRows, axis: int) -> Tensor:
    """How many parts there are along a dimension: one number, or one of each row."""
    if axis == 0:
        return rows.nrows()
    return rows.nested_row_lengths()[axis - 1]


def _places(rows: RaggedRows, count: int) -> list[Tensor]:
    """Of each of the flat values its places along the last `count` dimensions of rows."""
    nested = rows.nested_row_splits
    numbers = math_ops.range(nested[-1][-1], dtype=nested[-1].dtype)
    found: list[Tensor] = []
    for splits in nested[::-1][:count]:
        owners = gen_ops.gather_v2(rowids_of_splits(splits), numbers, 0)
        found.append(numbers - gen_ops.gather_v2(splits, owners, 0))
        numbers = owners
    if len(found) < count:
        found.append(numbers)
    return found[::-1]
