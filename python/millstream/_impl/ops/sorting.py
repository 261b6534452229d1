"""Elements in their order."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops

_DIRECTIONS = ("ASCENDING", "DESCENDING")


@public("sort")
@takes(values=TENSOR, axis=INTEGER, direction=TEXT)
def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """A tensor sorted along a dimension.

    Parameters
    ----------
    values
        The tensor, of real numbers.
    axis
        The dimension.
    direction
        "ASCENDING" or "DESCENDING".
    name
        Name of the scope.

    Examples
    --------
    >>> tf.sort([3, 1, 2]).eval().tolist()
    [1, 2, 3]
    """
    with scopes.name_scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


@public("argsort")
@takes(values=TENSOR, axis=INTEGER, direction=TEXT)
def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Where the elements of a sorted tensor come from.

    Parameters
    ----------
    values
        The tensor, of real numbers.
    axis
        The dimension.
    direction
        "ASCENDING" or "DESCENDING".
    stable
        Not used: equal elements always keep their order.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.argsort([3, 1, 2]).eval().tolist()
    [1, 2, 0]
    """
    with scopes.name_scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


def _sorted(values: Any, axis: Any, direction: str) -> tuple[Tensor, Tensor]:
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction: {direction} should be one of {', '.join(_DIRECTIONS)}")
    tensor = convert_to_tensor(values, name="values")
    rank = tensor.shape.ndims
    order = _order_with_last(rank, int(axis))
    if order is not None:
        tensor = array_ops.transpose(tensor, order)
    if direction == "ASCENDING":
        tensor = _turned(tensor)
    count = gen_ops.shape(tensor)[-1]
    found, places = gen_ops.top_kv2(tensor, count)
    if direction == "ASCENDING":
        found = _turned(found)
    if order is not None:
        found, places = (array_ops.transpose(each, order) for each in (found, places))
    return found, places


def _order_with_last(rank: int | None, axis: int) -> list[int] | None:
    """The order of dimensions that exchanges one with the last; None if it is the last."""
    if axis == -1:
        return None
    if rank is None:
        raise ValueError("values: expected a known rank, for an axis other than -1")
    if not -rank <= axis < rank:
        raise ValueError(f"axis: expected an axis of {rank} dimensions, got {axis}")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return None if axis % rank == rank - 1 else order


def _turned(values: Tensor) -> Tensor:
    """The numbers in the other order; what it gives for that are the numbers again."""
    # Inverted bits are -x - 1: the smallest number has no opposite.
    return gen_ops.invert(values) if values.dtype.is_integer else gen_ops.neg(values)
