"""Keys of feeds that stand for several tensors: sparse and ragged tensors, and indexed slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream as tf

_ROWS = np.array([[5.0, 6.0]], np.float32)


@pytest.fixture
def slices() -> tf.IndexedSlices:
    """Slices whose shape is a tensor."""
    return tf.IndexedSlices(
        tf.placeholder(tf.float32, [None, 2]),
        tf.placeholder(tf.int32, [None]),
        tf.placeholder(tf.int32, [2]),
    )


def test_slices_are_fed_with_their_value(slices: tf.IndexedSlices) -> None:
    whole = tf.convert_to_tensor(slices)
    value = tf.IndexedSlicesValue(_ROWS, np.array([1]), np.array([3, 2]))
    with tf.Session() as session:
        assert session.run(whole, {slices: value}).tolist() == [[0, 0], [5, 6], [0, 0]]
        fetched = session.run(slices, {slices: tuple(value)})
        assert session.run(slices.values, {slices: fetched}).tolist() == [[5, 6]]


def test_slices_without_a_shape_are_fed_with_two_values_or_three() -> None:
    slices = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0]))
    with tf.Session() as session:
        for value in ((_ROWS, [1]), tf.IndexedSlicesValue(_ROWS, [1], None)):
            fetched = session.run(slices, {slices: value})
            assert fetched.values.tolist() == [[5, 6]]
            assert fetched.indices.tolist() == [1]
            assert fetched.dense_shape is None


def test_slices_need_a_value_for_each_part(slices: tf.IndexedSlices) -> None:
    with tf.Session() as session:
        for value in (_ROWS, (_ROWS, [1]), 3):
            with pytest.raises(ValueError, match="feed_dict: expected 3 values for the keys"):
                session.run(slices, {slices: value})


def test_a_gradient_of_rows_is_fed_in_its_place() -> None:
    table = tf.Variable(tf.ones([3, 2]))
    ids = tf.constant([0])
    (gradient,) = tf.gradients(tf.nn.embedding_lookup(table, ids), table)
    assert isinstance(gradient, tf.IndexedSlices)
    update = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(gradient, table)])
    with tf.Session() as session:
        session.run(table.initializer)
        feeds = {gradient.values: _ROWS, gradient.indices: [2]}
        session.run(update, feeds)
        assert session.run(table).tolist() == [[1, 1], [1, 1], [-4, -5]]


def _sparse() -> tuple[Any, Any, Callable[[Any], Any]]:
    key = tf.sparse.placeholder(tf.float32, [None, 2])
    value = tf.SparseTensorValue([[0, 1]], np.array([7.0], np.float32), [1, 2])
    return key, value, lambda fetched: fetched.values.tolist()


def _ragged() -> tuple[Any, Any, Callable[[Any], Any]]:
    key = tf.ragged.placeholder(tf.int32, 1)
    return key, tf.ragged.constant_value([[7], []], np.int32), lambda fetched: fetched.to_list()


def _slices() -> tuple[Any, Any, Callable[[Any], Any]]:
    key = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0]))
    return key, tf.IndexedSlicesValue(_ROWS, [1], None), lambda fetched: fetched.values.tolist()


@pytest.mark.parametrize("make", [_sparse, _ragged, _slices])
def test_a_callable_takes_one_value_for_each_key(
    make: Callable[[], tuple[Any, Any, Callable[[Any], Any]]],
) -> None:
    key, value, seen = make()
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        expected = seen(session.run(key, {key: value}))
        step = session.make_callable([key, x + 1], [key, x])
        fetched, more = step(value, 2)
        assert seen(fetched) == expected
        assert more == 3
