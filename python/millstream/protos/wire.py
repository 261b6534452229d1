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


class TruncatedError(ValueError):
    """The bytes end within a field, or are no message."""


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


def decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position`, and the position behind it."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise TruncatedError(f"a number breaks off at byte {position} of {len(data)}")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK64, position
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int, Any, bytes]]:
    """The fields of a message: number, wire type, payload, and the bytes of the whole field.

    The payload is an integer for varints, bytes for everything else.
    """
    position, end = 0, len(data)
    while position < end:
        start = position
        tag, position = decode_varint(data, position)
        number, kind = tag >> 3, tag & 7
        payload: Any
        if number == 0:
            raise TruncatedError(f"byte {start} starts no field")
        if kind == VARINT:
            payload, position = decode_varint(data, position)
        elif kind in (FIXED64, FIXED32, LENGTH_DELIMITED):
            if kind == LENGTH_DELIMITED:
                size, position = decode_varint(data, position)
            else:
                size = 8 if kind == FIXED64 else 4
            if position + size > end:
                raise TruncatedError(
                    f"field {number} needs {size} bytes at byte {position}, {end - position} are "
                    "left"
                )
            payload = data[position : position + size]
            position += size
        elif kind == START_GROUP:
            position = _end_of_group(data, position, number)
            payload = data[start:position]
        else:
            raise TruncatedError(f"byte {start} starts a field of the unknown wire type {kind}")
        yield number, kind, payload, data[start:position]


def _end_of_group(data: bytes, position: int, number: int) -> int:
    """The position behind a group that was opened before `position`.

    No message of ours has groups; unknown ones are kept as they came.
    """
    open_groups = [number]
    while open_groups:
        tag, position = decode_varint(data, position)
        kind = tag & 7
        if kind == START_GROUP:
            open_groups.append(tag >> 3)
        elif kind == END_GROUP:
            if open_groups.pop() != tag >> 3:
                raise TruncatedError(f"byte {position - 1} ends a group that was not open")
        elif kind == VARINT:
            _, position = decode_varint(data, position)
        elif kind == LENGTH_DELIMITED:
            size, position = decode_varint(data, position)
            position += size
        else:
            position += 8 if kind == FIXED64 else 4
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
        values, position = [], 0
        while position < len(payload):
            number, position = decode_varint(payload, position)
            values.append(read(number))
        return values
    size = 8 if kind == FIXED64 else 4
    if len(payload) % size:
        raise TruncatedError(f"{len(payload)} bytes are no whole number of {size}-byte values")
    return [read(payload[i : i + size]) for i in range(0, len(payload), size)]
