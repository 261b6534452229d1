"""Convolution of sequences and images."""

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


def sequences(shape: list[int]) -> Any:
    return np.random.RandomState(3).standard_normal(shape).astype(np.float32)


def convolved(x: Any, filters: Any, padding: str, stride: int, distance: int) -> Any:
    """Each place's sum written out."""
    if padding == "SAME":
        places = -(-x.shape[1] // stride)
        reach = (len(filters) - 1) * distance + 1
        margin = max((places - 1) * stride + reach - x.shape[1], 0)
        x = np.pad(x, [(0, 0), (margin // 2, margin - margin // 2), (0, 0)])
    places = (x.shape[1] - (len(filters) - 1) * distance - 1) // stride + 1
    result = np.zeros([len(x), places, filters.shape[2]], np.float32)
    for place in range(places):
        for tap, weights in enumerate(filters):
            result[:, place] += x[:, place * stride + tap * distance] @ weights
    return result


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "distance"), [(1, 1), (2, 1), (3, 1), (1, 2), (1, 3)])
def test_sequences_are_convolved(padding: str, stride: int, distance: int) -> None:
    x, filters = sequences([2, 9, 3]), sequences([3, 3, 4])
    expected = convolved(x, filters, padding, stride, distance)
    found = tf.nn.convolution(x, filters, padding, [stride], [distance])
    assert found.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(found.eval(), expected, rtol=1e-4, atol=1e-5)
    channels_first = tf.nn.convolution(
        x.transpose(0, 2, 1), filters, padding, stride, distance, data_format="NCW"
    )
    np.testing.assert_allclose(
        channels_first.eval(), expected.transpose(0, 2, 1), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("steps", "distances"), [([1, 1], [1, 1]), ([2, 1], [1, 1]), ([1, 1], [2, 3])]
)
def test_images_are_convolved_as_by_conv2d(steps: list[int], distances: list[int]) -> None:
    images, filters = sequences([2, 9, 8, 3]), sequences([3, 2, 3, 4])
    found = tf.nn.convolution(images, filters, "SAME", steps, distances, name="found")
    expected = tf.nn.conv2d(images, filters, steps, "SAME", dilations=distances)
    assert found.op.name == "found"
    assert np.array_equal(found.eval(), expected.eval())


@pytest.mark.parametrize("fused", [False, True])
def test_groups_of_channels_are_convolved_apart(fused: bool) -> None:
    def convolve(x: Any, filters: Any, bias: Any) -> Any:
        result = tf.nn.conv2d(x, filters, [1, 2], "SAME")
        return tf.nn.relu(tf.nn.bias_add(result, bias)) if fused else result

    images = tf.placeholder(tf.float32, [2, 9, 8, 6])
    filters, bias = tf.constant(sequences([3, 2, 2, 12])), tf.range(12.0)
    whole = convolve(images, filters, bias)
    assert whole.shape.as_list() == [2, 9, 4, 12]
    parts = [tf.split(images, 3, 3), tf.split(filters, 3, 3), tf.split(bias, 3)]
    apart = tf.concat([convolve(*part) for part in zip(*parts, strict=True)], 3)
    found = [whole, *tf.gradients(whole, [images, filters])]
    expected = [apart, *tf.gradients(apart, [images, filters])]
    fed = {images: sequences([2, 9, 8, 6])}
    for ours, others in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.eval(fed), others.eval(fed), rtol=1e-4, atol=1e-4)


def test_gradient_of_a_convolved_sequence() -> None:
    x = tf.constant([[[1.0], [2.0], [3.0]]])
    filters = tf.constant([[[2.0]], [[5.0]]])
    total = tf.reduce_sum(tf.nn.convolution(x, filters, "VALID"))
    by_x, by_filters = tf.gradients(total, [x, filters])
    assert by_x.eval().ravel().tolist() == [2.0, 7.0, 5.0]
    assert by_filters.eval().ravel().tolist() == [3.0, 5.0]


def test_one_known_rank_is_enough() -> None:
    filters = tf.ones([2, 1, 4])
    assert tf.nn.convolution(tf.placeholder(tf.float32), filters, "SAME").shape.ndims == 3
    found = tf.nn.convolution(tf.ones([1, 8, 1]), None, "SAME", filters=filters, dilations=[2])
    assert found.shape.as_list() == [1, 8, 4]


def test_what_does_not_fit_is_named() -> None:
    x, filters = tf.ones([1, 8, 1]), tf.ones([2, 1, 4])
    with pytest.raises(ValueError, match="strides: expected 1 positive numbers, got"):
        tf.nn.convolution(x, filters, "SAME", [1, 1])
    with pytest.raises(ValueError, match="dilation_rate: expected 1 positive numbers, got"):
        tf.nn.convolution(x, filters, "SAME", None, [0])
    with pytest.raises(ValueError, match="strides: expected 1 with a dilation_rate"):
        tf.nn.convolution(x, filters, "SAME", [2], [2])
    with pytest.raises(ValueError, match="data_format: expected"):
        tf.nn.convolution(x, filters, "SAME", data_format="CWN")
    with pytest.raises(ValueError, match="input and filter: expected rank 3 or 4 of both"):
        tf.nn.convolution(x, tf.ones([2, 2, 1, 4]), "SAME")
    with pytest.raises(ValueError, match="input: its rank must be known"):
        tf.nn.convolution(tf.placeholder(tf.float32), tf.placeholder(tf.float32), "SAME")
    with pytest.raises(NotImplementedError, match="three sizes"):
        tf.nn.convolution(tf.ones([1, 2, 2, 2, 1]), tf.ones([1, 1, 1, 1, 1]), "SAME")
