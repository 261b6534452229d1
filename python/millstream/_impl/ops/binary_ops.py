"""Comparison, powers and division of two tensors, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import operators

_Binary = Callable[[Any, Any, str | None], Tensor]


def _public(function: _Binary, name: str, summary: str, outcome: str) -> Callable[..., Tensor]:
    """`function` under its public name; `outcome` is what the example prints."""

    @takes(x=TENSOR, y=TENSOR)
    @for_ragged("broadcast")
    def binary(x: Any, y: Any, name: str | None = None) -> Tensor:
        return function(x, y, name)

    binary.__doc__ = f"""{summary}

    Parameters
    ----------
    x, y
        Tensors of one dtype, of shapes that broadcast.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The shape that both broadcast to.

    Raises
    ------
    TypeError
        The dtypes differ, or the op does not take them.
    ValueError
        The shapes do not broadcast.

    Examples
    --------
    >>> tf.{name}([7, -7], 2).eval()
    {outcome}
    """
    binary.__name__ = binary.__qualname__ = name
    return binary


def _pow(x: Any, y: Any, name: str | None) -> Tensor:
    with scopes.name_scope(name, "Pow", [x]) as scope:
        return gen_ops.pow(x, y, scope)


def _floor_divide(x: Tensor, y: Tensor, scope: str) -> Tensor:
    if x.dtype.is_floating or x.dtype.is_complex:
        return gen_ops.real_div(x, y, scope)
    return gen_ops.floor_div(x, y, scope)


def _division(function: Any, default_name: str) -> _Binary:
    """A division, which takes a number that is no tensor in the dtype of the tensor beside it."""

    def divide(x: Any, y: Any, name: str | None) -> Tensor:
        with scopes.name_scope(name, default_name, [x, y]) as scope:
            if isinstance(y, TensorLike) and not isinstance(x, TensorLike):
                right = y.as_tensor()
                left = convert_to_tensor(x, right.dtype.base_dtype, "x")
            else:
                left = convert_to_tensor(x, name="x")
                right = convert_to_tensor(y, name="y", preferred_dtype=left.dtype.base_dtype)
            if left.dtype.base_dtype != right.dtype.base_dtype:
                raise TypeError(
                    f"x and y must have the same dtype, got {left.dtype.name} != {right.dtype.name}"
                )
            result: Tensor = function(left, right, scope)
            return result

    return divide


equal = public("equal", "math.equal")(
    _public(
        lambda x, y, name: gen_ops.equal(x, y, name=name),
        "equal",
        "Where two tensors are equal.",
        "array([False, False])",
    )
)
not_equal = public("not_equal", "math.not_equal")(
    _public(
        lambda x, y, name: gen_ops.not_equal(x, y, name=name),
        "not_equal",
        "Where two tensors differ.",
        "array([ True,  True])",
    )
)
pow = public("pow", "math.pow")(  # noqa: A001  (the public name)
    _public(_pow, "pow", "``x`` to the power of ``y``.", "array([49, 49], dtype=int32)")
)
truediv = public("truediv", "math.truediv")(
    _public(
        _division(operators.true_divide, "truediv"),
        "truediv",
        "``x / y``; integers are divided as floating-point numbers.",
        "array([ 3.5, -3.5])",
    )
)
divide = public("divide", "math.divide")(
    _public(
        _division(operators.true_divide, "truediv"),
        "divide",
        "``x / y`` as Python divides.",
        "array([ 3.5, -3.5])",
    )
)
div = public("div")(
    _public(
        _division(_floor_divide, "div"),
        "div",
        "``x / y``; integers are divided with the remainder dropped downwards.",
        "array([ 3, -4], dtype=int32)",
    )
)
floordiv = public("floordiv", "math.floordiv")(
    _public(
        _division(gen_ops.floor_div, "floordiv"),
        "floordiv",
        "``x / y`` rounded downwards.",
        "array([ 3, -4], dtype=int32)",
    )
)
floor_div = public("floor_div")(floordiv)
