"""Fourier transforms of the last dimensions of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _rank(op: str) -> int:
    return int(op[-2]) if op.endswith("D") else 1


def _shape(source: Source, rank: int) -> list[int]:
    """Batches of what is transformed; at times one dimension too few."""
    batch = source.small_shape(0, 2, 3)
    sizes = [source.size(source.pick((5, 12))) for _ in range(rank)]
    if rank == 1 and source.chance(0.15):
        sizes = [source.pick((29, 31, 37, 49, 64, 58))]
    return sizes[1:] if source.chance(0.05) else [*batch, *sizes]


def _values(source: Source, dtype: str, shape: list[int]) -> Array:
    style = source.pick(("small", "plain")) if source.chance(0.85) else "edges"
    return source.values(dtype, shape, style)


# The error of a fast transform in the norm of 2 is some multiple of epsilon, log2 of the length and
# the norm (N. Higham: Accuracy and Stability of Numerical Algorithms, 24.1); the norm grows by the
# root of the length. 10 is for lengths with large prime factors, which need three transforms of two
# to four times the length. Beyond a millionth of the largest number sums may overflow on their way.
def _near(value: Array, x: Array, rank: int, part: str, *, inverse: bool) -> Near:
    axes = tuple(range(x.ndim - rank, x.ndim))
    length = math.prod(value.shape[x.ndim - rank :])
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
        odd = ~(largest < number_types.largest(part) * 1e-6)
        size = np.sqrt(np.sum(np.abs(np.where(odd, 0, x)) ** 2, axis=axes, keepdims=True))
    size = size * (2 * math.sqrt(length) / (length if inverse else 1))
    bound = size * (10 * number_types.epsilon(part) * (math.log2(length) + 2))
    bound = bound + number_types.smallest_normal(part) * 64
    return Near(value, np.broadcast_to(bound, value.shape), np.broadcast_to(odd, value.shape))


# ---- Complex numbers ----


def _make_complex(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tcomplex")
    shape = _shape(source, _rank(op.name))
    inputs = [Input(dtype, _values(source, dtype, shape))]
    return Case(op.name, inputs, {"Tcomplex": type_attr(dtype)})


def _complex(case: Case) -> Outcome:
    x, rank = numbers(case, 0), _rank(case.op)
    refuse_unless(x.ndim >= rank, "input")
    if x.size == 0:
        return [x]
    inverse = case.op.startswith("I")
    axes = range(x.ndim - rank, x.ndim)
    with np.errstate(all="ignore"):
        function = np.fft.ifftn if inverse else np.fft.fftn
        value = function(x.astype(np.complex128), axes=axes)
    part = number_types.real_type(case.inputs[0].dtype)
    return [_near(value, x, rank, part, inverse=inverse)]


def _parts(whole: Any, dtype: Any) -> tuple[Any, Any]:
    return gen_ops.real(whole, Tout=dtype), gen_ops.imag(whole, Tout=dtype)


def _complex_checks(op: str) -> list[Check]:
    def build(re: Any, im: Any) -> tuple[Any, Any]:
        whole = gen_ops.square(gen_ops.complex(re, im, Tout=tf.complex128))
        return _parts(function_of(op)(whole), tf.float64)

    shape = (2, 2, 3, 5)[3 - _rank(op) :]
    return [Check(build, (spread("re", *shape), spread("im", *shape)))]


def _large_complex(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        dtype = tf.complex64 if values.dtype == tf.float32 else tf.complex128
        shapes = {1: ((300, 480), (200, 181)), 2: ((9, 90, 70),), 3: ((5, 30, 14, 36),)}
        return [
            function_of(op)(gen_ops.complex(values.of(*shape), values.of(*shape), Tout=dtype))
            for shape in shapes[_rank(op)]
        ]

    return LargeCase(build, (tf.float32, tf.float64))


define_tests(
    ["FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"],
    cases=_make_complex,
    reference=_complex,
    gradient=_complex_checks,
    determinism=_large_complex,
)

# ---- Real numbers ----


def _make_real(source: Source, op: Any) -> Case:
    """Lengths of whole tensors or less, and some that are too long or too many."""
    rank, inverse = _rank(op.name), op.name.startswith("I")
    dtype = "complex64" if inverse else "float32"
    shape = _shape(source, rank)
    lengths = [int(size) for size in shape[-rank:]]
    if inverse and lengths:
        lengths[-1] = max(2 * lengths[-1] - source.pick((1, 2)), 0)
    if source.chance(0.3):
        lengths = [source.integer(0, length) for length in lengths]
    if source.chance(0.1) and lengths:
        lengths[source.integer(0, len(lengths) - 1)] = source.pick((-1, 40, 2**31 - 1, -(2**31)))
    if source.chance(0.05):
        lengths = [*lengths, 1]
    inputs = [Input(dtype, _values(source, dtype, shape))]
    return Case(op.name, [*inputs, Input("int32", np.array(lengths, np.int32))])


def _real(case: Case) -> Outcome:
    x, lengths = numbers(case, 0), [int(length) for length in case.array(1)]
    rank, inverse = _rank(case.op), case.op.startswith("I")
    refuse_unless(x.ndim >= rank, "input")
    refuse_unless(len(lengths) == rank and min(lengths) >= 0, "fft_length")
    half = lengths[-1] // 2 + 1 if lengths[-1] > 0 else 0
    given, made = [*lengths], [*lengths]
    (given if inverse else made)[-1] = half
    refuse_unless(
        all(size >= one for size, one in zip(x.shape[-rank:], given, strict=True)), "fft_length"
    )
    shape = (*x.shape[: x.ndim - rank], *made)
    if 0 in shape:
        return [np.zeros(shape, np.float32 if inverse else np.complex64)]
    axes = range(x.ndim - rank, x.ndim)
    cut: Any = (..., *(slice(0, size) for size in given))
    x = x[cut]
    with np.errstate(all="ignore"):
        if inverse:
            value: Any = np.fft.irfftn(x.astype(np.complex128), s=lengths, axes=axes)
        else:
            value = np.fft.rfftn(x.astype(np.float64), s=lengths, axes=axes)
    return [_near(value, x, rank, "float32", inverse=inverse)]


# With these lengths, numbers and steps all sums are exact in float32.
def _real_checks(op: str) -> list[Check]:
    rank = _rank(op)
    shape, lengths = (2, 2, 4, 5)[3 - rank :], (2, 2, 4)[3 - rank :]

    def build(x: Any) -> tuple[Any, Any]:
        return _parts(function_of(op)(gen_ops.cast(x, tf.float32), list(lengths)), tf.float32)

    return [Check(build, (np.round(spread(op, *shape) * 4),), step=1.0)]


def _inverse_checks(op: str) -> list[Check]:
    rank = _rank(op)
    shape, lengths = (2, 2, 4, 4)[3 - rank :], (2, 2, 4)[3 - rank :]

    def build(re: Any, im: Any) -> Any:
        whole = gen_ops.complex(gen_ops.cast(re, tf.float32), gen_ops.cast(im, tf.float32))
        return function_of(op)(whole, list(lengths))

    return [
        Check(
            build, (np.round(spread(op, *shape) * 4), np.round(spread("im", *shape) * 4)), step=1.0
        )
    ]


def _large_real(op: str) -> LargeCase:
    shapes: dict[int, tuple[int, ...]] = {1: (300, 480), 2: (9, 90, 70), 3: (5, 30, 14, 36)}
    shape = shapes[_rank(op)]

    def build(values: Values) -> Any:
        x: Any = values.of(*shape)
        lengths = [*shape[-_rank(op) :]]
        if op.startswith("I"):
            x = gen_ops.complex(x, values.of(*shape))
        return function_of(op)(x, lengths)

    return LargeCase(build, (tf.float32,))


def _define(ops: list[str], checks: Callable[[str], list[Check]]) -> None:
    define_tests(ops, cases=_make_real, reference=_real, gradient=checks, determinism=_large_real)


_define(["RFFT", "RFFT2D", "RFFT3D"], _real_checks)
_define(["IRFFT", "IRFFT2D", "IRFFT3D"], _inverse_checks)
