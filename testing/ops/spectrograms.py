"""Spectra of sound, and their mel-frequency cepstral coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Near, Outcome, numbers, refuse_unless
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_EPSILON = number_types.epsilon("float32")

# ---- AudioSpectrogram ----


def _make_spectrogram(source: Source, op: Any) -> Case:
    shape = [source.integer(0, 40), source.size(3)]
    if source.chance(0.05):
        shape = shape[:1]
    style = source.pick(("small", "plain")) if source.chance(0.9) else "edges"
    window = source.integer(2, 20) if source.chance(0.95) else source.pick((1, 0, -3, 2**40))
    attrs = {
        "window_size": attr_text(window),
        "stride": attr_text(source.integer(1, 9) if source.chance(0.95) else 0),
        "magnitude_squared": attr_text(source.chance(0.5)),
    }
    return Case(op.name, [Input("float32", source.values("float32", shape, style))], attrs)


def _spectrogram(case: Case) -> Outcome:
    x = numbers(case, 0).astype(np.float64)
    size, stride = case.attr("window_size"), case.attr("stride")
    refuse_unless(x.ndim == 2, "input")
    refuse_unless(2 <= size <= 2**30, "window_size")
    refuse_unless(stride >= 1, "stride")
    length = 1 << (size - 1).bit_length()
    count = 0 if len(x) < size else 1 + (len(x) - size) // stride
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    value = np.zeros((x.shape[1], count, length // 2 + 1))
    norm = np.zeros((x.shape[1], count, 1))
    with np.errstate(all="ignore"):
        for i in range(count):
            frame = x[i * stride : i * stride + size] * window[:, np.newaxis]
            value[:, i] = np.abs(np.fft.rfft(frame, length, axis=0)).T
            norm[:, i, 0] = np.abs(frame).sum(axis=0)
        odd = ~(norm < 1e18)
        norm = np.where(odd, 0, norm)
        # Sums in double precision, rounded to a float once or, before the root, twice.
        if case.attr("magnitude_squared"):
            bound = value**2 * (2 * _EPSILON) + norm**2 * 1e-13
            return [_near(value**2, bound + 1e-37, odd)]
        return [_near(value, value * (2 * _EPSILON) + norm * 1e-13 + 1e-18, odd)]


def _near(value: Array, bound: Array, odd: Array) -> Near:
    return Near(value, bound, np.broadcast_to(odd, value.shape))


def _large_spectrogram(values: Values) -> Any:
    return gen_ops.audio_spectrogram(values.of(30_000, 2), 400, 160)


define_tests(
    "AudioSpectrogram",
    cases=_make_spectrogram,
    reference=_spectrogram,
    determinism=LargeCase(_large_spectrogram, FLOAT32),
)

# ---- Mfcc ----


def _make_mfcc(source: Source, op: Any) -> Case:
    shape = [source.size(2), source.size(3), source.integer(1, 60)]
    if source.chance(0.05):
        shape = shape[1:]
    power = np.square(source.values("float32", shape, source.pick(("small", "plain"))))
    rate = source.pick((8000, 16000, 300)) if source.chance(0.95) else source.pick((0, -5))
    bands = source.integer(1, 12) if source.chance(0.97) else source.pick((0, -1, 2**40))
    count = source.integer(1, max(min(bands, 12), 1))
    lower = source.pick((0.0, 20.0, 150.0))
    attrs = {
        "upper_frequency_limit": attr_text(source.pick((4000.0, 2000.0, 140.0))),
        "lower_frequency_limit": attr_text(lower if source.chance(0.97) else -1.0),
        "filterbank_channel_count": attr_text(bands),
        "dct_coefficient_count": attr_text(count if source.chance(0.96) else bands + 1),
    }
    inputs = [Input("float32", power), Input("int32", np.array(rate, np.int32))]
    return Case(op.name, inputs, attrs)


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


def _mfcc(case: Case) -> Outcome:
    power, rate = numbers(case, 0).astype(np.float64), int(case.array(1))
    bands, count = case.attr("filterbank_channel_count"), case.attr("dct_coefficient_count")
    lower, upper = case.attr("lower_frequency_limit"), case.attr("upper_frequency_limit")
    refuse_unless(power.ndim == 3, "spectrogram")
    refuse_unless(lower >= 0, "lower_frequency_limit")
    refuse_unless(upper > lower, "upper_frequency_limit")
    refuse_unless(1 <= bands <= 2**20, "filterbank_channel_count")
    refuse_unless(1 <= count <= bands, "dct_coefficient_count")
    size = power.shape[2]
    refuse_unless(rate > 0 and size >= 2, "spectrogram")
    shape = (*power.shape[:2], count)
    hertz = 0.5 * rate / (size - 1)
    if int(upper / hertz) >= size:
        return [np.zeros(shape, np.float32)]
    edges = np.linspace(_mel(lower), _mel(upper), bands + 2)
    places = np.arange(size)
    mels = _mel(places * hertz)
    rising = (mels[:, np.newaxis] - edges[:-2]) / (edges[1] - edges[0])
    falling = (edges[2:] - mels[:, np.newaxis]) / (edges[1] - edges[0])
    weights = np.maximum(0, np.minimum(rising, falling))
    within = (places >= int(1.5 + lower / hertz)) & (places <= int(upper / hertz))
    weights = weights * within[:, np.newaxis]
    energies = np.maximum(np.sqrt(power) @ weights, 1e-12)
    angles = np.arange(count)[:, np.newaxis] * np.pi / bands * (np.arange(bands) + 0.5)
    value = np.log(energies) @ (np.sqrt(2 / bands) * np.cos(angles)).T
    # Where an energy is a rounding error of weights, its logarithm is not known.
    odd = ((energies < 1e-9) & (energies > 1e-12)).any(axis=-1, keepdims=True)
    bound = 1e-5 * np.abs(np.log(energies)).sum(axis=-1, keepdims=True) + 1e-6
    return [_near(value, np.broadcast_to(bound, value.shape), odd)]


def _large_mfcc(values: Values) -> Any:
    return gen_ops.mfcc(values.positive(2, 900, 129), 16000)


define_tests("Mfcc", cases=_make_mfcc, reference=_mfcc, determinism=LargeCase(_large_mfcc, FLOAT32))
