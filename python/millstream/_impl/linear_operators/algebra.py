"""What adjoints, inverses, factors and products of operators are, by their kinds.

Each rule is a row of a table. What no row fits is an operator that holds the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.linear_operators import batches
from millstream._impl.linear_operators.adjoint import LinearOperatorAdjoint
from millstream._impl.linear_operators.block_diag import LinearOperatorBlockDiag
from millstream._impl.linear_operators.circulant import CirculantOperator
from millstream._impl.linear_operators.composition import LinearOperatorComposition
from millstream._impl.linear_operators.diag import LinearOperatorDiag
from millstream._impl.linear_operators.full_matrix import LinearOperatorFullMatrix  # noqa: F401
from millstream._impl.linear_operators.householder import LinearOperatorHouseholder
from millstream._impl.linear_operators.identity import LinearOperatorIdentity
from millstream._impl.linear_operators.inversion import LinearOperatorInversion
from millstream._impl.linear_operators.kronecker import LinearOperatorKronecker
from millstream._impl.linear_operators.linear_operator import LinearOperator, use_algebra
from millstream._impl.linear_operators.low_rank_update import (  # noqa: F401
    LinearOperatorLowRankUpdate,
)
from millstream._impl.linear_operators.lower_triangular import LinearOperatorLowerTriangular
from millstream._impl.linear_operators.scaled_identity import LinearOperatorScaledIdentity
from millstream._impl.linear_operators.toeplitz import LinearOperatorToeplitz  # noqa: F401
from millstream._impl.linear_operators.zeros import LinearOperatorZeros
from millstream._impl.values import dtypes

_Rule = tuple[type, Callable[[Any], LinearOperator]]


def _hints(operator: LinearOperator) -> dict[str, Any]:
    """The hints that the adjoint and the inverse have as well."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": True,
    }


def _inverse_hints(operator: LinearOperator) -> dict[str, Any]:
    return {**_hints(operator), "is_non_singular": True}


def _factor_hints(operator: LinearOperator) -> dict[str, Any]:
    """The hints of a diagonal factor of Cholesky."""
    return {**_inverse_hints(operator), "is_self_adjoint": True}


def _found(rules: Sequence[_Rule], operator: LinearOperator) -> LinearOperator | None:
    for kind, rule in rules:
        if isinstance(operator, kind):
            return rule(operator)
    return None


# ---- Adjoints ----

# Operators that are known to be self-adjoint are not looked up.
_ADJOINTS: tuple[_Rule, ...] = (
    (
        LinearOperatorScaledIdentity,
        lambda one: LinearOperatorScaledIdentity(
            one._size.value, batches.conjugate(one.multiplier), **_hints(one)
        ),
    ),
    (
        LinearOperatorDiag,
        lambda one: LinearOperatorDiag(batches.conjugate(one.diag), **_hints(one)),
    ),
    (
        CirculantOperator,
        lambda one: type(one)(batches.conjugate(one.spectrum), one.dtype, **_hints(one)),
    ),
    (
        LinearOperatorBlockDiag,
        lambda one: LinearOperatorBlockDiag(
            [operator.adjoint() for operator in one.operators], **_hints(one)
        ),
    ),
    (
        LinearOperatorKronecker,
        lambda one: LinearOperatorKronecker(
            [operator.adjoint() for operator in one.operators],
            **{**_hints(one), "is_square": one.is_square},
        ),
    ),
    (LinearOperatorAdjoint, lambda one: one.operator),
)


def adjoint_of(operator: LinearOperator) -> LinearOperator:
    """The adjoint of an operator that is not known to be self-adjoint."""
    return _found(_ADJOINTS, operator) or LinearOperatorAdjoint(operator)


# ---- Inverses ----

_INVERSES: tuple[_Rule, ...] = (
    (LinearOperatorIdentity, lambda one: one),
    (LinearOperatorHouseholder, lambda one: one),
    (
        LinearOperatorScaledIdentity,
        lambda one: LinearOperatorScaledIdentity(
            one._size.value, gen_ops.reciprocal(one.multiplier), **_inverse_hints(one)
        ),
    ),
    (
        LinearOperatorDiag,
        lambda one: LinearOperatorDiag(gen_ops.reciprocal(one.diag), **_inverse_hints(one)),
    ),
    (
        CirculantOperator,
        lambda one: type(one)(gen_ops.reciprocal(one.spectrum), one.dtype, **_inverse_hints(one)),
    ),
    (
        LinearOperatorBlockDiag,
        lambda one: LinearOperatorBlockDiag(
            [operator.inverse() for operator in one.operators], **_inverse_hints(one)
        ),
    ),
    (LinearOperatorInversion, lambda one: one.operator),
)


def inverse_of(operator: LinearOperator) -> LinearOperator:
    """The inverse of an operator that is not known to have none."""
    if isinstance(operator, LinearOperatorKronecker) and operator._are_square():
        factors = [one.inverse() for one in operator.operators]
        return LinearOperatorKronecker(factors, **_inverse_hints(operator))
    return _found(_INVERSES, operator) or LinearOperatorInversion(operator)


# ---- Factors of Cholesky ----


def _have_factors(operator: Any) -> bool:
    return all(one._has_cholesky() for one in operator.operators)


def cholesky_of(operator: LinearOperator) -> LinearOperator:
    """The lower triangular factor of a self-adjoint, positive definite operator."""
    if isinstance(operator, LinearOperatorIdentity):
        return operator
    if isinstance(operator, LinearOperatorScaledIdentity):
        root = gen_ops.sqrt(operator.multiplier)
        return LinearOperatorScaledIdentity(operator._size.value, root, **_factor_hints(operator))
    if isinstance(operator, LinearOperatorDiag):
        return LinearOperatorDiag(gen_ops.sqrt(operator.diag), **_factor_hints(operator))
    several: Any = operator
    if isinstance(operator, LinearOperatorBlockDiag) and _have_factors(several):
        blocks = [one.cholesky() for one in operator.operators]
        return LinearOperatorBlockDiag(blocks, is_non_singular=True)
    if isinstance(operator, LinearOperatorKronecker) and _have_factors(several):
        factors = [one.cholesky() for one in operator.operators]
        return LinearOperatorKronecker(factors, is_non_singular=True)
    factor = gen_ops.cholesky(operator._to_dense())
    return LinearOperatorLowerTriangular(factor, is_non_singular=True)


# ---- Products ----


def _both(left: LinearOperator, right: LinearOperator, hint: str) -> bool | None:
    """True if a hint is true of both, else unknown."""
    return (getattr(left, hint) and getattr(right, hint)) or None


def _product_hints(left: LinearOperator, right: LinearOperator) -> dict[str, Any]:
    """The hints of a product of square operators that commute."""
    are_self_adjoint = _both(left, right, "is_self_adjoint")
    is_definite = are_self_adjoint and _both(left, right, "is_positive_definite")
    return {
        "is_non_singular": _both(left, right, "is_non_singular"),
        "is_self_adjoint": are_self_adjoint,
        "is_positive_definite": is_definite,
        "is_square": True,
    }


def _of_one_batch(sized: LinearOperator, other: LinearOperator) -> bool:
    """Whether a product with an operator of sizes has the batch of the other one."""
    batch = sized.batch_shape
    if batch.ndims == 0:
        return True
    return batch.is_fully_defined() and batch == other.batch_shape


def _with_identity(left: LinearOperator, right: LinearOperator) -> LinearOperator | None:
    if isinstance(left, LinearOperatorIdentity) and _of_one_batch(left, right):
        return right
    if isinstance(right, LinearOperatorIdentity) and _of_one_batch(right, left):
        return left
    return None


def _with_zeros(left: LinearOperator, right: LinearOperator) -> LinearOperator | None:
    zeros, other = (left, right) if isinstance(left, LinearOperatorZeros) else (right, left)
    if not isinstance(zeros, LinearOperatorZeros):
        return None
    rows, columns = left._rows(), right._columns()
    is_square = left.range_dimension == right.domain_dimension
    return LinearOperatorZeros(
        rows,
        columns,
        batches.broadcast_shape(zeros._batch(), other._batch()),
        zeros.dtype,
        is_self_adjoint=bool(is_square),
        is_square=bool(is_square),
    )


def _of_multiples(left: LinearOperator, right: LinearOperator) -> LinearOperator | None:
    """Multiples of identities and diagonal operators."""
    hints = _product_hints(left, right)
    one, other = left, right
    if isinstance(right, LinearOperatorScaledIdentity):
        one, other = right, left
    if isinstance(one, LinearOperatorScaledIdentity):
        if isinstance(other, LinearOperatorScaledIdentity):
            factor = one.multiplier * other.multiplier
            return LinearOperatorScaledIdentity(one._size.value, factor, **hints)
        if isinstance(other, LinearOperatorDiag):
            return LinearOperatorDiag(batches.column(one.multiplier) * other.diag, **hints)
    if isinstance(left, LinearOperatorDiag) and isinstance(right, LinearOperatorDiag):
        return LinearOperatorDiag(left.diag * right.diag, **hints)
    return None


def _with_triangle(left: LinearOperator, right: LinearOperator) -> LinearOperator | None:
    """Diagonal and lower triangular operators, which do not commute."""
    kinds = (LinearOperatorDiag, LinearOperatorScaledIdentity, LinearOperatorLowerTriangular)
    if not isinstance(left, kinds) or not isinstance(right, kinds):
        return None
    if isinstance(right, LinearOperatorLowerTriangular):
        product = left._matmul(right._to_dense())
    else:
        product = batches.adjoint(right._matmul(left._to_dense(), adjoint=True, adjoint_arg=True))
    return LinearOperatorLowerTriangular(
        product, is_non_singular=_both(left, right, "is_non_singular")
    )


def _of_circulants(left: LinearOperator, right: LinearOperator) -> LinearOperator | None:
    if not isinstance(left, CirculantOperator) or type(left) is not type(right):
        return None
    other: Any = right
    if left.block_shape.as_list() != other.block_shape.as_list():
        return None
    one, two = left.spectrum, other.spectrum
    if one.dtype != two.dtype:
        one, two = (batches.converted(values, dtypes.complex128) for values in (one, two))
    return type(left)(one * two, left.dtype, **_product_hints(left, right))


def product_of(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The product of two operators, whose dimensions are not known to differ."""
    _check_types(left, right)
    rules = (_with_identity, _with_zeros, _of_multiples, _with_triangle, _of_circulants)
    for rule in rules:
        found = rule(left, right)
        if found is not None:
            return found
    if left.is_square and right.is_square:
        return LinearOperatorComposition(
            [left, right], is_non_singular=_both(left, right, "is_non_singular"), is_square=True
        )
    return LinearOperatorComposition([left, right])


def solution_of(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The operator X of ``left X = right``."""
    _check_types(left, right)
    return product_of(left.inverse(), right)


def _check_types(left: LinearOperator, right: LinearOperator) -> None:
    if left.dtype != right.dtype:
        raise TypeError(
            f"Expected operators of one dtype, got {left.dtype.name} and {right.dtype.name}"
        )


use_algebra(sys.modules[__name__])
