"""Orthogonal factors, singular values, eigenvalues, norms, and what is made of them."""

from __future__ import annotations

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


def _random(*shape: int, is_complex: bool = False) -> Any:
    random = np.random.RandomState(sum(shape))
    values = random.normal(size=shape)
    return values + 1j * random.normal(size=shape) if is_complex else values


_SHAPES = [(1, 1), (6, 4), (4, 6), (5, 5), (150, 130), (2, 3, 4)]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", _SHAPES)
def test_factors_make_the_matrix(
    session: tf.Session, shape: tuple[int, ...], is_complex: bool
) -> None:
    x = _random(*shape, is_complex=is_complex)
    least = min(shape[-2:])
    for full in (False, True):
        q, r = session.run(tf.qr(x, full_matrices=full))
        np.testing.assert_allclose(q @ r, x, atol=1e-12)
        s, u, v = session.run(tf.svd(x, full_matrices=full))
        assert s.dtype == np.float64
        assert u.shape[-1] == (shape[-2] if full else least)
        assert v.shape[-1] == (shape[-1] if full else least)
        adjoint = np.conj(v[..., :least]).swapaxes(-1, -2)
        np.testing.assert_allclose((u[..., :least] * s[..., None, :]) @ adjoint, x, atol=1e-12)
    values = session.run(tf.svd(x, compute_uv=False))
    np.testing.assert_allclose(values, np.linalg.svd(x, compute_uv=False), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_matrix_without_full_rank_has_singular_values_of_zero(
    session: tf.Session, rank: int
) -> None:
    x = _random(30, 3)[:, :rank] @ _random(3, 20)[:rank]
    s, u, v = session.run(tf.svd(x, full_matrices=True))
    np.testing.assert_allclose(s[rank:], 0, atol=1e-12)
    np.testing.assert_allclose(u.T @ u, np.eye(30), atol=1e-12)
    np.testing.assert_allclose((u[:, :20] * s) @ v.T, x, atol=1e-12)


def test_what_is_not_finite_has_no_singular_values_and_is_refused_elsewhere(
    session: tf.Session,
) -> None:
    x = np.array([[[1.0, 0.0], [np.inf, 1.0]], np.eye(2)])
    s, u, v = session.run(tf.svd(x))
    for result in (s, u, v):
        assert np.isnan(result[0]).all()
        assert np.isfinite(result[1]).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="decomposition was not successful"):
        session.run(tf.self_adjoint_eig(x))


def test_numbers_near_the_ends_of_the_range_do_not_overflow(session: tf.Session) -> None:
    x = _random(4, 4)
    for scale in (1e300, 1e-300):
        q, r = session.run(tf.qr(x * scale))
        np.testing.assert_allclose((q @ r) / scale, x, atol=1e-12)
        s = session.run(tf.svd(x * scale, compute_uv=False))
        np.testing.assert_allclose(s / scale, np.linalg.svd(x, compute_uv=False), atol=1e-12)
        e = session.run(tf.self_adjoint_eigvals((x + x.T) * scale))
        np.testing.assert_allclose(e / scale, np.linalg.eigvalsh(x + x.T), atol=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_eigenvectors_make_the_matrix(session: tf.Session, is_complex: bool) -> None:
    for size in (1, 2, 7, 140):
        x = _random(size, size, is_complex=is_complex)
        x = x + np.conj(x.T)
        e, v = session.run(tf.self_adjoint_eig(np.tril(x)))
        np.testing.assert_allclose((v * e) @ np.conj(v.T), x, atol=1e-11)
        np.testing.assert_allclose(e, np.linalg.eigvalsh(x), atol=1e-11)
        assert (np.diff(e.real) >= 0).all()


def test_equal_eigenvalues_have_orthogonal_vectors(session: tf.Session) -> None:
    e, v = session.run(tf.self_adjoint_eig(np.diag([2.0, 1.0, 2.0, 0.0])))
    assert e.tolist() == [0.0, 1.0, 2.0, 2.0]
    np.testing.assert_allclose(v.T @ v, np.eye(4), atol=1e-15)


def test_the_least_solution_is_the_shortest(session: tf.Session) -> None:
    for matrix in (_random(6, 3), _random(3, 6), np.ones((3, 4))):
        right = _random(len(matrix), 2)
        expected = np.linalg.lstsq(matrix, right, rcond=None)[0]
        got = session.run(tf.matrix_solve_ls(matrix, right, fast=False))
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_matrix_without_full_rank_needs_a_weight(session: tf.Session) -> None:
    matrix, right = np.ones((3, 2)), np.ones((3, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Try setting fast=False") as caught:
        session.run(tf.linalg.lstsq(matrix, right, name="lstsq"))
    assert caught.value.op is not None
    got = session.run(tf.linalg.lstsq(matrix, right, l2_regularizer=1e-6))
    np.testing.assert_allclose(got, [[0.5], [0.5]], atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="l2_regularizer must be >= 0"):
        session.run(tf.linalg.lstsq(matrix, right, l2_regularizer=-1.0))


def test_roots_and_logarithms_are_undone(session: tf.Session) -> None:
    x = _random(5, 5) + 8 * np.eye(5)
    root = session.run(tf.linalg.sqrtm(x))
    np.testing.assert_allclose(root @ root, x, atol=1e-12)
    logarithm = session.run(tf.linalg.logm(x.astype(np.complex128)))
    np.testing.assert_allclose(session.run(tf.linalg.expm(logarithm)), x, atol=1e-11)
    turn = session.run(tf.linalg.logm(np.array([[0, -1], [1, 0]], np.complex128)))
    np.testing.assert_allclose(turn, np.pi / 2 * np.array([[0, -1], [1, 0]]), atol=1e-12)


def test_a_real_matrix_with_a_negative_eigenvalue_has_no_real_root(session: tf.Session) -> None:
    assert np.isnan(session.run(tf.linalg.sqrtm(np.diag([1.0, -1.0])))).all()
    root = session.run(tf.linalg.sqrtm(np.diag([1.0 + 0j, -1.0])))
    np.testing.assert_allclose(root, np.diag([1, 1j]), atol=1e-15)


def test_gradients_that_are_not_defined_say_so() -> None:
    x = tf.constant(_random(4, 2))
    with pytest.raises(tf.errors.UnimplementedError, match="full_matrices"):
        tf.gradients(tf.qr(x, full_matrices=True)[0], x)
    with pytest.raises(tf.errors.UnimplementedError, match="full_matrices"):
        tf.gradients(tf.svd(x, full_matrices=True)[1], x)
    with pytest.raises(tf.errors.UnimplementedError, match="fast=False"):
        tf.gradients(tf.matrix_solve_ls(x, x, fast=False), x)


def test_gradients_of_complex_singular_values_are_those_of_differences(
    session: tf.Session,
) -> None:
    x = tf.placeholder(tf.complex128, [4, 3])
    s, u, v = tf.svd(x)
    first = u[:, :1]
    product = tf.matmul(first, v[:, :1], adjoint_b=True)
    loss = tf.reduce_sum(tf.real(product * _random(4, 3, is_complex=True))) + s[0] * s[1]
    (gradient,) = tf.gradients(loss, x)
    at, to = _random(4, 3, is_complex=True), _random(3, 4, is_complex=True).T
    step = 1e-6
    above, below = (session.run(loss, {x: at + sign * step * to}) for sign in (1, -1))
    along = np.sum(np.conj(session.run(gradient, {x: at})) * to).real
    np.testing.assert_allclose(along, (above - below) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("is_static", [False, True])
def test_ranks_and_pseudo_inverses(session: tf.Session, is_static: bool) -> None:
    values = np.stack([_random(4, 3), np.ones((4, 3))]).astype(np.float32)
    x = tf.placeholder(tf.float32, values.shape if is_static else None)
    rank = tf.linalg.matrix_rank(x, validate_args=True)
    inverse = tf.linalg.pinv(x)
    assert session.run(rank, {x: values}).tolist() == [3, 1]
    np.testing.assert_allclose(
        session.run(inverse, {x: values}), np.linalg.pinv(values, 1e-5), atol=1e-5
    )
    if is_static:
        assert inverse.shape.as_list() == [2, 3, 4]
    with pytest.raises(TypeError, match="must have `float`-like `dtype`"):
        tf.linalg.pinv(tf.constant([[1, 2]]))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        tf.linalg.matrix_rank([1.0])


_NORMS: list[tuple[Any, Any]] = [
    ("euclidean", None), (1, 0), (2, 1), (np.inf, -1), (3, 0), (1.5, 1), (np.inf, None),
    ("fro", (0, 1)), ("euclidean", [1, 0]), (1, (0, 1)), (1, (1, 0)), (2, (0, 1)), (2, [-1, -2]),
    (np.inf, (0, 1)), (np.inf, (-1, 0)),
]  # fmt: skip


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("order", "axis"), _NORMS)
def test_norms_are_those_of_numpy(
    session: tf.Session, order: Any, axis: Any, keepdims: bool
) -> None:
    x = _random(3, 4)
    got = session.run(tf.norm(x, order, axis, keepdims=keepdims))
    of_vectors = axis is None or isinstance(axis, int)
    numpy_order = None if order == "euclidean" else order
    if axis is None:
        expected = np.linalg.norm(x.ravel(), numpy_order).reshape([1, 1] if keepdims else [])
    else:
        where = axis if of_vectors else tuple(axis)
        expected = np.linalg.norm(x, numpy_order, where, keepdims=keepdims)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert got.shape == expected.shape


def test_norms_refuse_what_they_are_not_for() -> None:
    with pytest.raises(ValueError, match="'axis' must be None, an integer, or a tuple of 2 unique"):
        tf.norm([[1.0]], axis=(0, 0))
    with pytest.raises(ValueError, match="'axis' must be None"):
        tf.norm([[1.0]], axis=[0])
    with pytest.raises(ValueError, match="'ord' must be a supported matrix norm"):
        tf.norm([[1.0]], ord=3, axis=(0, 1))
    with pytest.raises(ValueError, match="'ord' must be a supported vector norm"):
        tf.norm([1.0], ord=-1)


def test_a_norm_of_complex_numbers_is_real_and_divides() -> None:
    unit, length = tf.linalg.normalize(tf.constant([3.0, 4.0j], tf.complex64))
    np.testing.assert_allclose(unit.eval(), [0.6, 0.8j], rtol=1e-6)
    np.testing.assert_allclose(length.eval(), [5.0], rtol=1e-6)
