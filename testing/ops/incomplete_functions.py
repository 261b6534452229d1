"""Incomplete gamma and beta functions, and modified Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.elementwise_binary import broadcast, two_tensors
from testing.ops.elementwise_unary import one_tensor
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import FLOAT32_AND_64, SIZE, LargeCase, large_broadcast
from testing.ops.support.gradient import Check, LacksGradient, of_broadcast_tensors, positive
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
    ulps,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_EPSILON = float(np.finfo(np.float64).eps)

# ---- Igamma, Igammac, IgammaGradA ----


def lower_gamma(a: float, x: float) -> Any:
    """The lower function by its series, whose terms are all positive, in longdouble."""
    wide_a, wide_x = np.longdouble(a), np.longdouble(x)
    term = total = 1 / wide_a
    n = 1
    while term > total * np.finfo(np.longdouble).eps:
        term = term * wide_x / (wide_a + n)
        total += term
        n += 1
    return total * np.exp(wide_a * np.log(wide_x) - wide_x - np.longdouble(math.lgamma(a)))


def _igamma(a: float, x: float) -> Any:
    if x == 0 and not math.isnan(a):
        return 0.0
    if not a > 0 or not x >= 0:
        return np.nan
    return 1.0 if math.isinf(x) else lower_gamma(a, x)


def _igammac(a: float, x: float) -> Any:
    if not a > 0 or not x >= 0:
        return np.nan
    return 1 - _igamma(a, x)


def _grad_a(a: float, x: float) -> Any:
    """By differences of longdoubles; they are good to about nine digits."""
    if x == 0 and not math.isnan(a):
        return 0.0
    if not a > 0 or not x >= 0:
        return np.nan
    if math.isinf(x):
        return 0.0
    step = a * 2.0**-16
    slopes = [(lower_gamma(a + h, x) - lower_gamma(a - h, x)) / (2 * h) for h in (step, step / 2)]
    return (4 * slopes[1] - slopes[0]) / 3


def _of_gamma(function: Callable[[float, float], Any], error: float) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        a, x = (longer(array).astype(np.float64) for array in broadcast(case))
        # Further out the reference takes too long, and the digits of lgamma do not do.
        far = (a > 100) | (x > 200) | (np.isfinite(a) & (a > 0) & (a < 1e-3)) | np.isinf(a)
        far |= (x > 0) & (x < 1e-30)
        value = np.zeros(a.shape, np.longdouble)
        for place in np.ndindex(a.shape):
            if not far[place] or np.isinf(x[place]):
                value[place] = function(float(a[place]), float(x[place]))
        near = ulps(value, case.inputs[0].dtype, 8)
        return [Near(value, near.bound + error, far)]

    return compute


_IGAMMA_ERROR = 2000 * _EPSILON


def _igamma_checks(op: str) -> list[Check]:
    """By both arguments, and by the second alone.

    The second derivative by the first has no closed form.
    """
    function, by_a = function_of(op), LacksGradient("IgammaGradA")
    both = of_broadcast_tensors(positive, with_itself=False)(op)
    a = positive(op, 2, 3)
    return [
        *(replace(check, no_second_order=by_a) for check in both),
        Check(lambda x: function(a, x), (positive("x", 3),)),
    ]


define_tests(
    "Igamma",
    cases=two_tensors,
    reference=_of_gamma(_igamma, _IGAMMA_ERROR),
    gradient=_igamma_checks,
    determinism=large_broadcast,
)
define_tests(
    "Igammac",
    cases=two_tensors,
    reference=_of_gamma(_igammac, _IGAMMA_ERROR),
    gradient=_igamma_checks,
    determinism=large_broadcast,
)
define_tests(
    "IgammaGradA",
    cases=two_tensors,
    reference=_of_gamma(_grad_a, 1e-6),
    gradient=[
        Check(lambda x: gen_ops.igamma_grad_a(positive("a", 2, 3), x), (positive("x", *shape),))
        for shape in ((2, 3), (3,))
    ],
    determinism=large_broadcast,
)


# ---- Betainc ----


def _make_betainc(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0, 3, 3)
    inputs = []
    for i in range(3):
        own = () if source.chance(0.3) else shape
        if source.chance(0.04):
            own = source.small_shape(1, 2, 3)
        values = source.random.random(own) * (1 if i == 2 else 5)
        values = np.where(source.random.random(own) < 0.1, source.pick((0.0, 1.0, -1.0)), values)
        inputs.append(Input(dtype, np.asarray(values).astype(dtype)))
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _beta(a: float, b: float, x: float) -> Any:
    """By the series of Abramowitz and Stegun, 26.5.4, whose terms are positive."""
    if not a > 0 or not b > 0 or not 0 <= x <= 1:
        return np.nan
    if x in (0.0, 1.0):
        return x
    if x > 0.5:
        return 1 - _beta(b, a, 1 - x)
    wide_a, wide_b, wide_x = np.longdouble(a), np.longdouble(b), np.longdouble(x)
    term = total = np.longdouble(1)
    n = 0
    while term > total * np.finfo(np.longdouble).eps:
        term = term * wide_x * (wide_a + wide_b + n) / (wide_a + 1 + n)
        total += term
        n += 1
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    power = wide_a * np.log(wide_x) + wide_b * np.log1p(-wide_x) - np.longdouble(log_beta)
    return total * np.exp(power) / wide_a


def _betainc(case: Case) -> Outcome:
    arrays = [numbers(case, i).astype(np.float64) for i in range(3)]
    shapes = {array.shape for array in arrays if array.ndim}
    refuse_unless(len(shapes) <= 1, "a")
    a, b, x = np.broadcast_arrays(*arrays)
    value = np.zeros(a.shape, np.longdouble)
    for place in np.ndindex(a.shape):
        value[place] = _beta(float(a[place]), float(b[place]), float(x[place]))
    # What is near 0 has few digits of its logarithm.
    far = ((a > 0) & (a < 1e-3)) | ((b > 0) & (b < 1e-3))
    near = ulps(value, case.inputs[0].dtype, 8)
    return [Near(value, near.bound + 1000 * _EPSILON, far)]


_A, _B = np.array([[0.7, 1.5, 3.0]]).repeat(2, 0), np.array([[2.5, 0.8, 1.2]]).repeat(2, 0)
_INSIDE = np.array([[0.15, 0.4, 0.62], [0.81, 0.3, 0.55]])
define_tests(
    "Betainc",
    cases=_make_betainc,
    reference=_betainc,
    gradient=[
        Check(lambda x: gen_ops.betainc(_A, _B, x), (_INSIDE,)),
        Check(lambda x: gen_ops.betainc(_A, np.float64(2.0), x), (np.asarray(0.4),)),
    ],
    determinism=LargeCase(
        lambda values: gen_ops.betainc(
            values.positive(SIZE), values.positive(SIZE), values.of(SIZE, low=0.0, high=1.0)
        ),
        FLOAT32_AND_64,
    ),
)


# ---- BesselI0e and BesselI1e ----


def _scaled_bessel(order: int, x: Any) -> Any:
    if math.isnan(x) or math.isinf(x):
        return np.nan if math.isnan(x) else 0.0
    wide = np.longdouble(abs(x))
    if wide > 45:
        term = total = np.longdouble(1)
        for k in range(1, 30):
            term = -term * (4 * order - (2 * k - 1) ** 2) / (8 * k * wide)
            total += term
        size = total / np.sqrt(2 * np.longdouble(np.pi) * wide)
    else:
        term = total = wide / 2 if order else np.longdouble(1)
        k = 1
        while term > total * np.finfo(np.longdouble).eps:
            term = term * wide * wide / (4 * k * (k + order))
            total += term
            k += 1
        size = total * np.exp(-wide)
    return -size if order and x < 0 else size


def _bessel(order: int) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        x = longer(numbers(case, 0)).astype(np.longdouble)
        value = np.zeros(x.shape, np.longdouble)
        for place in np.ndindex(x.shape):
            value[place] = _scaled_bessel(order, x[place])
        near = ulps(value, case.inputs[0].dtype, 16)
        return [near]

    return compute


define_tests("BesselI0e", cases=one_tensor, reference=_bessel(0))
define_tests("BesselI1e", cases=one_tensor, reference=_bessel(1))
