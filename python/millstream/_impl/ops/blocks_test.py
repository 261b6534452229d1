"""Blocks of images that move into the batch, and the padding that they need."""

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


def test_blocks_go_to_the_batch_and_back() -> None:
    images = np.arange(24).reshape(1, 4, 6, 1)
    parts = tf.space_to_batch(images, [[0, 0], [0, 0]], block_size=2)
    assert parts.shape.as_list() == [4, 2, 3, 1]
    np.testing.assert_array_equal(parts.eval()[3, :, :, 0], images[0, 1::2, 1::2, 0])
    whole = tf.batch_to_space(parts, [[1, 0], [0, 2]], block_shape=2)
    np.testing.assert_array_equal(whole.eval(), images[:, 1:, :4])
    deep = tf.nn.space_to_depth(images, 2)
    np.testing.assert_array_equal(tf.nn.depth_to_space(deep, 2).eval(), images)


def _checked(paddings: Any, crops: Any) -> None:
    assert paddings.tolist() == [[1, 1], [0, 3]]
    assert crops.tolist() == [[0, 1], [0, 2]]


def test_required_paddings_are_the_same_known_and_fed() -> None:
    known = tf.required_space_to_batch_paddings([4, 5], [3, 4], [[1, 0], [0, 1]])
    assert [tf.get_static_value(tensor) is not None for tensor in known] == [True, True]
    _checked(*[tensor.eval() for tensor in known])
    sizes = tf.placeholder(tf.int32, [2])
    fed = tf.required_space_to_batch_paddings(sizes, [3, 4], [[1, 0], [0, 1]])
    _checked(*[tensor.eval({sizes: [4, 5]}) for tensor in fed])


def test_required_paddings_of_nothing() -> None:
    empty = np.zeros(0, np.int32)
    paddings, crops = tf.required_space_to_batch_paddings(empty, empty)
    assert paddings.shape.as_list() == crops.shape.as_list() == [0, 2]


def test_windows_may_leave_out_dimensions() -> None:
    x = tf.reshape(tf.range(24.0), [1, 3, 8, 1])
    found = tf.nn.with_space_to_batch(
        x, [2], "VALID", lambda x, count, mode: x[:, :, :-1] + x[:, :, 1:], spatial_dims=[2]
    )
    np.testing.assert_array_equal(found.eval(), (x[:, :, :-2] + x[:, :, 2:]).eval())


def test_what_does_not_fit_is_named() -> None:
    images = tf.ones([1, 4, 4, 1])
    with pytest.raises(ValueError, match="must be evenly divisible by 3 but is 4"):
        tf.space_to_batch(images, [[0, 0], [0, 0]], 3)
    with pytest.raises(ValueError, match="block_shape and block_size are one argument"):
        tf.space_to_batch(images, [[0, 0], [0, 0]], 2, block_shape=2)
    with pytest.raises(ValueError, match="spatial_dims: expected 1 dimensions"):
        tf.nn.with_space_to_batch(images, [2], "VALID", tf.identity, spatial_dims=[1, 2])
    with pytest.raises(ValueError, match="filter_shape: expected the sizes"):
        tf.nn.with_space_to_batch(images, [2, 2], "SAME", tf.identity)
