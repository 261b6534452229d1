"""Factors of square matrices, and systems of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.linalg import (
    determinant_checks,
    determinants,
    inverse_checks,
    make_matrices,
    matrix_inverses,
)
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import float_dtypes_of, function_of
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, spread, with_arguments
from testing.ops.support.matrices import NO_SHAPE, eighths, near, wide
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _square(case: Case, i: int, name: str) -> Array:
    x = wide(numbers(case, i))
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], name)
    return x


# ---- Cholesky ----


def _make_positive(source: Source, op: Any) -> Case:
    """Matrices with real positive diagonals, or some that are not positive definite."""
    dtype = pick_type(source, op, "T")
    n = source.size(5)
    shape = [*source.small_shape(0, 2, 3), n, n]
    values = eighths(source, shape, dtype) + (2 * n + 1) * np.eye(n)
    values = values.real * np.eye(n) + values * (1 - np.eye(n))
    fault = source.chance(0.15) and values.size > 0
    if fault:
        values[..., n - 1, n - 1] = source.pick((0, -1))
    if source.chance(0.05):
        values = values[..., :0]
    inputs = [Input(dtype, values.astype(dtype))]
    if op.name.endswith("Grad"):
        gradient = eighths(source, values.shape, dtype)
        if source.chance(0.05):
            gradient = gradient[..., :0]
        inputs.append(Input(dtype, gradient.astype(dtype)))
    return Case(op.name, inputs, {"T": type_attr(dtype)}, {"fault": fault})


def _cholesky(case: Case) -> Outcome:
    x = _square(case, 0, "input")
    if x.size == 0:
        return [case.array(0)]
    lower = np.tril(x)
    whole = lower + np.conj(np.tril(x, -1)).swapaxes(-1, -2)
    refuse_unless(not case.values["fault"], "input")
    return [near(np.linalg.cholesky(whole), case)]


def _cholesky_grad(case: Case) -> Outcome:
    factor = np.tril(_square(case, 0, "l"))
    gradient = np.tril(wide(numbers(case, 1)))
    refuse_unless(gradient.shape == factor.shape, "grad")
    if factor.size == 0:
        return [case.array(0)]
    if case.values["fault"] and (np.diagonal(factor, axis1=-2, axis2=-1) == 0).any():
        return [None]
    half = np.tril(np.ones(factor.shape[-2:])) - np.eye(factor.shape[-1]) / 2
    inverse = np.linalg.inv(factor)
    middle = (factor.swapaxes(-1, -2) @ gradient) * half
    whole = inverse.swapaxes(-1, -2) @ middle @ inverse
    return [near((whole + whole.swapaxes(-1, -2)) / 2, case)]


def _cholesky_checks(op: str) -> list[Check]:
    def factor(x: Any) -> Any:
        # Only the lower triangle is read, so the gradient of a symmetric one is checked.
        return function_of(op)((x + gen_ops.transpose(x, [0, 2, 1])) * 0.5)

    return [Check(factor, (spread("cholesky", 2, 3, 3) + 6 * np.eye(3),))]


def _cholesky_grad_checks(op: str) -> list[Check]:
    """What is above the diagonal is not read, and has the gradient zero."""
    factor = spread("factor", 2, 3, 3) + 4 * np.eye(3)
    return [Check(function_of(op), (factor, spread("gradient of the factor", 2, 3, 3)))]


def _large_factors(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        x = values.of(300, 30, 30) + 70 * np.eye(30).astype(values.dtype.as_numpy_dtype)
        function = function_of(op)
        return function(x, values.of(300, 30, 30)) if op.endswith("Grad") else function(x)

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    "Cholesky",
    cases=_make_positive,
    reference=_cholesky,
    gradient=_cholesky_checks,
    determinism=_large_factors,
)
define_tests(
    "CholeskyGrad",
    cases=_make_positive,
    reference=_cholesky_grad,
    gradient=_cholesky_grad_checks,
    determinism=_large_factors,
)
define_tests(
    "BatchCholesky",
    cases=_make_positive,
    reference=_cholesky,
    gradient=_cholesky_checks,
    determinism=_large_factors,
    exceptions=NO_SHAPE,
)
define_tests(
    "BatchCholeskyGrad",
    cases=_make_positive,
    reference=_cholesky_grad,
    gradient=_cholesky_grad_checks,
    determinism=_large_factors,
    exceptions=NO_SHAPE,
)

# ---- Equations ----


def _make_equations(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    n, columns = source.size(5), source.size(4)
    batch = source.small_shape(0, 2, 3)
    matrix = eighths(source, [*batch, n, n], dtype) + (2 * n + 1) * np.eye(n)
    singular = source.chance(0.12) and matrix.size > 0
    if singular:
        matrix[..., n - 1, :] = 0
    right = eighths(source, [*batch, n, columns], dtype)
    if "Triangular" in op.name and source.chance(0.3):
        # One of both repeats along some of the dimensions of the batch, or has not all of them.
        places = [slice(None) if source.chance(0.6) else slice(1) for _ in batch]
        missing = source.integer(0, len(batch))
        if source.chance(0.5):
            matrix = matrix[(*[0] * missing, *places[missing:])] if matrix.size else matrix
        elif right.size:
            right = right[(*[0] * missing, *places[missing:])]
    if source.chance(0.08):
        other = right[0] if batch and batch[0] > 0 else right[None]
        right = source.pick((right[..., :0, :], other))
    if source.chance(0.04):
        matrix = matrix[..., :0]
    attrs = {"T": type_attr(dtype), "adjoint": attr_text(source.chance(0.5))}
    if "Triangular" in op.name:
        attrs["lower"] = attr_text(source.chance(0.5))
    inputs = [Input(dtype, matrix.astype(dtype)), Input(dtype, right.astype(dtype))]
    return Case(op.name, inputs, attrs, {"singular": singular})


def _solve(case: Case) -> Outcome:
    matrix, right = _square(case, 0, "matrix"), wide(numbers(case, 1))
    refuse_unless(right.ndim >= 2 and right.shape[-2] == matrix.shape[-1], "rhs")
    batch = matrix.shape[:-2]
    if "Triangular" in case.op:
        matrix = np.tril(matrix) if case.attr("lower") else np.triu(matrix)
        try:
            batch = np.broadcast_shapes(batch, right.shape[:-2])
        except ValueError:
            refuse_unless(False, "rhs")
    else:
        refuse_unless(right.shape[:-2] == batch, "rhs")
    shape = (*batch, *right.shape[-2:])
    if 0 in shape:
        return [np.zeros(shape, case.array(1).dtype)]
    right = np.broadcast_to(right, shape)
    refuse_unless(not case.values["singular"], "matrix")
    if case.attr("adjoint"):
        matrix = np.conj(matrix).swapaxes(-1, -2)
    return [near(np.linalg.solve(matrix, right), case)]


def _regular(*shape: int) -> Array:
    return np.asarray(spread("matrix", *shape) + 6 * np.eye(shape[-1]))


def _equation_checks(op: str) -> list[Check]:
    flags = [{"adjoint": False}, {"adjoint": True}]
    if op.endswith("MatrixTriangularSolve"):
        flags = [{**flag, "lower": lower} for flag in flags for lower in (False, True)]
    checks = [
        Check(with_arguments(function_of(op), **flag), (_regular(2, 3, 3), spread("b", 2, 3, 2)))
        for flag in flags
    ]
    if op == "MatrixTriangularSolve":
        broadcast = [((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (2, 3, 1))]
        checks += [
            Check(function_of(op), (_regular(*matrix), spread("b", *right)))
            for matrix, right in broadcast
        ]
    return checks


def _large_equations(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        x = values.of(300, 30, 30) + 70 * np.eye(30).astype(values.dtype.as_numpy_dtype)
        return function_of(op)(x, values.of(300, 30, 20))

    return LargeCase(build, float_dtypes_of(op))


for _name in ("MatrixSolve", "MatrixTriangularSolve"):
    define_tests(
        _name,
        cases=_make_equations,
        reference=_solve,
        gradient=_equation_checks,
        determinism=_large_equations,
    )
    define_tests(
        f"Batch{_name}",
        cases=_make_equations,
        reference=_solve,
        gradient=_equation_checks,
        determinism=_large_equations,
        exceptions=NO_SHAPE,
    )

# ---- Lu ----


def _make_lu(source: Source, op: Any) -> Case:
    case = make_matrices(source, op)
    return Case(op.name, case.inputs, {"T": case.attrs["T"]}, case.values)


def _lu(case: Case) -> Outcome:
    x = _square(case, 0, "input")
    if x.size == 0:
        return [case.array(0), np.zeros(x.shape[:-1], np.int32)]
    refuse_unless(not case.values["singular"], "input")
    factors, order = np.zeros_like(x), np.zeros(x.shape[:-1], np.int32)
    for place in np.ndindex(*x.shape[:-2]):
        factors[place], order[place] = _eliminated(x[place])
    return [near(factors, case), order]


def _eliminated(x: Array) -> tuple[Array, Array]:
    """Both factors in one matrix, and the order of rows; of equal pivots the first counts."""
    a, order = x.copy(), np.arange(len(x))
    for k in range(len(a)):
        sizes = np.maximum(np.abs(a[k:, k].real), np.abs(a[k:, k].imag))
        pivot = k + int(np.argmax(sizes))
        a[[k, pivot]], order[[k, pivot]] = a[[pivot, k]], order[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


def _large_lu(values: Values) -> Any:
    return list(gen_ops.lu(values.of(300, 30, 30)))


define_tests(
    "Lu",
    cases=_make_lu,
    reference=_lu,
    gradient=[
        Check(lambda x: gen_ops.lu(x)[0], (_regular(2, 3, 3),)),
        Check(lambda x: gen_ops.lu(x)[0], (_regular(2, 4, 4)[:, [2, 0, 3, 1]],)),
    ],
    determinism=LargeCase(_large_lu),
)

# ---- TridiagonalSolve ----


def _make_tridiagonal(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    n, columns = source.size(6), source.size(3)
    batch = source.small_shape(0, 2, 3)
    diagonals = eighths(source, [*batch, 3, n], dtype)
    diagonals[..., 1, :] += 4
    right = eighths(source, [*batch, n, columns], dtype)
    pivoting = source.chance(0.6)
    singular = source.chance(0.1) and right.size > 0
    if singular:
        diagonals[..., :, 0] = 0
    if source.chance(0.06):
        right = source.pick((right[..., :0, :], right[None]))
    if source.chance(0.04):
        diagonals = diagonals[..., :2, :]
    attrs = {"T": type_attr(dtype), "partial_pivoting": attr_text(pivoting)}
    inputs = [Input(dtype, diagonals.astype(dtype)), Input(dtype, right.astype(dtype))]
    return Case(op.name, inputs, attrs, {"singular": singular})


def _tridiagonal(case: Case) -> Outcome:
    diagonals, right = (wide(numbers(case, i)) for i in range(2))
    refuse_unless(diagonals.ndim >= 2 and diagonals.shape[-2] == 3, "diagonals")
    n = diagonals.shape[-1]
    fits = right.ndim == diagonals.ndim and right.shape[:-1] == (*diagonals.shape[:-2], n)
    refuse_unless(fits, "rhs")
    if right.size == 0:
        return [case.array(1)]
    matrix = np.zeros((*diagonals.shape[:-2], n, n), diagonals.dtype)
    for i in range(n):
        matrix[..., i, i] = diagonals[..., 1, i]
        if i + 1 < n:
            matrix[..., i, i + 1] = diagonals[..., 0, i]
            matrix[..., i + 1, i] = diagonals[..., 2, i + 1]
    if case.values["singular"]:
        pivots = case.attr("partial_pivoting") and n > 1
        refuse_unless(pivots and (matrix[..., 1, 0] != 0).all(), "diagonals")
        refuse_unless((np.abs(np.linalg.det(matrix)) > 1e-6).all(), "diagonals")
    return [near(np.linalg.solve(matrix, right), case)]


def _tridiagonal_checks(op: str) -> list[Check]:
    main = np.array([[0.0], [6.0], [0.0]])
    return [
        Check(
            with_arguments(gen_ops.tridiagonal_solve, partial_pivoting=pivoting),
            (spread("diagonals", *batch, 3, n) + main, spread("rhs", *batch, n, 2)),
        )
        for pivoting in (True, False)
        for batch, n in (((2,), 4), ((), 1))
    ]


def _large_tridiagonal(values: Values) -> Any:
    rows = [values.of(300, 1, 50), values.of(300, 1, 50, low=5, high=6), values.of(300, 1, 50)]
    return gen_ops.tridiagonal_solve(gen_ops.concat_v2(rows, 1), values.of(300, 50, 20))


define_tests(
    "TridiagonalSolve",
    cases=_make_tridiagonal,
    reference=_tridiagonal,
    gradient=_tridiagonal_checks,
    determinism=LargeCase(_large_tridiagonal, FLOAT32_AND_64),
)

# ---- Under the names of old programs ----


def _large_old(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        return function_of(op)(values.of(300, 40, 40))

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    "BatchMatrixInverse",
    cases=make_matrices,
    reference=matrix_inverses,
    gradient=inverse_checks,
    determinism=_large_old,
    exceptions=NO_SHAPE,
)
define_tests(
    "BatchMatrixDeterminant",
    cases=make_matrices,
    reference=determinants,
    gradient=determinant_checks,
    determinism=_large_old,
    exceptions=NO_SHAPE,
)
