"""Gradients of graphs beside those of differences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


A = np.array([[1.0, 2.0], [3.0, -1.0]])


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_a_product_has_its_matrix_as_jacobian(dtype: tf.DType) -> None:
    x = tf.placeholder(dtype, [2, 1])
    y = tf.matmul(tf.constant(A, dtype), x)
    exact, near = tf.test.compute_gradient(x, [2, 1], y, [2, 1])
    assert exact.dtype == dtype.as_numpy_dtype
    np.testing.assert_array_equal(exact, A.T)
    np.testing.assert_allclose(near, A.T, atol=1e-3)
    assert tf.test.compute_gradient_error(x, [2, 1], y, [2, 1]) < 1e-3


def test_rows_of_a_table_become_a_full_gradient() -> None:
    x = tf.placeholder(tf.float64, [3, 2])
    y = tf.gather(x, [2, 2])
    exact, near = tf.test.compute_gradient(x, [3, 2], y, [2, 2])
    assert exact.shape == (6, 4)
    np.testing.assert_allclose(exact, near, atol=1e-9)


def test_complex_numbers_count_twice() -> None:
    x = tf.placeholder(tf.complex128, [2])
    value = np.array([1.0 + 2.0j, -0.5 + 1.0j])
    exact, near = tf.test.compute_gradient(x, [2], x * x, [2], value)
    assert exact.shape == (4, 4)
    np.testing.assert_allclose(exact, near, atol=1e-6)
    assert exact[0, 0] == 2.0
    assert abs(exact[0, 1]) == 4.0


def test_several_tensors_and_feeds(session: tf.Session) -> None:
    x, z = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [])
    scale = tf.placeholder(tf.float64, [])
    bias = tf.Variable(np.float64(1.0))
    y = scale * x * z + bias
    found = tf.test.compute_gradient(
        [x, z],
        [[2], []],
        y,
        [2],
        x_init_value=[np.array([1.0, 2.0]), np.float64(5.0)],
        init_targets=[bias.initializer],
        extra_feed_dict={scale: 3.0},
    )
    expected = [np.diag([15.0, 15.0]), np.array([[3.0, 6.0]])]
    for pair, jacobian in zip(found, expected, strict=True):
        for each in pair:
            np.testing.assert_allclose(each, jacobian, atol=1e-6)


def test_wrong_gradients_are_seen() -> None:
    x = tf.placeholder(tf.float64, [2])
    y = x + tf.stop_gradient(x)
    assert tf.test.compute_gradient_error(x, [2], y, [2]) == pytest.approx(1.0, abs=1e-6)


def test_empty_tensors_have_no_error() -> None:
    x = tf.placeholder(tf.float64, [0, 2])
    assert tf.test.compute_gradient_error(x, [0, 2], x * 2.0, [0, 2]) == 0.0


def test_what_has_no_gradient_is_refused() -> None:
    x, n = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.int32, [2])
    with pytest.raises(ValueError, match=r"x: expected floating-point or complex.*int32"):
        tf.test.compute_gradient(n, [2], x, [2])
    with pytest.raises(ValueError, match=r"y: expected floating-point or complex.*int32"):
        tf.test.compute_gradient(x, [2], n, [2])
    with pytest.raises(ValueError, match="does not depend on"):
        tf.test.compute_gradient(x, [2], tf.ones([2], tf.float64), [2])
    with pytest.raises(ValueError, match=r"x_shape: expected \(2,\), as of the value, got \[3\]"):
        tf.test.compute_gradient(x, [3], x, [2], np.ones([2]))
