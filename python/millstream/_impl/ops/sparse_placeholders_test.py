"""Sparse tensors that are fed."""

from __future__ import annotations

import numpy as np

import millstream as tf


def test_the_three_parts_are_fed_together() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.sparse_placeholder(tf.float32, name="x")
        assert x.indices.op.name == "x/indices"
        assert x.shape.ndims is None
        value = tf.SparseTensorValue([[0, 1], [2, 0]], [2.0, 3.0], [3, 2])
        found = session.run(x, {x: value})
        assert isinstance(found, tf.SparseTensorValue)
        np.testing.assert_array_equal(found.values, [2, 3])
        np.testing.assert_array_equal(found.dense_shape, [3, 2])


def test_a_known_shape_gives_the_rank() -> None:
    with tf.Graph().as_default():
        x = tf.sparse_placeholder(tf.int32, [3, 4])
        assert x.shape.as_list() == [3, 4]
        assert x.indices.shape.as_list() == [None, 2]


def test_sizes_may_be_unknown() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.sparse_placeholder(tf.float32, [None, 4], name="x")
        assert x.dense_shape.op.type == "Placeholder"
        assert x.shape.ndims == 2
        assert x.indices.shape.as_list() == [None, 2]
        value = tf.SparseTensorValue([[0, 1]], [2.0], [1, 4])
        assert session.run(tf.sparse_tensor_to_dense(x), {x: value}).tolist() == [[0, 2, 0, 0]]
