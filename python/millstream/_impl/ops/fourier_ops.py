"""Fourier transforms, and the order of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, TENSOR, or_none, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join
from millstream._impl.values import dtypes

fft = public("fft", "signal.fft", "spectral.fft")(gen_ops.fft)
ifft = public("ifft", "signal.ifft", "spectral.ifft")(gen_ops.ifft)
fft2d = public("fft2d", "signal.fft2d", "spectral.fft2d")(gen_ops.fft2d)
ifft2d = public("ifft2d", "signal.ifft2d", "spectral.ifft2d")(gen_ops.ifft2d)
fft3d = public("fft3d", "signal.fft3d", "spectral.fft3d")(gen_ops.fft3d)
ifft3d = public("ifft3d", "signal.ifft3d", "spectral.ifft3d")(gen_ops.ifft3d)


def last_sizes(tensor: Tensor, rank: int) -> Any:
    """The sizes of the last dimensions: an array if they are known, else a tensor of int32."""
    shape = tensor.shape
    if shape.ndims is not None and shape.ndims >= rank:
        sizes = shape.as_list()[-rank:]
        if None not in sizes:
            return np.array(sizes, np.int32)
    return gen_ops.shape(tensor)[-rank:]


def pad_to(tensor: Tensor, sizes: Any, rank: int) -> Tensor:
    """`tensor` with zeros behind, where its last dimensions are smaller than `sizes`."""
    known = last_sizes(tensor, rank)
    if isinstance(known, np.ndarray) and isinstance(sizes, np.ndarray):
        missing = np.maximum(sizes - known, 0)
        if not missing.any():
            return tensor
        before = [[0, 0]] * (len(tensor.shape) - rank)
        return gen_ops.pad(tensor, [*before, *([0, int(count)] for count in missing)])
    behind = gen_ops.maximum(convert_to_tensor(sizes, dtypes.int32) - known, 0)
    pairs = array_join.stack([gen_ops.zeros_like(behind), behind], 1)
    before = gen_ops.fill([gen_ops.rank(tensor) - rank, 2], 0)
    return gen_ops.pad(tensor, array_join.concat([before, pairs], 0))


def _known(sizes: Any) -> Any:
    """An array in place of a tensor whose value is known."""
    value = constant_value(sizes) if isinstance(sizes, Tensor) else sizes
    return sizes if value is None else np.asarray(value, np.int32)


def _of_real(op: Callable[..., Tensor], rank: int, name: str) -> Callable[..., Tensor]:
    dims = "dimension" if rank == 1 else f"{rank} dimensions"

    @takes(input_tensor=TENSOR, fft_length=or_none(INTEGERS))
    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with scopes.name_scope(name, op.__name__, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, dtypes.float32)
            x.shape.with_rank_at_least(rank)
            if fft_length is None:
                return op(x, last_sizes(x, rank), scope)
            lengths = _known(convert_to_tensor(fft_length, dtypes.int32))
            return op(pad_to(x, lengths, rank), lengths, scope)

    _describe(
        function,
        name,
        f"The Fourier transform of real numbers along the last {dims}.",
        "The numbers, float32.",
        "How many numbers of each of these dimensions are transformed; where there are fewer,\n"
        "    zeros follow. By default all.",
        "complex64. Along the last dimension of n numbers it has n // 2 + 1; the others would be\n"
        "    the conjugates of these.",
        f">>> tf.signal.{name}({_EXAMPLES[rank]}).shape.as_list()\n{_SHAPES[rank]}",
    )
    return function


def _to_real(op: Callable[..., Tensor], rank: int, name: str) -> Callable[..., Tensor]:
    dims = "dimension" if rank == 1 else f"{rank} dimensions"

    @takes(input_tensor=TENSOR, fft_length=or_none(INTEGERS))
    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with scopes.name_scope(name, op.__name__, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, dtypes.complex64)
            x.shape.with_rank_at_least(rank)
            if fft_length is None:
                return op(x, _lengths_of_halves(last_sizes(x, rank), rank), scope)
            lengths = _known(convert_to_tensor(fft_length, dtypes.int32))
            return op(pad_to(x, _halves_of_lengths(lengths, rank), rank), lengths, scope)

    _describe(
        function,
        name,
        f"What `{name[1:]}` transforms: real numbers, along the last {dims}.",
        "The transforms, complex64.",
        "How many real numbers there are along each of these dimensions; by default as many as\n"
        "    the input has, and along the last dimension of size n, 2 (n - 1).",
        "float32.",
        f">>> tf.signal.{name}(tf.signal.{name[1:]}({_EXAMPLES[rank]})).shape.as_list()\n"
        f"{_WHOLE[rank]}",
    )
    return function


def _lengths_of_halves(sizes: Any, rank: int) -> Any:
    if isinstance(sizes, np.ndarray):
        return np.array([*sizes[:-1], max(2 * (int(sizes[-1]) - 1), 0)], np.int32)
    last = gen_ops.maximum(2 * (sizes[-1:] - 1), 0)
    return last if rank == 1 else array_join.concat([sizes[:-1], last], 0)


def _halves_of_lengths(lengths: Any, rank: int) -> Any:
    if isinstance(lengths, np.ndarray):
        last = int(lengths[-1]) if lengths.size else 0
        return np.array([*lengths[:-1], last // 2 + 1 if last > 0 else 0], np.int32)
    last_half = lengths[-1:] // 2 + 1
    return last_half if rank == 1 else array_join.concat([lengths[:-1], last_half], 0)


_EXAMPLES = {1: "[1.0, 2.0, 3.0, 4.0]", 2: "tf.ones([2, 6])", 3: "tf.ones([5, 2, 6])"}
_SHAPES = {1: "[3]", 2: "[2, 4]", 3: "[5, 2, 4]"}
_WHOLE = {1: "[4]", 2: "[2, 6]", 3: "[5, 2, 6]"}


def _describe(
    function: Any, name: str, what: str, given: str, lengths: str, result: str, example: str
) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what}

Parameters
----------
input_tensor
    {given}
fft_length
    {lengths}
name
    Name of the result.

Returns
-------
Tensor
    {result}

Examples
--------
{example}
"""


rfft = public("signal.rfft", "spectral.rfft")(_of_real(gen_ops.rfft, 1, "rfft"))
rfft2d = public("signal.rfft2d", "spectral.rfft2d")(_of_real(gen_ops.rfft2d, 2, "rfft2d"))
rfft3d = public("signal.rfft3d", "spectral.rfft3d")(_of_real(gen_ops.rfft3d, 3, "rfft3d"))
irfft = public("signal.irfft", "spectral.irfft")(_to_real(gen_ops.irfft, 1, "irfft"))
irfft2d = public("signal.irfft2d", "spectral.irfft2d")(_to_real(gen_ops.irfft2d, 2, "irfft2d"))
irfft3d = public("signal.irfft3d", "spectral.irfft3d")(_to_real(gen_ops.irfft3d, 3, "irfft3d"))


@public("signal.fftshift")
@takes(x=TENSOR, axes=or_none(INTEGERS))
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Move the element of frequency zero to the middle.

    Parameters
    ----------
    x
        A transform, or any tensor.
    axes
        Along which dimensions; by default all.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Along each dimension, of size n, element i is element (i - n // 2) modulo n of `x`.

    Examples
    --------
    >>> tf.signal.fftshift([0, 1, 2, -2, -1]).eval().tolist()
    [-2, -1, 0, 1, 2]
    """
    return _shift(x, axes, name, "fftshift", 1)


@public("signal.ifftshift")
@takes(x=TENSOR, axes=or_none(INTEGERS))
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Undo `tf.signal.fftshift`.

    Parameters
    ----------
    x
        What `fftshift` gave.
    axes
        Along which dimensions; by default all.
    name
        Name of the result.

    Examples
    --------
    >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).eval().tolist()
    [0, 1, 2, -2, -1]
    """
    return _shift(x, axes, name, "ifftshift", -1)


def _shift(x: Any, axes: Any, name: str | None, default: str, sign: int) -> Tensor:
    with scopes.name_scope(name, default, [x]) as scope:
        tensor = convert_to_tensor(x)
        sizes = gen_ops.shape(tensor)
        if axes is None:
            places: Any = gen_ops.range(0, gen_ops.rank(tensor), 1)
            return gen_ops.roll(tensor, sign * (sizes // 2), places, scope)
        places = convert_to_tensor(axes, dtypes.int32)
        positive = gen_ops.floor_mod(places, gen_ops.rank(tensor))
        return gen_ops.roll(
            tensor, sign * (gen_ops.gather_v2(sizes, positive, 0) // 2), places, scope
        )
