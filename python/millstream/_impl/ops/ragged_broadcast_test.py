"""Functions of elements on ragged tensors: all of them, and beside what is broadcast."""

from __future__ import annotations

import operator
from collections.abc import Callable
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


def _value(tensor: Any, feeds: Any = None) -> Any:
    session: Any = tf.get_default_session()
    found = session.run(tensor, feeds)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


def _expect(found: Any, expected: list[list[Any]]) -> None:
    """Rows of the same lengths, and of about the same numbers."""
    assert [len(row) for row in found] == [len(row) for row in expected]
    flat = [np.array([item for row in rows for item in row], complex) for rows in (found, expected)]
    np.testing.assert_allclose(flat[0], flat[1], rtol=1e-12)


def _in_rows(function: Callable[..., Any], *rows: list[list[Any]]) -> list[list[Any]]:
    """A function of each element, or of the elements at one place of several."""
    return [[function(*one) for one in zip(*row, strict=True)] for row in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (tf.add, operator.add),
        (tf.subtract, operator.sub),
        (tf.multiply, operator.mul),
        (tf.divide, operator.truediv),
        (tf.truediv, operator.truediv),
        (tf.realdiv, operator.truediv),
        (tf.div_no_nan, operator.truediv),
        (tf.floordiv, operator.floordiv),
        (tf.floormod, operator.mod),
        (tf.truncatemod, operator.mod),
        (tf.pow, operator.pow),
        (tf.maximum, max),
        (tf.minimum, min),
        (tf.squared_difference, lambda x, y: (x - y) ** 2),
        (tf.equal, operator.eq),
        (tf.not_equal, operator.ne),
        (tf.less, operator.lt),
        (tf.less_equal, operator.le),
        (tf.greater, operator.gt),
        (tf.greater_equal, operator.ge),
        (tf.complex, complex),
        (tf.atan2, np.arctan2),
    ],
)
def test_of_two(function: Any, reference: Any) -> None:
    x = tf.ragged.constant(_ROWS, tf.float64)
    others: list[list[float]] = [[2, 1, 3], [], [4, 2], [3]]
    y = tf.ragged.constant(others, tf.float64)
    _expect(_value(function(x, y)), _in_rows(reference, _ROWS, others))
    two = tf.constant(2.0, tf.float64)
    _expect(_value(function(x, two)), _in_rows(lambda one: reference(one, 2.0), _ROWS))
    _expect(_value(function(two, x)), _in_rows(lambda one: reference(2.0, one), _ROWS))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift"])
def test_of_bits(name: str) -> None:
    x, y = [[6, 1], [], [3]], [[3, 2], [], [1]]
    found = getattr(tf.bitwise, name)(tf.ragged.constant(x), tf.ragged.constant(y))
    reference = {
        "bitwise_and": operator.and_,
        "bitwise_or": operator.or_,
        "bitwise_xor": operator.xor,
        "left_shift": operator.lshift,
    }[name]
    assert _value(found) == _in_rows(reference, x, y)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (tf.logical_and, operator.and_),
        (tf.logical_or, operator.or_),
        (tf.logical_xor, operator.xor),
    ],
)
def test_of_truths(function: Any, reference: Any) -> None:
    x, y = [[True, False], [], [True]], [[True, True], [], [False]]
    assert _value(function(tf.ragged.constant(x), tf.ragged.constant(y))) == _in_rows(
        reference, x, y
    )


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (tf.negative, operator.neg),
        (tf.square, lambda x: x * x),
        (tf.sign, np.sign),
        (tf.log_sigmoid, lambda x: -np.log1p(np.exp(-x))),
        (tf.math.reciprocal_no_nan, lambda x: 1 / x),
        (tf.real, lambda x: x),
        (tf.imag, lambda x: 0.0),
        (tf.conj, lambda x: x),
        (tf.angle, lambda x: 0.0),
        (lambda x: tf.clip_by_value(x, 2.0, 4.0), lambda x: min(max(x, 2), 4)),
        (lambda x: tf.saturate_cast(x, tf.uint8), lambda x: x),
        (lambda x: tf.check_numerics(x, "bad"), lambda x: x),
    ],
)
def test_of_one(function: Any, reference: Any) -> None:
    found = _value(function(tf.ragged.constant(_ROWS, tf.float64)))
    _expect(found, _in_rows(reference, _ROWS))


def test_of_lists_of_tensors() -> None:
    x, y = tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[10], [20, 30]])
    assert _value(tf.add_n([x, y, x])) == [[12], [24, 36]]
    words = tf.ragged.constant([["a"], ["b", "c"]])
    assert _value(tf.strings.join(["<", words, words])) == [[b"<aa"], [b"<bb", b"<cc"]]


def test_beside_a_number_for_each_row() -> None:
    x = tf.ragged.constant(_ROWS, tf.float32)
    columns = [[10.0], [20.0], [30.0], [40.0]]
    expected = [
        [item + column[0] for item in row] for row, column in zip(_ROWS, columns, strict=True)
    ]
    assert _value(x + columns) == expected
    assert _value(tf.constant(columns) + x) == expected
    fed = tf.placeholder(tf.float32, [None, None])
    assert _value(tf.add(fed, x), {fed: columns}) == expected
    assert _value(tf.add(fed, x), {fed: [[7.0]]}) == _value(x + 7.0)
    assert _value(x * [2.0]) == _value(2.0 * x)


def test_beside_rows_of_rows() -> None:
    x = tf.ragged.constant(_DEEP, tf.float32)
    outer = [[[10.0]], [[20.0]], [[30.0]]]
    assert _value(x + outer) == [
        [[item + of_row[0][0] for item in inner] for inner in row]
        for row, of_row in zip(_DEEP, outer, strict=True)
    ]
    even = tf.ragged.constant([[[1, 2], [3]], [[4], [5, 6]]], tf.float32)
    columns = tf.constant([[10.0], [20.0]])
    assert _value(even + columns) == [[[11, 12], [23]], [[14], [25, 26]]]


def test_beside_vectors_inside_of_rows() -> None:
    pairs = tf.RaggedTensor.from_row_lengths([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 1])
    more = [10.0, 20.0]
    assert _value(pairs + more) == [[[11, 22], [13, 24]], [[15, 26]]]
    of_rows = tf.constant([[[1.0, 2.0]], [[3.0, 4.0]]])
    assert _value(pairs * of_rows) == [[[1, 4], [3, 8]], [[15, 24]]]


def test_rows_of_one_length_are_as_a_tensor() -> None:
    x = tf.RaggedTensor.from_tensor([[1.0, 2.0], [3.0, 4.0]])
    row, rows = [10.0, 20.0], [[10.0, 20.0], [30.0, 40.0]]
    assert _value(x + row) == [[11, 22], [13, 24]]
    assert _value(x + rows) == [[11, 22], [33, 44]]


def test_what_does_not_fit_is_refused() -> None:
    x = tf.ragged.constant(_ROWS, tf.float32)
    fed = tf.placeholder(tf.float32, [None, None])
    for value in ([[1.0], [2.0]], [[1.0, 2.0]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to broadcast"):
            _value(x + fed, {fed: value})
    with pytest.raises(ValueError, match="Unable to broadcast"):
        _ = x + np.zeros([2, 4, 1], np.float32)
    with pytest.raises(ValueError, match="ranks of tensors beside ragged ones must be known"):
        _ = x + tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="identical ragged splits"):
        tf.add(x, tf.ragged.constant(_DEEP, tf.float32))


def test_gradients_reach_flat_values_and_what_is_broadcast() -> None:
    values, columns = tf.constant([1.0, 2.0, 3.0]), tf.constant([[10.0], [20.0], [30.0]])
    x = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
    slopes = tf.gradients(tf.reduce_sum(tf.multiply(x, columns)), [values, columns])
    assert _value(slopes[0]) == [10, 10, 30]
    assert _value(slopes[1]) == [[3], [0], [3]]
