"""Arithmetic on ragged tensors, element by element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.ops import check_ops
from millstream._impl.ops.ragged_reductions import RaggedFunctions
from millstream._impl.ops.ragged_rows import RaggedRows


@public("ragged.map_flat_values")
@takes(op=FUNCTION)
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a function of the values inside of all rows, in the same rows.

    Parameters
    ----------
    op
        The function. It gets the flat values of ragged tensors, and gives a tensor of as many rows.
    args, kwargs
        Its arguments; ragged tensors among them, also in lists, have rows of the same lengths.

    Returns
    -------
    RaggedTensor
        What `op` gives, in rows; without ragged arguments what it gives.

    Examples
    --------
    >>> x = tf.ragged.constant([[1, 2], [], [3]])
    >>> tf.get_default_session().run(tf.ragged.map_flat_values(tf.square, x)).to_list()
    [[1, 4], [], [9]]
    """
    found: list[RaggedRows] = []
    flat_args = [_flat(argument, found) for argument in args]
    flat_kwargs = {name: _flat(argument, found) for name, argument in kwargs.items()}
    if not found:
        return op(*flat_args, **flat_kwargs)
    with scopes.control_dependencies(_checks_of_splits(found)):
        result = op(*flat_args, **flat_kwargs)
    return _in_rows(found[0], result)


def _flat(argument: Any, found: list[RaggedRows]) -> Any:
    if isinstance(argument, RaggedRows):
        found.append(argument)
        return argument.flat_values
    if isinstance(argument, list):
        return [_flat(item, found) for item in argument]
    return argument


def _in_rows(like: Any, values: Any) -> Any:
    for splits in reversed(like.nested_row_splits):
        values = like._like(values, splits)
    return values


def _checks_of_splits(found: list[RaggedRows]) -> list[Any]:
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
    return [check for check in checks if check is not None]


def _binary(function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The method of an operator, and that for the ragged tensor on its right."""

    def left(self: Any, other: Any) -> Any:
        return map_flat_values(function, self, other)

    def right(self: Any, other: Any) -> Any:
        return map_flat_values(function, other, self)

    return left, right


class RaggedArithmetic(RaggedFunctions):
    """Rows with the operators of Python, on numbers and on rows of the same lengths."""

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow)
    __and__, __rand__ = _binary(operator.and_)
    __or__, __ror__ = _binary(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor)
    __lt__, __gt__ = _binary(operator.lt)[0], _binary(operator.gt)[0]
    __le__, __ge__ = _binary(operator.le)[0], _binary(operator.ge)[0]

    def __neg__(self) -> Any:
        return map_flat_values(gen_ops.neg, self)

    def __abs__(self) -> Any:
        return map_flat_values(abs, self)

    def __invert__(self) -> Any:
        return map_flat_values(gen_ops.logical_not, self)
