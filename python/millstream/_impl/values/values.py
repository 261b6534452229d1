"""Python values as arrays: which dtype they become, and which conversions are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from millstream import _runtime
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import Dimension, TensorShape

Array = np.ndarray[Any, np.dtype[Any]]

# Kinds of NumPy dtypes that a Python value may have to become each sort of dtype.
_KINDS_FOR_FLOAT = "biuf"
_KINDS_FOR_INTEGER = "biu"
_KINDS_FOR_COMPLEX = "biufc"
_KINDS_FOR_BOOL = "b"


def to_array(value: Any, dtype: DType | None = None, name: str = "value") -> Array:
    """The array of a Python value, a nested list of them, or a NumPy value.

    Python numbers become int32 (int64 when they do not fit), float32, bool or complex128, texts
    become strings. What has a NumPy dtype keeps it. A given `dtype` is taken by Python values of
    the same kind of numbers or a narrower one, and by every NumPy value; integers that do not fit
    wrap around. The elements of a quantized dtype may be tuples of one number.

    Parameters
    ----------
    value
        The value.
    dtype
        Wanted dtype, or None for the value's own.
    name
        What the value is, for messages.

    Raises
    ------
    TypeError
        The value has no dtype of ours, or not the wanted one; None is among its elements.
    ValueError
        The value is None, or a list whose items differ in shape.
    """
    if value is None:
        raise ValueError(f"{name}: None is no value of a tensor")
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_numpy(value, dtype, name)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(
                f"{name}: expected a fully defined shape, got a partially known TensorShape {value}"
            )
        value = value.as_list()
        dtype = dtype or dtypes.int32
    return _of_python(value, dtype, name)


def _of_numpy(value: Any, dtype: DType | None, name: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return _of_strings(array, dtype, name)
    own = _dtype_of_array(array, name)
    if dtype is None or dtype == own:
        return array
    return cast_array(array, dtype, name)


def _dtype_of_array(array: Array, name: str) -> DType:
    try:
        return dtypes.as_dtype(array.dtype)
    except TypeError:
        raise TypeError(f"{name}: no tensor has elements of NumPy's {array.dtype}") from None


def cast_array(array: Array, dtype: DType, name: str = "value") -> Array:
    """The array's elements as `dtype`, whatever is lost.

    Raises
    ------
    TypeError
        There is no such conversion.
    """
    if dtype == dtypes.bfloat16:
        if array.dtype == dtype.as_numpy_dtype:
            return array
        return dtypes.bfloat16_bits(array)
    if array.dtype == dtypes.bfloat16.as_numpy_dtype:
        array = dtypes.bfloat16_values(array)
    if dtype == dtypes.string or not dtype.is_numpy_compatible:
        raise TypeError(f"{name}: expected {dtype.name}, got {array.dtype}")
    wanted = np.dtype(dtype.as_numpy_dtype)
    if wanted.fields and not array.dtype.fields:
        field = next(iter(wanted.fields.values()))[0]
        return np.ascontiguousarray(array.astype(field)).reshape(array.shape).view(wanted)
    return array.astype(wanted)


def _of_strings(array: Array, dtype: DType | None, name: str) -> Array:
    if dtype is not None and dtype != dtypes.string:
        if array.dtype.kind == "O":
            return _of_python(array.tolist(), dtype, name)
        raise TypeError(f"{name}: expected {dtype.name}, got strings")
    result = np.empty(array.shape, object)
    for index, item in enumerate(array.flat):
        result.flat[index] = as_bytes(item, name)
    return result


def as_bytes(item: Any, name: str = "value") -> bytes:
    """The bytes of a text (as UTF-8) or of bytes; TypeError for anything else."""
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, (bytes, bytearray, np.bytes_)):
        return bytes(item)
    raise TypeError(f"{name}: expected a string, got {item!r} of type {type(item).__name__}")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _natural_array(value: Any, name: str) -> Array:
    """What NumPy makes of a Python value; ValueError when its items differ in shape."""
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError(f"{name}: the items of a list differ in shape: {error}") from None
    if array.dtype.kind == "O":
        leaves = list(_leaves(value))
        if any(leaf is None for leaf in leaves):
            raise TypeError(f"{name}: None is no element of a tensor, got {_shorten(value)}")
        if any(isinstance(leaf, Dimension) for leaf in leaves):
            return np.array(_without_dimensions(value, name))
    return array


def _without_dimensions(value: Any, name: str) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_dimensions(item, name) for item in value]
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError(f"{name}: an unknown Dimension has no value")
        return value.value
    return value


def fits(value: Any, dtype: DType) -> bool:
    """Whether integers become integers of the dtype without wrapping around; else True."""
    if not dtype.is_integer:
        return True
    is_array = isinstance(value, (np.ndarray, np.generic))
    array = np.asarray(value) if is_array else _natural_array(value, "value")
    return array.dtype.kind not in "iu" or array.size == 0 or _is_within(array, dtype)


def _without_tuples_of_one(value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 1 and not isinstance(value[0], (list, tuple)):
        return value[0]
    if isinstance(value, (list, tuple)):
        return [_without_tuples_of_one(item) for item in value]
    return value


def _of_python(value: Any, dtype: DType | None, name: str) -> Array:
    if dtype is not None and dtype.is_quantized:
        value = _without_tuples_of_one(value)
    array = _natural_array(value, name)
    kind: str = array.dtype.kind
    if kind in "SUO":
        return _text_array(value, array, dtype, name)
    if dtype is None:
        return _narrow(array, name)
    if array.size == 0 and isinstance(value, (list, tuple)):
        kind = _KINDS_FOR_BOOL  # an empty list is of any type
        if dtype == dtypes.string:
            return np.empty(array.shape, object)
    if dtype.is_floating:
        allowed = _KINDS_FOR_FLOAT
    elif dtype.is_integer or dtype.is_quantized:
        allowed = _KINDS_FOR_INTEGER
    elif dtype.is_complex:
        allowed = _KINDS_FOR_COMPLEX
    else:
        allowed = _KINDS_FOR_BOOL if dtype.is_bool else ""
    if kind not in allowed:
        raise TypeError(
            f"{name}: expected {dtype.name}, got {_shorten(value)} of type {array.dtype.name}"
        )
    return cast_array(array, dtype, name)


def _is_within(array: Array, dtype: DType) -> bool:
    least, greatest = dtype.limits
    return bool(array.min() >= least and array.max() <= greatest)


def _text_array(value: Any, array: Array, dtype: DType | None, name: str) -> Array:
    leaves = list(_leaves(value))
    if dtype is not None and dtype != dtypes.string:
        raise TypeError(f"{name}: expected {dtype.name}, got {_shorten(value)}")
    shape = array.shape
    if array.dtype.kind == "O":
        shape = np.shape(np.array(_blank(value)))
    if dtype is None and array.dtype.kind == "O":
        _check_texts(leaves, name)
    result = np.empty(shape, object)
    for index, leaf in enumerate(leaves):
        result.flat[index] = as_bytes(leaf, name)
    return result


def _check_texts(leaves: Sequence[Any], name: str) -> None:
    """Raise TypeError for a leaf that no dtype fits, when none was asked for."""
    for leaf in leaves:
        if isinstance(leaf, int):
            raise TypeError(f"{name}: {leaf} fits no integer dtype")
        if not isinstance(leaf, (str, bytes, bytearray)):
            raise TypeError(
                f"{name}: expected numbers or texts, got {_shorten(leaf)} of type "
                f"{type(leaf).__name__}"
            )


def _blank(value: Any) -> Any:
    """A list of the same form without its contents."""
    return [_blank(item) for item in value] if isinstance(value, (list, tuple)) else 0


def _narrow(array: Array, name: str) -> Array:
    """Python numbers in the dtype that graphs prefer."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    _dtype_of_array(array, name)
    return array


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def wire_value(array: Array, dtype: DType) -> tuple[int, Sequence[int], Any]:
    """An array as the extension takes it: dtype number, dimensions, memory or cells."""
    return dtype.as_datatype_enum, *wire_memory(array, dtype)


def wire_memory(array: Array, dtype: DType) -> tuple[Sequence[int], Any]:
    """An array's dimensions, and its contiguous memory or the bytes of its cells."""
    if dtype == dtypes.string:
        return array.shape, list(array.flat)
    contiguous = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return array.shape, contiguous.view(_exportable(array.dtype))


def _exportable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype of the same bytes whose buffer the extension reads."""
    if dtype.fields:
        return next(iter(dtype.fields.values()))[0]
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def string_array(cells: list[bytes], shape: tuple[int, ...]) -> Array:
    """An object array of bytes, for the extension."""
    result = np.empty(len(cells), object)
    result[:] = cells
    return result.reshape(shape)


def fed_array(value: Any, dtype: DType) -> Array:
    """The array of a value that is fed: whatever NumPy can make of it.

    Raises
    ------
    TypeError, ValueError
        NumPy cannot, the value is None, or a Python integer does not fit the dtype.
    """
    if value is None:
        raise ValueError("expected a value, got None")
    if dtype == dtypes.string:
        return _fed_strings(value)
    if dtype == dtypes.bfloat16 or dtype.is_quantized:
        return cast_array(np.asarray(value), dtype)
    if not dtype.is_numpy_compatible:
        raise TypeError(f"a {dtype.name} cannot be fed")
    if dtype.is_integer and not isinstance(value, (np.ndarray, np.generic)):
        # NumPy itself wraps some integers around, and raises OverflowError for others.
        natural = np.asarray(value)
        if natural.size and natural.dtype.kind in "iu" and not _is_within(natural, dtype):
            raise TypeError(f"{_shorten(value)} does not fit {dtype.name}")
    try:
        return np.asarray(value, dtype=dtype.as_numpy_dtype, order="C")
    except OverflowError:
        raise TypeError(f"{_shorten(value)} does not fit {dtype.name}") from None


def _fed_strings(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return _of_strings(value, None, "value")
    return _of_python(value, dtypes.string, "value")


_runtime.configure(np.ndarray, dtypes.numpy_table(), string_array)
