"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes

# By the type of the parts.
_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


@public("complex", "dtypes.complex")
@takes(real=TENSOR, imag=TENSOR)
@for_ragged("broadcast")
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:  # noqa: A001
    """Complex numbers of their real and imaginary parts.

    Parameters
    ----------
    real, imag
        Tensors of float32 or float64, of shapes that broadcast.
    name
        Name of the result.

    Raises
    ------
    TypeError
        Both are not of one of these types.

    Examples
    --------
    >>> tf.complex([1.0, 2.0], [3.0, 4.0]).eval()
    array([1.+3.j, 2.+4.j], dtype=complex64)
    """
    with scopes.name_scope(name, "Complex", [real, imag]) as scope:
        left = convert_to_tensor(real, name="real")
        right = convert_to_tensor(imag, name="imag")
        whole = _COMPLEX.get(left.dtype.base_dtype)
        if whole is None or left.dtype.base_dtype != right.dtype.base_dtype:
            raise TypeError(
                "real and imag must both be float32 or both float64, got "
                f"{left.dtype.name} and {right.dtype.name}"
            )
        return gen_ops.complex(left, right, whole, scope)


@public("real", "math.real")
@takes(input=TENSOR)
@for_ragged("elements")
def real(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The real parts of complex numbers.

    Parameters
    ----------
    input
        A tensor; real numbers are returned as they are.
    name
        Name of the result.

    Examples
    --------
    >>> tf.real([1 + 2j]).eval()
    array([1.])
    """
    with scopes.name_scope(name, "Real", [input]) as scope:
        value = convert_to_tensor(input, name="input")
        if not value.dtype.is_complex:
            return value
        return gen_ops.real(value, value.dtype.real_dtype, scope)


@public("imag", "math.imag")
@takes(input=TENSOR)
@for_ragged("elements")
def imag(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The imaginary parts of complex numbers.

    Parameters
    ----------
    input
        A tensor; those of real numbers are zeros.
    name
        Name of the result.

    Examples
    --------
    >>> tf.imag([1 + 2j]).eval()
    array([2.])
    """
    with scopes.name_scope(name, "Imag", [input]) as scope:
        value = convert_to_tensor(input, name="input")
        if not value.dtype.is_complex:
            return gen_ops.zeros_like(value, scope)
        return gen_ops.imag(value, value.dtype.real_dtype, scope)


@public("angle", "math.angle")
@takes(input=TENSOR)
@for_ragged("elements")
def angle(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The angles of complex numbers in radians, between -pi and pi.

    Parameters
    ----------
    input
        A tensor; those of real numbers are zeros, of negative ones too.
    name
        Name of the result.

    Examples
    --------
    >>> tf.angle([2j]).eval().round(3)
    array([1.571])
    """
    with scopes.name_scope(name, "Angle", [input]) as scope:
        value = convert_to_tensor(input, name="input")
        if not value.dtype.is_complex:
            return gen_ops.zeros_like(value, scope)
        return gen_ops.angle(value, value.dtype.real_dtype, scope)


@public("conj", "math.conj")
@takes(x=TENSOR)
@for_ragged("elements")
def conj(x: Any, name: str | None = None) -> Tensor:
    """The conjugates of complex numbers.

    Parameters
    ----------
    x
        A tensor; real numbers are returned as they are.
    name
        Name of the result.

    Raises
    ------
    TypeError
        It has no numbers.

    Examples
    --------
    >>> tf.conj([1 + 2j]).eval()
    array([1.-2.j])
    """
    with scopes.name_scope(name, "Conj", [x]) as scope:
        value = convert_to_tensor(x, name="x")
        if value.dtype.is_complex:
            return gen_ops.conj(value, scope)
        if value.dtype.is_floating or value.dtype.is_integer:
            return value
        raise TypeError(f"x: expected numbers, got {value.dtype.name}")
