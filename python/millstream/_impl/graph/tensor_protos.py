"""Values as ``TensorProto`` messages, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, SHAPE, TENSOR, or_none, takes
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes, tensor_shape, values
from millstream._impl.values.dtypes import DType

# The field that holds elements one by one, for each type. Types of 16 bits stand there by bits.
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "int16": "int_val",
    "int8": "int_val", "uint8": "int_val", "uint16": "int_val", "qint8": "int_val",
    "quint8": "int_val", "qint32": "int_val", "qint16": "int_val", "quint16": "int_val",
    "int64": "int64_val", "bool": "bool_val", "complex64": "scomplex_val",
    "complex128": "dcomplex_val", "float16": "half_val", "bfloat16": "half_val",
    "uint32": "uint32_val", "uint64": "uint64_val", "string": "string_val",
}  # fmt: skip


# Types whose elements, where there are several, stand in ``tensor_content``.
_AS_CONTENT = {
    "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "qint8",
    "qint16", "qint32", "quint8", "quint16",
}  # fmt: skip


@public("make_tensor_proto")
@takes(values=or_none(TENSOR), dtype=DTYPE, shape=SHAPE)
def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """A value as a ``TensorProto``.

    Parameters
    ----------
    values
        A Python or NumPy value.
    dtype
        Type of the elements, by default that of the value.
    shape
        Shape of the tensor, by default that of the value. The message holds the elements that the
        value has; the last of them counts for those that are missing.
    verify_shape
        Refuse a value of another shape.
    allow_broadcast
        Refuse a value of several elements, unless they are as many as the shape has.

    Raises
    ------
    TypeError
        The value cannot have the dtype, or not the shape that is to be verified.
    ValueError
        The value has more elements than the shape, or is None.

    Examples
    --------
    >>> proto = tf.make_tensor_proto([1, 2])
    >>> tf.make_ndarray(proto)
    array([1, 2], dtype=int32)
    """
    return _make(values, dtype, shape, verify_shape, allow_broadcast)


def _make(value: Any, dtype: Any, shape: Any, verify_shape: bool, allow_broadcast: bool) -> Any:
    if isinstance(value, TensorLike):
        raise TypeError(f"values: expected a Python or NumPy value, got {value!r}")
    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    array = values.to_array(value, wanted, "values")
    dims = list(array.shape)
    if shape is not None:
        dims = [int(size) for size in tensor_shape.as_shape(shape)]
        _check_shape(array, dims, verify_shape, allow_broadcast)
    found = wanted or (dtypes.string if array.dtype.kind == "O" else dtypes.as_dtype(array.dtype))
    proto = protos.message_class("TensorProto")(dtype=found.as_datatype_enum)
    proto.tensor_shape.CopyFrom(tensor_shape.TensorShape(dims).as_proto())
    whole = array.size == math.prod(dims)
    if whole and array.size > 1 and found.name in _AS_CONTENT:
        proto.tensor_content = array.tobytes()
    else:
        getattr(proto, _FIELDS[found.name]).extend(_numbers(array, found))
    return proto


def _check_shape(
    array: values.Array, dims: list[int], verify_shape: bool, allow_broadcast: bool
) -> None:
    total = math.prod(dims)
    if allow_broadcast:
        unfit = array.shape not in ((), (1,)) and array.size != total
    else:
        unfit = verify_shape and list(array.shape) != dims
    if unfit:
        raise TypeError(f"values: expected the shape {dims}, got {list(array.shape)}")
    if array.size > total:
        raise ValueError(
            f"values: Too many elements provided: {array.size} elements do not fit the shape {dims}"
        )


def _numbers(array: values.Array, dtype: DType) -> Any:
    """The elements as their field holds them."""
    if dtype == dtypes.string:
        return array.ravel()
    if dtype in (dtypes.float16, dtypes.bfloat16):
        array = array.ravel().view(np.uint16)
    elif dtype.is_complex:
        array = array.ravel().view(np.float32 if dtype == dtypes.complex64 else np.float64)
    elif array.dtype.fields:
        array = array.ravel().view(next(iter(array.dtype.fields.values()))[0])
    return array.ravel().tolist()


@public("make_ndarray")
def make_ndarray(tensor: Any) -> Any:
    """The array that a ``TensorProto`` holds.

    Parameters
    ----------
    tensor
        A ``TensorProto``.

    Returns
    -------
    numpy.ndarray
        An array of its shape; of bytes objects for strings.

    Raises
    ------
    TypeError
        It is no ``TensorProto``, or its type has no arrays.
    ValueError
        It holds more or fewer elements than its shape has.

    Examples
    --------
    >>> c = tf.constant([[1.5, 2.5]])
    >>> tf.make_ndarray(c.op.get_attr("value"))
    array([[1.5, 2.5]], dtype=float32)
    """
    if not isinstance(tensor, protos.message_class("TensorProto")):
        raise TypeError(f"tensor: expected a TensorProto, got {tensor!r}")
    dtype = dtypes.of_number(tensor.dtype) if tensor.dtype else None
    if dtype is None or dtype.name not in _FIELDS:
        raise TypeError(f"tensor: no array has elements of the type number {tensor.dtype}")
    dims = [dim.size for dim in tensor.tensor_shape.dim]
    total = int(np.prod(dims, dtype=np.int64))
    if tensor.tensor_content:
        kind = np.dtype(dtype.as_numpy_dtype)
        if len(tensor.tensor_content) != total * kind.itemsize:
            raise ValueError(
                f"tensor: {len(tensor.tensor_content)} bytes do not fit {dtype.name} of the shape "
                f"{dims}"
            )
        return np.frombuffer(tensor.tensor_content, kind).reshape(dims).copy()
    return _filled(_elements(tensor, dtype), total).reshape(dims)


def _elements(tensor: Any, dtype: DType) -> values.Array:
    held = list(getattr(tensor, _FIELDS[dtype.name]))
    kind = np.dtype(dtype.as_numpy_dtype)
    if dtype == dtypes.string:
        return np.array(held, object)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(held, np.uint16).view(kind)
    if dtype.is_complex:
        part = np.float32 if dtype == dtypes.complex64 else np.float64
        return np.array(held, part).view(kind)
    return values.cast_array(np.array(held), dtype, "tensor")


def _filled(elements: values.Array, total: int) -> values.Array:
    """Elements that are left out at the end are like the last one, or zero where there is none."""
    if elements.size > total:
        raise ValueError(f"tensor: {elements.size} elements are more than its shape has, {total}")
    if elements.size == total:
        return elements
    if elements.size == 0:
        empty: Any = b"" if elements.dtype.kind == "O" else 0
        return np.full(total, empty, elements.dtype)
    rest = np.repeat(elements[-1:], total - elements.size)
    return np.concatenate([elements, rest])
