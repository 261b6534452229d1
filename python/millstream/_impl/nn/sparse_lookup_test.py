"""Lookups of sparse numbers, some of which are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_TABLE = np.array([[0.1, 0.2], [1.0, 2.0], [3.0, 5.0], [7.0, 11.0]], np.float32)


def _sparse(places: Any, values: Any, shape: Any, dtype: Any = tf.int64) -> tf.SparseTensor:
    return tf.SparseTensor(places, tf.constant(values, dtype), shape)


# Row 0 has two numbers, row 1 none, row 2 one that is invalid, row 3 one.
_PLACES = [[0, 0], [0, 2], [2, 0], [3, 1]]


def _looked_up(**arguments: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        ids = _sparse(_PLACES, [1, 2, -1, 3], [5, 3])
        weights = arguments.pop("weights", None)
        if weights is not None:
            weights = _sparse(_PLACES, weights, [5, 3], tf.float32)
        table = tf.constant(_TABLE)
        found = tf.nn.safe_embedding_lookup_sparse(table, ids, weights, **arguments)
        assert found.shape.as_list() == [5, 2]
        return session.run(found)


def test_rows_without_numbers_are_zero() -> None:
    zero = np.zeros(2)
    expected = [(_TABLE[1] + _TABLE[2]) / 2, zero, zero, _TABLE[3], zero]
    np.testing.assert_allclose(_looked_up(), expected, rtol=1e-6)


def test_rows_without_numbers_get_the_default() -> None:
    one = _TABLE[1]
    expected = [_TABLE[1] + _TABLE[2], one, one, _TABLE[3], one]
    found = _looked_up(default_id=1, combiner="sum")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_weights_that_are_not_positive_do_not_count_unless_rows_are_summed() -> None:
    weights = [2.0, -1.0, 1.0, 0.0]
    zero = np.zeros(2)
    found = _looked_up(weights=weights)
    np.testing.assert_allclose(found, [_TABLE[1], zero, zero, zero, zero], rtol=1e-6)
    found = _looked_up(weights=weights, combiner="sum")
    expected = [2 * _TABLE[1] - _TABLE[2], zero, zero, zero, zero]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numbers_may_have_more_dimensions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ids = _sparse([[0, 1, 0], [1, 0, 0], [1, 0, 1]], [3, 1, 2], [2, 2, 2])
        found = tf.nn.safe_embedding_lookup_sparse([tf.constant(_TABLE)], ids, combiner="sum")
        assert found.shape.as_list() == [2, 2, 2]
        result = session.run(found)
    assert result.shape == (2, 2, 2)
    zero = np.zeros(2)
    np.testing.assert_allclose(result[0], np.stack([zero, _TABLE[3]]), rtol=1e-6)
    expected = np.stack([_TABLE[1] + _TABLE[2], zero])
    np.testing.assert_allclose(result[1], expected, rtol=1e-6)


def test_gradients_reach_the_rows_that_were_looked_up() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=_TABLE)
        ids = _sparse(_PLACES, [1, 2, -1, 3], [5, 3])
        found = tf.nn.safe_embedding_lookup_sparse(table, ids)
        gradient = tf.convert_to_tensor(tf.gradients(found, table)[0])
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(
            session.run(gradient), [[0.0, 0.0], [0.5, 0.5], [0.5, 0.5], [1.0, 1.0]], rtol=1e-6
        )


def test_dense_numbers_and_missing_tables_are_refused() -> None:
    ids = _sparse(_PLACES, [1, 2, -1, 3], [5, 3])
    with pytest.raises(TypeError, match="sparse_ids must be SparseTensor"):
        tf.nn.safe_embedding_lookup_sparse(_TABLE, tf.constant([1]))
    with pytest.raises(ValueError, match="Missing embedding_weights"):
        tf.nn.safe_embedding_lookup_sparse([], ids)
