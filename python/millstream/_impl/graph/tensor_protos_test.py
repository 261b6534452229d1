"""Values as messages, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl import protos
from millstream._impl.values import dtypes

TensorProto = protos.message_class("TensorProto")


@pytest.mark.parametrize(
    "dtype",
    [
        *(tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64),
        *(tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128),
    ],
    ids=lambda dtype: dtype.name,
)
def test_arrays_survive(dtype: tf.DType) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype.as_numpy_dtype)
    proto = tf.make_tensor_proto(array)
    assert proto.dtype == dtype.as_datatype_enum
    again = tf.make_ndarray(TensorProto.FromString(proto.SerializeToString()))
    assert again.dtype == array.dtype
    assert again.tolist() == array.tolist()


def test_bfloat16_and_strings_survive() -> None:
    halves = tf.make_ndarray(tf.make_tensor_proto([1.5, -2.0], tf.bfloat16))
    assert dtypes.bfloat16_values(halves).tolist() == [1.5, -2.0]
    assert tf.make_ndarray(tf.make_tensor_proto([["a"], ["b"]])).tolist() == [[b"a"], [b"b"]]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({"dtype": "DT_FLOAT", "float_val": [0.5]}, [0.5, 0.5, 0.5]),
        ({"dtype": "DT_INT32", "int_val": [1, 2]}, [1, 2, 2]),
        ({"dtype": "DT_INT8", "int_val": [-1, 2, 3]}, [-1, 2, 3]),
        ({"dtype": "DT_HALF", "half_val": [0x3C00]}, [1.0, 1.0, 1.0]),
        ({"dtype": "DT_COMPLEX64", "scomplex_val": [1.0, 2.0]}, [1 + 2j] * 3),
        ({"dtype": "DT_BOOL"}, [False, False, False]),
        ({"dtype": "DT_STRING", "string_val": [b"x"]}, [b"x", b"x", b"x"]),
    ],
)
def test_elements_left_out_are_like_the_last(fields: dict[str, Any], values: list[Any]) -> None:
    proto = TensorProto(tensor_shape={"dim": [{"size": 3}]}, **fields)
    assert tf.make_ndarray(proto).tolist() == values


def test_constants_hold_what_make_ndarray_reads() -> None:
    with tf.Graph().as_default():
        held = tf.constant([[1, 2], [3, 4]], tf.int64).op.get_attr("value")
    assert tf.make_ndarray(held).tolist() == [[1, 2], [3, 4]]


def test_shapes_reshape_or_are_filled() -> None:
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2, 3, 4], shape=[2, 2])).shape == (2, 2)
    filled = tf.make_tensor_proto(7, shape=[2], allow_broadcast=True)
    assert tf.make_ndarray(filled).tolist() == [7, 7]
    with pytest.raises(ValueError, match="3 elements do not fit"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match="expected the shape"):
        tf.make_tensor_proto([1, 2], shape=[2, 1], verify_shape=True)


def test_broken_messages_are_refused() -> None:
    with pytest.raises(TypeError, match="type number 0"):
        tf.make_ndarray(TensorProto())
    with pytest.raises(ValueError, match="3 bytes do not fit int32"):
        tf.make_ndarray(TensorProto(dtype="DT_INT32", tensor_content=b"abc"))
    with pytest.raises(ValueError, match="more than its shape has"):
        tf.make_ndarray(TensorProto(dtype="DT_INT32", int_val=[1, 2]))


@pytest.mark.parametrize(
    ("value", "dtype", "field", "held"),
    [
        (10.0, None, "float_val", [10.0]),
        ([10.0], None, "float_val", [10.0]),
        (1.5, tf.float64, "double_val", [1.5]),
        (-1, tf.int8, "int_val", [-1]),
        (1 << 40, None, "int64_val", [1 << 40]),
        (np.uint32(7), None, "uint32_val", [7]),
        (np.uint64(7), None, "uint64_val", [7]),
        ([1.5, 2.0], tf.float16, "half_val", [0x3E00, 0x4000]),
        ([1.5, 2.0], tf.bfloat16, "half_val", [0x3FC0, 0x4000]),
        ([True, False], None, "bool_val", [True, False]),
        ([[1j, 2.0]], None, "dcomplex_val", [0.0, 1.0, 2.0, 0.0]),
        ([1j, 2.0], tf.complex64, "scomplex_val", [0.0, 1.0, 2.0, 0.0]),
        ("a", None, "string_val", [b"a"]),
        ([(21,)], tf.qint32, "int_val", [21]),
    ],
)
def test_single_elements_and_some_types_stand_in_fields(
    value: Any, dtype: Any, field: str, held: list[Any]
) -> None:
    proto = tf.make_tensor_proto(value, dtype)
    assert list(getattr(proto, field)) == held
    assert proto.tensor_content == b""


def test_several_elements_stand_in_the_content() -> None:
    assert tf.make_tensor_proto([1, 1]).tensor_content == np.array([1, 1], np.int32).tobytes()
    proto = tf.make_tensor_proto([(21,), (22,), (23,)], tf.quint8)
    assert proto.tensor_content == bytes([21, 22, 23])
    assert [dim.size for dim in proto.tensor_shape.dim] == [3]


def test_fewer_elements_than_the_shape_has_stay_few() -> None:
    for value, wanted in [([10.0], [10.0] * 6), ([1.0, 2.0], [1.0, *[2.0] * 5]), ([], [0.0] * 6)]:
        proto = tf.make_tensor_proto(value, tf.float32, shape=[3, 2])
        assert list(proto.float_val) == value
        assert tf.make_ndarray(proto).ravel().tolist() == wanted
    with pytest.raises(TypeError, match="expected the shape"):
        tf.make_tensor_proto([1.0, 2.0], shape=[3, 2], allow_broadcast=True)


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="None is no value"):
        tf.make_tensor_proto(None)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Python or NumPy value"):
        tf.make_tensor_proto(tf.constant(1))


def test_constants_hold_truths_and_complex_numbers_one_by_one() -> None:
    with tf.Graph().as_default():
        truths = tf.constant([[True, False]]).op.get_attr("value")
        numbers = tf.constant([1j, 2.0], tf.complex64).op.get_attr("value")
    assert list(truths.bool_val) == [True, False]
    assert list(numbers.scomplex_val) == [0.0, 1.0, 2.0, 0.0]
    assert tf.make_ndarray(truths).tolist() == [[True, False]]
    assert tf.make_ndarray(numbers).tolist() == [1j, 2.0]
