"""Local response normalization, beside the same of other operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _by_parts(x: Any, radius: int, bias: float, alpha: float, beta: float) -> Any:
    channels = x.shape.as_list()[-1]
    places = np.arange(channels)
    near = (np.abs(places[:, None] - places) <= radius).astype(np.float32)
    return x / tf.pow(bias + alpha * tf.tensordot(tf.square(x), near, 1), beta)


@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_gradients(radius: int, known: bool) -> None:
    random = np.random.default_rng(8)
    image, weights, others = random.standard_normal((3, 2, 3, 2, 5)).astype(np.float32)
    found = []
    for function in (tf.nn.local_response_normalization, _by_parts):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, image.shape if known else [None, None, None, 5])
            g = tf.placeholder(tf.float32, image.shape)
            (dx,) = tf.gradients(function(x, radius, 1.5, 0.7, 0.6), x, g)
            second = tf.gradients(dx, [x, g], others)
            found.append(session.run([dx, *second], {x: image, g: weights}))
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
