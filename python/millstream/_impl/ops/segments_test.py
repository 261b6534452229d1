"""Means of rows by their ids, with gradients."""

from __future__ import annotations

import numpy as np

import millstream as tf


def test_rows_are_divided_by_their_number_or_its_root() -> None:
    random = np.random.RandomState(0)
    data = random.normal(size=(3, 4, 2))
    ids = random.randint(-1, 4, size=(3, 4))
    with tf.Graph().as_default(), tf.Session() as sess:
        mean = sess.run(tf.unsorted_segment_mean(data, ids, 5))
        root = sess.run(tf.math.unsorted_segment_sqrt_n(data, ids, 5))
    for number in range(5):
        rows = data[ids == number]
        total, count = rows.sum(axis=0), max(1, len(rows))
        np.testing.assert_allclose(mean[number], total / count, rtol=1e-12)
        np.testing.assert_allclose(root[number], total / np.sqrt(count), rtol=1e-12)


def test_each_row_gets_its_share_of_the_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        data = tf.constant([[1.0], [2.0], [3.0]])
        mean = tf.unsorted_segment_mean(data, [1, 1, 0], 2)
        (gradient,) = sess.run(tf.gradients(mean, data))
    assert gradient.tolist() == [[0.5], [0.5], [1.0]]
