"""Data types and the conversion of Python values."""

from __future__ import annotations

import numpy as np
import pytest

import millstream as tf
from millstream._impl.values import dtypes, values


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (3, "int32"),
        (2**40, "int64"),
        (0.5, "float32"),
        (True, "bool"),
        (1j, "complex128"),
        ("x", "string"),
        ([1, 2.0], "float32"),
        ([], "float32"),
        (np.float64(1), "float64"),
        (np.arange(3), "int64"),
        (np.array(["ab"]), "string"),
        (tf.Dimension(3), "int32"),
    ],
)
def test_values_become_the_dtype_that_graphs_prefer(value: object, name: str) -> None:
    with tf.Graph().as_default():
        assert tf.constant(value).dtype.name == name


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, tf.int32), ("a", tf.float32), ([1], tf.bool), ([True], tf.string), (object(), None)],
)
def test_values_of_another_kind_are_refused(value: object, dtype: tf.DType | None) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.constant(value, dtype)


def test_ragged_lists_and_none_are_value_errors() -> None:
    for value in ([[1], [2, 3]], None):
        with pytest.raises(ValueError):  # noqa: PT011  (the messages differ)
            values.to_array(value)


def test_none_is_no_element() -> None:
    for value in ([1.0, None], [[None, "a"]]):
        with pytest.raises(TypeError, match="value: None is no element of a tensor"):
            values.to_array(value)


@pytest.mark.parametrize(
    ("dtype", "wrapped"),
    [
        (tf.uint8, [255, 44]),
        (tf.int8, [-1, 44]),
        (tf.uint16, [2**16 - 1, 300]),
        (tf.uint32, [2**32 - 1, 300]),
        (tf.uint64, [2**64 - 1, 300]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_integers_that_do_not_fit_wrap_around(dtype: tf.DType, wrapped: list[int]) -> None:
    for value in ([-1, 300], np.array([-1, 300])):
        assert values.to_array(value, dtype).tolist() == wrapped


def test_integers_take_a_preferred_dtype_that_they_fit() -> None:
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(7, preferred_dtype=tf.int8).dtype is tf.int8
        assert tf.convert_to_tensor([1, 300], preferred_dtype=tf.int8).dtype is tf.int32


def test_elements_of_quantized_types_may_be_tuples_of_one() -> None:
    assert values.to_array([(21,), (22,)], tf.qint32).shape == (2,)
    assert values.to_array((21,), tf.qint32).shape == ()
    assert values.to_array([21, 22], tf.qint32).shape == (2,)


def test_bfloat16_rounds_to_nearest_even() -> None:
    numbers = np.array([1.0, 1.00390625, 1.01171875, -2.5, np.inf, np.nan], np.float32)
    bits = dtypes.bfloat16_bits(numbers)["bfloat16"]
    assert bits.tolist()[:5] == [0x3F80, 0x3F80, 0x3F82, 0xC020, 0x7F80]
    assert np.isnan(dtypes.bfloat16_values(dtypes.bfloat16_bits(numbers))[5])


def test_dtypes_are_found_by_every_name() -> None:
    for key in (tf.float32, "float32", 1, np.float32, np.dtype("float32")):
        assert tf.as_dtype(key) is tf.float32
    assert tf.int32 == "int32"
    assert tf.as_dtype(np.longlong) is tf.int64
    for unknown in ("float99", None, object()):
        with pytest.raises(TypeError):
            tf.as_dtype(unknown)


def test_dtype_knows_its_kind_and_limits() -> None:
    assert tf.bfloat16.is_floating
    assert tf.bfloat16.size == 2
    assert tf.int8.limits == (-128, 127)
    assert tf.complex64.real_dtype is tf.float32
    assert tf.bfloat16.max == pytest.approx(3.3895e38, rel=1e-4)
