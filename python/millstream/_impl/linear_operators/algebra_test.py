"""Adjoints, inverses, factors and products of operators keep their structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

linalg = tf.linalg
MATRIX = [[4.0, 1.0], [1.0, 3.0]]


def full() -> Any:
    """An operator of a matrix, of which nothing is known."""
    return linalg.LinearOperatorFullMatrix(MATRIX)


def positive_definite() -> Any:
    """An operator that is known to have a factor of Cholesky."""
    return linalg.LinearOperatorFullMatrix(MATRIX, is_self_adjoint=True, is_positive_definite=True)


def diag(*values: Any, **hints: Any) -> Any:
    return linalg.LinearOperatorDiag(list(values), **hints)


def triangle() -> Any:
    return linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [1.0, 3.0]])


_PRODUCTS = (
    (lambda: linalg.LinearOperatorIdentity(2), full, "FullMatrix"),
    (full, lambda: linalg.LinearOperatorIdentity(2), "FullMatrix"),
    (lambda: linalg.LinearOperatorIdentity(2, [3]), full, "Composition"),
    (lambda: linalg.LinearOperatorZeros(2), full, "Zeros"),
    (full, lambda: linalg.LinearOperatorZeros(2), "Zeros"),
    (lambda: diag(1.0, 2.0), lambda: diag(3.0, 4.0), "Diag"),
    (lambda: linalg.LinearOperatorScaledIdentity(2, 3.0), lambda: diag(3.0, 4.0), "Diag"),
    (lambda: diag(3.0, 4.0), lambda: linalg.LinearOperatorScaledIdentity(2, 3.0), "Diag"),
    (
        lambda: linalg.LinearOperatorScaledIdentity(2, 3.0),
        lambda: linalg.LinearOperatorScaledIdentity(2, 2.0),
        "ScaledIdentity",
    ),
    (triangle, lambda: diag(3.0, 4.0), "LowerTriangular"),
    (lambda: diag(3.0, 4.0), triangle, "LowerTriangular"),
    (triangle, triangle, "LowerTriangular"),
    (full, full, "Composition"),
    (full, triangle, "Composition"),
)


@pytest.mark.parametrize(("make_left", "make_right", "kind"), _PRODUCTS)
def test_products_of_kinds_keep_their_structure(make_left: Any, make_right: Any, kind: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        left, right = make_left(), make_right()
        found = left.matmul(right)
        assert type(found).__name__ == f"LinearOperator{kind}"
        one, other, dense = session.run([left.to_dense(), right.to_dense(), found.to_dense()])
        np.testing.assert_allclose(dense, one @ other, rtol=1e-6)


def test_products_of_circulant_operators_are_circulant() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one = linalg.LinearOperatorCirculant([1.0, 2.0, 3.0])
        other = linalg.LinearOperatorCirculant([1.0 + 1j, 2.0, 3.0])
        found = one.matmul(other)
        assert isinstance(found, linalg.LinearOperatorCirculant)
        assert session.run(found.spectrum).tolist() == [1 + 1j, 4, 9]
        same = one.matmul(one)
        assert same.is_self_adjoint
        assert not same.spectrum.dtype.is_complex


def test_solutions_of_operators_are_operators() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = diag(2.0, 4.0).solve(diag(1.0, 2.0))
        assert isinstance(found, linalg.LinearOperatorDiag)
        assert session.run(found.diag).tolist() == [0.5, 0.5]
        general = full().solve(full())
        np.testing.assert_allclose(session.run(general.to_dense()), np.eye(2), atol=1e-6)


def test_hints_of_products_are_those_that_follow() -> None:
    with tf.Graph().as_default():
        both = positive_definite().matmul(positive_definite())
        assert both.is_non_singular
        assert both.is_self_adjoint is None  # they need not commute
        commuting = diag(1.0, 2.0, is_positive_definite=True)
        product = commuting.matmul(diag(3.0, 4.0, is_positive_definite=True))
        assert product.is_positive_definite
        assert commuting.matmul(diag(3.0, 4.0)).is_positive_definite is None


_KEPT = (
    ("inverse", lambda: diag(1.0, 2.0), "Diag"),
    ("inverse", lambda: linalg.LinearOperatorIdentity(2), "Identity"),
    ("inverse", lambda: linalg.LinearOperatorScaledIdentity(2, 4.0), "ScaledIdentity"),
    ("inverse", lambda: linalg.LinearOperatorHouseholder([1.0, 2.0]), "Householder"),
    ("inverse", lambda: linalg.LinearOperatorCirculant([1.0, 2.0]), "Circulant"),
    ("inverse", lambda: linalg.LinearOperatorBlockDiag([full(), full()]), "BlockDiag"),
    ("inverse", lambda: linalg.LinearOperatorKronecker([full(), full()]), "Kronecker"),
    ("inverse", full, "Inversion"),
    ("adjoint", lambda: diag(1j, 2.0), "Diag"),
    ("adjoint", lambda: linalg.LinearOperatorScaledIdentity(2, 1j), "ScaledIdentity"),
    ("adjoint", lambda: linalg.LinearOperatorCirculant2D([[1j, 2.0]]), "Circulant2D"),
    ("adjoint", lambda: linalg.LinearOperatorBlockDiag([full(), full()]), "BlockDiag"),
    ("adjoint", lambda: linalg.LinearOperatorKronecker([full(), full()]), "Kronecker"),
    ("adjoint", lambda: full().adjoint(), "FullMatrix"),
    ("adjoint", positive_definite, "FullMatrix"),
    ("adjoint", full, "Adjoint"),
    ("cholesky", lambda: linalg.LinearOperatorIdentity(2), "Identity"),
    ("cholesky", lambda: diag(4.0, 9.0, is_positive_definite=True), "Diag"),
    (
        "cholesky",
        lambda: linalg.LinearOperatorScaledIdentity(2, 4.0, is_positive_definite=True),
        "ScaledIdentity",
    ),
    (
        "cholesky",
        lambda: linalg.LinearOperatorBlockDiag([positive_definite(), positive_definite()]),
        "BlockDiag",
    ),
    (
        "cholesky",
        lambda: linalg.LinearOperatorKronecker([positive_definite(), positive_definite()]),
        "Kronecker",
    ),
    ("cholesky", positive_definite, "LowerTriangular"),
)
_DENSE: dict[str, Any] = {
    "inverse": np.linalg.inv,
    "adjoint": lambda matrix: np.conj(matrix.T),
    "cholesky": np.linalg.cholesky,
}


@pytest.mark.parametrize(("method", "make", "kind"), _KEPT)
def test_inverses_adjoints_and_factors_keep_their_structure(
    method: str, make: Any, kind: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = make()
        found = getattr(operator, method)()
        assert type(found).__name__ == f"LinearOperator{kind}"
        dense, result = session.run([operator.to_dense(), found.to_dense()])
        np.testing.assert_allclose(result, _DENSE[method](dense), rtol=1e-5, atol=1e-6)
