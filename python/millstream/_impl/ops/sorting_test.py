"""Sorted, chosen and repeated elements, and special functions that are made of others."""

from __future__ import annotations

import math
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


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.int8])
@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_elements_are_sorted_along_any_axis(
    session: tf.Session, axis: int, dtype: type[np.generic]
) -> None:
    random = np.random.RandomState(1)
    low, high = (0, 255) if dtype is np.uint8 else (-128, 127)
    x = random.randint(low, high + 1, [4, 5]).astype(dtype)
    x[0, 0], x[1, 1] = low, high
    got = session.run(tf.sort(x, axis))
    np.testing.assert_array_equal(got, np.sort(x, axis))
    down = session.run(tf.sort(x, axis, "DESCENDING"))
    np.testing.assert_array_equal(down, np.flip(np.sort(x, axis), axis))
    places = session.run(tf.argsort(x, axis))
    np.testing.assert_array_equal(places, np.argsort(x, axis, kind="stable"))


def test_sorting_needs_a_direction_and_an_axis() -> None:
    with pytest.raises(ValueError, match="UP should be one of"):
        tf.sort([1], direction="UP")
    with pytest.raises(ValueError, match="expected an axis of 1 dimensions"):
        tf.argsort([1], axis=1)
    with pytest.raises(ValueError, match="expected a known rank"):
        tf.sort(tf.placeholder(tf.int32), axis=0)


@pytest.mark.parametrize("is_static", [False, True])
def test_a_mask_chooses_slices(session: tf.Session, is_static: bool) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    tensor = tf.placeholder(tf.int64, x.shape if is_static else None)
    for axis, shape in ((0, [2]), (1, [3]), (0, [2, 3]), (1, [3, 4]), (2, [4]), (0, [2, 3, 4])):
        mask = np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0
        chosen = tf.boolean_mask(tensor, mask, axis=axis)
        got = session.run(chosen, {tensor: x})
        np.testing.assert_array_equal(got, x[(slice(None),) * axis + (mask,)])
        if is_static:
            assert chosen.shape.as_list()[axis] is None
            assert chosen.shape.ndims == got.ndim


@pytest.mark.parametrize("is_static", [False, True])
def test_a_mask_chooses_slices_that_have_no_elements(session: tf.Session, is_static: bool) -> None:
    x = tf.placeholder(tf.float32, [3, 0] if is_static else None)
    for chosen in (tf.boolean_mask(x, [True, False, True]), x[np.array([True, False, True])]):
        assert session.run(chosen, {x: np.zeros([3, 0])}).shape == (2, 0)


def test_a_mask_has_a_shape_of_the_tensor() -> None:
    x = tf.zeros([2, 3])
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        tf.boolean_mask(x, True)
    with pytest.raises(ValueError, match="Number of mask dimensions must be specified"):
        tf.boolean_mask(x, tf.placeholder(tf.bool))
    with pytest.raises(ValueError, match=r"not compatible|incompatible"):
        tf.boolean_mask(x, [True, False, True])


def test_a_mask_has_a_gradient(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    (gradient,) = tf.gradients(tf.boolean_mask(x, [True, False, True]) * [5.0, 7.0], x)
    assert session.run(tf.convert_to_tensor(gradient)).tolist() == [5, 0, 7]


@pytest.mark.parametrize(
    ("repeats", "axis"), [(2, None), ([1, 0, 3], 1), (2, 0), ([2], 1), (0, -1)]
)
def test_elements_are_repeated(session: tf.Session, repeats: Any, axis: int | None) -> None:
    x = np.arange(6).reshape(2, 3)
    result = tf.repeat(x, repeats, axis)
    expected = np.repeat(x, repeats, axis)
    np.testing.assert_array_equal(session.run(result), expected)
    assert result.shape.is_compatible_with(expected.shape)
    fed, counts = tf.placeholder(tf.int64), tf.placeholder(tf.int64)
    unknown = tf.repeat(fed, counts, axis)
    np.testing.assert_array_equal(session.run(unknown, {fed: x, counts: repeats}), expected)


def test_special_functions_of_others(session: tf.Session) -> None:
    assert session.run(tf.lbeta([2.0, 3.0])) == pytest.approx(math.log(1 / 12), rel=1e-6)
    assert session.run(tf.lbeta(tf.zeros([0]))) == -np.inf
    # Abramowitz, Stegun: Handbook of Mathematical Functions, table 9.8.
    bessel = session.run([tf.math.bessel_i0(-1.0), tf.math.bessel_i1(-1.0)])
    np.testing.assert_allclose(bessel, [1.2660658778, -0.5651591040], rtol=1e-6)
    assert session.run(tf.math.reciprocal_no_nan([4.0, 0.0])).tolist() == [0.25, 0.0]


def test_second_names() -> None:
    assert tf.math.invert_permutation is tf.invert_permutation
    assert tf.manip.space_to_batch_nd is tf.space_to_batch_nd
    assert tf.dtypes.cast is tf.cast
    assert tf.no_gradient is tf.NotDifferentiable
    assert tf.initializers.tables_initializer is tf.tables_initializer
    assert tf.to_complex64(1.0).dtype == tf.complex64
    assert tf.to_complex128(1.0).dtype == tf.complex128
