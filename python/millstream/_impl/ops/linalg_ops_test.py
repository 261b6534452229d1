"""Functions of square matrices, and derivatives of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf

A = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_functions_have_two_names() -> None:
    assert tf.linalg.inv is tf.matrix_inverse
    assert tf.linalg.det is tf.matrix_determinant


def test_determinants_are_those_of_numpy(session: tf.Session) -> None:
    matrices = np.random.RandomState(3).normal(size=[5, 4, 4])
    x = tf.constant(matrices)
    sign, log = tf.linalg.slogdet(x)
    expected = np.linalg.slogdet(matrices)
    np.testing.assert_array_equal(session.run(sign), expected[0])
    np.testing.assert_allclose(session.run(log), expected[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(session.run(tf.linalg.det(x)), np.linalg.det(matrices), rtol=1e-12)


def test_second_derivatives_of_the_determinant_of_an_inverse() -> None:
    x = tf.constant(A)
    (first,) = tf.gradients(tf.matrix_determinant(tf.matrix_inverse(x)), x)
    (second,) = tf.gradients(first, x)
    # d(1/det A) = -A^-T / det A, and the sum of its elements once more by A.
    inverse, det = np.linalg.inv(A), np.linalg.det(A)
    np.testing.assert_allclose(first.eval(), -inverse.T / det, rtol=1e-12)
    ones = np.ones([2, 2])
    expected = inverse.T * inverse.sum() / det + inverse.T @ ones @ inverse.T / det
    np.testing.assert_allclose(second.eval(), expected, rtol=1e-12)


def test_a_singular_matrix_is_refused(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None, 2, 2])
    inverse = tf.matrix_inverse(x, name="inverse")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not invertible: matrix 1") as caught:
        session.run(inverse, {x: [np.eye(2), np.ones([2, 2])]})
    assert caught.value.op is inverse.op
