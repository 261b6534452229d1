"""Learning rates that follow a cosine."""

from __future__ import annotations

import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import NUMBER, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, random_ops
from millstream._impl.train.learning_rates import like, rate_and
from millstream._impl.values import dtypes


def _half_wave(fraction: Tensor) -> Tensor:
    """``(1 + cos(pi * fraction)) / 2``: from 1 at 0 down to 0 at 1."""
    kind = dtypes.complex128 if fraction.dtype == dtypes.float64 else dtypes.complex64
    # There is no op Cos yet: the cosine is the real part of exp(i x), which Cast takes.
    turned = gen_ops.exp(gen_ops.cast(fraction * math.pi, kind) * 1j)
    return (1.0 + gen_ops.cast(turned, fraction.dtype)) * 0.5


def _completed(
    learning_rate: Any, global_step: Any, decay_steps: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """The rate, the step, at most the last one, and the share of all steps that it has done."""
    first, length, step = rate_and(learning_rate, decay_steps=decay_steps, global_step=global_step)
    step = gen_ops.minimum(step, length)
    return first, step, gen_ops.real_div(step, length)


@public("train.cosine_decay")
@takes(learning_rate=NUMBER, global_step=NUMBER, decay_steps=NUMBER, alpha=NUMBER)
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * ((1 - alpha) * (1 + cos(pi * n)) / 2 + alpha)``.

    Here ``n = min(global_step, decay_steps) / decay_steps``. Loshchilov, Hutter: SGDR (2016).

    Parameters
    ----------
    learning_rate
        The rate at step 0, a floating-point number.
    global_step
        The count of steps, a number, scalar tensor or variable.
    decay_steps
        The number of steps until the end.
    alpha
        The share of the rate that is left at the end.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.cosine_decay(1.0, step, 10)
    >>> [round(float(rate.eval({step: count})), 3) for count in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    with scopes.name_scope(name, "CosineDecay", [learning_rate, global_step]) as scope:
        first, _, done = _completed(learning_rate, global_step, decay_steps)
        return gen_ops.mul(first, (1 - alpha) * _half_wave(done) + alpha, scope)


@public("train.cosine_decay_restarts")
@takes(
    learning_rate=NUMBER,
    global_step=NUMBER,
    first_decay_steps=NUMBER,
    t_mul=NUMBER,
    m_mul=NUMBER,
    alpha=NUMBER,
)
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """`cosine_decay` that starts again each time it ends.

    Loshchilov, Hutter: SGDR (2016).

    Parameters
    ----------
    learning_rate
        The rate at step 0, a floating-point number.
    global_step
        The count of steps, a number, scalar tensor or variable.
    first_decay_steps
        The length of the first period in steps.
    t_mul
        By what the length is multiplied at each start.
    m_mul
        By what the rate at the beginning is multiplied at each start.
    alpha
        The share of the rate that is left at the end of a period.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.cosine_decay_restarts(1.0, step, 10, m_mul=0.5)
    >>> [round(float(rate.eval({step: count})), 3) for count in (0, 5, 10, 20, 30)]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """
    with scopes.name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        first, step, period, growth = rate_and(
            learning_rate, global_step=global_step, first_decay_steps=first_decay_steps, t_mul=t_mul
        )
        periods = gen_ops.real_div(step, period)
        one = gen_ops.ones_like(growth)
        # Periods of equal length are counted; of growing length, their sum is a geometric series.
        is_equal = gen_ops.equal(growth, one)
        ratio = array_ops.where(is_equal, one + one, growth)
        grown = gen_ops.floor(gen_ops.log(1 - periods * (1 - ratio)) / gen_ops.log(ratio))
        length = gen_ops.pow(ratio, grown)
        past = (1 - length) / (1 - ratio)
        starts = array_ops.where(is_equal, gen_ops.floor(periods), grown)
        done = array_ops.where(is_equal, periods - starts, (periods - past) / length)
        (multiple,) = like(first, m_mul=m_mul)
        height = gen_ops.pow(multiple, starts)
        return gen_ops.mul(first, (1 - alpha) * (height * _half_wave(done)) + alpha, scope)


@public("train.linear_cosine_decay")
@takes(
    learning_rate=NUMBER,
    global_step=NUMBER,
    decay_steps=NUMBER,
    num_periods=NUMBER,
    alpha=NUMBER,
    beta=NUMBER,
)
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * ((alpha + 1 - n) * (1 + cos(2 * pi * num_periods * n)) / 2 + beta)``.

    Here ``n = min(global_step, decay_steps) / decay_steps``. Bello et al.: Neural optimizer search
    with reinforcement learning (2017).

    Parameters
    ----------
    learning_rate
        The rate, a floating-point number.
    global_step
        The count of steps, a number, scalar tensor or variable.
    decay_steps
        The number of steps until the end.
    num_periods
        How many periods the cosine has until then.
    alpha, beta
        Summands, as in the formula.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> step = tf.placeholder(tf.int32, [])
    >>> rate = tf.train.linear_cosine_decay(1.0, step, 10, beta=0.0)
    >>> [round(float(rate.eval({step: count})), 3) for count in (0, 5, 10)]
    [1.0, 0.25, 0.0]
    """
    with scopes.name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        first, _, done = _completed(learning_rate, global_step, decay_steps)
        (periods,) = like(first, num_periods=num_periods)
        wave = _half_wave(2.0 * periods * done)
        return gen_ops.mul(first, (alpha + (1 - done)) * wave + beta, scope)


@public("train.noisy_linear_cosine_decay")
@takes(
    learning_rate=NUMBER,
    global_step=NUMBER,
    decay_steps=NUMBER,
    initial_variance=NUMBER,
    variance_decay=NUMBER,
    num_periods=NUMBER,
    alpha=NUMBER,
    beta=NUMBER,
)
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`linear_cosine_decay` with normally distributed noise on its linear part.

    The variance of the noise is ``initial_variance / (1 + global_step)**variance_decay``.

    Parameters
    ----------
    learning_rate, global_step, decay_steps, num_periods, alpha, beta
        As for `linear_cosine_decay`.
    initial_variance, variance_decay
        The variance at step 0, and how it falls.
    name
        Name of the result.

    Returns
    -------
    Tensor
        A scalar of the dtype of `learning_rate`, new in each step.

    Examples
    --------
    >>> rate = tf.train.noisy_linear_cosine_decay(1.0, 5, 10, initial_variance=0.0, beta=0.0)
    >>> round(float(rate.eval()), 3)
    0.25
    """
    with scopes.name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        first, step, done = _completed(learning_rate, global_step, decay_steps)
        exponent, start = like(
            first, variance_decay=variance_decay, initial_variance=initial_variance
        )
        variance = start / gen_ops.pow(1 + step, exponent)
        noise = random_ops.random_normal([], dtype=first.dtype) * gen_ops.sqrt(variance)
        (periods,) = like(first, num_periods=num_periods)
        wave = _half_wave(2.0 * periods * done)
        return gen_ops.mul(first, (alpha + (1 - done + noise)) * wave + beta, scope)
