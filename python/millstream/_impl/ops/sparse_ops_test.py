"""Dense tensors of sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _run(fetch: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetch)


def test_to_dense_fills_up_with_zeros_or_the_default() -> None:
    x = tf.SparseTensor([[0, 1], [2, 0]], [7.0, 8.0], [3, 2])
    assert _run(tf.sparse_tensor_to_dense(x)).tolist() == [[0, 7], [0, 0], [8, 0]]
    assert _run(tf.sparse.to_dense(x, -1.0)).tolist() == [[-1, 7], [-1, -1], [8, -1]]
    texts = tf.SparseTensor([[1]], ["a"], [2])
    assert _run(tf.sparse.to_dense(texts)).tolist() == [b"", b"a"]


def test_to_dense_knows_the_shape() -> None:
    x = tf.SparseTensor([[0, 1]], [7.0], [3, 2])
    assert tf.sparse.to_dense(x).shape.as_list() == [3, 2]


def test_sparse_to_dense_takes_one_value_for_all_places() -> None:
    dense = tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], 5, default_value=-1)
    assert _run(dense).tolist() == [[-1, 5], [5, -1]]


def test_places_are_checked_in_a_step_unless_that_is_switched_off() -> None:
    places = tf.placeholder(tf.int64, [2, 1])
    checked = tf.sparse_to_dense(places, [3], [1, 2])
    unchecked = tf.sparse_to_dense(places, [3], [1, 2], validate_indices=False)
    feeds = {places: [[2], [0]]}
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
            session.run(checked, feeds)
        assert session.run(unchecked, feeds).tolist() == [2, 0, 1]


def test_gradients_go_to_the_values_and_the_default() -> None:
    values, default = tf.constant([1.0, 2.0]), tf.constant(0.5)
    dense = tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], values, default)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    of_values, of_default = _run(tf.gradients(dense * weights, [values, default]))
    assert of_values.tolist() == [2, 3]
    assert of_default == 5


def test_a_dense_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="sp_input"):
        tf.sparse_tensor_to_dense(tf.constant([1.0]))
