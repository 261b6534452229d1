"""Rows in random order."""

from __future__ import annotations

import millstream as tf


def test_rows_are_shuffled() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.constant([[1, 2], [3, 4], [5, 6]])
        shuffled = tf.random.shuffle(value, seed=3)
        assert shuffled.shape == value.shape
        assert sorted(session.run(shuffled).tolist()) == [[1, 2], [3, 4], [5, 6]]


def test_the_order_is_that_of_the_seed() -> None:
    orders = []
    for seed in (1, 1, 2):
        with tf.Graph().as_default(), tf.Session() as session:
            orders.append(session.run(tf.random_shuffle(list(range(20)), seed=seed)).tolist())
    assert orders[0] == orders[1] != orders[2]
