"""Learning rates that follow a cosine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


COUNTS = (0, 1, 4, 7, 10, 13, 25, 30, 31, 69, 100)


def check(decay: Any, formula: Any, dtype: tf.DType, **options: Any) -> None:
    """Compare a rate of 0.1 with a formula of the step."""
    step = tf.placeholder(tf.int64, [])
    rate = decay(tf.constant(0.1, dtype), step, 10, name="rate", **options)
    assert (rate.op.name, rate.dtype, rate.shape.as_list()) == ("rate", dtype, [])
    for count in COUNTS:
        # A cosine in float32 has an error of 2**-24, and 1 + cos(x) has all of it near 0.
        found = float(rate.eval({step: count}))
        assert found == pytest.approx(0.1 * formula(count), rel=1e-5, abs=1e-7)


def half_wave(fraction: float) -> float:
    """From 1 at 0 to 0 at 1."""
    return 0.5 * (1 + math.cos(math.pi * fraction))


DTYPES = pytest.mark.parametrize("dtype", [tf.float32, tf.float64])


@DTYPES
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_cosine_decay_follows_its_formula(dtype: tf.DType, alpha: float) -> None:
    def formula(count: int) -> float:
        return (1 - alpha) * half_wave(min(count, 10) / 10) + alpha

    check(tf.train.cosine_decay, formula, dtype, alpha=alpha)


@DTYPES
@pytest.mark.parametrize(("t_mul", "m_mul"), [(2.0, 1.0), (1.0, 0.5), (1.5, 0.8), (3, 1)])
def test_restarts_follow_their_lengths(dtype: tf.DType, t_mul: float, m_mul: float) -> None:
    def formula(count: int) -> float:
        rest, length, height = float(count), 10.0, 1.0
        while rest >= length:
            rest, length, height = rest - length, length * t_mul, height * m_mul
        return 0.9 * (height * half_wave(rest / length)) + 0.1

    options = {"t_mul": t_mul, "m_mul": m_mul, "alpha": 0.1}
    check(tf.train.cosine_decay_restarts, formula, dtype, **options)


@DTYPES
@pytest.mark.parametrize("periods", [0.5, 3.0])
def test_linear_cosine_decay_follows_its_formula(dtype: tf.DType, periods: float) -> None:
    def formula(count: int) -> float:
        done = min(count, 10) / 10
        return (0.2 + 1 - done) * half_wave(2 * periods * done) + 0.001

    check(tf.train.linear_cosine_decay, formula, dtype, num_periods=periods, alpha=0.2)


@DTYPES
def test_without_noise_the_noisy_decay_is_the_other(dtype: tf.DType) -> None:
    def formula(count: int) -> float:
        done = min(count, 10) / 10
        return (1 - done) * half_wave(done) + 0.5

    options = {"initial_variance": 0.0, "beta": 0.5}
    check(tf.train.noisy_linear_cosine_decay, formula, dtype, **options)


def test_noise_falls_with_the_steps(session: tf.Session) -> None:
    tf.set_random_seed(5)
    step = tf.placeholder(tf.int32, [])
    rate = tf.train.noisy_linear_cosine_decay(1.0, step, 1000, variance_decay=1.0, beta=0.0)
    for count in (0, 99):
        found = [session.run(rate, {step: count}) for _ in range(2000)]
        done = count / 1000
        deviation = half_wave(done) / math.sqrt(1 + count)
        # The error of a deviation of 2,000 draws is 1.6 %, that of the mean 2.2 % of it.
        assert np.std(found) == pytest.approx(deviation, rel=0.08)
        mean = (1 - done) * half_wave(done)
        assert np.mean(found) == pytest.approx(mean, abs=0.11 * deviation)


def test_lengths_of_periods_may_be_tensors() -> None:
    growth = tf.placeholder(tf.float32, [])
    rate = tf.train.cosine_decay_restarts(1.0, 20, 10, t_mul=growth)
    assert float(rate.eval({growth: 1.0})) == pytest.approx(1.0)
    assert float(rate.eval({growth: 2.0})) == pytest.approx(0.5)
