"""Functions of images, with sizes that are known and that are not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream as tf

_IMAGE = np.arange(60.0, dtype=np.float32).reshape(4, 5, 3)


def _run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def _both(function: Callable[[Any], Any], image: Any) -> Any:
    """The result for an image of known size, which is the same where sizes are not known."""
    with tf.Graph().as_default():
        fed = tf.placeholder(image.dtype, [None] * image.ndim)
        known, unknown = _run([function(tf.constant(image)), function(fed)], {fed: image})
    np.testing.assert_array_equal(known, unknown)
    return known


@pytest.mark.parametrize("image", [_IMAGE, np.stack([_IMAGE, -_IMAGE])])
def test_turned_images(image: Any) -> None:
    height, width = image.ndim - 3, image.ndim - 2
    assert (_both(tf.image.flip_left_right, image) == np.flip(image, width)).all()
    assert (_both(tf.image.flip_up_down, image) == np.flip(image, height)).all()
    turned = _both(tf.image.transpose_image, image)
    assert (turned == np.swapaxes(image, height, width)).all()
    for k in range(-1, 5):
        found = _both(functools.partial(tf.image.rot90, k=k), image)
        assert (found == np.rot90(image, k, (height, width))).all()


def test_number_of_turns_may_be_fed() -> None:
    with tf.Graph().as_default():
        k = tf.placeholder(tf.int32, [])
        turned = tf.image.rot90(_IMAGE, k)
        for number in (0, 1, 6):
            assert (_run(turned, {k: number}) == np.rot90(_IMAGE, number)).all()


def test_images_of_another_rank_are_refused() -> None:
    with pytest.raises(ValueError, match="image: must have either 3 or 4 dimensions"):
        tf.image.flip_left_right(np.zeros([2, 3]))
    with pytest.raises(ValueError, match="image: must have a known rank"):
        tf.image.central_crop(tf.placeholder(tf.float32), 0.5)


def test_each_image_is_flipped_or_not() -> None:
    batch = np.stack([_IMAGE] * 40)
    with tf.Graph().as_default():
        found = _run(tf.image.random_flip_left_right(batch, seed=3))
        one = _run(tf.image.random_flip_up_down(_IMAGE, seed=3))
    flipped = [(image == _IMAGE[:, ::-1]).all() for image in found]
    same = [(image == _IMAGE).all() for image in found]
    assert all(a != b for a, b in zip(flipped, same, strict=True))
    assert 8 < sum(flipped) < 32
    assert (one == _IMAGE).all() or (one == _IMAGE[::-1]).all()


def test_methods_of_resizing_have_names() -> None:
    with tf.Graph().as_default():
        for number, name in enumerate(("bilinear", "nearest", "bicubic", "area")):
            pair = [tf.image.resize_images(_IMAGE, [2, 3], method=way) for way in (number, name)]
            np.testing.assert_array_equal(*_run(pair))


def test_margins_keep_the_channels_that_are_known() -> None:
    with tf.Graph().as_default():
        image = tf.placeholder(tf.float32, [5, None, None, 3])
        assert tf.image.pad_to_bounding_box(image, 0, 0, 8, 9).shape.as_list() == [5, 8, 9, 3]


def test_parts_and_margins() -> None:
    part = _both(lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 2, 3), _IMAGE)
    assert (part == _IMAGE[1:3, 2:5]).all()
    padded = _both(lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 6, 8), _IMAGE)
    assert (padded == np.pad(_IMAGE, ((1, 1), (2, 1), (0, 0)))).all()
    middle = _both(lambda x: tf.image.central_crop(x, 0.5), _IMAGE)
    assert (middle == _IMAGE[1:3, 1:4]).all()
    both = _both(lambda x: tf.image.resize_image_with_crop_or_pad(x, 2, 8), _IMAGE)
    assert (both == np.pad(_IMAGE[1:3], ((0, 0), (1, 2), (0, 0)))).all()
    fitting = _both(lambda x: tf.image.resize_image_with_pad(x, 8, 12), _IMAGE)
    assert fitting.shape == (8, 12, 3)
    assert (fitting[:, [0, 11]] == 0).all()
    assert (fitting[:, 1:11] != 0).any(axis=(0, 2)).all()


def test_parts_that_do_not_lie_in_the_image_are_refused() -> None:
    with pytest.raises(ValueError, match="width must be >= target"):
        tf.image.crop_to_bounding_box(_IMAGE, 0, 3, 2, 3)
    with pytest.raises(ValueError, match="height must be <= target - offset"):
        tf.image.pad_to_bounding_box(_IMAGE, 0, 0, 3, 9)
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [None, None, 3])
        part = tf.image.crop_to_bounding_box(fed, 0, 3, 2, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="crop_to_bounding_box"):
            _run(part, {fed: _IMAGE})


def test_resized_images() -> None:
    grown = _both(lambda x: tf.image.resize_images(x, [8, 10], 1), _IMAGE)
    assert (grown == _IMAGE.repeat(2, 0).repeat(2, 1)).all()
    kept = _both(lambda x: tf.image.resize_images(x, [8, 20], preserve_aspect_ratio=True), _IMAGE)
    assert kept.shape == (8, 10, 3)
    with tf.Graph().as_default():
        whole = tf.constant(np.zeros([4, 5, 3], np.uint8))
        assert tf.image.resize_images(whole, [4, 5]).dtype == tf.uint8
        assert tf.image.resize_images(whole, [4, 4]).dtype == tf.float32
        with pytest.raises(ValueError, match="1-D tensor of 2 elements"):
            tf.image.resize_images(whole, [4, 5, 6])
        with pytest.raises(ValueError, match="method"):
            tf.image.resize_images(whole, [1, 1], "cubic")


def test_types_of_pixels() -> None:
    convert = tf.image.convert_image_dtype
    with tf.Graph().as_default():
        small = tf.constant([0, 127, 255], tf.uint8)
        found = _run(
            [
                convert(small, tf.float32),
                convert(small, tf.int16),
                convert(convert(small, tf.uint16), tf.uint8),
                convert(tf.constant([0.0, 0.5, 1.0]), tf.uint8),
                convert(tf.constant([-1.0, 2.0]), tf.uint8, saturate=True),
            ]
        )
    np.testing.assert_allclose(found[0], np.array([0, 127, 255]) / 255, rtol=1e-6)
    assert found[1].tolist() == [0, 127 * 128, 255 * 128]
    assert found[2].tolist() == [0, 127, 255]
    assert found[3].tolist() == [0, 127, 255]
    assert found[4].tolist() == [0, 255]


def test_spaces_of_colors_there_and_back() -> None:
    colors = np.random.default_rng(5).random((2, 3, 4, 3), np.float32)
    with tf.Graph().as_default():
        pairs = [
            (tf.image.rgb_to_yiq, tf.image.yiq_to_rgb),
            (tf.image.rgb_to_yuv, tf.image.yuv_to_rgb),
            (tf.image.rgb_to_hsv, tf.image.hsv_to_rgb),
        ]
        back = _run([inverse(function(colors)) for function, inverse in pairs])
        gray = _run(tf.image.rgb_to_grayscale(colors))
        tiled = _run(tf.image.grayscale_to_rgb(gray))
    for found in back:
        # The standards' matrices and their inverses are rounded to four digits or so.
        np.testing.assert_allclose(found, colors, atol=1e-4)
    np.testing.assert_allclose(gray[..., 0], colors @ [0.2989, 0.587, 0.114], rtol=1e-5)
    assert (tiled == gray.repeat(3, -1)).all()


@pytest.mark.parametrize("dtype", [tf.uint8, tf.float32])
def test_shades_of_gray_have_the_name_that_they_are_given(dtype: tf.DType) -> None:
    with tf.Graph().as_default():
        gray = tf.image.rgb_to_grayscale(tf.ones([2, 2, 3], dtype), name="gray")
        assert gray.op.name == "gray"
        assert tf.image.grayscale_to_rgb(gray, name="tiled").op.name == "tiled"
        assert tf.image.rgb_to_grayscale(tf.ones([2, 2, 3], dtype)).op.name == "rgb_to_grayscale"


def test_random_changes_are_within_their_ranges() -> None:
    with tf.Graph().as_default():
        gray = tf.fill([2, 2, 3], 0.5)
        bright = tf.image.random_brightness(gray, 0.25, seed=1)
        with tf.Session() as session:
            found = np.array([session.run(bright)[0, 0, 0] for _ in range(20)])
    assert (abs(found - 0.5) <= 0.25).all()
    assert found.std() > 0.05
    with pytest.raises(ValueError, match="max_delta"):
        tf.image.random_hue(_IMAGE, 0.6)
    with pytest.raises(ValueError, match="upper"):
        tf.image.random_contrast(_IMAGE, 2.0, 1.0)
    with pytest.raises(ValueError, match="lower"):
        tf.image.random_saturation(_IMAGE, -1.0, 1.0)
    with pytest.raises(ValueError, match="Gamma should be"):
        tf.image.adjust_gamma(_IMAGE, -1.0)


def test_standardized_images() -> None:
    batch = np.stack([_IMAGE, _IMAGE * 3, np.ones_like(_IMAGE)])
    with tf.Graph().as_default():
        found = _run(tf.image.per_image_standardization(batch))
    np.testing.assert_allclose(found[:2].mean(axis=(1, 2, 3)), 0, atol=1e-6)
    np.testing.assert_allclose(found[:2].std(axis=(1, 2, 3)), 1, rtol=1e-5)
    assert (found[2] == 0).all()


def test_edges_and_variation() -> None:
    with tf.Graph().as_default():
        down, right = _run(tf.image.image_gradients(_IMAGE[None]))
        edges = _run(tf.image.sobel_edges(_IMAGE[None]))
        one, two = _run(
            [
                tf.image.total_variation(_IMAGE),
                tf.image.total_variation(np.stack([_IMAGE, _IMAGE * 2])),
            ]
        )
    assert (down[0, :-1] == 15).all()
    assert (right[0, :, :-1] == 3).all()
    assert (down[0, -1] == 0).all()
    # In the middle all neighbours differ alike: eight times as much as two of them.
    assert (edges[0, 1:-1, 1:-1, :, 0] == 8 * 15).all()
    assert (edges[0, 1:-1, 1:-1, :, 1] == 8 * 3).all()
    total = 15 * 45 + 3 * 48
    assert one == total
    assert two.tolist() == [total, 2 * total]


def _similarity(x: Any, y: Any, size: int = 11, sigma: float = 1.5) -> Any:
    """Structural similarity of one channel, window after window."""
    places = np.arange(size) - (size - 1) / 2
    line = np.exp(-0.5 * (places / sigma) ** 2)
    weights = np.outer(line, line) / line.sum() ** 2
    values = []
    for i in range(x.shape[0] - size + 1):
        for j in range(x.shape[1] - size + 1):
            a, b = (z[i : i + size, j : j + size].astype(np.float64) for z in (x, y))
            mean_a, mean_b = (weights * a).sum(), (weights * b).sum()
            squares = (weights * (a * a + b * b)).sum() - mean_a**2 - mean_b**2
            product = (weights * a * b).sum() - mean_a * mean_b
            luminance = (2 * mean_a * mean_b + 1e-4) / (mean_a**2 + mean_b**2 + 1e-4)
            values.append(luminance * (2 * product + 9e-4) / (squares + 9e-4))
    return np.mean(values)


def test_measures_of_quality() -> None:
    random = np.random.default_rng(7)
    x = random.random((2, 14, 15, 2), np.float32)
    y = np.clip(x + random.normal(0, 0.1, x.shape), 0, 1).astype(np.float32)
    with tf.Graph().as_default():
        ratio, similar, scaled = _run(
            [
                tf.image.psnr(x, y, 1.0),
                tf.image.ssim(x, y, 1.0),
                tf.image.ssim_multiscale(x, y, 1.0, [0.3, 0.7], filter_size=5),
            ]
        )
        itself = _run(tf.image.ssim_multiscale(x, x, 1.0, (0.5, 0.5), filter_size=4))
    errors = ((x - y).astype(np.float64) ** 2).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(ratio, -10 * np.log10(errors), rtol=1e-5)
    wanted = [np.mean([_similarity(x[n, ..., c], y[n, ..., c]) for c in (0, 1)]) for n in (0, 1)]
    np.testing.assert_allclose(similar, wanted, atol=1e-5)
    assert ((scaled > 0.3) & (scaled < 1)).all()
    np.testing.assert_allclose(itself, 1, rtol=1e-6)
    with pytest.raises(ValueError, match="incompatible"):
        tf.image.psnr(x, x[:, 1:], 1.0)


def test_chosen_boxes() -> None:
    boxes = np.array(
        [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11]], np.float32
    )
    scores = [0.9, 0.75, 0.6, 0.95]
    with tf.Graph().as_default():
        found = _run(
            [
                tf.image.non_max_suppression(boxes, scores, 3),
                tf.image.non_max_suppression(boxes, scores, 3, score_threshold=0.92),
                tf.image.non_max_suppression_padded(boxes, scores, 3, pad_to_max_output_size=True),
                tf.image.non_max_suppression_with_scores(boxes, scores, 4, soft_nms_sigma=0.5),
            ]
        )
    assert found[0].tolist() == [3, 0]
    assert found[1].tolist() == [3]
    assert found[2][0].tolist() == [3, 0, 0]
    assert found[2][1] == 2
    assert found[3][0].tolist() == [3, 0, 1, 2]
    assert np.isclose(found[3][1][1], 0.9)
    assert found[3][1][2] < 0.75


def _turned(hue: Any, saturation: Any, value: Any, delta: Any) -> list[Any]:
    return [tf.floormod(hue + delta, 1.0), saturation, value]


def _faded(hue: Any, saturation: Any, value: Any, scale: Any) -> list[Any]:
    return [hue, tf.clip_by_value(saturation * scale, 0.0, 1.0), value]


@pytest.mark.parametrize(
    ("adjust", "change", "parameter"),
    [
        (tf.image.adjust_hue, _turned, 0.3),
        (tf.image.adjust_hue, _turned, -0.7),
        (tf.image.adjust_saturation, _faded, 0.4),
        (tf.image.adjust_saturation, _faded, 2.5),
    ],
)
def test_gradients_of_adjusted_colors(
    adjust: Callable[..., Any], change: Callable[..., list[Any]], parameter: float
) -> None:
    random = np.random.default_rng(5)
    colors, weights = random.uniform(0.1, 0.9, (2, 2, 4, 5, 3)).astype(np.float32)
    with tf.Graph().as_default():
        images, amount = tf.constant(colors), tf.constant(parameter)
        parts = tf.unstack(tf.image.rgb_to_hsv(images), axis=-1)
        same = tf.image.hsv_to_rgb(tf.stack(change(*parts, amount), -1))
        adjusted = adjust(images, amount)
        found = tf.gradients(adjusted * weights, [images, amount])
        wanted = tf.gradients(same * weights, [images, amount])
        for got, want in zip(*_run([[adjusted, *found], [same, *wanted]]), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
