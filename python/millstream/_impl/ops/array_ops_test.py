"""Tensors in other forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transpose_conjugates_complex_numbers(dtype: type) -> None:
    numbers: Any = np.array([[1 + 2j, 3 - 1j]], dtype)
    for x in (tf.constant(numbers), tf.placeholder_with_default(numbers, None)):
        found = tf.transpose(x, conjugate=True)
        assert found.dtype == x.dtype
        assert found.eval().tolist() == [[1 - 2j], [3 + 1j]]
        assert tf.transpose(x).eval().tolist() == [[1 + 2j], [3 - 1j]]


def test_transpose_conjugates_real_numbers_to_themselves() -> None:
    assert tf.transpose([[1, 2]], conjugate=True).eval().tolist() == [[1], [2]]


def test_static_values_follow_from_static_shapes() -> None:
    x, rows = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [None, 3])
    for tensor, expected in (
        (tf.shape(x), [2, 3]),
        (tf.shape(x, out_type=tf.int64), [2, 3]),
        (tf.shape_n([rows, x])[1], [2, 3]),
        (tf.size(x), 6),
        (tf.rank(rows), 2),
        (tf.shape(rows)[1], 3),
        (tf.stack([tf.shape(x)[0], 7]), [2, 7]),
        (tf.concat([tf.shape(x), [4]], 0), [2, 3, 4]),
    ):
        found = tf.get_static_value(tensor)
        assert found.tolist() == expected
        assert found.dtype == tensor.dtype.as_numpy_dtype
    for tensor in (tf.shape(rows), tf.size(rows), tf.rank(tf.placeholder(tf.float32)), x):
        assert tf.get_static_value(tensor) is None


def test_concat_of_one_value_gives_it() -> None:
    for value, expected in [(1, 1), ("a", b"a"), (np.ones([1, 2]), [[1.0, 1.0]])]:
        assert np.asarray(tf.concat(axis=0, values=value).eval()).tolist() == expected


def test_slices_keep_the_shape_that_they_are_given() -> None:
    rows = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]), dense_shape=(3, 1))
    assert rows.dense_shape == (3, 1)
    assert (-rows).dense_shape == (3, 1)
    (clipped,), norm = tf.clip_by_global_norm([rows], 1.0)
    assert clipped.dense_shape == (3, 1)
    assert float(norm.eval()) == 5.0
    assert rows.shape.as_list() == [3, 1]
    assert tf.convert_to_tensor(rows).eval().tolist() == [[3.0], [0.0], [4.0]]
    with pytest.raises(TypeError, match="dense_shape"):
        tf.Session().run(rows)


@pytest.mark.parametrize("function", [tf.clip_by_norm, tf.clip_by_average_norm])
def test_clipped_elements_have_the_name_that_they_are_given(function: Any) -> None:
    rows = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([0]))
    assert function([3.0, 4.0], 1.0, name="clipped").op.name == "clipped"
    assert function(rows, 1.0, name="rows").values.op.name == "rows"


def test_the_tensors_that_are_clipped_together_have_numbered_names() -> None:
    scope = "clip_by_global_norm"
    clipped, _ = tf.clip_by_global_norm([tf.ones([2]), None, tf.zeros([1])], 1.0)
    assert [t if t is None else t.op.name for t in clipped] == [
        f"{scope}/{scope}/_0",
        None,
        f"{scope}/{scope}/_2",
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_infinite_norm_makes_all_clipped_elements_nan(dtype: type, session: tf.Session) -> None:
    x: Any = tf.placeholder(dtype, [2])
    clipped, norm = tf.clip_by_global_norm([x, tf.constant([2.0], dtype), None], 2.0)
    for bad in (np.inf, -np.inf, np.nan):
        first, second = session.run(clipped[:2], {x: [1.0, bad]})
        assert np.isnan(first).all()
        assert np.isnan(second).all()
    assert norm.dtype == dtype
    assert session.run(clipped[0], {x: [0.0, 0.0]}).tolist() == [0.0, 0.0]
    assert session.run(clipped[0], {x: [1.0, 2.0]}).tolist() == pytest.approx([2 / 3, 4 / 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_norm_that_is_nan_makes_its_elements_nan(dtype: type, session: tf.Session) -> None:
    x: Any = np.array([[1, np.nan], [3, 4], [0, 0]], dtype)
    clipped = session.run(tf.clip_by_norm(x, 1.0, axes=[1]))
    expected: Any = [[np.nan, np.nan], [0.6, 0.8], [0, 0]]
    np.testing.assert_allclose(clipped, expected, rtol=1e-6)
    assert np.isnan(session.run(tf.clip_by_norm(x, 1.0))).all()


def test_elements_are_clipped_to_a_norm_of_zero(session: tf.Session) -> None:
    clipped, _ = tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 0.0)
    assert session.run(clipped[0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("gradients", [[], [None, None]])
def test_the_norm_of_no_tensors_is_zero(gradients: list[Any], session: tf.Session) -> None:
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    assert clipped == gradients
    assert session.run(norm) == 0


def test_a_norm_has_no_more_dimensions_than_what_it_clips() -> None:
    with pytest.raises(ValueError, match=r"incompatible|not compatible"):
        tf.clip_by_norm(tf.ones([2]), tf.ones([2, 1]))


def test_a_mask_selects_elements_or_rows() -> None:
    numbers: Any = np.arange(6).reshape(3, 2)
    rows = np.array([True, False, True])
    sources: list[Any] = [tf.constant(numbers), tf.Variable(numbers)]
    tf.global_variables_initializer().run()
    for x in sources:
        assert x[x > 2].eval().tolist() == [3, 4, 5]
        for mask in (rows, tf.constant(rows)):
            assert x[mask].shape.as_list() == [None, 2]
            assert x[mask].eval().tolist() == [[0, 1], [4, 5]]
    with pytest.raises(ValueError, match=r"\[3,2\]|\(3, 2\)|\(2,\)"):
        tf.constant(numbers)[rows[:2]]


def test_a_strided_slice_without_strides_has_a_static_shape() -> None:
    x, start = tf.placeholder(tf.float32, [None, 9]), tf.placeholder(tf.int32)
    assert tf.strided_slice(x, [0, 1], [4, 6]).shape.as_list() == [None, 5]
    assert tf.strided_slice(tf.ones([8, 9]), [0, 1], [4, 6]).shape.as_list() == [4, 5]
    assert tf.strided_slice(x, [0, start], [4, start + 2]).shape.as_list() == [None, None]
    assert tf.strided_slice([5, 6, 7], start, [2]).eval({start: [1]}).tolist() == [6]


def test_shapes_that_are_partly_known_give_static_sizes() -> None:
    unknown = tf.placeholder(tf.int32)
    x = tf.placeholder(tf.float32)
    for tensor, expected in (
        (tf.reshape(x, [unknown, 37]), [None, 37]),
        (tf.tile([[1]], [unknown, 7]), [None, 7]),
        (tf.zeros([unknown, 3]), [None, 3]),
        (tf.fill([3, unknown], 1), [3, None]),
        (tf.random_normal([unknown, 5]), [None, 5]),
    ):
        assert tensor.shape.as_list() == expected
