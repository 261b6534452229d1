"""Functions of one tensor that the C library computes, element by element."""

from __future__ import annotations

import numpy as np

from testing.ops.elementwise_unary import one_tensor, rounded_unary
from testing.ops.support.gradient import of_one_tensor, positive, spread
from testing.ops.support.number_types import Array
from testing.ops.support.registry import define_tests

PI = np.longdouble("3.14159265358979323846264338327950288")


def within_one(name: str, *shape: int) -> Array:
    """Numbers between -0.9 and 0.9."""
    return np.asarray(spread(name, *shape) * 0.45)


def _above_one(name: str, *shape: int) -> Array:
    return np.asarray(positive(name, *shape) + 0.75)


def _log1p(x: Array) -> Array:
    """NumPy's loses the digits of a complex number near 0."""
    if not np.iscomplexobj(x):
        return np.log1p(x)
    a, b = x.real, x.imag
    is_near = (np.abs(a) < 0.5) & (np.abs(b) < 0.5)
    size = np.where(is_near, np.log1p(a * (2 + a) + b * b) / 2, np.log(np.hypot(1 + a, b)))
    result = np.empty_like(x)
    result.real, result.imag = size, np.arctan2(b, 1 + a)
    return result


def _expm1(x: Array) -> Array:
    if not np.iscomplexobj(x):
        return np.expm1(x)
    a, b = x.real, x.imag
    result = np.empty_like(x)
    result.real = np.expm1(a) * np.cos(b) - 2 * np.sin(b / 2) ** 2
    result.imag = np.exp(a) * np.sin(b)
    return result


def _erf_near_zero(x: Array) -> Array:
    """Abramowitz and Stegun, 7.1.6: a sum whose terms have one sign."""
    term = total = x
    for n in range(1, 80):
        term = term * (2 * x * x) / (2 * n + 1)
        total = total + term
    return np.asarray(2 / np.sqrt(PI) * np.exp(-x * x) * total)


def _erfc_far_out(x: Array) -> Array:
    """Abramowitz and Stegun, 7.1.14: a continued fraction, for x >= 1.5."""
    tail = x
    for k in range(150, 0, -1):
        tail = x + k / (2 * tail)
    return np.asarray(np.exp(-x * x) / (np.sqrt(PI) * tail))


def _erf(x: Array) -> Array:
    far_out = np.copysign(1 - _erfc_far_out(np.abs(x)), x)
    return np.where(np.abs(x) < 1.5, _erf_near_zero(x), far_out)


def _erfc(x: Array) -> Array:
    far_out = _erfc_far_out(np.abs(x))
    far_out = np.where(x < 0, 2 - far_out, far_out)
    return np.where(np.abs(x) < 1.5, 1 - _erf_near_zero(x), far_out)


define_tests("Sin", cases=one_tensor, reference=rounded_unary(np.sin, 3))
define_tests("Cos", cases=one_tensor, reference=rounded_unary(np.cos, 3))
define_tests(
    "Tan",
    cases=one_tensor,
    reference=rounded_unary(np.tan, 3),
    gradient=of_one_tensor(within_one),
)
define_tests(
    "Asin",
    cases=one_tensor,
    reference=rounded_unary(np.arcsin, 3),
    gradient=of_one_tensor(within_one),
)
define_tests(
    "Acos",
    cases=one_tensor,
    reference=rounded_unary(np.arccos, 3),
    gradient=of_one_tensor(within_one),
)
define_tests("Atan", cases=one_tensor, reference=rounded_unary(np.arctan, 3))
define_tests("Sinh", cases=one_tensor, reference=rounded_unary(np.sinh, 3))
define_tests("Cosh", cases=one_tensor, reference=rounded_unary(np.cosh, 3))
define_tests("Asinh", cases=one_tensor, reference=rounded_unary(np.arcsinh, 3))
define_tests(
    "Acosh",
    cases=one_tensor,
    reference=rounded_unary(np.arccosh, 3),
    gradient=of_one_tensor(_above_one),
)
define_tests(
    "Atanh",
    cases=one_tensor,
    reference=rounded_unary(np.arctanh, 3),
    gradient=of_one_tensor(within_one),
)
define_tests(
    "Log1p",
    cases=one_tensor,
    reference=rounded_unary(_log1p, 3),
    gradient=of_one_tensor(within_one),
)
define_tests("Expm1", cases=one_tensor, reference=rounded_unary(_expm1, 3))
define_tests("Erf", cases=one_tensor, reference=rounded_unary(_erf, 3))
define_tests("Erfc", cases=one_tensor, reference=rounded_unary(_erfc, 3))
