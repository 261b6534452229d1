"""Convolution of sequences, images and volumes, and what is made of it."""

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
    with pytest.raises(ValueError, match="input and filter: expected rank 3, 4 or 5 of both"):
        tf.nn.convolution(x, tf.ones([2, 2, 1, 4]), "SAME")
    with pytest.raises(ValueError, match="input: its rank must be known"):
        tf.nn.convolution(tf.placeholder(tf.float32), tf.placeholder(tf.float32), "SAME")


def test_volumes_are_convolved_plane_by_plane() -> None:
    volumes, filters = sequences([2, 3, 5, 4, 3]), sequences([1, 2, 3, 3, 4])
    found = tf.nn.convolution(volumes, filters, "SAME")
    planes = [tf.nn.conv2d(volumes[:, i], filters[0], 1, "SAME") for i in range(3)]
    np.testing.assert_allclose(found.eval(), tf.stack(planes, 1).eval(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_convolutions_are_gradients(rank: int, padding: str) -> None:
    large, window = [2, *[7, 6, 4][:rank], 3], [*[3, 2, 2][:rank], 3, 4]
    x, filters = tf.constant(sequences(large)), tf.constant(sequences(window))
    order = ["NCW", "NCHW", "NCDHW"][rank - 1]
    for data_format in (None, order):
        from_last = [0, rank + 1, *range(1, rank + 1)]
        value = x if data_format is None else tf.transpose(x, from_last)
        y = tf.nn.convolution(value, filters, padding, data_format=data_format)
        (expected,) = tf.gradients(y, value, 2 * y)
        found = tf.nn.conv_transpose(2 * y, filters, value.shape.as_list(), 1, padding, data_format)
        np.testing.assert_allclose(found.eval(), expected.eval(), rtol=1e-4, atol=1e-4)


def test_strides_make_images_larger() -> None:
    x, filters = sequences([1, 2, 3, 1]), sequences([2, 2, 1, 1])
    found = tf.nn.conv2d_transpose(x, filters, [1, 4, 6, 1], 2, "VALID").eval()
    # Windows that do not overlap: each pixel times the filter.
    np.testing.assert_allclose(found[0, :, :, 0], np.kron(x[0, :, :, 0], filters[:, :, 0, 0]))
    row = tf.nn.conv1d_transpose(x[0], filters[0], [2, 6, 1], 2, "VALID").eval()
    np.testing.assert_allclose(row[1, :, 0], np.kron(x[0, 1, :, 0], filters[0, :, 0, 0]))


def test_atrous_convolutions() -> None:
    images, filters = tf.constant(sequences([2, 9, 8, 3])), tf.constant(sequences([3, 2, 3, 4]))
    for padding in ("SAME", "VALID"):
        found = tf.nn.atrous_conv2d(images, filters, 2, padding)
        by_batch = tf.nn.with_space_to_batch(
            images,
            [2, 2],
            padding,
            lambda x, count, mode: tf.nn.convolution(x, filters, mode),
            filter_shape=[3, 2],
        )
        np.testing.assert_allclose(found.eval(), by_batch.eval(), rtol=1e-4, atol=1e-5)
        (expected,) = tf.gradients(found, images, found)
        back = tf.nn.atrous_conv2d_transpose(found, filters, images.shape.as_list(), 2, padding)
        np.testing.assert_allclose(back.eval(), expected.eval(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rate", "stride"), [(1, 1), (1, 2), (2, 1)])
def test_depthwise_convolutions_are_those_of_each_channel(rate: int, stride: int) -> None:
    images, filters = sequences([2, 9, 8, 3]), sequences([3, 3, 3, 2])
    steps = [1, stride, stride, 1]
    found = tf.nn.depthwise_conv2d(images, filters, steps, "SAME", [rate, rate])
    alone = [
        tf.nn.conv2d(
            images[..., c : c + 1], filters[:, :, c : c + 1], steps, "SAME", dilations=[rate, rate]
        )
        for c in range(3)
    ]
    np.testing.assert_allclose(found.eval(), tf.concat(alone, 3).eval(), rtol=1e-4, atol=1e-5)


def test_separable_convolutions_mix_the_channels() -> None:
    images, each, mixed = sequences([2, 5, 6, 3]), sequences([3, 3, 3, 2]), sequences([1, 1, 6, 4])
    found = tf.nn.separable_conv2d(images, each, mixed, [1, 1, 1, 1], "SAME", name="parted")
    assert found.op.name == "parted"
    deep = tf.nn.depthwise_conv2d(images, each, [1, 1, 1, 1], "SAME")
    expected = tf.nn.conv2d(deep, mixed, 1, "VALID")
    np.testing.assert_allclose(found.eval(), expected.eval(), rtol=1e-4, atol=1e-5)


def test_arguments_have_two_names() -> None:
    x, filters = tf.ones([1, 8, 1]), tf.ones([2, 1, 4])
    found = tf.nn.conv1d(input=x, filters=filters, stride=2, padding="SAME")
    assert found.shape.as_list() == [1, 4, 4]
    images, window = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 3, 1])
    both_names: list[dict[str, Any]] = [
        {"value": images, "filter": window},
        {"input": images, "filters": window},
    ]
    for given in both_names:
        found = tf.nn.conv2d_transpose(**given, output_shape=[1, 8, 8, 3], strides=2)
        assert found.shape.as_list() == [1, 8, 8, 3]
    depthwise = tf.ones([2, 2, 1, 2])
    rates: list[dict[str, Any]] = [{"rate": [2, 2]}, {"dilations": [2, 2]}]
    for rate in rates:
        found = tf.nn.depthwise_conv2d(images, depthwise, [1, 1, 1, 1], "VALID", **rate)
        assert found.shape.as_list() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="strides: expected 1 with a rate"):
        tf.nn.depthwise_conv2d(images, depthwise, [1, 2, 2, 1], "VALID", [2, 2])
    with pytest.raises(ValueError, match="output_shape: expected 3, 4 or 5 sizes"):
        tf.nn.conv_transpose(images, window, [8, 8], 2)
