"""Static shapes."""

from __future__ import annotations

import pytest

import millstream as tf


def test_merging_takes_what_either_knows() -> None:
    a, b = tf.TensorShape([None, 3]), tf.TensorShape([2, None])
    assert a.merge_with(b).as_list() == [2, 3]
    assert a.is_compatible_with(b)
    with pytest.raises(ValueError, match="incompatible"):
        a.merge_with([2, 4])


def test_unknown_rank_says_so() -> None:
    unknown = tf.TensorShape(None)
    assert unknown.ndims is None
    assert not unknown
    assert str(unknown) == "<unknown>"
    assert unknown[0].value is None
    with pytest.raises(ValueError, match="not defined on an unknown TensorShape"):
        unknown.as_list()


def test_slices_of_an_unknown_rank_that_count_from_the_front_have_one() -> None:
    unknown = tf.TensorShape(None)
    assert [str(unknown[:2]), str(unknown[1:2]), str(unknown[2:1])] == ["(?, ?)", "(?,)", "()"]
    assert str(unknown[0:4:2]) == "(?, ?)"
    for part in (unknown[1:], unknown[:-1], unknown[-2:5], unknown[:], unknown[4:0:-1]):
        assert part.ndims is None


def test_dimensions_do_arithmetic_with_unknowns() -> None:
    assert (tf.Dimension(3) + 2).value == 5
    assert (2 * tf.Dimension(None)).value is None
    assert int(tf.Dimension(4)) == 4
    assert (tf.Dimension(3) == 3) is True
    assert (tf.Dimension(None) == 3) is None


def test_bad_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        tf.TensorShape([-3])
    with pytest.raises(TypeError):
        tf.TensorShape("abc")


def test_text_and_slices() -> None:
    shape = tf.TensorShape([None, 3, 4])
    assert str(shape) == "(?, 3, 4)"
    assert shape[1:].as_list() == [3, 4]
    assert shape.concatenate([5]).as_list() == [None, 3, 4, 5]
    assert tf.TensorShape([2, 3]).num_elements() == 6


def test_shape_survives_its_message() -> None:
    for dims in (None, [], [None, 3]):
        shape = tf.TensorShape(dims)
        assert tf.TensorShape(shape.as_proto()) == shape
