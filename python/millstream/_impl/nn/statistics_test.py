"""Moments, weighted and from sums."""

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


X = np.random.RandomState(3).normal(5.0, 2.0, (4, 3, 6)).astype(np.float32)


@pytest.mark.parametrize("axes", [[0], [0, 2], [-1], [0, 1, 2]])
@pytest.mark.parametrize("keep", [False, True])
def test_weighted_moments_are_those_of_repeated_elements(axes: list[int], keep: bool) -> None:
    weights = np.random.RandomState(4).randint(1, 5, (4, 1, 6)).astype(np.float32)
    found = tf.nn.weighted_moments(tf.constant(X), axes, weights, keepdims=keep)
    full = np.broadcast_to(weights, X.shape).astype(np.float64)
    along = tuple(axes)
    mean = (X * full).sum(along, keepdims=True) / full.sum(along, keepdims=True)
    variance = (full * (X - mean) ** 2).sum(along, keepdims=True) / full.sum(along, keepdims=True)
    for tensor, expected in zip(found, (mean, variance), strict=True):
        if not keep:
            expected = expected.squeeze(along)
        assert tensor.shape.as_list() == list(expected.shape)
        np.testing.assert_allclose(tensor.eval(), expected, rtol=1e-4)


def test_weights_are_cast_to_the_type_of_the_elements() -> None:
    mean, variance = tf.nn.weighted_moments(tf.constant([1.0, 5.0], tf.float64), 0, [3, 1])
    assert (mean.dtype, variance.dtype) == (tf.float64, tf.float64)
    assert (float(mean.eval()), float(variance.eval())) == (2.0, 3.0)


@pytest.mark.parametrize("shift", [None, 5.0])
@pytest.mark.parametrize("known", [True, False])
def test_moments_from_sums_are_the_moments(
    session: tf.Session, shift: float | None, known: bool
) -> None:
    fed = tf.placeholder(tf.float32, X.shape if known else None)
    sums = tf.nn.sufficient_statistics(fed, [0, 2], shift)
    assert (sums[3] is None) == (shift is None)
    count, total, squares = session.run(sums[:3], {fed: X})
    moved = X.astype(np.float64) - (shift or 0.0)
    assert count == 24.0
    np.testing.assert_allclose(total, moved.sum((0, 2)), rtol=1e-4)
    np.testing.assert_allclose(squares, (moved**2).sum((0, 2)), rtol=1e-4)
    mean, variance = tf.nn.normalize_moments(*sums)
    np.testing.assert_allclose(mean.eval({fed: X}), X.mean((0, 2)), rtol=1e-4)
    np.testing.assert_allclose(variance.eval({fed: X}), X.var((0, 2)), rtol=1e-3)


def test_sums_may_keep_their_dimensions() -> None:
    _, total, squares, _ = tf.nn.sufficient_statistics(X, [1], keep_dims=True)
    assert total.shape.as_list() == squares.shape.as_list() == [4, 1, 6]


def test_moments_of_half_precision_are_computed_in_float32() -> None:
    values = np.full([100_000], 4.0, np.float16)  # whose sum is beyond float16
    values[0] = 3.0
    for found in (
        tf.nn.moments(tf.constant(values), [0]),
        tf.nn.weighted_moments(tf.constant(values), [0], 1.0),
    ):
        assert [tensor.dtype for tensor in found] == [tf.float16, tf.float16]
        mean, variance = (float(tensor.eval()) for tensor in found)
        assert mean == pytest.approx(4.0, abs=2e-3)
        assert variance == pytest.approx(1e-5, rel=1e-2)


@pytest.mark.parametrize("function", [tf.nn.weighted_moments, tf.nn.moments])
def test_one_argument_says_whether_dimensions_are_kept(function: Any) -> None:
    weights = {} if function is tf.nn.moments else {"frequency_weights": 1.0}
    with pytest.raises(ValueError, match="keepdims and keep_dims are one argument"):
        function(tf.constant(X), [0], keep_dims=True, keepdims=True, **weights)


def _normalized(x: Any, scale: Any, offset: Any, channels: int, is_training: bool) -> Any:
    """Batch normalization of whole tensors, whose statistics are differentiated too."""
    around = [axis for axis in range(4) if axis != channels]
    shape = [-1 if axis == channels else 1 for axis in range(4)]
    mean, variance = tf.zeros([], x.dtype), tf.ones([], x.dtype)
    if is_training:
        mean = tf.reduce_mean(x, around, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), around, keepdims=True)
    normal = (x - mean) * tf.rsqrt(variance + 0.01)
    return normal * tf.reshape(scale, shape) + tf.reshape(offset, shape)


def _gradients_of_both_orders(function: Any, dtype: tf.DType, inputs: list[Any]) -> list[Any]:
    """The gradients of a function of images, scale and offset, and those of their sum."""
    random = np.random.RandomState(8)
    tensors = [tf.constant(value, dtype) for value in inputs]
    y = function(*tensors)
    dy = tf.constant(random.normal(size=inputs[0].shape), dtype)
    first = tf.gradients(y, tensors, dy)
    weights = [tf.constant(random.normal(size=value.shape), dtype) for value in inputs]
    return [*first, *tf.gradients(first, [dy, *tensors[:2]], weights)]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("is_training", [True, False])
def test_gradients_of_batch_normalization_are_those_of_its_parts(
    session: tf.Session, data_format: str, is_training: bool
) -> None:
    random, channels = np.random.RandomState(7), data_format.index("C")
    images = random.normal(2, 3, (3, 4, 2, 5))
    size = images.shape[channels]
    inputs = [images, *random.normal(1, 0.5, (2, size))]

    def fused(x: Any, scale: Any, offset: Any) -> Any:
        mean = None if is_training else tf.zeros([size])
        variance = None if is_training else tf.ones([size])
        return tf.nn.fused_batch_norm(
            x, scale, offset, mean, variance, 0.01, data_format, is_training
        )[0]

    def composed(x: Any, scale: Any, offset: Any) -> Any:
        return _normalized(x, scale, offset, channels, is_training)

    got = session.run(_gradients_of_both_orders(fused, tf.float32, inputs))
    expected = session.run(_gradients_of_both_orders(composed, tf.float64, inputs))
    assert len(got) == 6
    for one, other in zip(got, expected, strict=True):
        # Sums over 24 or 30 elements in float32.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


def test_gradients_of_half_images_have_their_type() -> None:
    x = tf.constant(np.random.RandomState(9).normal(size=(2, 3, 3, 4)), tf.float16)
    scale = tf.ones([4])
    y = tf.nn.fused_batch_norm(x, scale, tf.zeros([4]))[0]
    first = tf.gradients(y, [x, scale], tf.cast(x, tf.float16))
    second = tf.gradients(first, [x, scale])
    assert [tensor.dtype for tensor in (y, *first, *second)] == [
        tf.float16, tf.float16, tf.float32, tf.float16, tf.float32,
    ]  # fmt: skip


def test_fused_batch_norm_is_one_operation() -> None:
    y, _, _ = tf.nn.fused_batch_norm(tf.ones([2, 3, 3, 4]), tf.ones([4]), tf.zeros([4]))
    assert (y.op.name, y.op.type) == ("FusedBatchNormV3", "FusedBatchNormV3")
    named = tf.nn.fused_batch_norm(
        tf.ones([2, 3, 3, 4]), tf.ones([4]), tf.zeros([4]), epsilon=0.0, name="norm"
    )
    assert named[0].op.name == "norm"
    assert named[0].op.get_attr("epsilon") == pytest.approx(1.001e-5)
