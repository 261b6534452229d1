"""Special functions that are made of others."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import reductions


@public("lbeta", "math.lbeta")
@takes(x=TENSOR)
def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of vectors.

    That is the sum of the logarithms of the gamma functions, less that of the sum.

    Parameters
    ----------
    x
        The vectors, in the last dimension.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.math.lbeta([1.0, 1.0]).eval()
    0.0
    """
    with scopes.name_scope(name, "lbeta", [x]):
        values = convert_to_tensor(x, name="x")
        product = reductions.reduce_sum(gen_ops.lgamma(values), [-1])
        return product - gen_ops.lgamma(reductions.reduce_sum(values, [-1]))


@public("math.bessel_i0")
@takes(x=TENSOR)
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, element by element.

    Parameters
    ----------
    x
        The tensor.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.math.bessel_i0([0.0]).eval().tolist()
    [1.0]
    """
    with scopes.name_scope(name, "bessel_i0", [x]):
        values = convert_to_tensor(x, name="x")
        return gen_ops.exp(gen_ops.abs(values)) * gen_ops.bessel_i0e(values)


@public("math.bessel_i1")
@takes(x=TENSOR)
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, element by element.

    Parameters
    ----------
    x
        The tensor.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.math.bessel_i1([0.0]).eval().tolist()
    [0.0]
    """
    with scopes.name_scope(name, "bessel_i1", [x]):
        values = convert_to_tensor(x, name="x")
        return gen_ops.exp(gen_ops.abs(values)) * gen_ops.bessel_i1e(values)


@public("math.reciprocal_no_nan")
@takes(x=TENSOR)
@for_ragged("elements")
def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, element by element, and 0 for 0.

    Parameters
    ----------
    x
        The tensor.
    name
        Name of the result.

    Examples
    --------
    >>> tf.math.reciprocal_no_nan([2.0, 0.0]).eval().tolist()
    [0.5, 0.0]
    """
    with scopes.name_scope(name, "reciprocal_no_nan", [x]) as scope:
        values = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, values.dtype.base_dtype)
        return gen_ops.div_no_nan(one, values, name=scope)
