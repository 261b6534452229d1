"""Functions of tensors that take ragged ones: shapes, places, choices and rows of one id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_ROWS = [[3, 1, 4], [], [1, 5], [9]]
_DEEP = [[[1, 2], [3]], [], [[4], [], [5, 6, 7]]]


@pytest.fixture(autouse=True)
def _session() -> Any:
    with tf.Graph().as_default(), tf.Session():
        yield


def _value(tensor: Any, feeds: Any = None) -> Any:
    session: Any = tf.get_default_session()
    found = session.run(tensor, feeds)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


def test_sizes_and_ranks() -> None:
    rows, deep = tf.ragged.constant(_ROWS), tf.ragged.constant(_DEEP)
    assert [_value(tf.size(one)) for one in (rows, deep)] == [6, 7]
    assert tf.size(rows, out_type=tf.int64).dtype == tf.int64
    assert [_value(tf.rank(one)) for one in (rows, deep)] == [2, 3]
    unknown = tf.ragged.placeholder(tf.float32, 1)
    assert _value(tf.rank(unknown), {unknown: tf.ragged.constant_value([[1.0]], tf.float32)}) == 2


def test_dimensions_come_and_go() -> None:
    rows = tf.ragged.constant(_ROWS)
    wanted = {0: [_ROWS], 1: [[row] for row in _ROWS], 2: [[[item] for item in r] for r in _ROWS]}
    for axis, expected in wanted.items():
        for place in (axis, axis - 3):
            grown: Any = tf.expand_dims(rows, place)
            assert _value(grown) == expected
            assert _value(tf.squeeze(grown, place)) == _ROWS
    deep = tf.ragged.constant(_DEEP)
    grown = tf.expand_dims(tf.expand_dims(deep, 0), 2)
    assert _value(tf.squeeze(grown, [0, 2])) == _DEEP
    with pytest.raises(ValueError, match="axis: expected a dimension of 3, got 3"):
        tf.expand_dims(rows, 3)


def test_only_dimensions_of_size_1_go() -> None:
    rows = tf.ragged.constant(_ROWS)
    with pytest.raises(ValueError, match="must have an axis"):
        tf.squeeze(rows)
    for axis in (0, 1):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"size 1 along dimension {axis}"):
            _value(tf.squeeze(rows, axis))


@pytest.mark.parametrize("multiples", [[2, 1], [1, 2], [3, 2], [1, 1], [0, 2], [2, 0]])
def test_tiles(multiples: list[int]) -> None:
    rows = tf.ragged.constant(_ROWS)
    expected = [row * multiples[1] for row in _ROWS] * multiples[0]
    assert _value(tf.tile(rows, multiples)) == expected
    fed = tf.placeholder(tf.int32, [2])
    assert _value(tf.tile(rows, fed), {fed: multiples}) == expected


def test_tiles_of_rows_of_rows() -> None:
    deep = tf.ragged.constant(_DEEP)
    longer = [[inner * 2 for inner in row] for row in _DEEP]
    assert _value(tf.tile(deep, [2, 2, 2])) == [row * 2 for row in longer] * 2
    pairs = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4], [5, 6]], [2, 1])
    assert _value(tf.tile(pairs, [1, 1, 2])) == [[[1, 2, 1, 2], [3, 4, 3, 4]], [[5, 6, 5, 6]]]


def test_stacks() -> None:
    a, b = [[1], [2, 3]], [[4, 5], []]
    rows = [tf.ragged.constant(one) for one in (a, b)]
    assert _value(tf.stack(rows)) == [a, b]
    assert _value(tf.stack(rows, axis=1)) == [[a[0], b[0]], [a[1], b[1]]]


def test_one_hot() -> None:
    hot = tf.one_hot(tf.ragged.constant([[0, 2], [], [1]]), 3)
    eye = np.eye(3).tolist()
    assert _value(hot) == [[eye[0], eye[2]], [], [eye[1]]]
    assert _value(tf.one_hot(tf.ragged.constant([[1]]), 2, 5, 0, axis=2)) == [[[0, 5]]]
    with pytest.raises(ValueError, match=r"must be greater than indices\.ragged_rank"):
        tf.one_hot(tf.ragged.constant([[1]]), 2, axis=1)


def test_where_a_condition_holds() -> None:
    truths = tf.ragged.constant([[True, False, True], [], [False, True]])
    assert _value(tf.where(truths)) == [[0, 0], [0, 2], [2, 1]]
    deep = tf.ragged.constant([[[False], [True, True]], [[True]]])
    assert _value(tf.where(deep)) == [[0, 1, 0], [0, 1, 1], [1, 0, 0]]


def test_elements_or_rows_that_a_condition_chooses() -> None:
    a, b = [[1, 2], [], [3]], [[10, 20], [], [30]]
    x, y = tf.ragged.constant(a), tf.ragged.constant(b)
    truths = tf.ragged.constant([[True, False], [], [False]])
    assert _value(tf.where(truths, x, y)) == [[1, 20], [], [30]]
    longer = tf.ragged.constant([[7], [8, 8], []])
    assert _value(tf.where([True, False, False], x, longer)) == [a[0], [8, 8], []]
    assert _value(tf.where_v2(truths, x, 0)) == [[1, 0], [], [0]]
    assert _value(tf.where_v2(x > 1, x, [[5], [6], [7]])) == [[5, 2], [], [3]]
    with pytest.raises(ValueError, match="Input shapes do not match"):
        tf.where(truths, [1, 2], [3, 4])


def test_boolean_mask() -> None:
    rows = tf.ragged.constant(_ROWS)
    assert _value(tf.boolean_mask(rows, [True, False, True, False])) == [_ROWS[0], _ROWS[2]]
    assert _value(tf.boolean_mask(rows, rows > 2)) == [[3, 4], [], [5], [9]]
    with pytest.raises(ValueError, match="axis: expected 0"):
        tf.boolean_mask(rows, [True, False], axis=1)


def test_parts_at_vectors() -> None:
    rows, deep = tf.ragged.constant(_ROWS), tf.ragged.constant(_DEEP)
    assert _value(tf.gather(rows, 2)) == _ROWS[2]
    assert _value(tf.gather(deep, 0)) == _DEEP[0]
    assert _value(tf.gather_nd(rows, [[0, 2], [3, 0]])) == [4, 9]
    assert _value(tf.gather_nd(rows, [[2], [0]])) == [_ROWS[2], _ROWS[0]]
    assert _value(tf.gather_nd(rows, [2, 1])) == 5
    assert _value(tf.gather_nd(deep, [[2, 2, 1], [0, 1, 0]])) == [6, 3]
    assert _value(tf.gather_nd(deep, [[2, 2], [0, 0]])) == [[5, 6, 7], [1, 2]]
    assert _value(tf.gather_nd(rows, [[[0, 2]], [[3, 0]]])) == [[4], [9]]
    assert _value(tf.gather_nd(rows, [[[2], [0]], [[1], [3]]])) == [
        [_ROWS[2], _ROWS[0]], [_ROWS[1], _ROWS[3]]
    ]  # fmt: skip
    vectors = tf.ragged.constant([[[0, 0]], [], [[1, 1], [1, 0]]], ragged_rank=1)
    assert _value(tf.gather_nd([[1, 2], [3, 4]], vectors)) == [[1], [], [4, 3]]
    for outside in ([[0, 3]], [[1, 0]], [[0, -1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not within its row"):
            _value(tf.gather_nd(rows, tf.constant(outside)))


def test_parts_of_each_row() -> None:
    rows = tf.ragged.constant(_ROWS)
    picks = [[2, 0], [], [1], [0, 0]]
    expected = [[row[i] for i in pick] for row, pick in zip(_ROWS, picks, strict=True)]
    assert _value(tf.batch_gather(rows, tf.ragged.constant(picks))) == expected
    dense = tf.constant([[10, 20], [30, 40]])
    assert _value(tf.batch_gather(dense, tf.ragged.constant([[1], [0, 1]]))) == [[20], [30, 40]]
    deep = tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]])
    inner = tf.ragged.constant([[[1], [0, 0]], [[2]]])
    assert _value(tf.batch_gather(deep, inner)) == [[[2], [3, 3]], [[6]]]
    assert _value(tf.batch_gather(rows, [1, 0])) == [[], _ROWS[0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not within its row"):
        _value(tf.batch_gather(rows, tf.ragged.constant([[3], [], [], []], tf.int32)))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.unsorted_segment_sum, [[4, 9, 4], [9], []]),
        (tf.unsorted_segment_prod, [[3, 20, 4], [9], []]),
        (tf.unsorted_segment_max, [[3, 5, 4], [9], []]),
        (tf.unsorted_segment_min, [[1, 4, 4], [9], []]),
        (tf.unsorted_segment_mean, [[2, 4.5, 4], [9], []]),
        (tf.unsorted_segment_sqrt_n, [[4 / 2**0.5, 9 / 2**0.5, 4], [9], []]),
    ],
)
def test_rows_of_one_id(function: Any, expected: list[list[float]]) -> None:
    rows = tf.ragged.constant([[3, 4, 4], [], [1, 5], [9]], tf.float64)
    found = _value(function(rows, [0, 1, 0, 1], 3))
    assert [len(row) for row in found] == [3, 1, 0]
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    ids = tf.ragged.constant([[0, 1, 0], [], [2, 2], [1]])
    of_elements = tf.unsorted_segment_sum(rows, ids, 3)
    assert _value(of_elements) == [7, 13, 6]


def test_a_mean_of_no_elements_is_no_number() -> None:
    rows = tf.ragged.constant([[1.0, 3.0], [5.0]])
    ids = tf.ragged.constant([[0, 0], [0]])
    for function, expected in (
        (tf.unsorted_segment_mean, 3.0),
        (tf.unsorted_segment_sqrt_n, 27**0.5),
    ):
        np.testing.assert_allclose(_value(function(rows, ids, 2)), [expected, np.nan], rtol=1e-6)


def test_ids_of_elements_need_ragged_rows() -> None:
    with pytest.raises(ValueError, match="data must also be ragged"):
        tf.unsorted_segment_sum([1, 2], tf.ragged.constant([[0], [1]]), 2)


def test_parts_have_gradients() -> None:
    values = tf.constant([1.0, 2.0, 3.0])
    rows = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
    tiled = tf.reduce_sum(tf.tile(rows, [1, 3]))
    at = tf.reduce_sum(tf.gather_nd(rows, [[0, 1], [2, 0], [0, 1]]))
    slopes = [tf.convert_to_tensor(tf.gradients(one, values)[0]) for one in (tiled, at)]
    assert [_value(slope) for slope in slopes] == [[3, 3, 3], [0, 2, 1]]
