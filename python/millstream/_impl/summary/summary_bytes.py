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
        for number, kind, begin, _, end in wire.fields(summary, 0, len(summary), 0):
            if number == _SUMMARY_VALUE and kind == wire.LENGTH_DELIMITED:
                tag, described = _tag_and_metadata(summary, begin, end)
                if described:
                    found.add(tag)
    except wire.TruncatedError as error:
        raise DecodeError(f"{len(summary)} bytes are no Summary: {error}") from None
    return found


def _tag_and_metadata(data: bytes, begin: int, end: int) -> tuple[bytes, bool]:
    tag, described = b"", False
    for number, kind, start, _, stop in wire.fields(data, begin, end, 1):
        if kind == wire.LENGTH_DELIMITED:
            if number == _VALUE_TAG:
                tag = data[start:stop]
            elif number == _VALUE_METADATA:
                described = True
    return tag, described


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
