"""Data types: what an element of a tensor is, and its counterpart in NumPy."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from millstream._impl.base.public import public

_REF_OFFSET = 100


@public("DType", "dtypes.DType")
class DType:
    """The type of a tensor's elements.

    Parameters
    ----------
    type_enum
        Number of the ``DataType`` proto.

    Examples
    --------
    >>> tf.float32.size, tf.float32.is_floating, tf.int8.max
    (4, True, 127)
    >>> tf.float32 == "float32"
    True
    """

    __slots__ = ("_name", "_number", "_numpy")

    def __init__(self, type_enum: int) -> None:
        if type_enum not in _NAMES:
            raise TypeError(f"type_enum: no data type has the number {type_enum}")
        self._number = type_enum
        self._name, self._numpy = _NAMES[type_enum]

    @property
    def name(self) -> str:
        """Name, such as ``"float32"``."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """Number of the ``DataType`` proto."""
        return self._number

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's scalar type; a structured dtype for the types that NumPy lacks."""
        if self._numpy is None:
            raise TypeError(f"{self._name} has no counterpart in NumPy")
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        """The type itself, for a reference the type that it refers to."""
        return _BY_NUMBER[self._number % _REF_OFFSET]

    @property
    def _is_ref_dtype(self) -> builtins.bool:
        return self._number > _REF_OFFSET

    @property
    def real_dtype(self) -> DType:
        """The type of the real part; the type itself unless it is complex."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def is_bool(self) -> builtins.bool:
        """Whether the elements are truth values."""
        return self._number % _REF_OFFSET == 10

    @property
    def is_floating(self) -> builtins.bool:
        """Whether the elements are floating-point numbers."""
        return self._number % _REF_OFFSET in (1, 2, 14, 19)

    @property
    def is_integer(self) -> builtins.bool:
        """Whether the elements are integers that are not quantized."""
        return self._number % _REF_OFFSET in (3, 4, 5, 6, 9, 17, 22, 23)

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether the elements cannot be negative."""
        return self._number % _REF_OFFSET in (4, 17, 22, 23)

    @property
    def is_complex(self) -> builtins.bool:
        """Whether the elements are complex numbers."""
        return self._number % _REF_OFFSET in (8, 18)

    @property
    def is_quantized(self) -> builtins.bool:
        """Whether the elements are quantized numbers."""
        return self._number % _REF_OFFSET in (11, 12, 13, 15, 16)

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether arrays of NumPy can hold the elements."""
        return self._numpy is not None

    @property
    def size(self) -> int:
        """Bytes of an element; 1 for strings."""
        if self._numpy is None or self._numpy is np.object_:
            return 1
        return int(np.dtype(self._numpy).itemsize)

    @property
    def min(self) -> Any:
        """Least finite value.

        Raises
        ------
        TypeError
            The type has no order.
        """
        return self._limit("min")

    @property
    def max(self) -> Any:
        """Greatest finite value.

        Raises
        ------
        TypeError
            The type has no order.
        """
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """Least and greatest value; (0, ...) for unsigned types."""
        return self.min, self.max

    def _limit(self, which: str) -> Any:
        if self == bfloat16:
            greatest = float.fromhex("0x1.fep127")
            return greatest if which == "max" else -greatest
        if self.is_floating:
            return getattr(np.finfo(self._numpy), which)
        if self.is_integer:
            return getattr(np.iinfo(self._numpy), which)
        raise TypeError(f"{self._name} has no least and greatest value")

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Whether a tensor of the type `other` can stand where one of this type is wanted."""
        number = as_dtype(other).as_datatype_enum
        return self._number in (number, number + _REF_OFFSET)

    def __eq__(self, other: object) -> builtins.bool:
        if other is self:
            return True
        if not isinstance(other, DType):
            try:
                other = as_dtype(other)
            except TypeError:
                return False
        return self._number == other._number

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self._number

    def __reduce__(self) -> Any:
        return as_dtype, (self._name,)

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self._name}"


def _placeholder(name: str, of: Any) -> np.dtype[Any]:
    """A dtype for a type that NumPy lacks, told from plain integers by its field's name."""
    return np.dtype([(name, of)])


_bfloat16_numpy = _placeholder("bfloat16", np.uint16)

_NAMES: dict[int, tuple[str, Any]] = {
    1: ("float32", np.float32),
    2: ("float64", np.float64),
    3: ("int32", np.int32),
    4: ("uint8", np.uint8),
    5: ("int16", np.int16),
    6: ("int8", np.int8),
    7: ("string", np.object_),
    8: ("complex64", np.complex64),
    9: ("int64", np.int64),
    10: ("bool", np.bool_),
    11: ("qint8", _placeholder("qint8", np.int8)),
    12: ("quint8", _placeholder("quint8", np.uint8)),
    13: ("qint32", _placeholder("qint32", np.int32)),
    14: ("bfloat16", _bfloat16_numpy),
    15: ("qint16", _placeholder("qint16", np.int16)),
    16: ("quint16", _placeholder("quint16", np.uint16)),
    17: ("uint16", np.uint16),
    18: ("complex128", np.complex128),
    19: ("float16", np.float16),
    20: ("resource", None),
    21: ("variant", None),
    22: ("uint32", np.uint32),
    23: ("uint64", np.uint64),
}
_NAMES.update({n + _REF_OFFSET: (name + "_ref", kind) for n, (name, kind) in _NAMES.items()})
_BY_NUMBER = {number: DType(number) for number in _NAMES}

float32 = public("float32", "dtypes.float32")(_BY_NUMBER[1])
float64 = public("float64", "dtypes.float64")(_BY_NUMBER[2])
double = public("double", "dtypes.double")(float64)
int32 = public("int32", "dtypes.int32")(_BY_NUMBER[3])
uint8 = public("uint8", "dtypes.uint8")(_BY_NUMBER[4])
int16 = public("int16", "dtypes.int16")(_BY_NUMBER[5])
int8 = public("int8", "dtypes.int8")(_BY_NUMBER[6])
string = public("string", "dtypes.string")(_BY_NUMBER[7])
complex64 = public("complex64", "dtypes.complex64")(_BY_NUMBER[8])
int64 = public("int64", "dtypes.int64")(_BY_NUMBER[9])
bool = public("bool", "dtypes.bool")(_BY_NUMBER[10])  # noqa: A001  (the public name)
qint8 = public("qint8", "dtypes.qint8")(_BY_NUMBER[11])
quint8 = public("quint8", "dtypes.quint8")(_BY_NUMBER[12])
qint32 = public("qint32", "dtypes.qint32")(_BY_NUMBER[13])
bfloat16 = public("bfloat16", "dtypes.bfloat16")(_BY_NUMBER[14])
qint16 = public("qint16", "dtypes.qint16")(_BY_NUMBER[15])
quint16 = public("quint16", "dtypes.quint16")(_BY_NUMBER[16])
uint16 = public("uint16", "dtypes.uint16")(_BY_NUMBER[17])
complex128 = public("complex128", "dtypes.complex128")(_BY_NUMBER[18])
float16 = public("float16", "dtypes.float16")(_BY_NUMBER[19])
half = public("half", "dtypes.half")(float16)
resource = public("resource", "dtypes.resource")(_BY_NUMBER[20])
variant = public("variant", "dtypes.variant")(_BY_NUMBER[21])
uint32 = public("uint32", "dtypes.uint32")(_BY_NUMBER[22])
uint64 = public("uint64", "dtypes.uint64")(_BY_NUMBER[23])

QUANTIZED_DTYPES = public("QUANTIZED_DTYPES", "dtypes.QUANTIZED_DTYPES")(
    frozenset([qint8, quint8, qint32, qint16, quint16])
)


def _is_type(kind: Any) -> builtins.bool:
    return isinstance(kind, type) and issubclass(kind, np.generic) and kind is not np.object_


_BY_KEY: dict[Any, DType] = {dtype.name: dtype for dtype in _BY_NUMBER.values()}
_BY_KEY.update(half=float16, double=float64, float=float32)
_BY_KEY.update({float: float32, int: int64, builtins.bool: bool, str: string, bytes: string})
_BY_KEY[complex] = complex128
_BY_KEY.update({kind: _BY_NUMBER[n] for n, (_, kind) in _NAMES.items() if n < _REF_OFFSET})
_BY_KEY.pop(None)
_BY_KEY.update({np.dtype(kind): dtype for kind, dtype in list(_BY_KEY.items()) if _is_type(kind)})


def of_number(number: int) -> DType:
    """The data type of a ``DataType`` number.

    Raises
    ------
    KeyError
        No type has the number.
    """
    return _BY_NUMBER[number]


@public("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: Any) -> DType:
    """The data type that `type_value` names.

    Parameters
    ----------
    type_value
        A `DType`, its name or ``DataType`` number, a NumPy dtype or scalar type, or a Python type.

    Raises
    ------
    TypeError
        It names none.

    Examples
    --------
    >>> tf.as_dtype("float32"), tf.as_dtype(int)
    (tf.float32, tf.int64)
    """
    if isinstance(type_value, DType):
        return type_value
    if type(type_value) is int and type_value in _BY_NUMBER:
        return _BY_NUMBER[type_value]
    try:
        found = _BY_KEY.get(type_value)
        if found is not None:
            return found
        as_numpy = np.dtype(type_value)
    except TypeError:
        raise TypeError(f"type_value: cannot convert {type_value!r} to a data type") from None
    if as_numpy.kind in "OSU" and type_value is not None:
        return string
    found = _BY_KEY.get(as_numpy) or _BY_KEY.get(as_numpy.type)
    if found is None or type_value is None:
        raise TypeError(f"type_value: cannot convert {type_value!r} to a data type")
    return found


def numpy_table() -> dict[int, tuple[Any, Any]]:
    """For the extension: NumPy dtype and scalar type of each number that has them."""
    return {
        number: (np.dtype(kind), np.dtype(kind).type)
        for number, (_, kind) in _NAMES.items()
        if number < _REF_OFFSET and kind is not None
    }


def bfloat16_bits(values: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """An array of bfloat16 from real numbers, rounded to the nearest, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    result = np.where((bits & 0x7FFFFFFF) > 0x7F800000, quiet_nan, rounded).astype(np.uint16)
    return result.reshape(np.shape(values)).view(_bfloat16_numpy)


def bfloat16_values(array: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The float32 values of an array of bfloat16."""
    bits = np.asarray(array).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32)
