"""The gamma function's logarithm, the derivatives of that, and the Hurwitz zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from testing.ops.elementwise_binary import broadcast, two_tensors
from testing.ops.elementwise_unary import one_tensor
from testing.ops.library_functions import PI
from testing.ops.support.case import Case
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import large_broadcast
from testing.ops.support.gradient import Check, ChecksOfOp, of_one_tensor, positive
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Near, Outcome, longer, numbers, ulps
from testing.ops.support.registry import define_tests

# Bernoulli's numbers B(2), B(4), ..., B(16).
_FRACTIONS = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
_BERNOULLI = [np.longdouble(above) / below for above, below in _FRACTIONS]

# From here on the asymptotic series are exact to the last digit of a longdouble.
_FAR = 25


def _from_whole(x: Array) -> Array:
    """The distance from the nearest whole number, which is exact."""
    return np.asarray(x - np.round(x))


def _near(value: Array, scale: Array, dtype: str, count: float) -> Near:
    """A sum: beside its last digits, those of its largest part in float64 count."""
    near = ulps(value, dtype, count)
    finite = np.where(np.isfinite(scale), scale, 0)
    return Near(value, near.bound + finite * np.finfo(np.float64).eps * count)


def _lgamma_parts(x: Array) -> tuple[Array, Array]:
    """Of numbers above 0, by Abramowitz and Stegun, 6.1.41, from x + n on, and 6.1.15.

    Returns values, and the largest parts that they are the sums of.
    """
    product, a = np.ones_like(x), x
    for _ in range(_FAR):
        small = a < _FAR
        product, a = np.where(small, product * a, product), np.where(small, a + 1, a)
    series = np.log(2 * PI) / 2
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        series = series + bernoulli / (2 * k * (2 * k - 1)) / a ** (2 * k - 1)
    far_out = (a - 0.5) * np.log(a) - a + series
    scale = np.abs(far_out) + np.abs(np.log(product))
    return np.where(np.isinf(x), x, far_out - np.log(product)), scale


def _lgamma(case: Case) -> Outcome:
    dtype = case.inputs[0].dtype
    x = longer(numbers(case, 0)).astype(np.longdouble)
    above_zero, scale = _lgamma_parts(np.where(x > 0, x, 1 - x))
    reflected = np.log(PI / np.abs(np.sin(PI * _from_whole(x)))) - above_zero
    below = np.where(x == np.floor(x), np.inf, reflected)
    value = np.where(x > 0, above_zero, np.where(np.isneginf(x), np.inf, below))
    # Parts are exact to the last digits of a longdouble, which has 11 bits more than a float64.
    return [_near(value, scale / 256 + np.where(x > 0, 0, np.abs(above_zero)), dtype, 8)]


def _digamma_parts(x: Array) -> tuple[Array, Array]:
    """By Abramowitz and Stegun, 6.3.18, 6.3.5 and 6.3.7; infinite at the poles.

    Returns values, and the largest parts that they are the sums of.
    """
    a = np.where(x > 0, x, 1 - x)
    below = np.zeros_like(x)
    for _ in range(_FAR):
        small = a < _FAR
        below, a = np.where(small, below + 1 / a, below), np.where(small, a + 1, a)
    series = 1 / (2 * a)
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        series = series + bernoulli / (2 * k) / a ** (2 * k)
    above_zero = np.log(a) - series - below
    reflected = PI / np.tan(PI * _from_whole(x))
    value = np.where(x > 0, above_zero, above_zero - reflected)
    scale = np.abs(np.log(a)) + below + np.where(x > 0, 0, np.abs(reflected))
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, np.inf, value), scale


def _digamma(case: Case) -> Outcome:
    x = longer(numbers(case, 0)).astype(np.longdouble)
    return [_near(*_digamma_parts(x), case.inputs[0].dtype, 4)]


def _zeta_above_zero(x: Array, q: Array) -> Array:
    """By the formula of Euler and Maclaurin, after the first terms."""
    total, a = np.zeros_like(q), q
    for _ in range(80):
        total, a = total + a**-x, a + 1
    last = a**-x
    total = total + a ** (1 - x) / (x - 1) + last / 2
    factor = x / a
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        part = bernoulli / math.factorial(2 * k) * factor * last
        total = total + np.where(last == 0, 0, part)
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (a * a)
    return np.asarray(total)


def _zeta_parts(x: Array, q: Array) -> tuple[Array, Array]:
    """Values, and the sums of the absolute values of the terms."""
    steps = np.where(np.isfinite(q) & (q < 0), np.ceil(-q), 0)
    before_zero = scale = np.zeros_like(q)
    for k in range(int(np.max(np.minimum(steps, 1000), initial=0))):
        term = np.abs(q + k) ** -x
        term = np.where(k < steps, term, 0)
        before_zero = before_zero + np.where(np.fmod(x, 2) == 0, term, -term)
        scale = scale + term
    value = before_zero + _zeta_above_zero(x, q + steps)
    whole = q == np.floor(q)
    value = np.where((q < 0) & (x != np.floor(x)), np.nan, value)
    value = np.where((q <= 0) & whole, np.inf, value)
    value = np.where(x == 1, np.inf, np.where(x < 1, np.nan, value))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, value), scale


def _no_agreement(x: Array, q: Array) -> Array:
    """Where the parts of the sum are infinite, or more than the reference adds."""
    odd = ~np.isfinite(x) | (np.abs(x) > 1e6) | ~np.isfinite(q)
    return np.asarray(odd | ((q < -1000) & (q != np.floor(q))))


def _zeta(case: Case) -> Outcome:
    x, q = (longer(array).astype(np.longdouble) for array in broadcast(case))
    value, scale = _zeta_parts(x, q)
    # Half a unit in the last place of q + k changes (q + k)^-x by x half units.
    scale = scale + np.abs(x * value)
    near = _near(value, scale, case.inputs[0].dtype, 8)
    return [Near(near.value, near.bound, _no_agreement(x, q))]


def _polygamma(case: Case) -> Outcome:
    order, x = (longer(array).astype(np.longdouble) for array in broadcast(case))
    factorial = np.vectorize(math.factorial, otypes=[np.longdouble])
    is_order = (order >= 0) & (order == np.floor(order)) & (order <= 20)
    n = np.where(is_order, order, 0).astype(int)
    size = factorial(n)
    value, scale = _zeta_parts(n + np.longdouble(1), x)
    scale = size * (scale + np.abs((n + 1) * value))
    value = np.where(n % 2 == 0, -1, 1) * size * value
    value_0, scale_0 = _digamma_parts(x)
    value, scale = np.where(n == 0, value_0, value), np.where(n == 0, scale_0, scale)
    near = _near(np.where(is_order, value, np.nan), scale, case.inputs[0].dtype, 12)
    return [Near(near.value, near.bound, (order > 20) | _no_agreement(np.zeros_like(x), x))]


def _of_second(low: float) -> ChecksOfOp:
    """Checks of the gradient of the second argument: the first one has none."""

    def checks(op: str) -> list[Check]:
        def of(first: Array) -> Any:
            return lambda second: function_of(op)(first, second)

        return [
            Check(of(np.arange(6.0).reshape(2, 3) % 4 + low), (positive(op, 2, 3),)),
            Check(of(np.arange(3.0) + low), (positive(op, 2, 1),)),
            Check(of(np.asarray(float(low))), (positive(op, 2, 3),)),
        ]

    return checks


define_tests("Lgamma", cases=one_tensor, reference=_lgamma, gradient=of_one_tensor(positive))
define_tests("Digamma", cases=one_tensor, reference=_digamma, gradient=of_one_tensor(positive))
define_tests(
    "Zeta",
    cases=two_tensors,
    reference=_zeta,
    gradient=_of_second(2),
    determinism=large_broadcast,
)
define_tests(
    "Polygamma",
    cases=two_tensors,
    reference=_polygamma,
    gradient=_of_second(0),
    determinism=large_broadcast,
)
