"""Ragged tensors: made, taken apart, sliced, fed and fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_ROWS = [[1, 2, 3], [], [4, 5], [6]]
_DEEP = [[[1, 2], []], [], [[3], [4, 5, 6], [7]]]


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def _run(fetches: Any, feeds: Any = None) -> Any:
    session = tf.get_default_session()
    assert session is not None
    return session.run(fetches, feeds)


def _list(ragged: Any, feeds: Any = None) -> Any:
    value = _run(ragged, feeds)
    return value.to_list() if hasattr(value, "to_list") else value.tolist()


def test_made_of_parts() -> None:
    values = [1, 2, 3, 4, 5, 6]
    make = tf.RaggedTensor
    for made in (
        make.from_row_splits(values, [0, 3, 3, 5, 6]),
        make.from_row_lengths(values, [3, 0, 2, 1]),
        make.from_row_starts(values, [0, 3, 3, 5]),
        make.from_row_limits(values, [3, 3, 5, 6]),
        make.from_value_rowids(values, [0, 0, 0, 2, 2, 3]),
    ):
        assert _list(made) == _ROWS
        assert made.ragged_rank == 1
    assert _list(make.from_value_rowids([1], [0], 3)) == [[1], [], []]
    deep = tf.ragged.constant(_DEEP)
    assert _list(deep) == _DEEP
    assert _list(make.from_nested_row_splits(deep.flat_values, deep.nested_row_splits)) == _DEEP
    assert _list(make.from_nested_row_lengths(deep.flat_values, deep.nested_row_lengths())) == _DEEP
    rowids = deep.nested_value_rowids()
    assert _list(make.from_nested_value_rowids(deep.flat_values, rowids)) == _DEEP
    with pytest.raises(ValueError, match="private"):
        tf.RaggedTensor([1], [0, 1])


def test_parts() -> None:
    x = tf.ragged.constant(_ROWS)
    assert x.shape.as_list() == [4, None]
    assert x.dtype == tf.int32
    found = _run(
        [x.nrows(), x.row_starts(), x.row_limits(), x.row_lengths(), x.value_rowids(),
         x.bounding_shape()]
    )  # fmt: skip
    wanted = [4, [0, 3, 3, 5], [3, 3, 5, 6], [3, 0, 2, 1], [0, 0, 0, 2, 2, 3], [4, 3]]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    deep = tf.ragged.constant(_DEEP)
    assert _list(deep.row_lengths(axis=2)) == [[2, 0], [], [1, 3, 1]]
    assert _run(deep.bounding_shape()).tolist() == [3, 3, 3]
    assert deep.with_row_splits_dtype(tf.int32).values.row_splits.dtype == tf.int32


def test_other_forms() -> None:
    x = tf.ragged.constant(_ROWS)
    dense = [[1, 2, 3], [0, 0, 0], [4, 5, 0], [6, 0, 0]]
    assert _run(x.to_tensor()).tolist() == dense
    assert _run(x.to_tensor(9)).tolist()[1] == [9, 9, 9]
    assert _run(tf.ragged.constant(_DEEP).to_tensor()).shape == (3, 3, 3)
    make = tf.RaggedTensor
    assert _list(make.from_tensor(dense, lengths=[3, 0, 2, 1])) == _ROWS
    assert _list(make.from_tensor(dense, padding=0)) == _ROWS
    assert _list(make.from_tensor(dense)) == dense
    cube = np.arange(24).reshape(2, 3, 4)
    nested = make.from_tensor(cube, lengths=([2, 1], [4, 0, 2]))
    assert _list(nested) == [[[0, 1, 2, 3], []], [[12, 13]]]
    with pytest.raises(ValueError, match="ragged_rank must be len"):
        make.from_tensor(cube, lengths=([2, 1], [4, 0, 2]), ragged_rank=3)
    assert _list(make.from_tensor(cube, ragged_rank=2)) == cube.tolist()
    for shape in ((0, 0), (0, 2), (2, 0), (2, 0, 3), (0, 0, 0)):
        empty = np.zeros(shape)
        unknown = tf.placeholder(tf.float64, [None] * len(shape))
        assert _list(make.from_tensor(empty)) == empty.tolist()
        assert _list(make.from_tensor(unknown), {unknown: empty}) == empty.tolist()
    sparse = x.to_sparse()
    assert _run(sparse).dense_shape.tolist() == [4, 3]
    assert _list(make.from_sparse(sparse)) == _ROWS
    gap = tf.SparseTensor([[0, 1]], [5], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="right-ragged"):
        _run(make.from_sparse(gap))


def test_splits_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="begin with 0"):
        tf.RaggedTensor.from_row_splits([1, 2], [1, 2])
    splits = tf.placeholder(tf.int64, [None])
    x = tf.RaggedTensor.from_row_splits([1, 2], splits)
    assert _list(x, {splits: [0, 1, 2]}) == [[1], [2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="valid RaggedTensor"):
        _run(x, {splits: [0, 1, 1]})


def test_indices_and_slices() -> None:
    x = tf.ragged.constant(_ROWS)
    assert _run(x[2]).tolist() == [4, 5]
    assert _run(x[-1]).tolist() == [6]
    assert _run(x[2, 1]) == 5
    keys = (slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(-2, None))
    for key in keys:
        assert _list(x[key]) == _ROWS[key]
        assert _list(x[:, key]) == [row[key] for row in _ROWS]
    assert _list(x[..., 1:]) == [row[1:] for row in _ROWS]
    with pytest.raises(ValueError, match="inner ragged dimension"):
        _ = x[:, 1]
    deep = tf.ragged.constant(_DEEP)
    assert _list(deep[0]) == _DEEP[0]
    assert _run(deep[2, 1]).tolist() == [4, 5, 6]
    assert _list(deep[1:, :2]) == [row[:2] for row in _DEEP[1:]]
    assert _list(deep[:, :, 1:]) == [[inner[1:] for inner in row] for row in _DEEP]
    pairs = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4], [5, 6]], [2, 1])
    assert _list(pairs[..., 0]) == [[1, 3], [5]]


def test_new_axes() -> None:
    x = tf.ragged.constant(_ROWS)
    assert _list(x[None]) == [_ROWS]
    assert _list(x[None, 1:]) == [_ROWS[1:]]
    assert _run(x[None, 2]).tolist() == [[4, 5]]
    assert _list(x[:, None]) == [[row] for row in _ROWS]
    assert _list(x[1:, None, :1]) == [[row[:1]] for row in _ROWS[1:]]
    deep = tf.ragged.constant(_DEEP)
    assert _list(deep[:, None, 1:]) == [[row[1:]] for row in _DEEP]


def test_arithmetic() -> None:
    x = tf.ragged.constant(_ROWS)
    assert _list(x + x) == [[2 * item for item in row] for row in _ROWS]
    assert _list(10 - x) == [[10 - item for item in row] for row in _ROWS]
    assert _list(-x) == [[-item for item in row] for row in _ROWS]
    assert _list(x > 2) == [[item > 2 for item in row] for row in _ROWS]
    doubled = tf.ragged.map_flat_values(tf.multiply, x, 2)
    assert _list(doubled) == [[2 * item for item in row] for row in _ROWS]
    with pytest.raises(ValueError, match="identical ragged splits"):
        _ = x + tf.ragged.constant(_DEEP)
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        _run(x + tf.ragged.constant([[1], [2, 3], [4, 5], [6]]))
    assert _list(tf.constant(1) + x) == _list(x + 1)
    assert _list(np.ones([4, 1], np.int32) + x) == _list(x + 1)
    with pytest.raises(TypeError, match="ragged"):
        tf.reshape(x, [-1])
    with pytest.raises(TypeError, match="may not be used as a boolean"):
        bool(x)


def test_fed_and_fetched() -> None:
    x = tf.ragged.placeholder(tf.int32, 2)
    value = tf.ragged.constant_value(_DEEP, tf.int32)
    found = _run({"rows": x * 2, "count": x.nrows()}, {x: value})
    assert found["count"] == 3
    assert found["rows"].to_list()[2] == [[6], [8, 10, 12], [14]]
    assert found["rows"].shape == (3, None, None)
    assert str(value) == f"<tf.RaggedTensorValue {_DEEP}>"
    with pytest.raises(ValueError, match="ragged rank 2"):
        _run(x.nrows(), {x: tf.ragged.constant_value(_ROWS)})
    flat = tf.nest.flatten(x, expand_composites=True)
    assert len(flat) == 3
    assert tf.nest.pack_sequence_as(x, flat, expand_composites=True).ragged_rank == 2


def test_written_out() -> None:
    x = tf.ragged.constant([[1], [2, 3]])
    assert str(x) == repr(x)
    assert repr(x).startswith("tf.RaggedTensor(values=<tf.Tensor")
    assert "row_splits=<tf.Tensor" in repr(x)
    with pytest.raises(ValueError, match="eager mode"):
        x.to_list()
    doubled = tf.ragged.map_flat_values(tf.multiply, x, 2)
    assert doubled.op.name in [op.name for op in x.consumers()]
    assert _list(x.with_flat_values([7, 8, 9])) == [[7], [8, 9]]
    assert _run(x.bounding_shape(axis=1, out_type=tf.int32)) == 2


def test_gradients_pass_through() -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    x = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
    loss = tf.reduce_sum((x * x).to_tensor() * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_allclose(_run(tf.gradients(loss, values)[0]), [2, 8, 30])


def test_functions() -> None:
    x = tf.ragged.constant(_ROWS)
    mask = tf.ragged.constant([[True, False, True], [], [False, True], [False]])
    assert _list(tf.ragged.boolean_mask(x, mask)) == [[1, 3], [], [5], []]
    assert _list(tf.ragged.boolean_mask(x, [True, False, False, True])) == [[1, 2, 3], [6]]
    assert _list(tf.ragged.range([3, 0, 2])) == [[0, 1, 2], [], [0, 1]]
    assert _list(tf.ragged.range(0.0, [1.0, 0.6], 0.5)) == [[0, 0.5], [0, 0.5]]
    splits = tf.ragged.segment_ids_to_row_splits([0, 0, 2], 5)
    assert _run(splits).tolist() == [0, 2, 2, 3, 3, 3]
    assert _run(tf.ragged.row_splits_to_segment_ids(splits)).tolist() == [0, 0, 2]
    parts = tf.ragged.stack_dynamic_partitions([5, 6, 7, 8], [2, 0, 2, 0], 4)
    assert _list(parts) == [[6, 8], [], [5, 7], []]
    assert tf.ragged.constant(3).shape.as_list() == []
    inner = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert inner.shape.as_list() == [2, None, 2]
