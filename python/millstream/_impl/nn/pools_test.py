"""Pooling of sequences, images and volumes."""

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


def drawn(*shape: int) -> Any:
    return np.random.RandomState(3).standard_normal(shape).astype(np.float32)


def blocks(x: Any, side: int) -> Any:
    """Windows that lie side by side: their elements on the axes 2, 4, ..."""
    sizes = [part for size in x.shape[1:-1] for part in (size // side, side)]
    return x.reshape(x.shape[0], *sizes, x.shape[-1])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_windows_have_one_to_three_sizes(count: int) -> None:
    x = drawn(2, *[4, 6, 8][:count], 3)
    axes = tuple(range(2, 2 * count + 1, 2))
    largest, mean = blocks(x, 2).max(axes), blocks(x, 2).mean(axes)
    first = np.moveaxis(x, -1, 1)
    kinds = {"MAX": (tf.nn.max_pool_v2, largest), "AVG": (tf.nn.avg_pool_v2, mean)}
    for kind, (pool, expected) in kinds.items():
        found = [
            pool(x, 2, 2, "VALID"),
            tf.nn.pool(x, [2] * count, kind, "VALID", strides=[2] * count),
            tf.transpose(
                pool(first, 2, 2, "VALID", data_format="NC" + "DHW"[3 - count :]),
                [0, *range(2, count + 2), 1],
            ),
        ]
        for one in found:
            assert one.shape.as_list() == list(expected.shape)
            np.testing.assert_allclose(one.eval(), expected, rtol=1e-5, atol=1e-6)


def test_functions_of_a_rank_have_its_formats() -> None:
    sequence, volume = drawn(2, 6, 3), drawn(2, 4, 4, 4, 3)
    for pool in (tf.nn.max_pool1d, tf.nn.avg_pool1d):
        first = pool(sequence.transpose(0, 2, 1), 3, 1, "SAME", data_format="NCW")
        last = pool(sequence, [1, 3, 1], [1], "SAME")
        np.testing.assert_allclose(first.eval().transpose(0, 2, 1), last.eval(), rtol=1e-6)
    for pool in (tf.nn.max_pool3d, tf.nn.avg_pool3d):
        first = pool(np.moveaxis(volume, -1, 1), 3, 2, "SAME", data_format="NCDHW")
        last = pool(volume, [3, 3, 3], [1, 2, 2, 2, 1], "SAME")
        np.testing.assert_allclose(np.moveaxis(first.eval(), 1, -1), last.eval(), rtol=1e-6)
    with pytest.raises(ValueError, match="data_format: expected 'NWC' or 'NCW', got 'NHWC'"):
        tf.nn.max_pool1d(sequence, 2, 1, "SAME", data_format="NHWC")


def test_names_are_those_of_the_api() -> None:
    assert tf.nn.max_pool3d(drawn(1, 4, 4, 4, 1), 2, 2, "SAME", name="m").op.name == "m"
    assert tf.nn.max_pool1d(drawn(1, 4, 1), 2, 2, "SAME", name="s").op.name == "s"


@pytest.mark.parametrize("first", [False, True])
def test_windows_may_have_gaps(first: bool) -> None:
    x = drawn(2, 7, 6, 3)
    given = np.moveaxis(x, -1, 1) if first else x
    layout = "NCHW" if first else "NHWC"
    for kind, reduce in (("MAX", np.max), ("AVG", np.mean)):
        found = tf.nn.pool(given, [2, 3], kind, "VALID", [3, 2], data_format=layout).eval()
        windows = [x[:, 3 * i : 3 * i + 4, 2 * k : 2 * k + 2] for i in (0, 1) for k in (0, 1, 2)]
        expected = reduce(windows, axis=0)
        np.testing.assert_allclose(np.moveaxis(found, 1, -1) if first else found, expected, 1e-6)


def test_pool_says_what_it_does_not_take() -> None:
    image = drawn(1, 4, 4, 1)
    with pytest.raises(ValueError, match="strides > 1 not supported in conjunction"):
        tf.nn.pool(image, [2, 2], "MAX", "VALID", dilation_rate=[2, 1], strides=[2, 1])
    with pytest.raises(ValueError, match="pooling_type"):
        tf.nn.pool(image, [2, 2], "SUM", "VALID")
    with pytest.raises(ValueError, match="Rank of input must be known"):
        tf.nn.pool(tf.placeholder(tf.float32), [2, 2], "MAX", "VALID")


def test_argmax_is_the_place_of_the_maximum(session: tf.Session) -> None:
    x = drawn(2, 4, 4, 3)
    found = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", include_batch_in_index=True)
    largest, places = session.run([found.output, found.argmax])
    np.testing.assert_array_equal(x.ravel()[places], largest)
    assert places.dtype == np.int64
    short = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", output_dtype=tf.int32)
    assert short.argmax.dtype == tf.int32
    with pytest.raises(ValueError, match="data_format"):
        tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", data_format="NCHW")


def test_fractional_cells_change_unless_they_are_deterministic(session: tf.Session) -> None:
    x, ratio = tf.placeholder(tf.float32, [1, 40, 40, 1]), [1.0, 1.5, 1.5, 1.0]
    changing = tf.nn.fractional_max_pool(x, ratio).row_pooling_sequence
    fixed = tf.nn.fractional_avg_pool(x, ratio, deterministic=True, seed=3).row_pooling_sequence
    feed = {x: drawn(1, 40, 40, 1)}
    rows = [session.run(changing, feed) for _ in range(4)]
    assert any((row != rows[0]).any() for row in rows)
    np.testing.assert_array_equal(*[session.run(fixed, feed) for _ in range(2)])


def test_the_gradient_of_a_maximums_gradient_by_its_images_is_zero(session: tf.Session) -> None:
    x = tf.constant(drawn(1, 4, 4, 2))
    (slope,) = tf.gradients(tf.nn.max_pool(x, 2, 2, "VALID"), x)
    (second,) = tf.gradients(slope, x)
    np.testing.assert_array_equal(session.run(second), np.zeros((1, 4, 4, 2)))
