"""Cosine transforms."""

from __future__ import annotations

import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, math_ops
from millstream._impl.ops.fourier_ops import irfft, pad_to, rfft
from millstream._impl.ops.signal_frames import known_integer, size_of, vector
from millstream._impl.values import dtypes

# The type that undoes a type.
_INVERSE_TYPES = {1: 1, 2: 3, 3: 2, 4: 4}


@public("signal.dct", "spectral.dct")
@takes(input=TENSOR, type=INTEGER, n=or_none(INTEGER), axis=INTEGER)
def dct(
    input: Any,  # noqa: A002  (the public name)
    type: int = 2,  # noqa: A002  (the public name)
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of the last dimension.

    Parameters
    ----------
    input
        The numbers, float32.
    type
        1, 2, 3 or 4, as SciPy's ``fftpack.dct`` has them.
    n
        How many numbers are transformed: more are cut off, fewer are followed by zeros.
    axis
        -1.
    norm
        None, or "ortho" for the transform whose matrix is orthogonal, which type 1 does not have.
    name
        Name of the result.

    Examples
    --------
    >>> tf.signal.dct([1.0, 1.0, 1.0, 1.0]).eval().round(4).max().tolist()
    8.0
    """
    if axis != -1:
        raise NotImplementedError(f"axis: axis must be -1. Got: {axis}")
    if type not in _INVERSE_TYPES:
        raise ValueError(f"type: Types I, II, III and IV (I)DCT are supported, got {type!r}")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm: Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type == 1 and norm is not None:
        raise ValueError("norm: Normalization is not supported for the Type-I DCT.")
    if n is not None and not isinstance(n, Tensor) and n < 1:
        raise ValueError(f"n: n should be a positive integer or None, got {n}")
    with scopes.name_scope(name, "dct", [input]):
        x = convert_to_tensor(input, dtypes.float32)
        x.shape.with_rank_at_least(1)
        if n is not None:
            x = pad_to(x, vector([known_integer(n, "n")]), 1)[..., :n]
        size = size_of(x)
        if type == 1:
            if isinstance(size, int) and size < 2:
                raise ValueError("Type-I DCT requires the dimension to be greater than one.")
            return _cosines_of_edges(x)
        if type == 2:
            return _cosines(x, size, norm)
        if type == 3:
            return _inverse_cosines(x, size, norm)
        odd = _cosines(pad_to(x, vector([2 * size]), 1), 2 * size, None)[..., 1::2]
        if norm is None:
            return odd
        return odd * (math.sqrt(0.5) * gen_ops.rsqrt(_float(size)))


@public("signal.idct", "spectral.idct")
@takes(input=TENSOR, type=INTEGER, n=or_none(INTEGER), axis=INTEGER)
def idct(
    input: Any,  # noqa: A002  (the public name)
    type: int = 2,  # noqa: A002  (the public name)
    n: Any = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `tf.signal.dct`, of the same type, but for a factor.

    Parameters
    ----------
    input, type, n, axis, norm, name
        See `tf.signal.dct`. With "ortho" it is the inverse; without it is 2 n times the inverse,
        and 2 (n - 1) times for type 1.

    Examples
    --------
    >>> tf.signal.idct([2.0, 0.0, 0.0, 0.0], norm="ortho").eval().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return dct(input, _INVERSE_TYPES.get(type, type), n, axis, norm, name)


def _float(size: Any) -> Tensor:
    return math_ops.cast(size, dtypes.float32)


def _cosines_of_edges(x: Tensor) -> Tensor:
    """Type 1: of the numbers and, behind them, their mirror image without both ends."""
    size = size_of(x)
    mirrored = gen_ops.reverse_v2(x[..., 1 : size - 1], [-1])
    whole = array_join.concat([x, mirrored], -1)
    return gen_ops.real(rfft(whole), Tout=dtypes.float32)


def _turns(size: Any, sign: float) -> Tensor:
    """2 exp(sign i pi k / (2 n)) for each k."""
    places = math_ops.cast(gen_ops.range(0, size, 1), dtypes.float32)
    angle = places * (sign * math.pi * 0.5 / _float(size))
    return gen_ops.complex(
        2.0 * gen_ops.cos(angle), 2.0 * gen_ops.sin(angle), Tout=dtypes.complex64
    )


def _first_and_rest(size: Any, first: Any, rest: Any) -> Tensor:
    """A vector of `size` numbers, of which all but the first are alike."""
    others = gen_ops.fill(vector([size - 1]), rest)
    return array_join.concat([gen_ops.reshape(first, [1]), others], 0)


def _cosines(x: Tensor, size: Any, norm: str | None) -> Tensor:
    """Type 2."""
    turned = rfft(x, vector([2 * size]))[..., :size] * _turns(size, -1.0)
    result = gen_ops.real(turned, Tout=dtypes.float32)
    if norm is None:
        return result
    first = gen_ops.rsqrt(_float(size)) * 0.5
    return result * _first_and_rest(size, first, first * math.sqrt(2.0))


def _inverse_cosines(x: Tensor, size: Any, norm: str | None) -> Tensor:
    """Type 3."""
    if norm is None:
        x = x * _float(size)
    else:
        first = gen_ops.sqrt(_float(size))
        x = x * _first_and_rest(size, first, first * math.sqrt(0.5))
    turned = _turns(size, 1.0) * math_ops.cast(x, dtypes.complex64)
    return irfft(turned, vector([2 * size]))[..., :size]
