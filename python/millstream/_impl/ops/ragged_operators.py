"""Arithmetic on ragged tensors, element by element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, takes
from millstream._impl.ops.ragged_broadcast import of_elements
from millstream._impl.ops.ragged_reductions import RaggedFunctions


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
    return of_elements(op, args, kwargs)


def _binary(function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The method of an operator, and that for the ragged tensor on its right."""

    def left(self: Any, other: Any) -> Any:
        return of_elements(function, (self, other), {}, is_broadcast=True)

    def right(self: Any, other: Any) -> Any:
        return of_elements(function, (other, self), {}, is_broadcast=True)

    return left, right


class RaggedArithmetic(RaggedFunctions):
    """Rows with the operators of Python.

    The other operand has rows of the same lengths, or is broadcast to the rows.
    """

    __array_priority__ = 100  # NumPy's operators leave it to ours

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

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")
