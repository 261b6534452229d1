"""Fourier and cosine transforms, frames and spectra against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_RANDOM = np.random.RandomState(3)


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def _run(fetches: Any, feeds: Any = None) -> Any:
    session = tf.get_default_session()
    assert session is not None
    return session.run(fetches, feeds)


def _numbers(*shape: int) -> Any:
    return _RANDOM.uniform(-1, 1, shape).astype(np.float32)


def _cosines(x: Any, kind: int, norm: str | None = None) -> Any:
    """The cosine transform by its definition."""
    size = x.shape[-1]
    k, n = np.arange(size)[:, np.newaxis], np.arange(size)
    if kind == 1:
        matrix = 2 * np.cos(np.pi * k * n / max(size - 1, 1))
        matrix[:, [0, -1]] /= 2
    elif kind == 2:
        matrix = 2 * np.cos(np.pi * k * (2 * n + 1) / (2 * size))
    elif kind == 3:
        matrix = 2 * np.cos(np.pi * (2 * k + 1) * n / (2 * size))
        matrix[:, 0] /= 2
    else:
        matrix = 2 * np.cos(np.pi * (2 * k + 1) * (2 * n + 1) / (4 * size))
    if norm is not None:
        matrix = matrix / np.sqrt(2 * size)
        if kind == 2:
            matrix[0] /= np.sqrt(2)
        elif kind == 3:
            matrix[:, 0] *= np.sqrt(2)
    return x @ matrix.T


def _window(a: float, length: int, periodic: bool) -> Any:
    steps = max(length if periodic else length - 1, 1)
    values = a - (1 - a) * np.cos(2 * np.pi * np.arange(length) / steps)
    return values if length > 1 else np.ones(1)


@pytest.mark.parametrize("length", [None, 4, 6, 7, 9])
def test_lengths_cut_off_and_fill(length: int | None) -> None:
    x = _numbers(2, 7)
    lengths = None if length is None else [length]
    there = tf.signal.rfft(x, lengths)
    np.testing.assert_allclose(_run(there), np.fft.rfft(x, length), rtol=1e-5, atol=1e-5)
    assert there.shape.as_list() == [2, (length or 7) // 2 + 1]
    halves = np.fft.rfft(x).astype(np.complex64)
    back = tf.signal.irfft(halves, lengths)
    np.testing.assert_allclose(_run(back), np.fft.irfft(halves, length), rtol=1e-5, atol=1e-5)


def test_lengths_that_a_step_brings() -> None:
    x = tf.placeholder(tf.float32)
    length = tf.placeholder(tf.int32, [2])
    value = _numbers(3, 5, 4)
    found = _run(tf.signal.rfft2d(x, length), {x: value, length: [6, 3]})
    np.testing.assert_allclose(found, np.fft.rfft2(value, [6, 3]), rtol=1e-5, atol=1e-5)


def test_gradients_of_odd_lengths() -> None:
    x = tf.constant(_numbers(2, 3, 5))
    there = tf.signal.rfft2d(x, [3, 5])
    weights = tf.complex(_numbers(2, 3, 3), _numbers(2, 3, 3))
    loss = tf.reduce_sum(tf.real(there * weights))
    got, value, factors = _run([tf.gradients(loss, x)[0], x, weights])
    wanted = np.zeros_like(value)
    for place in np.ndindex(*value.shape):
        unit = np.zeros_like(value)
        unit[place] = 1
        wanted[place] = np.sum((np.fft.rfft2(unit) * factors).real)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [None, 3, 9])
def test_cosine_transforms(kind: int, norm: str | None, n: int | None) -> None:
    x = _numbers(2, 6)
    if kind == 1 and norm is not None:
        with pytest.raises(ValueError, match="Normalization is not supported"):
            tf.signal.dct(x, kind, norm=norm)
        return
    padded = x if n is None else np.pad(x, ((0, 0), (0, 3)))[:, :n]
    there = _run(tf.signal.dct(x, kind, n, norm=norm))
    wanted = _cosines(padded, kind, norm)
    np.testing.assert_allclose(there, wanted, rtol=1e-4, atol=1e-4)
    back = _run(tf.signal.idct(there, kind, norm=norm))
    inverse = {1: 1, 2: 3, 3: 2, 4: 4}[kind]
    np.testing.assert_allclose(back, _cosines(wanted, inverse, norm), rtol=1e-4, atol=1e-4)
    size = padded.shape[-1]
    factor = 1 if norm else 2 * (size - 1 if kind == 1 else size)
    np.testing.assert_allclose(back, padded * factor, rtol=1e-4, atol=1e-4)


def test_shifts() -> None:
    x = _numbers(4, 5)
    np.testing.assert_array_equal(_run(tf.signal.fftshift(x)), np.fft.fftshift(x))
    np.testing.assert_array_equal(_run(tf.signal.ifftshift(x, [1])), np.fft.ifftshift(x, [1]))
    np.testing.assert_array_equal(_run(tf.signal.fftshift(x, [-1])), np.fft.fftshift(x, [-1]))


@pytest.mark.parametrize("length", [1, 2, 7, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(length: int, periodic: bool) -> None:
    # An odd window is the same for both.
    wanted = periodic and length % 2 == 0
    for a, own in ((0.5, tf.signal.hann_window), (0.54, tf.signal.hamming_window)):
        expected = _window(a, length, wanted)
        np.testing.assert_allclose(_run(own(length, periodic)), expected, rtol=1e-5, atol=1e-6)
        size = tf.placeholder(tf.int32, [])
        found = _run(own(size, periodic), {size: length})
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("pad_end", [True, False])
def test_frames(known: bool, pad_end: bool) -> None:
    value = _numbers(2, 11, 3)
    x = tf.placeholder(tf.float32, value.shape if known else None)
    found = tf.signal.frame(x, 4, 3, pad_end, 7.0, axis=1)
    padded = np.pad(value, ((0, 0), (0, 3), (0, 0)), constant_values=7) if pad_end else value
    count = 4 if pad_end else 3
    wanted = np.stack([padded[:, 3 * i : 3 * i + 4] for i in range(count)], 1)
    np.testing.assert_array_equal(_run(found, {x: value}), wanted)
    if known:
        assert found.shape.as_list() == [2, count, 4, 3]


@pytest.mark.parametrize("step", [0, -2])
def test_frames_are_some_way_apart(step: int) -> None:
    for function in (
        lambda: tf.signal.frame([1.0, 2.0, 3.0], 2, step),
        lambda: tf.signal.overlap_and_add([[1.0, 2.0]], step),
        lambda: tf.signal.inverse_stft_window_fn(step)(4, tf.float32),
    ):
        with pytest.raises(ValueError, match=f"frame_step: expected 1 or more, got {step}"):
            function()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("step", [1, 2, 3, 5, 7])
def test_frames_are_added_up(known: bool, step: int) -> None:
    value = _numbers(2, 3, 4, 5)
    x = tf.placeholder(tf.float32, value.shape if known else None)
    wanted = np.zeros((2, 3, 3 * step + 5), np.float32)
    for i in range(4):
        wanted[..., i * step : i * step + 5] += value[..., i, :]
    found = tf.signal.overlap_and_add(x, step)
    np.testing.assert_allclose(_run(found, {x: value}), wanted, rtol=1e-6, atol=1e-6)
    if known:
        assert found.shape.as_list() == [2, 3, 3 * step + 5]


def test_spectra_and_back() -> None:
    x = _numbers(2, 200)
    spectra = tf.signal.stft(x, 25, 8)
    assert spectra.shape.as_list() == [2, 22, 17]
    frames = np.stack([x[:, 8 * i : 8 * i + 25] for i in range(22)], 1)
    window = _window(0.5, 25, False)
    wanted = np.fft.rfft(frames * window, 32)
    np.testing.assert_allclose(_run(spectra), wanted, rtol=1e-4, atol=1e-4)
    back = tf.signal.inverse_stft(
        spectra, 25, 8, window_fn=tf.signal.inverse_stft_window_fn(8, tf.signal.hann_window)
    )
    np.testing.assert_allclose(_run(back)[:, 25:160], x[:, 25:160], rtol=1e-4, atol=1e-4)


def test_mel_weights() -> None:
    weights = _run(tf.signal.linear_to_mel_weight_matrix(5, 33, dtype=tf.float64))
    hertz = np.linspace(0, 4000, 33)
    mel = 1127 * np.log1p(hertz / 700)
    edges = np.linspace(1127 * np.log1p(125 / 700), 1127 * np.log1p(3800 / 700), 7)
    rising = (mel[:, np.newaxis] - edges[:-2]) / (edges[1] - edges[0])
    falling = (edges[2:] - mel[:, np.newaxis]) / (edges[1] - edges[0])
    wanted = np.maximum(0, np.minimum(rising, falling))
    wanted[0] = 0
    np.testing.assert_allclose(weights, wanted, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="Nyquist"):
        tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)


def test_cepstral_coefficients() -> None:
    x = _numbers(3, 10)
    wanted = _cosines(x, 2) / np.sqrt(20)
    found = _run(tf.signal.mfccs_from_log_mel_spectrograms(x))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_names_of_the_old_module() -> None:
    assert tf.spectral.dct is tf.signal.dct
    assert tf.fft2d is tf.signal.fft2d
    assert tf.spectral.irfft3d is tf.signal.irfft3d
