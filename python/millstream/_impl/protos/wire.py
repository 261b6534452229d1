"""The protocol buffer wire format.

Reference: "Encoding", protobuf.dev/programming-guides/encoding. A message is a sequence of fields,
each a varint tag (number << 3 | wire type) and a payload.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)

_MASK64 = (1 << 64) - 1

# Messages and groups nest at most this deep, as in the runtime (framework/message.h).
MAX_DEPTH = 100
# What may be allocated for a message of up to so many bytes, and for each byte of a longer one.
# Graphs with the shapes of all outputs need about 50 a byte, features of single numbers 80.
_SMALL_MESSAGE = 1 << 20
_MEMORY_OF_SMALL = 60 << 20
_MEMORY_PER_BYTE = 128


class TruncatedError(ValueError):
    """The bytes end within a field, or are no message."""


class LimitError(ValueError):
    """The bytes are a message that nests too deep or takes too much memory."""


class Budget:
    """The memory that reading may still take, counted before it is allocated.

    Parameters
    ----------
    size
        How many bytes are read.
    """

    __slots__ = ("_left",)

    def __init__(self, size: int) -> None:
        self._left = _MEMORY_PER_BYTE * size if size > _SMALL_MESSAGE else _MEMORY_OF_SMALL

    def take(self, size: int) -> None:
        """Use `size` bytes; LimitError when there are fewer."""
        self._left -= size
        if self._left < 0:
            raise LimitError(
                "they would take far more memory than they are long: they consist of nearly empty "
                "parts"
            )


def check_depth(depth: int) -> None:
    """LimitError for a message or group within `depth` others where that is too deep."""
    if depth > MAX_DEPTH:
        raise LimitError(f"they nest more than {MAX_DEPTH} messages deep")


def encode_varint(value: int) -> bytes:
    """A non-negative number below 2**64 as a varint."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The number at `position`, and the position behind it, which is at most `end`."""
    value = shift = 0
    while True:
        if position >= end or shift > 63:
            raise TruncatedError(f"a number breaks off at byte {position} of {len(data)}")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK64, position
        shift += 7


def fields(
    data: bytes, position: int, end: int, depth: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of the message between two positions, within `depth` others.

    Of each its number, wire type, value, and the positions where it begins and ends. The value of a
    varint is its number; of everything else it is the position where the payload begins.
    """
    while position < end:
        start = position
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = decode_varint(data, start, end)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise TruncatedError(f"byte {start} starts no field")
        if kind in (VARINT, LENGTH_DELIMITED):
            if position < end and data[position] < 0x80:
                value = data[position]
                position += 1
            else:
                value, position = decode_varint(data, position, end)
            if kind == LENGTH_DELIMITED:
                size, value = value, position
                position += size
        elif kind in (FIXED64, FIXED32):
            value = position
            position += 8 if kind == FIXED64 else 4
        elif kind == START_GROUP:
            value, position = position, _end_of_group(data, position, end, number, depth)
        else:
            raise TruncatedError(f"byte {start} starts a field of the unknown wire type {kind}")
        if position > end:
            raise TruncatedError(
                f"field {number} needs {position - value} bytes at byte {value}, {end - value} are "
                "left"
            )
        yield number, kind, value, start, position


def _end_of_group(data: bytes, position: int, end: int, number: int, depth: int) -> int:
    """The position behind a group that was opened before `position`.

    No message of ours has groups; unknown ones are kept as they came.
    """
    open_groups = [number]
    while open_groups:
        check_depth(depth + len(open_groups))
        start = position
        tag, position = decode_varint(data, position, end)
        kind = tag & 7
        if kind == START_GROUP:
            open_groups.append(tag >> 3)
        elif kind == END_GROUP:
            if open_groups.pop() != tag >> 3:
                raise TruncatedError(f"byte {start} ends a group that was not open")
        elif kind == VARINT:
            _, position = decode_varint(data, position, end)
        elif kind == LENGTH_DELIMITED:
            size, position = decode_varint(data, position, end)
            position += size
        elif kind in (FIXED64, FIXED32):
            position += 8 if kind == FIXED64 else 4
        else:
            raise TruncatedError(f"byte {start} starts a field of the unknown wire type {kind}")
    return position


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 63) & _MASK64


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _fixed(form: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    packer = struct.Struct("<" + form)
    return packer.pack, lambda data: packer.unpack(data)[0]


def _varint(
    to_number: Callable[[Any], int], of_number: Callable[[int], Any]
) -> tuple[Callable[[Any], bytes], Callable[[Any], Any]]:
    return lambda value: encode_varint(to_number(value)), of_number


def _float_bytes(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


# Wire type, writer of the payload and reader of the payload, of each scalar type.
SCALARS: dict[str, tuple[int, Callable[[Any], bytes], Callable[[Any], Any]]] = {
    "double": (FIXED64, *_fixed("d")),
    "float": (FIXED32, _float_bytes, _fixed("f")[1]),
    "int32": (VARINT, *_varint(lambda v: v & _MASK64, _signed32)),
    "int64": (VARINT, *_varint(lambda v: v & _MASK64, _signed)),
    "uint32": (VARINT, *_varint(lambda v: v, lambda v: v & 0xFFFFFFFF)),
    "uint64": (VARINT, *_varint(lambda v: v, lambda v: v)),
    "sint32": (VARINT, *_varint(_zigzag, _unzigzag)),
    "sint64": (VARINT, *_varint(_zigzag, _unzigzag)),
    "bool": (VARINT, *_varint(int, bool)),
    "enum": (VARINT, *_varint(lambda v: v & _MASK64, _signed32)),
    "fixed32": (FIXED32, *_fixed("I")),
    "fixed64": (FIXED64, *_fixed("Q")),
    "sfixed32": (FIXED32, *_fixed("i")),
    "sfixed64": (FIXED64, *_fixed("q")),
}


def encode_delimited(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return encode_varint(len(payload)) + payload


def decode_packed(kind: int, read: Callable[[Any], Any], payload: bytes) -> list[Any]:
    """The numbers of a packed field."""
    if kind == VARINT:
        values, position, end = [], 0, len(payload)
        while position < end:
            number, position = decode_varint(payload, position, end)
            values.append(read(number))
        return values
    size = 8 if kind == FIXED64 else 4
    if len(payload) % size:
        raise TruncatedError(f"{len(payload)} bytes are no whole number of {size}-byte values")
    return [read(payload[i : i + size]) for i in range(0, len(payload), size)]
