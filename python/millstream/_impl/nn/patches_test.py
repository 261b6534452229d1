"""Patches of images."""

from __future__ import annotations

import numpy as np

import millstream as tf


def test_patches_are_windows() -> None:
    x, ones = np.arange(150.0).reshape(2, 5, 5, 3), [1, 1, 1, 1]
    found = tf.image.extract_image_patches(x, [1, 3, 3, 1], ones, ones, "VALID")
    with tf.Session() as session:
        patches = session.run(found)
    np.testing.assert_array_equal(patches[:, 1, 2], x[:, 1:4, 2:5].reshape(2, -1))
    assert tf.extract_image_patches is tf.image.extract_image_patches
