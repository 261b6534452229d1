"""The types of tensors, as tests write, draw and compute with them.

Types that NumPy lacks are held by their bits. References compute bfloat16 in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# By the number that messages have for the type: its name, in Python and in GraphDef text.
NAMES = {
    1: ("float32", "DT_FLOAT"),
    2: ("float64", "DT_DOUBLE"),
    3: ("int32", "DT_INT32"),
    4: ("uint8", "DT_UINT8"),
    5: ("int16", "DT_INT16"),
    6: ("int8", "DT_INT8"),
    7: ("string", "DT_STRING"),
    8: ("complex64", "DT_COMPLEX64"),
    9: ("int64", "DT_INT64"),
    10: ("bool", "DT_BOOL"),
    11: ("qint8", "DT_QINT8"),
    12: ("quint8", "DT_QUINT8"),
    13: ("qint32", "DT_QINT32"),
    14: ("bfloat16", "DT_BFLOAT16"),
    15: ("qint16", "DT_QINT16"),
    16: ("quint16", "DT_QUINT16"),
    17: ("uint16", "DT_UINT16"),
    18: ("complex128", "DT_COMPLEX128"),
    19: ("float16", "DT_HALF"),
    20: ("resource", "DT_RESOURCE"),
    21: ("variant", "DT_VARIANT"),
    22: ("uint32", "DT_UINT32"),
    23: ("uint64", "DT_UINT64"),
}
PROTO_NAMES = dict(NAMES.values())
NUMBERS = {name: number for number, (name, _) in NAMES.items()}

# Those that NumPy lacks, by what holds their bits.
_BITS = {
    "bfloat16": np.uint16,
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}
REALS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# Those that can be fed.
VALUES = (*REALS, *COMPLEX, *INTEGERS, *_BITS, "bool", "string")
NO_VALUES = ("resource", "variant")

# Bits of the significand, the leading one included.
_PRECISION = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_LARGEST = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
}
_SMALLEST_NORMAL = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "float16": 2.0**-14,
    "bfloat16": 2.0**-126,
}


def stored_type(name: str) -> np.dtype[Any]:
    """The type of the arrays that hold values of a type."""
    if name == "string":
        return np.dtype(object)
    return np.dtype(_BITS.get(name, name))


def real_type(name: str) -> str:
    """The type of the parts of a complex number; of a real one, its own."""
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def epsilon(name: str) -> float:
    """The distance from 1 to the next number of a floating-point type."""
    return 2.0 ** (1 - _PRECISION[real_type(name)])


def smallest_normal(name: str) -> float:
    """The smallest positive number of full precision."""
    return _SMALLEST_NORMAL[real_type(name)]


def largest(name: str) -> float:
    """The largest finite number of a floating-point type."""
    return _LARGEST[real_type(name)]


def is_inexact(name: str) -> bool:
    """Whether numbers of the type are rounded."""
    return name in REALS or name in COMPLEX


def as_numbers(stored: Array, name: str) -> Array:
    """What a reference computes with: the array itself, or floats for bfloat16."""
    if name != "bfloat16":
        return stored
    bits = stored.reshape(-1).astype(np.uint32) << np.uint32(16)
    return bits.view(np.float32).reshape(stored.shape)


def from_numbers(numbers: Array, name: str) -> Array:
    """The inverse of `as_numbers`; float32 is rounded to the nearest bfloat16, ties to even."""
    if name != "bfloat16":
        return np.asarray(numbers, stored_type(name))
    floats = np.asarray(numbers, np.float32).reshape(-1)
    bits = floats.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    stored = np.where(np.isnan(floats), quiet, rounded).astype(np.uint16)
    return np.asarray(stored.reshape(np.shape(numbers)))
