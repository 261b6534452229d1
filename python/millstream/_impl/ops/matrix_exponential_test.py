"""Exponentials of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _expected(matrices: Any) -> Any:
    """Series of matrices halved 20 times, squared as often."""
    scaled = np.asarray(matrices, np.complex128) / 2**20
    result: Any = np.broadcast_to(np.eye(scaled.shape[-1]), scaled.shape)
    term = result
    for k in range(1, 12):
        term = term @ scaled / k
        result = result + term
    for _ in range(20):
        result = result @ result
    return result


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_it_is_the_sum_of_the_series(dtype: str) -> None:
    draws = np.random.default_rng(3).normal(size=(2, 3, 4, 4))
    scales = np.reshape([1e-3, 0.1, 0.5, 0.8, 1.0, 1.2], (2, 3, 1, 1))
    scale = scales if dtype == "float16" else scales * [[[[3.0]]]]
    values = draws * scale * (1 + 0.5j if dtype.startswith("complex") else 1)
    values = values.astype(dtype)
    expected = _expected(values)
    tolerance = {"float16": 5e-2, "float64": 1e-9, "complex128": 1e-9}.get(dtype, 3e-4)
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.linalg.expm(values)
        assert result.shape.as_list() == [2, 3, 4, 4]
        found = session.run(result)
        fed = tf.placeholder(dtype)
        again = session.run(tf.linalg.expm(fed), {fed: values})
    assert found.dtype == dtype
    for own, wanted in zip(found.reshape(-1, 4, 4), expected.reshape(-1, 4, 4), strict=True):
        assert np.abs(own - wanted).max() <= tolerance * np.abs(wanted).max()
    np.testing.assert_array_equal(found, again)


def test_what_is_empty_or_not_finite_ends() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.linalg.expm(np.zeros((2, 0, 0), np.float32))).shape == (2, 0, 0)
        assert session.run(tf.linalg.expm(np.zeros((0, 2, 2), np.float32))).shape == (0, 2, 2)
        zeros = session.run(tf.linalg.expm(np.zeros((2, 2))))
        np.testing.assert_array_equal(zeros, np.eye(2))


def test_the_gradient_of_the_trace_is_the_transposed_exponential() -> None:
    values = np.random.default_rng(4).normal(size=(3, 3)) * 3
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(values)
        (gradient,) = tf.gradients(tf.trace(tf.linalg.expm(x)), [x])
        found = session.run(gradient)
    np.testing.assert_allclose(found, _expected(values).real.T, rtol=1e-9)


def test_numbers_without_fractions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"argument 'input'.*int32"):
        tf.linalg.expm([[1]])
