"""Gradients, as Python programs ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_what_stops_gradients_may_be_a_tensor_or_a_list() -> None:
    x = tf.constant([1.0, 2.0])
    z = x * x
    for stops in (z, [z], (z,)):
        assert tf.gradients(z * x, x, stop_gradients=stops)[0].eval().tolist() == [1.0, 4.0]
    for stops in (None, []):
        assert tf.gradients(z * x, x, stop_gradients=stops)[0].eval().tolist() == [3.0, 12.0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_relu6_has_no_gradient_at_its_ends(dtype: tf.DType) -> None:
    x = tf.constant([-1.0, 0.0, 3.0, 6.0, 7.0], dtype)
    y = tf.nn.relu6(x)
    assert y.eval().tolist() == [0.0, 0.0, 3.0, 6.0, 6.0]
    assert tf.gradients(y, x)[0].eval().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
