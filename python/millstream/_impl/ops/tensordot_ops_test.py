"""Products over chosen dimensions agree with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ([2, 3], [3, 4], 1),
        ([2, 3, 4], [3, 4, 5], 2),
        ([2, 3, 4], [4, 2], [[2, 0], [0, 1]]),
        ([2, 3], [5], 0),
        ([2, 3, 4], [5, 3], [[-2], [1]]),
    ],
)
def test_values_and_shapes_are_numpys(a: list[int], b: list[int], axes: Any, known: bool) -> None:
    rng = np.random.RandomState(0)
    left, right = rng.rand(*a).astype(np.float32), rng.rand(*b).astype(np.float32)
    expected = np.tensordot(left, right, axes)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, a if known else [None] * len(a))
        y = tf.placeholder(tf.float32, b)
        product = tf.tensordot(x, y, axes)
        assert product.shape.is_compatible_with(expected.shape)
        found = session.run(product, {x: left, y: right})
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_axes_must_match() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="axes"):
            tf.tensordot(tf.ones([2, 3]), tf.ones([3]), [[0, 1], [0]])
        with pytest.raises(ValueError, match="axes"):
            tf.tensordot(tf.ones([2, 3]), tf.ones([3]), 2)
