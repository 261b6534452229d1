"""Sparse tensors: their parts, what they are fetched as and fed with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_parts_become_tensors() -> None:
    x = tf.SparseTensor([[0, 2], [1, 0]], [7.0, 8.0], [2, 3])
    assert x.indices.dtype == x.dense_shape.dtype == tf.int64
    assert x.dtype == tf.float32
    assert x.shape.as_list() == x.get_shape().as_list() == [2, 3]
    assert x.graph is tf.get_default_graph()
    assert x.op is x.values.op


def test_the_shape_is_known_as_far_as_the_parts_are() -> None:
    sizes = tf.placeholder(tf.int64)
    assert tf.SparseTensor([[0, 2]], [7.0], sizes).shape.as_list() == [None, None]
    places = tf.placeholder(tf.int64)
    assert tf.SparseTensor(places, [7.0], sizes).shape.ndims is None


def test_it_is_fetched_as_its_value(session: tf.Session) -> None:
    x = tf.SparseTensor([[0, 2]], [7.0], [1, 3])
    for found in (session.run(x), x.eval(), session.run({"x": [x]})["x"][0]):
        assert isinstance(found, tf.SparseTensorValue)
        assert [part.tolist() for part in found] == [[[0, 2]], [7.0], [1, 3]]


def test_it_is_fed_with_its_value(session: tf.Session) -> None:
    x = tf.SparseTensor(
        tf.placeholder(tf.int64), tf.placeholder(tf.float32), tf.placeholder(tf.int64)
    )
    total = tf.reduce_sum(x.values) + tf.cast(x.dense_shape[1], tf.float32)
    value = tf.SparseTensorValue([[0, 2], [1, 1]], [7.0, 1.0], [2, 3])
    assert session.run(total, {x: value}) == 11.0
    assert session.run(total, {x: tuple(value)}) == 11.0
    with pytest.raises(ValueError, match="expected 3 values"):
        session.run(total, {x: [1.0]})


def test_values_become_sparse_tensors() -> None:
    x = tf.SparseTensor.from_value(tf.SparseTensorValue([[0]], [1], [2]))
    assert x.shape.as_list() == [2]
    assert tf.SparseTensor.from_value(x) is x
    with pytest.raises(TypeError, match="SparseTensorValue"):
        tf.SparseTensor.from_value([1])


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="not compatible"):
        tf.SparseTensor([[0, 2]], [7.0, 8.0], [1, 3])
    with pytest.raises(ValueError, match="not compatible"):
        tf.SparseTensor([[0, 2]], [7.0], [1, 3, 4])


def test_it_is_no_dense_tensor() -> None:
    x = tf.SparseTensor([[0, 2]], [7.0], [1, 3])
    with pytest.raises(TypeError, match="a dense tensor is expected"):
        tf.reduce_sum(x)


def test_values_become_sparse_tensors_or_tensors() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [3])
        assert tf.convert_to_tensor_or_sparse_tensor(sparse) is sparse
        value = tf.SparseTensorValue([[0]], [1.0], [3])
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
        assert tf.convert_to_tensor_or_sparse_tensor([1], tf.float32).dtype == tf.float32
        with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
            tf.convert_to_tensor_or_sparse_tensor(sparse, tf.int32)
