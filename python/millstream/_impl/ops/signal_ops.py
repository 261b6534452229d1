"""Windows, and spectra of frames of signals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, FUNCTION, NUMBER, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, math_ops, reductions
from millstream._impl.ops.fourier_ops import irfft, pad_to, rfft
from millstream._impl.ops.signal_frames import (
    frame,
    known_integer,
    known_step,
    overlap_and_add,
    vector,
)
from millstream._impl.values import dtypes

# ---- Windows ----


def _cosine_window(
    window_length: Any, periodic: Any, dtype: Any, name: str | None, default: str, a: float
) -> Tensor:
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype: dtype must be a floating point type. Found {dtype}")
    with scopes.name_scope(name, default, [window_length, periodic]):
        length = known_integer(window_length, "window_length")
        if isinstance(length, int) and not isinstance(periodic, Tensor):
            return _known_window(length, bool(periodic), dtype, a)
        count = convert_to_tensor(length, dtypes.int32)
        is_periodic = math_ops.cast(convert_to_tensor(periodic, dtypes.bool), dtypes.int32)
        # Of an odd length both kinds are the same.
        steps = count + is_periodic * (1 - gen_ops.floor_mod(count, 2)) - 1
        turn = 2.0 * math.pi / math_ops.cast(gen_ops.maximum(steps, 1), dtypes.float64)
        places = math_ops.cast(gen_ops.range(0, count, 1), dtypes.float64)
        window = a - (1.0 - a) * gen_ops.cos(places * turn)
        alone = gen_ops.fill(gen_ops.shape(window), convert_to_tensor(1.0, dtypes.float64))
        is_alone = gen_ops.fill(gen_ops.shape(window), gen_ops.equal(count, 1))
        return math_ops.cast(gen_ops.select(is_alone, alone, window), dtype)


def _known_window(length: int, periodic: bool, dtype: Any, a: float) -> Tensor:
    if length == 1:
        return array_creation.ones([1], dtype)
    steps = length + (1 if periodic and length % 2 == 0 else 0) - 1
    values = a - (1.0 - a) * np.cos(np.arange(max(length, 0)) * (2 * math.pi / max(steps, 1)))
    return convert_to_tensor(values.astype(np.float64), dtype)


@public("signal.hann_window")
@takes(window_length=NUMBER, dtype=DTYPE)
def hann_window(
    window_length: Any,
    periodic: Any = True,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The Hann window.

    Parameters
    ----------
    window_length
        How many numbers it has.
    periodic
        Whether an even window lacks its last number, as the period of a function does, rather than
        being symmetric.
    dtype
        Type of the numbers, a floating-point one.
    name
        Name of the result.

    Examples
    --------
    >>> tf.signal.hann_window(4).eval().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _cosine_window(window_length, periodic, dtype, name, "hann_window", 0.5)


@public("signal.hamming_window")
@takes(window_length=NUMBER, dtype=DTYPE)
def hamming_window(
    window_length: Any,
    periodic: Any = True,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The Hamming window.

    Parameters
    ----------
    window_length, periodic, dtype, name
        See `tf.signal.hann_window`.

    Examples
    --------
    >>> tf.signal.hamming_window(4, dtype=tf.float64).eval().round(2).tolist()
    [0.08, 0.54, 1.0, 0.54]
    """
    return _cosine_window(window_length, periodic, dtype, name, "hamming_window", 0.54)


# ---- Spectra of frames ----

_Window = Callable[..., Any]


def _power_of_two(length: Any) -> Any:
    """The least power of two that is not smaller."""
    if isinstance(length, int):
        return 1 << max(length - 1, 0).bit_length()
    exponent = gen_ops.ceil(
        gen_ops.log(math_ops.cast(length, dtypes.float64)) / math.log(2.0) - 1e-9
    )
    two = convert_to_tensor(2.0, dtypes.float64)
    return math_ops.cast(gen_ops.round(gen_ops.pow(two, exponent)), dtypes.int32)


@public("signal.stft")
@takes(
    signals=TENSOR,
    frame_length=NUMBER,
    frame_step=NUMBER,
    fft_length=or_none(NUMBER),
    window_fn=or_none(FUNCTION),
)
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: _Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The spectra of frames of signals, the short-time Fourier transform.

    Parameters
    ----------
    signals
        The signals, float32, shape [..., samples].
    frame_length, frame_step
        See `tf.signal.frame`.
    fft_length
        Length of the transforms; by default the least power of two that holds a frame.
    window_fn
        Function of a length, with an argument ``dtype``, whose result each frame is multiplied by;
        None for no window.
    pad_end
        Whether the last frames are filled with zeros.
    name
        Name of the result.

    Returns
    -------
    Tensor
        complex64, shape [..., frames, fft length // 2 + 1].

    Examples
    --------
    >>> tf.signal.stft(tf.ones([2, 100]), frame_length=16, frame_step=8).shape.as_list()
    [2, 11, 9]
    """
    with scopes.name_scope(name, "stft", [signals, frame_length, frame_step]):
        samples = convert_to_tensor(signals, name="signals")
        length = known_integer(frame_length, "frame_length")
        own = _power_of_two(length) if fft_length is None else known_integer(fft_length, "fft")
        frames = frame(samples, length, frame_step, pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames[..., :own], vector([own]))


@public("signal.inverse_stft")
@takes(
    stfts=TENSOR,
    frame_length=NUMBER,
    frame_step=NUMBER,
    fft_length=or_none(NUMBER),
    window_fn=or_none(FUNCTION),
)
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: _Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals of spectra of frames.

    Parameters
    ----------
    stfts
        The spectra, complex64, shape [..., frames, fft length // 2 + 1].
    frame_length, frame_step, fft_length
        As those of `tf.signal.stft`.
    window_fn
        What each frame is multiplied by before frames are added up: see
        `tf.signal.inverse_stft_window_fn` for what undoes a window.
    name
        Name of the result.

    Returns
    -------
    Tensor
        float32, shape [..., samples].

    Examples
    --------
    >>> spectra = tf.signal.stft(tf.ones([100]), 16, 8)
    >>> window = tf.signal.inverse_stft_window_fn(8)
    >>> tf.signal.inverse_stft(spectra, 16, 8, window_fn=window).eval()[40].round(4)
    1.0
    """
    with scopes.name_scope(name, "inverse_stft", [stfts]):
        spectra = convert_to_tensor(stfts, name="stfts")
        spectra.shape.with_rank_at_least(2)
        length = known_integer(frame_length, "frame_length")
        own = _power_of_two(length) if fft_length is None else known_integer(fft_length, "fft")
        frames = irfft(spectra, vector([own]))
        frames = pad_to(frames, vector([length]), 1)[..., :length]
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


@public("signal.inverse_stft_window_fn")
@takes(frame_step=NUMBER, forward_window_fn=FUNCTION)
def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: _Window = hann_window, name: str | None = None
) -> _Window:
    """The window that lets `tf.signal.inverse_stft` undo `tf.signal.stft`.

    Parameters
    ----------
    frame_step
        From the start of a frame to that of the next.
    forward_window_fn
        The window of the transform.
    name
        Name of the window.

    Returns
    -------
    callable
        A function of a length and a dtype: the window divided by the sum of its squares at the
        places of all frames that overlap.

    Examples
    --------
    >>> tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float64).eval().round(6).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """

    def window(frame_length: Any, dtype: Any) -> Tensor:
        with scopes.name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length = known_integer(frame_length, "frame_length")
            step = known_step(frame_step)
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -((-length) // step)
            squares = pad_to(gen_ops.square(forward), vector([overlaps * step]), 1)
            sums = reductions.reduce_sum(
                gen_ops.reshape(squares, vector([overlaps, step])), 0, keepdims=True
            )
            every = gen_ops.reshape(gen_ops.tile(sums, vector([overlaps, 1])), [-1])
            return gen_ops.real_div(forward, every[:length])

    return window
