"""Stacks of tensors whose rows have different lengths."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def _ragged(rows: Any) -> Any:
    return tf.ragged.constant(rows, tf.int32)


def _value(ragged: Any) -> Any:
    session: Any = tf.get_default_session()
    found = session.run(ragged)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


_A = [[1, 2], [3], []]
_B = [[4], [], [5, 6, 7]]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (0, [_A, _B]),
        (1, [[[1, 2], [4]], [[3], []], [[], [5, 6, 7]]]),
        (-2, [[[1, 2], [4]], [[3], []], [[], [5, 6, 7]]]),
    ],
)
def test_ragged_tensors(axis: int, expected: Any) -> None:
    assert _value(tf.ragged.stack([_ragged(_A), _ragged(_B)], axis)) == expected


def test_a_last_dimension() -> None:
    same = [[4, 5], [6], []]
    found = tf.ragged.stack([_ragged(_A), _ragged(same)], axis=2)
    assert _value(found) == [[[1, 4], [2, 5]], [[3, 6]], []]


def test_rows_must_agree_where_they_are_stacked_inside() -> None:
    other = _ragged([[4], [5, 6], []])
    for function in (tf.ragged.stack, tf.concat):
        deep = [tf.expand_dims(one, -1) for one in (_ragged(_A), other)]
        with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
            _value(function(deep, axis=2))


def test_inner_tensors_of_one_shape_stay_tensors() -> None:
    pairs = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4], [5, 6]], [2, 1])
    found: Any = tf.stack([pairs, pairs + 10], axis=-2)
    assert found.ragged_rank == 1
    assert _value(found) == [[[[1, 2], [11, 12]], [[3, 4], [13, 14]]], [[[5, 6], [15, 16]]]]
    assert tf.ragged.stack([pairs, pairs], axis=-1).ragged_rank == 1
    assert tf.ragged.stack([pairs, pairs], axis=1).ragged_rank == 2
    dense = tf.ragged.stack([tf.ones([2, 3, 4]), tf.ones([5, 3, 4])])
    assert dense.ragged_rank == 2


def test_of_different_numbers_of_rows() -> None:
    assert _value(tf.ragged.stack([_ragged(_A), _ragged([[8]])])) == [_A, [[8]]]


def test_tensors_and_ragged_tensors() -> None:
    dense = tf.constant([[1, 2], [3, 4]])
    assert _value(tf.ragged.stack([dense, _ragged([[5], []])])) == [[[1, 2], [3, 4]], [[5], []]]
    both = tf.ragged.stack([dense, tf.constant([[5], [6]])], axis=1)
    assert _value(both) == [[[1, 2], [5]], [[3, 4], [6]]]


def test_splits_keep_their_type() -> None:
    rows = tf.ragged.constant(_A, tf.int32, row_splits_dtype=tf.int32)
    for axis in range(3):
        splits = tf.ragged.stack([rows, rows], axis).nested_row_splits
        assert {one.dtype for one in splits} == {tf.int32}


def test_vectors_and_scalars() -> None:
    none = tf.constant([], tf.int32)
    assert _value(tf.ragged.stack([[1, 2], [3], none])) == [[1, 2], [3], []]
    assert _value(tf.ragged.stack([1, 2])) == [1, 2]
    assert _value(tf.ragged.stack([[1, 2], [3, 4]], axis=1)) == [[1, 3], [2, 4]]


def test_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="one known rank"):
        tf.ragged.stack([[1], 2])
    with pytest.raises(ValueError, match="out of bounds"):
        tf.ragged.stack([[1]], axis=2)
    with pytest.raises(ValueError, match="one tensor or more"):
        tf.ragged.stack([])
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 0 and 1 have incompatible"):
        _value(tf.ragged.stack([_ragged(_A), _ragged([[8]])], axis=1))
