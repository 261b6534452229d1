"""Inverses and determinants of square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
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

_EPSILON = 2.0**-52


def make_matrices(source: Source, op: Any) -> Case:
    """Matrices whose diagonals exceed the rest of their rows by 1 or more, or singular ones."""
    dtype = pick_type(source, op, "T")
    size = source.size(6)
    shape = [*source.small_shape(0, 3, 3), size, size]
    values = np.reshape([source.integer(-8, 8) / 8 for _ in range(int(np.prod(shape)))], shape)
    values = values + (size + 1) * np.eye(size) * source.pick((1, -1))
    singular = source.chance(0.2) and values.size > 0
    if singular:
        values[..., source.integer(0, size - 1), :] = 0
    if source.chance(0.5):
        values = values[..., ::-1, :]
    if dtype.startswith("complex"):
        values = values * source.pick((1, 1j, 0.6 + 0.8j))
    if source.chance(0.1):
        values = source.pick((values[..., :0], values[..., 1:], np.ones(size)))
    stored = values.astype(dtype)
    attrs = {"T": type_attr(dtype)}
    is_inverse = op.name.endswith("MatrixInverse")
    adjoint = is_inverse and source.chance(0.5)
    if is_inverse:
        attrs["adjoint"] = attr_text(adjoint)
    inputs = [Input(dtype, stored)]
    return Case(op.name, inputs, attrs, {"adjoint": adjoint, "singular": singular})


def _matrices(case: Case) -> Array:
    """The matrices, in double precision."""
    x = numbers(case, 0)
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], "input")
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


# Elimination in double precision gives what is exact for A + E. With c = 8 n^2 epsilon, twice what
# Higham (Accuracy and Stability of Numerical Algorithms, 9.3) has for rows that grow by at most 2
# times, |E| <= c |A|. As ||A^-1|| <= 1 and ||A|| <= 2 n + 1 for these matrices, an inverse is off
# by ||A^-1 E A^-1|| <= c (2 n + 1), and a determinant by n times that, relatively. NumPy's own
# result is off by as much. Then the result is rounded to its type.
def _error(size: int) -> float:
    return 2 * 8 * size**2 * _EPSILON * (2 * size + 1)


def matrix_inverses(case: Case) -> Outcome:
    """The inverses of the matrices of a case."""
    x = _matrices(case)
    if x.size == 0:
        return [x.astype(case.inputs[0].dtype)]
    refuse_unless(not case.values["singular"], "input")
    if case.values["adjoint"]:
        x = np.conj(x).swapaxes(-1, -2)
    inverse = np.linalg.inv(x)
    return [_rounded(inverse, _error(x.shape[-1]), case)]


def _rounded(value: Array, error: Any, case: Case) -> Near:
    dtype = case.inputs[0].dtype
    smallest = number_types.smallest_normal(dtype)
    return Near(value, error + (np.abs(value) + smallest) * number_types.epsilon(dtype))


def determinants(case: Case) -> Outcome:
    """Their determinants."""
    x = _matrices(case)
    value = np.zeros(x.shape[:-2], x.dtype) if case.values["singular"] else np.linalg.det(x)
    return [_rounded(value, np.abs(value) * (x.shape[-1] * _error(x.shape[-1])), case)]


def _log_determinant(case: Case) -> Outcome:
    x = _matrices(case)
    if case.values["singular"] and x.size > 0:
        sign = np.zeros(x.shape[:-2], x.dtype)
        return [sign.astype(case.inputs[0].dtype), (sign - np.inf).astype(case.inputs[0].dtype)]
    sign, log = np.linalg.slogdet(x)
    error = x.shape[-1] * _error(x.shape[-1])
    return [_rounded(sign, error, case), _rounded(log.astype(x.dtype), error, case)]


def _regular(*shape: int) -> Array:
    return np.asarray(spread("input", *shape) + 6 * np.eye(shape[-1]))


def inverse_checks(op: str) -> list[Check]:
    """Checks of the gradient of an inverse, and of that of an adjoint."""
    function = function_of(op)
    return [
        Check(lambda x: function(x), (_regular(3, 3),)),
        Check(lambda x: function(x, adjoint=True), (_regular(2, 3, 3),)),
    ]


def determinant_checks(op: str) -> list[Check]:
    """Checks of the gradient of a determinant or its logarithm."""
    function = function_of(op)
    if op == "LogMatrixDeterminant":
        return [Check(lambda x: function(x)[1], (_regular(2, 3, 3),))]
    # Of size 1, so that the absolute error of the differences counts.
    return [Check(lambda x: function(x / 6.0), (_regular(2, 3, 3),))]


def _large_matrices(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        return [function(values.of(300, 40, 40)), function(values.of(150, 150))]

    return LargeCase(build)


define_tests(
    "MatrixInverse",
    cases=make_matrices,
    reference=matrix_inverses,
    gradient=inverse_checks,
    determinism=_large_matrices,
)
define_tests(
    "MatrixDeterminant",
    cases=make_matrices,
    reference=determinants,
    gradient=determinant_checks,
    determinism=_large_matrices,
)
define_tests(
    "LogMatrixDeterminant",
    cases=make_matrices,
    reference=_log_determinant,
    gradient=determinant_checks,
    determinism=_large_matrices,
)
