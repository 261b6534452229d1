"""Functions of sparse tensors against dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_DENSE: Any = np.array([[0, 5, 0, 0], [6, 0, 0, 7], [0, 0, 8, 9]], np.float32)


def _sparse(dense: Any) -> Any:
    places = np.argwhere(dense)
    return tf.SparseTensor(places, dense[dense != 0], dense.shape)


def _run(fetches: Any) -> Any:
    session = tf.get_default_session()
    assert session is not None
    return session.run(fetches)


def _dense(sparse: Any) -> Any:
    return _run(tf.sparse_tensor_to_dense(sparse))


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def test_places_are_those_of_the_dense_tensor() -> None:
    x = _sparse(_DENSE)
    np.testing.assert_array_equal(_dense(tf.sparse_transpose(x)), _DENSE.T)
    np.testing.assert_array_equal(_dense(tf.sparse_reshape(x, [2, -1])), _DENSE.reshape(2, 6))
    assert tf.sparse_reshape(x, [2, -1]).shape.as_list() == [2, 6]
    both = tf.sparse_concat(1, [x, x])
    np.testing.assert_array_equal(_dense(both), np.concatenate([_DENSE, _DENSE], 1))
    parts = tf.sparse_split(sp_input=x, num_split=3, axis=1)
    for part, expected in zip(parts, np.split(_DENSE, [2, 3], 1), strict=True):
        np.testing.assert_array_equal(_dense(part), expected)
    np.testing.assert_array_equal(_dense(tf.sparse_slice(x, [1, 1], [9, 2])), _DENSE[1:, 1:3])
    np.testing.assert_array_equal(_dense(tf.sparse.expand_dims(x, 1)), _DENSE[:, np.newaxis])
    np.testing.assert_array_equal(_dense(tf.sparse.from_dense(_DENSE)), _DENSE)
    np.testing.assert_array_equal(_dense(tf.sparse.eye(2, 3)), np.eye(2, 3))


def test_sizes_may_grow_to_the_largest() -> None:
    x, y = _sparse(_DENSE), _sparse(_DENSE[:2, :3])
    joined = tf.sparse_concat(0, [x, y], expand_nonconcat_dims=True)
    expected = np.concatenate([_DENSE, np.pad(_DENSE[:2, :3], ((0, 0), (0, 1)))])
    np.testing.assert_array_equal(_dense(joined), expected)
    assert tf.sparse_reset_shape(y).dense_shape.eval().tolist() == [2, 2]
    np.testing.assert_array_equal(
        _dense(tf.sparse_reset_shape(y, [4, 3])), np.pad(_DENSE[:2, :3], ((0, 2), (0, 0)))
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        _dense(tf.sparse_reset_shape(y, [1, 3]))


def test_arithmetic_is_that_of_the_dense_tensor() -> None:
    x, other = _sparse(_DENSE), np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    np.testing.assert_array_equal(_run(tf.sparse_add(x, other)), _DENSE + other)
    np.testing.assert_array_equal(_dense(tf.sparse_add(x, x)), 2 * _DENSE)
    np.testing.assert_array_equal(_dense(x * other), _DENSE * other)
    np.testing.assert_allclose(_dense(x / other[0]), _DENSE / other[0])
    for axis in (None, 0, [1], -1):
        expected = _DENSE.sum(None if axis is None else np.ravel(axis)[0])
        np.testing.assert_array_equal(_run(tf.sparse_reduce_sum(x, axis)), expected)
    product = tf.sparse_tensor_dense_matmul(x, other, adjoint_b=True)
    np.testing.assert_allclose(_run(product), _DENSE @ other.T)
    np.testing.assert_array_equal(_dense(tf.sparse_maximum(x, _sparse(-_DENSE))), _DENSE)


def test_rows_are_filled_and_elements_kept() -> None:
    x = tf.SparseTensor([[1, 0], [1, 2]], [5, 6], [3, 3])
    filled, was_empty = tf.sparse_fill_empty_rows(x, 9)
    np.testing.assert_array_equal(_dense(filled), [[9, 0, 0], [5, 0, 6], [9, 0, 0]])
    assert was_empty.eval().tolist() == [True, False, True]
    np.testing.assert_array_equal(
        _dense(tf.sparse_retain(x, [True, False])), [[0] * 3, [5, 0, 0], [0] * 3]
    )
    ids = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 0], tf.int64), [2, 1])
    assert tf.sparse_to_indicator(ids, 3).eval().tolist() == [
        [False, False, True],
        [True, False, False],
    ]


def test_values_are_cast() -> None:
    cast = tf.cast(_sparse(_DENSE), tf.int32)
    assert isinstance(cast, tf.SparseTensor)
    assert cast.dtype is tf.int32
    assert _dense(cast).tolist() == _DENSE.astype(int).tolist()
    assert _dense(tf.to_int64(_sparse(_DENSE))).dtype == np.int64


@pytest.mark.parametrize(
    "function", [tf.abs, tf.negative, tf.sign, tf.square, tf.sqrt, tf.erf, tf.tanh]
)
def test_functions_that_keep_zero_map_the_elements(function: Any) -> None:
    mapped = function(x=_sparse(_DENSE), name="mapped")
    assert mapped.values.op.name == "mapped"
    assert mapped.shape.as_list() == [3, 4]
    np.testing.assert_array_equal(_dense(mapped), _run(function(_DENSE)))


@pytest.mark.parametrize("function", [tf.math.bessel_i0e, tf.math.bessel_i1e])
def test_elements_that_are_not_given_stay_zero(function: Any) -> None:
    mapped = function(_sparse(_DENSE))
    values = np.where(_DENSE == 0, 0, _run(function(_DENSE)))
    np.testing.assert_array_equal(_dense(mapped), values)


def test_sizes_of_sparse_tensors_have_names() -> None:
    with tf.Graph().as_default():
        x = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
        sizes = [tf.shape(x), tf.size(x), tf.rank(x)]
        assert [size.op.name for size in sizes] == ["Shape/Cast", "Size", "Rank"]
        named = [tf.shape(x, name="a"), tf.size(x, name="b"), tf.rank(x, name="c")]
        assert [size.op.name for size in named] == ["a/Cast", "b", "c"]
        value = tf.SparseTensorValue([[0, 1]], [1.0], [2, 3])
        sizes = [tf.shape(value), tf.size(value), tf.rank(value)]
        assert [size.op.name for size in sizes] == ["Shape_1/Cast", "Size_1", "Rank_1"]


def test_sizes_are_those_of_the_dense_tensor() -> None:
    x = _sparse(_DENSE)
    for one in (x, tf.SparseTensorValue(*_run([x.indices, x.values, x.dense_shape]))):
        sizes = [tf.shape(one), tf.shape(one, out_type=tf.int64), tf.size(one), tf.rank(one)]
        assert [size.dtype for size in sizes] == [tf.int32, tf.int64, tf.int32, tf.int32]
        assert [size.tolist() for size in _run(sizes)] == [[3, 4], [3, 4], 12, 2]


def test_what_is_not_sparse_is_refused() -> None:
    with pytest.raises(TypeError, match="sp_input"):
        tf.sparse_reorder(tf.constant([1.0]))
    with pytest.raises(TypeError, match="a and b"):
        tf.sparse_add([1.0], [2.0])
    with pytest.raises(ValueError, match="Keyword"):
        tf.sparse_split(_sparse(_DENSE), num_split=1, axis=2)
