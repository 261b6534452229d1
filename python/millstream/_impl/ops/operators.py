"""Operators of Python on tensors and variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_argument, convert_to_tensor
from millstream._impl.graph.operator_methods import install
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import matmul_ops, slicing

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Tensor
    from millstream._impl.values.dtypes import DType


def binary(
    function: Callable[..., Tensor], name: str, tensor: Any, other: Any, swapped: bool = False
) -> Any:
    """``function(tensor, other)``, with `other` taken in the tensor's dtype.

    Parameters
    ----------
    function
        Takes two tensors and the name of the result.
    name
        Name of the result, made unique.
    tensor
        A tensor or variable.
    other
        A tensor, a variable, or a value to convert.
    swapped
        Call ``function(other, tensor)``.
    """
    if tensor.is_tensor and isinstance(other, TensorLike) and other.is_tensor:
        return function(other, tensor, name) if swapped else function(tensor, other, name)
    if hasattr(other, "with_flat_values"):
        return NotImplemented  # the operator of the ragged tensor
    graph = tensor.graph
    scope = graph.op_name(name) + "/"
    with graph.enter_scope(scope):
        left = tensor.as_tensor()
        if isinstance(other, TensorLike):
            right = other.as_tensor()
        else:
            wanted = left.dtype.base_dtype
            right = _operand(graph, other, wanted, name, "x" if swapped else "y")
    return function(right, left, scope) if swapped else function(left, right, scope)


def _operand(graph: Graph, value: Any, wanted: DType, operator: str, argument: str) -> Tensor:
    try:
        return convert_argument(graph, value, wanted, argument)
    except (TypeError, ValueError) as error:
        cause = str(error).removeprefix("value: ")
        raise type(error)(f"{operator}: argument {argument!r}: {cause}") from None


class _Methods:
    """The methods that tensors and variables get."""

    def __add__(self, other: Any) -> Any:
        return binary(_add, "add", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(_add, "add", self, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return binary(gen_ops.sub, "sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(gen_ops.sub, "sub", self, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return binary(gen_ops.mul, "mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(gen_ops.mul, "mul", self, other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return binary(true_divide, "truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(true_divide, "truediv", self, other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return binary(gen_ops.floor_div, "floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(gen_ops.floor_div, "floordiv", self, other, swapped=True)

    def __mod__(self, other: Any) -> Any:
        return binary(gen_ops.floor_mod, "mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(gen_ops.floor_mod, "mod", self, other, swapped=True)

    def __pow__(self, other: Any) -> Any:
        return binary(gen_ops.pow, "pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return binary(gen_ops.pow, "pow", self, other, swapped=True)

    def __matmul__(self, other: Any) -> Any:
        return binary(_matmul, "matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return binary(_matmul, "matmul", self, other, swapped=True)

    def __and__(self, other: Any) -> Any:
        return binary(gen_ops.logical_and, "and", self, other)

    def __rand__(self, other: Any) -> Any:
        return binary(gen_ops.logical_and, "and", self, other, swapped=True)

    def __or__(self, other: Any) -> Any:
        return binary(gen_ops.logical_or, "or", self, other)

    def __ror__(self, other: Any) -> Any:
        return binary(gen_ops.logical_or, "or", self, other, swapped=True)

    def __xor__(self, other: Any) -> Any:
        return binary(logical_xor, "xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary(logical_xor, "xor", self, other, swapped=True)

    def __lt__(self, other: Any) -> Any:
        return gen_ops.less(self, other)

    def __le__(self, other: Any) -> Any:
        return gen_ops.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return gen_ops.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return gen_ops.greater_equal(self, other)

    def __neg__(self) -> Any:
        return gen_ops.neg(self)

    def __abs__(self) -> Any:
        return absolute(self)

    def __invert__(self) -> Any:
        return gen_ops.logical_not(self)

    def __getitem__(self, item: Any) -> Any:
        return slicing.slice_by_key(self, item)


def absolute(x: Any, name: str | None = None) -> Tensor:
    """The absolute values of real or complex numbers.

    Parameters
    ----------
    x
        A tensor, a variable, or a value to convert.
    name
        Name of the result.
    """
    if hasattr(x, "with_flat_values"):
        ragged: Tensor = x.with_flat_values(absolute(x.flat_values, name))
        return ragged
    value = convert_to_tensor(x, name="x")
    if value.dtype.is_complex:
        return gen_ops.complex_abs(value, value.dtype.real_dtype, name)
    return gen_ops.abs(value, name)


def _add(x: Any, y: Any, name: str | None = None) -> Any:
    if x.dtype.name == "string":
        return gen_ops.add(x, y, name)
    return gen_ops.add_v2(x, y, name)


def _matmul(x: Any, y: Any, name: str | None = None) -> Any:
    return matmul_ops.matmul(x, y, name=name)


@takes(x=TENSOR, y=TENSOR)
def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Any:
    """Elementwise exclusive or of truth values.

    Parameters
    ----------
    x, y
        Tensors of bool, of shapes that broadcast.
    name
        Name of the result.

    Examples
    --------
    >>> tf.logical_xor([True, True], [True, False]).eval()
    array([False,  True])
    """
    either = gen_ops.logical_or(x, y)
    return gen_ops.logical_and(either, gen_ops.logical_not(gen_ops.logical_and(x, y)), name)


def true_divide(x: Any, y: Any, name: str | None = None) -> Any:
    """``x / y``; integers are divided as floating-point numbers.

    8- and 16-bit integers become float32, wider ones float64.
    """
    dtype = x.dtype.base_dtype
    if dtype != y.dtype.base_dtype:
        raise TypeError(f"x and y must have the same dtype, got {dtype.name} != {y.dtype.name}")
    if not dtype.is_integer:
        return gen_ops.real_div(x, y, name)
    wide = "float32" if dtype.size <= 2 else "float64"
    graph = x.graph
    scope = name if name is not None and name.endswith("/") else graph.op_name(name or "truediv")
    scope = scope.rstrip("/") + "/"
    with graph.enter_scope(scope):
        x, y = gen_ops.cast(x, wide), gen_ops.cast(y, wide)
    return gen_ops.real_div(x, y, scope)


install(_Methods)
