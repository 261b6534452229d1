"""Summaries as bytes: what a writer asks of each of them, without messages being made.

A program may write a summary in each step, and the values themselves go to the file as they are.
"""

from __future__ import annotations

import struct

from millstream._impl.protos import wire
from millstream._impl.protos.message import DecodeError

# Numbers of the fields that are read and written here.
_SUMMARY_VALUE = 1
_VALUE_TAG = 1
_VALUE_METADATA = 9
_EVENT_WALL_TIME, _EVENT_STEP, _EVENT_SUMMARY = 1, 2, 5

_WALL_TIME_TAG = bytes((_EVENT_WALL_TIME << 3 | wire.FIXED64,))
_STEP_TAG = bytes((_EVENT_STEP << 3 | wire.VARINT,))
_SUMMARY_TAG = bytes((_EVENT_SUMMARY << 3 | wire.LENGTH_DELIMITED,))
_WALL_TIME = struct.Struct("<d")
_MASK64 = (1 << 64) - 1


def tags_with_metadata(summary: bytes) -> set[bytes]:
    """The tags, in UTF-8, of those values of a ``Summary`` that have metadata.

    Raises
    ------
    DecodeError
        The bytes are no fields of a ``Summary``. What is inside of its values is not looked at.
    """
    found: set[bytes] = set()
    try:
        for number, begin, end in _delimited_fields(summary, 0, len(summary), 0):
            if number == _SUMMARY_VALUE:
                tag, described = b"", False
                for inner, start, stop in _delimited_fields(summary, begin, end, 1):
                    if inner == _VALUE_TAG:
                        tag = summary[start:stop]
                    elif inner == _VALUE_METADATA:
                        described = True
                if described:
                    found.add(tag)
    except wire.TruncatedError as error:
        raise DecodeError(f"{len(summary)} bytes are no Summary: {error}") from None
    return found


def _delimited_fields(data: bytes, begin: int, end: int, depth: int) -> list[tuple[int, int, int]]:
    """Number, begin and end of each field between two positions that has a length before it."""
    found = []
    position = begin
    try:
        # Numbers of fields below 16, floats, and lengths below 16 KiB: a step's summaries.
        while position < end:
            tag = data[position]
            if tag < 8:
                break
            if tag & 0x87 == wire.FIXED32:
                position += 5
                continue
            size = data[position + 1]
            position += 2
            if size >= 0x80:
                size += (data[position] << 7) - 0x80
                position += 1
            if tag & 0x87 != wire.LENGTH_DELIMITED or size >= 1 << 14:
                break
            found.append((tag >> 3, position, position + size))
            position += size
        else:
            if position == end:
                return found
    except IndexError:
        pass  # the general way says what is wrong
    return [
        (number, value, stop)
        for number, kind, value, _, stop in wire.fields(data, begin, end, depth)
        if kind == wire.LENGTH_DELIMITED
    ]


def event_of_summary(summary: bytes, wall_time: float, step: int | None) -> bytes:
    """An ``Event`` of the summary.

    Parameters
    ----------
    summary
        A ``Summary``.
    wall_time
        Seconds since 1970.
    step
        Number of the step, if there is one.
    """
    parts = [_WALL_TIME_TAG, _WALL_TIME.pack(wall_time)]
    if step:
        parts += [_STEP_TAG, wire.encode_varint(step & _MASK64)]
    parts += [_SUMMARY_TAG, wire.encode_varint(len(summary)), summary]
    return b"".join(parts)
