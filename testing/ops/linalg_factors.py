"""Orthogonal factors, singular values, eigenvalues, least squares, and functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import float_dtypes_of, function_of
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.matrices import NO_SHAPE, eighths, near, tolerance, wide
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Drawn,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _adjoint(x: Array) -> Array:
    return np.conj(x).swapaxes(-1, -2)


def _difference(got: Array, want: Array, bound: float) -> str:
    """What is wrong with a result that only has to fit."""
    size = np.abs(got - want).max(initial=0.0)
    return "" if size <= bound else f"is off by {size}, where {bound} is allowed"


def _make_rectangles(source: Source, op: Any) -> Case:
    """Matrices of any sizes, whose diagonals exceed the rest of their rows and columns."""
    dtype = pick_type(source, op, "T")
    rows, columns = source.size(5), source.size(5)
    values = eighths(source, [*source.small_shape(0, 2, 3), rows, columns], dtype)
    values = values + (2 * max(rows, columns) + 1) * np.eye(rows, columns)
    if source.chance(0.05):
        values = np.ones(3)
    attrs = {"T": type_attr(dtype), "full_matrices": attr_text(source.chance(0.5))}
    if op.name.endswith("Svd"):
        attrs["compute_uv"] = attr_text(source.chance(0.7))
    return Case(op.name, [Input(dtype, values.astype(dtype))], attrs)


def _rectangles(case: Case) -> Array:
    x = wide(numbers(case, 0))
    refuse_unless(x.ndim >= 2, "input")
    return x


# ---- Qr ----


def _qr(case: Case) -> Outcome:
    x = _rectangles(case)
    rows, columns = x.shape[-2:]
    width = rows if case.attr("full_matrices") else min(rows, columns)
    q = np.zeros((*x.shape[:-1], width), x.dtype)
    r = np.zeros((*x.shape[:-2], width, columns), x.dtype)
    mode: Any = "complete" if case.attr("full_matrices") else "reduced"
    for place in np.ndindex(*x.shape[:-2]):
        if min(rows, columns) == 0:
            q[place] = np.eye(rows, width)
        else:
            # LAPACK's reflectors leave the same signs.
            q[place], r[place] = np.linalg.qr(x[place], mode)
    return [near(q, case), near(r, case)]


def _rectangle(*shape: int) -> Array:
    return np.asarray(spread("rectangle", *shape) + 4 * np.eye(shape[-2], shape[-1]))


def _qr_checks(op: str) -> list[Check]:
    def both(**flags: Any) -> Any:
        return lambda x: list(gen_ops.qr(x, **flags))

    return [
        Check(both(), (_rectangle(2, 4, 3),)),
        Check(both(), (_rectangle(3, 3),)),
        Check(both(), (_rectangle(2, 3, 5),)),
    ]


def _large_rectangles(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        return [*function(values.of(300, 30, 20)), *function(values.of(140, 130))]

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    "Qr",
    cases=_make_rectangles,
    reference=_qr,
    gradient=_qr_checks,
    determinism=_large_rectangles,
)

# ---- Svd ----


def _vectors(case: Case, x: Array, values: Array, width: int) -> Drawn:
    """The left vectors of x: signs and phases are free, and so are bases of equal values."""
    shape = (*x.shape[:-1], width)

    def check(got: Array) -> str:
        vectors = wide(number_types.as_numbers(got, case.inputs[0].dtype))
        count = values.shape[-1]
        bound = 20 * tolerance(case)
        wrong = _difference(_adjoint(vectors) @ vectors, np.eye(width), bound)
        product = _adjoint(vectors[..., :count]) @ x @ _adjoint(x) @ vectors[..., :count]
        squares = values[..., None, :] ** 2 * np.eye(count)
        return wrong or _difference(product, squares, bound * values.max(initial=1.0) ** 2)

    return Drawn(shape, check)


def _svd(case: Case) -> Outcome:
    x = _rectangles(case)
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    known = x.size > 0
    values = np.linalg.svd(x, compute_uv=False) if known else np.zeros((*x.shape[:-2], least))
    if not case.attr("compute_uv"):
        empty = np.zeros(0, case.array(0).dtype)
        return [near(values.astype(x.dtype), case), empty, empty]
    full = case.attr("full_matrices")
    return [
        near(values.astype(x.dtype), case),
        _vectors(case, x, values, rows if full else least),
        _vectors(case, _adjoint(x), values, columns if full else least),
    ]


def _svd_checks(op: str) -> list[Check]:
    function = function_of(op)

    # Signs of vectors are free: what is checked does not depend on them.
    def product(x: Any, **flags: Any) -> Any:
        s, u, v = function(x, **flags)
        first = gen_ops.cumsum(s * s, -1)
        projector = gen_ops.batch_mat_mul_v2(u[..., :2], u[..., :2], adj_y=True)
        other = gen_ops.batch_mat_mul_v2(v[..., :2], v[..., :2], adj_y=True)
        mixed = gen_ops.batch_mat_mul_v2(u[..., :2], v[..., :2], adj_y=True)
        return [first, projector, other, mixed]

    return [
        Check(lambda x: function(x, compute_uv=False)[0], (_rectangle(2, 4, 3),)),
        Check(product, (_rectangle(2, 4, 3),)),
        Check(product, (_rectangle(3, 5),)),
        Check(product, (_rectangle(3, 3),)),
    ]


define_tests(
    "Svd",
    cases=_make_rectangles,
    reference=_svd,
    gradient=_svd_checks,
    determinism=_large_rectangles,
)
define_tests(
    "BatchSvd",
    cases=_make_rectangles,
    reference=_svd,
    gradient=_svd_checks,
    determinism=_large_rectangles,
    exceptions=NO_SHAPE,
)

# ---- Eigenvalues ----


def _make_self_adjoint(source: Source, op: Any) -> Case:
    """Square matrices of which the upper triangle is anything, some with an infinite element."""
    dtype = pick_type(source, op, "T")
    size = source.size(5)
    values = eighths(source, [*source.small_shape(0, 2, 3), size, size], dtype)
    infinite = source.chance(0.1) and values.size > 0
    if infinite:
        values[..., size - 1, 0] = np.inf
    if source.chance(0.05):
        values = values[..., :0]
    attrs = {"T": type_attr(dtype)}
    if op.name.endswith("V2"):
        attrs["compute_v"] = attr_text(source.chance(0.7))
    inputs = [Input(dtype, values.astype(dtype))]
    return Case(op.name, inputs, attrs, {"infinite": infinite})


def _self_adjoint(case: Case) -> tuple[Array, Array]:
    """The matrices that the lower triangles mean, and their eigenvalues."""
    x = wide(numbers(case, 0))
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], "input")
    refuse_unless(not case.values["infinite"] or x.size == 0, "input")
    lower = np.tril(x, -1)
    whole = lower + _adjoint(lower) + x.real * np.eye(x.shape[-1])
    values = np.linalg.eigvalsh(whole) if x.size > 0 else np.zeros(x.shape[:-1])
    return whole, values


def _fits(case: Case, whole: Array, values: Array, vectors: Array) -> str:
    bound = 20 * tolerance(case)
    size = whole.shape[-1]
    wrong = _difference(_adjoint(vectors) @ vectors, np.eye(size), bound)
    product = _adjoint(vectors) @ whole @ vectors
    diagonal = values[..., None, :] * np.eye(size)
    return wrong or _difference(product, diagonal, bound * np.abs(values).max(initial=1.0))


def _eigen(case: Case) -> Outcome:
    whole, values = _self_adjoint(case)
    dtype = case.inputs[0].dtype
    if not case.attr("compute_v"):
        empty = np.zeros(0, case.array(0).dtype)
        return [near(values.astype(whole.dtype), case), empty]

    def check(got: Array) -> str:
        return _fits(case, whole, values, wide(number_types.as_numbers(got, dtype)))

    return [near(values.astype(whole.dtype), case), Drawn(whole.shape, check)]


def _joined_eigen(case: Case) -> Outcome:
    whole, values = _self_adjoint(case)
    size = whole.shape[-1]

    def check(got: Array) -> str:
        both = wide(number_types.as_numbers(got, case.inputs[0].dtype))
        bound = tolerance(case) * np.abs(values).max(initial=1.0)
        wrong = _difference(both[..., 0, :], values, bound)
        return wrong or _fits(case, whole, values, both[..., 1:, :])

    return [Drawn((*whole.shape[:-2], size + 1, size), check)]


def _symmetric(x: Any) -> Any:
    return (x + gen_ops.batch_mat_mul_v2(x, _IDENTITY, adj_x=True)) * 0.5


def _parts_of_eigen(e: Any, v: Any) -> list[Any]:
    """What does not depend on the signs of the vectors."""
    first = v[..., :1]
    return [gen_ops.cumsum(e, -1), gen_ops.batch_mat_mul_v2(first, first, adj_y=True)]


def _joined_eigen_checks(op: str) -> list[Check]:
    def parts(x: Any) -> list[Any]:
        both = function_of(op)(_symmetric(x))
        return _parts_of_eigen(both[..., 0, :], both[..., 1:, :])

    shapes = ((2, 3, 3), (3, 3))
    return [Check(parts, (spread("eigen", *shape),)) for shape in shapes]


def _eigen_checks(op: str) -> list[Check]:
    function = function_of(op)

    def product(x: Any) -> Any:
        return _parts_of_eigen(*function(_symmetric(x)))

    return [
        Check(
            lambda x: function(_symmetric(x), compute_v=False)[0],
            (spread("eigen", 2, 3, 3),),
        ),
        Check(product, (spread("eigen", 2, 3, 3),)),
        Check(product, (spread("eigen", 3, 3),)),
    ]


_IDENTITY = np.eye(3)


def _large_squares(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        results = []
        for shape in ((300, 25, 25), (130, 130)):
            result = function(values.of(*shape))
            results += list(result) if isinstance(result, tuple) else [result]
        return results

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    "SelfAdjointEigV2",
    cases=_make_self_adjoint,
    reference=_eigen,
    gradient=_eigen_checks,
    determinism=_large_squares,
)
define_tests(
    "BatchSelfAdjointEigV2",
    cases=_make_self_adjoint,
    reference=_eigen,
    gradient=_eigen_checks,
    determinism=_large_squares,
    exceptions=NO_SHAPE,
)
define_tests(
    "SelfAdjointEig",
    cases=_make_self_adjoint,
    reference=_joined_eigen,
    gradient=_joined_eigen_checks,
    determinism=_large_squares,
)
define_tests(
    "BatchSelfAdjointEig",
    cases=_make_self_adjoint,
    reference=_joined_eigen,
    gradient=_joined_eigen_checks,
    determinism=_large_squares,
    exceptions=NO_SHAPE,
)

# ---- Least squares ----


def _make_least_squares(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rows, columns, width = source.size(5), source.size(5), source.size(4)
    batch = source.small_shape(0, 2, 3)
    matrix = eighths(source, [*batch, rows, columns], dtype)
    matrix = matrix + (2 * max(rows, columns) + 1) * np.eye(rows, columns)
    deficient = source.chance(0.12) and matrix.size > 0
    if deficient:
        matrix[..., min(rows, columns) - 1, :] = 0
        matrix[..., :, min(rows, columns) - 1] = 0
    right = eighths(source, [*batch, rows, width], dtype)
    if source.chance(0.08):
        other = right[0] if batch and batch[0] > 0 else right[None]
        right = source.pick((right[..., :0, :], other))
    weight: Any = np.float64(source.pick((0.0, 0.0, 0.5, -1.0 if source.chance(0.2) else 2.0)))
    if source.chance(0.04):
        weight = np.ones(1)
    inputs = [Input(dtype, matrix.astype(dtype)), Input(dtype, right.astype(dtype))]
    inputs.append(Input("float64", np.asarray(weight)))
    attrs = {"T": type_attr(dtype), "fast": attr_text(source.chance(0.6))}
    return Case(op.name, inputs, attrs, {"deficient": deficient})


def _least_squares(case: Case) -> Outcome:
    matrix, right = wide(numbers(case, 0)), wide(numbers(case, 1))
    weight = numbers(case, 2)
    fits = right.ndim == matrix.ndim and right.shape[:-1] == matrix.shape[:-1]
    refuse_unless(fits, "rhs")
    refuse_unless(weight.ndim == 0 and weight >= 0, "l2_regularizer")
    columns = matrix.shape[-1]
    shape = (*matrix.shape[:-2], columns, right.shape[-1])
    if matrix.size == 0 or right.size == 0:
        return [np.zeros(shape, case.array(0).dtype)]
    if not case.attr("fast"):
        return [near(np.linalg.pinv(matrix, 1e-3) @ right, case)]
    refuse_unless(not case.values["deficient"] or weight > 0, "matrix")
    if weight == 0:
        return [near(np.linalg.pinv(matrix) @ right, case)]
    gram = _adjoint(matrix) @ matrix + weight * np.eye(columns)
    return [near(np.linalg.solve(gram, _adjoint(matrix) @ right), case)]


def _least_squares_checks(op: str) -> list[Check]:
    def solved(weight: float) -> Any:
        return lambda matrix, right: function_of(op)(matrix, right, weight)

    return [
        Check(solved(weight), (_rectangle(2, *shape), spread("b", 2, shape[0], 2)))
        for weight in (0.0, 0.7)
        for shape in ((4, 3), (3, 3), (3, 5))
    ]


def _large_least_squares(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        arguments = values.of(300, 30, 20), values.of(300, 30, 10)
        return [function_of(op)(*arguments, weight, fast=weight > 0) for weight in (0.5, 0.0)]

    return LargeCase(build, float_dtypes_of(op))


define_tests(
    "MatrixSolveLs",
    cases=_make_least_squares,
    reference=_least_squares,
    gradient=_least_squares_checks,
    determinism=_large_least_squares,
)
define_tests(
    "BatchMatrixSolveLs",
    cases=_make_least_squares,
    reference=_least_squares,
    gradient=_least_squares_checks,
    determinism=_large_least_squares,
    exceptions=NO_SHAPE,
)

# ---- Functions of matrices ----


def _make_squares(source: Source, op: Any) -> Case:
    """Matrices without eigenvalues near the negative numbers."""
    dtype = pick_type(source, op, "T")
    size = source.size(5)
    values = eighths(source, [*source.small_shape(0, 2, 3), size, size], dtype)
    values = values + (2 * size + 1) * np.eye(size)
    if source.chance(0.05):
        values = values[..., :0]
    return Case(op.name, [Input(dtype, values.astype(dtype))], {"T": type_attr(dtype)})


def _square_root(case: Case) -> Outcome:
    """The root by the iteration of Denman and Beavers, which converges for these matrices."""
    x = wide(numbers(case, 0))
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], "input")
    if x.size == 0:
        return [case.array(0)]
    root, inverse = x, np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for _ in range(30):
        root, inverse = (
            (root + np.linalg.inv(inverse)) / 2,
            (inverse + np.linalg.inv(root)) / 2,
        )
    return [near(root, case)]


def _logarithm(case: Case) -> Outcome:
    """What has the matrix as its exponential, by the series of it."""
    x = wide(numbers(case, 0))
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], "input")

    def check(got: Array) -> str:
        logarithm = wide(number_types.as_numbers(got, case.inputs[0].dtype)) / 2**6
        term = total = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype)
        for k in range(1, 20):
            term = term @ logarithm / k
            total = total + term
        for _ in range(6):
            total = total @ total
        return _difference(total, x, 50 * np.abs(x).max(initial=1.0) * tolerance(case))

    return [Drawn(x.shape, check)]


def _root_checks(op: str) -> list[Check]:
    shapes = ((3, 3), (2, 3, 3))
    return [Check(function_of(op), (spread("root", *shape) + 6 * np.eye(3),)) for shape in shapes]


def _logarithm_checks(op: str) -> list[Check]:
    def of_real(x: Any) -> Any:
        result = gen_ops.matrix_logarithm(gen_ops.cast(x, np.complex128))
        return gen_ops.real(result, Tout=np.float64)

    return [Check(of_real, (spread("logarithm", 2, 3, 3) + 6 * np.eye(3),))]


def _large_functions(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        function = function_of(op)
        results = []
        for shape in ((300, 25, 25), (130, 130)):
            matrix = values.of(*shape) + 500 * np.eye(shape[-1]).astype(values.dtype.as_numpy_dtype)
            if op == "MatrixLogarithm":
                matrix = gen_ops.cast(matrix, np.complex128)
            result = function(matrix)
            results.append(gen_ops.real(result, np.float64) if op == "MatrixLogarithm" else result)
        return results

    return LargeCase(build, FLOAT32_AND_64)


define_tests(
    "MatrixSquareRoot",
    cases=_make_squares,
    reference=_square_root,
    gradient=_root_checks,
    determinism=_large_functions,
)
define_tests(
    "MatrixLogarithm",
    cases=_make_squares,
    reference=_logarithm,
    gradient=_logarithm_checks,
    determinism=_large_functions,
)
