"""Checks of shapes whose sizes have names."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf


def check(*pairs: Any, **arguments: Any) -> Any:
    return tf.debugging.assert_shapes(list(pairs), **arguments)


def test_known_shapes_are_checked_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        x, y = tf.ones([2, 3]), tf.ones([3])
        check((x, ("N", "D")), (y, ("D",)), (tf.constant(1), ()), (y, None))
        check((x, (2, None)), (x, (".", 3)), (x, "ND"))
        tf.debugging.assert_shapes({x: ("N", "D"), y: ("D",)})
        with pytest.raises(ValueError, match="must have size N"):
            check((x, ("N", "D")), (y, ("N",)))
        with pytest.raises(ValueError, match="expected 4"):
            check((y, (4,)), message="expected 4")
        with pytest.raises(ValueError, match="must have rank 1"):
            check((x, ("N",)))


def test_other_shapes_are_checked_in_the_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None])
        checked = check((x, ("N", 2)), (y, ("N",)), message="bad")
        session.run(checked, {x: [[1.0, 2.0]], y: [1.0]})
        for wrong in ([[1.0, 2.0, 3.0]], [[1.0, 2.0], [3.0, 4.0]], [1.0]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
                session.run(checked, {x: wrong, y: [1.0]})


def test_a_name_has_one_size_also_where_it_becomes_known_later() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with pytest.raises(ValueError, match="'N' is specified by tensor"):
            check((x, ("N",)), (tf.ones([2]), ("N",)), (tf.ones([3]), ("N",)))


def test_rows_of_slices_are_left_out() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([4, 6], tf.int64))
        kept = session.run(tf.sparse.mask(rows, [6, 8]))
        assert kept.indices.tolist() == [4]
        assert kept.values.tolist() == [[1.0]]
