"""Activation functions, and the small parts of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
@pytest.mark.parametrize("axis", [2, -3, 100])
def test_a_dimension_that_is_not_there_is_an_op_error(function: Any, axis: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in the range \[-2, 2\)"):
        function(tf.ones([2, 3]), axis)


@pytest.mark.parametrize("argument", ["keep_prob", "rate"])
def test_dropout_takes_one_probability(argument: str) -> None:
    def dropped(value: Any) -> Any:
        return tf.nn.dropout(tf.ones([2]), **{argument: value})

    for wrong in ([0.0, 1.0], "a", np.array([0.5])):
        with pytest.raises(ValueError, match=f"{argument}: must be a floating point number"):
            dropped(wrong)
    for vector in (tf.constant([0.5]), tf.placeholder(tf.float32, [2])):
        with pytest.raises(ValueError, match=f"{argument}: expected a tensor of rank 0"):
            dropped(vector)
    for right in (0.5, np.array(0.5), tf.constant(0.5), tf.placeholder(tf.float32)):
        assert dropped(right).shape.as_list() == [2]


X = np.random.RandomState(2).normal(0.0, 3.0, (3, 4)).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, 0])
def test_crelu_has_both_parts_side_by_side(axis: int) -> None:
    found = tf.nn.crelu(X, axis=axis, name="both")
    assert found.op.name == "both"
    with tf.Session():
        expected = np.concatenate([np.maximum(X, 0), np.maximum(-X, 0)], axis)
        np.testing.assert_array_equal(found.eval(), expected)


def test_swish_and_its_gradient_follow_the_formula() -> None:
    x = tf.constant(X)
    y = tf.nn.swish(x)
    wide = X.astype(np.float64)
    share = 1 / (1 + np.exp(-wide))
    with tf.Session():
        np.testing.assert_allclose(y.eval(), wide * share, rtol=1e-5, atol=1e-7)
        slope = share + wide * share * (1 - share)
        np.testing.assert_allclose(tf.gradients(y, x)[0].eval(), slope, rtol=1e-4, atol=1e-6)


def test_relu_layer_is_a_product_a_sum_and_relu() -> None:
    weights, biases = X.T[:, :2], np.array([0.5, -0.5], np.float32)
    layer = tf.nn.relu_layer(X, weights, biases, name="layer")
    assert (layer.op.name, layer.op.type) == ("layer", "Relu")
    with tf.Session():
        np.testing.assert_allclose(layer.eval(), np.maximum(X @ weights + biases, 0), rtol=1e-5)
    with pytest.raises(TypeError, match="biases: expected a tensor or a value, got None"):
        tf.nn.relu_layer(X, weights, None)
