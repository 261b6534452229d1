"""Sums and the like along dimensions."""

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


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([-np.inf, -np.inf], -np.inf),
        ([np.inf, 1.0], np.inf),
        ([np.inf, -np.inf], np.inf),
        ([1.0, -np.inf], 1.0),
        ([np.nan, 1.0], np.nan),
        ([], -np.inf),
        ([1000.0, 1000.0], 1000.0 + np.log(2.0)),
    ],
)
def test_logsumexp_of_infinities_is_a_limit(numbers: list[float], expected: float) -> None:
    found = tf.reduce_logsumexp(tf.constant(numbers, tf.float32)).eval()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_logsumexp_of_masked_rows() -> None:
    rows = tf.constant([[0.0, -np.inf], [-np.inf, -np.inf]])
    assert tf.reduce_logsumexp(rows, 1).eval().tolist() == [0.0, -np.inf]
    assert tf.reduce_logsumexp(rows, 1, keepdims=True).eval().tolist() == [[0.0], [-np.inf]]


def test_gradient_of_logsumexp_is_softmax() -> None:
    x = tf.constant([[1.0, -np.inf, 2.0], [np.inf, 1.0, 0.0]])
    (gradient,) = tf.gradients(tf.reduce_logsumexp(x, 1), x)
    share = 1.0 / (1.0 + np.exp(1.0))
    np.testing.assert_allclose(gradient.eval()[0], [share, 0.0, 1.0 - share], rtol=1e-6)
    assert gradient.eval()[1, 1:].tolist() == [0.0, 0.0]


def test_nonzero_elements_of_any_type_are_counted() -> None:
    for value, expected in [
        (np.array([False, True, True]), 2),
        (["", "a"], 1),
        ([0.0, -2.0, np.nan], 2),
        ([0, 1j], 1),
    ]:
        assert tf.count_nonzero(value).eval() == expected
    assert tf.count_nonzero([[True], [False]], axis=0).eval().tolist() == [1]


def test_truth_of_values_that_are_no_tensors() -> None:
    for value, axis, expected in [
        ([], 0, [True, False]),
        ([], None, [True, False]),
        ([[]], 1, [[True], [False]]),
        (np.array([]), 0, [True, False]),
        (np.array([1.0, 0.0]), 0, [False, True]),
    ]:
        found = [tf.reduce_all(value, axis), tf.reduce_any(value, axis)]
        assert [tensor.eval().tolist() for tensor in found] == expected
    for wrong in ([1, 0], tf.constant([1, 0])):
        with pytest.raises(TypeError, match="expected bool"):
            tf.reduce_all(wrong)


@pytest.mark.parametrize("axis", [None, 0, [-1, 0]])
def test_variance_and_deviation_are_those_of_a_population(axis: Any) -> None:
    values = np.random.RandomState(1).normal(size=(3, 4, 2)) + 1000.0
    over = tuple(axis) if isinstance(axis, list) else axis
    with tf.Graph().as_default(), tf.Session() as sess:
        variance = sess.run(tf.math.reduce_variance(values, axis, keepdims=True))
        deviation = sess.run(tf.math.reduce_std(values, axis))
        with pytest.raises(TypeError, match="floating-point"):
            tf.math.reduce_std([1, 2])
    np.testing.assert_allclose(variance, values.var(axis=over, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(deviation, values.std(axis=over), rtol=1e-9)


def test_the_norm_of_bfloat16_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([3.0, 4.0], tf.bfloat16)
        (slope,) = tf.gradients(tf.math.reduce_euclidean_norm(x), x)
        found = sess.run(tf.cast(slope, tf.float32))
    np.testing.assert_allclose(found, [0.6, 0.8], rtol=0.01)
