"""Sums of ragged tensors and their like, and functions of tensors that take ragged ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_ROWS: list[list[float]] = [[3, 1, 4], [], [1, 5], [9]]
_DEEP: list[list[list[float]]] = [[[1, 2], [3]], [], [[4], [], [5, 6, 7]]]


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def _value(tensor: Any) -> Any:
    session: Any = tf.get_default_session()
    found = session.run(tensor)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (tf.reduce_sum, [8, 0, 6, 9]),
        (tf.reduce_prod, [12, 1, 5, 9]),
        (tf.reduce_max, [4, np.finfo(np.float32).min, 5, 9]),
        (tf.reduce_min, [1, np.finfo(np.float32).max, 1, 9]),
        (tf.reduce_mean, [8 / 3, np.nan, 3, 9]),
    ],
)
def test_of_each_row(reduce: Any, expected: Any) -> None:
    found = _value(reduce(tf.ragged.constant(_ROWS, tf.float32), axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_of_all_rows() -> None:
    ragged = tf.ragged.constant(_ROWS, tf.float32)
    assert _value(tf.reduce_sum(ragged, axis=0)) == [13, 6, 4]
    assert _value(tf.reduce_mean(ragged, axis=0)) == [pytest.approx(13 / 3), 3, 4]
    assert _value(tf.reduce_sum(ragged)) == 23
    assert _value(tf.reduce_sum(ragged, axis=[0, -1])) == 23


def test_of_rows_of_rows() -> None:
    ragged = tf.ragged.constant(_DEEP, tf.int32)
    assert _value(tf.reduce_sum(ragged, axis=2)) == [[3, 3], [], [4, 0, 18]]
    assert _value(tf.reduce_sum(ragged, axis=1)) == [[4, 2], [], [9, 6, 7]]
    assert _value(tf.reduce_sum(ragged, axis=0)) == [[5, 2], [3], [5, 6, 7]]
    assert _value(tf.reduce_max(ragged, axis=[1, 2])) == [3, np.iinfo(np.int32).min, 7]


def test_of_rows_of_vectors_and_of_truths() -> None:
    pairs = tf.RaggedTensor.from_row_lengths([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 0, 1])
    assert _value(tf.reduce_sum(pairs, axis=1)) == [[4, 6], [0, 0], [5, 6]]
    assert _value(tf.reduce_sum(pairs, axis=2)) == [[3, 7], [], [11]]
    truths = tf.ragged.constant([[True, False], [], [True]])
    assert _value(tf.reduce_all(truths, axis=1)) == [False, True, True]
    assert _value(tf.reduce_any(truths, axis=1)) == [True, False, True]


def test_sums_have_gradients() -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    ragged = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
    means = tf.reduce_mean(ragged, axis=1)
    (slope,) = tf.gradients(tf.gather(means, [0, 2]) * [4.0, 5.0], values)
    assert _value(slope) == [2, 2, 5]


def test_side_by_side() -> None:
    a, b = tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[4, 5], []])
    assert _value(tf.concat([a, b], axis=0)) == [[1], [2, 3], [4, 5], []]
    assert _value(tf.concat([a, b], axis=1)) == [[1, 4, 5], [2, 3]]
    assert _value(tf.concat([a, tf.constant([[7, 7], [8, 8]])], -1)) == [[1, 7, 7], [2, 3, 8, 8]]
    deep = tf.ragged.constant(_DEEP, tf.int32)
    assert _value(tf.concat([deep, deep], axis=2)) == [
        [row + row for row in rows] for rows in _DEEP
    ]
    assert _value(tf.concat([deep, deep], axis=1)) == [rows + rows for rows in _DEEP]


def test_rows_without_rows() -> None:
    none = tf.ragged.constant([[], []], tf.float32, ragged_rank=2)
    assert _value(tf.reduce_sum(none, axis=0)) == []
    assert _value(tf.reduce_sum(none, axis=1)) == [[], []]
    assert _value(tf.reduce_mean(none, axis=1)) == [[], []]


def test_tensors_side_by_side_have_as_many_rows() -> None:
    two, three = tf.ragged.constant([[1], [2]]), tf.ragged.constant([[4], [5], [6]])
    for tensors in ([two, three], [three, two]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="index 0 and 1 have incompatible"):
            _value(tf.concat(tensors, axis=1))


def test_splits_keep_their_type() -> None:
    short = tf.ragged.constant(_DEEP, tf.int32, row_splits_dtype=tf.int32)
    long = tf.ragged.constant(_DEEP, tf.int32)
    for axis in range(3):
        for tensors, dtype in (([short, short], tf.int32), ([short, long], tf.int64)):
            joined: Any = tf.concat(tensors, axis)
            assert [one.dtype for one in joined.nested_row_splits] == [dtype, dtype]


def test_rows_at_indices() -> None:
    ragged = tf.ragged.constant(_ROWS, tf.int32)
    assert _value(tf.gather(ragged, [2, 0])) == [_ROWS[2], _ROWS[0]]
    picked = tf.gather(ragged, tf.ragged.constant([[3], [], [0, 1]]))
    assert _value(picked) == [[_ROWS[3]], [], [_ROWS[0], _ROWS[1]]]
    tensor = tf.constant([10, 20, 30])
    assert _value(tf.gather(tensor, tf.ragged.constant([[1], [], [2, 0]]))) == [[20], [], [30, 10]]


def test_functions_of_elements() -> None:
    words = tf.ragged.constant([["a", "Bc"], [], ["d"]])
    assert _value(tf.strings.lower(words)) == [[b"a", b"bc"], [], [b"d"]]
    assert _value(tf.strings.length(words)) == [[1, 2], [], [1]]
    numbers = tf.ragged.constant([[1, 4], [9]])
    assert _value(tf.sqrt(tf.cast(numbers, tf.float32))) == [[1, 2], [3]]
    inverted_twice = lambda x: tf.bitwise.invert(tf.bitwise.invert(x))  # noqa: E731
    for function in (tf.identity, tf.abs, tf.round, inverted_twice):
        assert _value(function(numbers)) == [[1, 4], [9]]
    assert _value(tf.zeros_like(numbers)) == [[0, 0], [0]]
    assert _value(tf.ones_like(numbers, tf.float32)) == [[1.0, 1.0], [1.0]]


def test_what_is_not_there_is_refused() -> None:
    ragged = tf.ragged.constant(_ROWS, tf.float32)
    with pytest.raises(ValueError, match="keepdims=True is not supported"):
        tf.reduce_sum(ragged, axis=1, keepdims=True)
    with pytest.raises(ValueError, match="axis: expected a dimension of 2, got 2"):
        tf.reduce_sum(ragged, axis=2)
    with pytest.raises(TypeError, match="is ragged; a dense tensor is expected"):
        tf.matmul(ragged, ragged)
