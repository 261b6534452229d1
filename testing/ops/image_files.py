"""Files of images."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source


def _bitmap(source: Source) -> bytes:
    """A file, at times with a header that says something else than what follows."""
    height, width = source.integer(1, 5), source.integer(1, 6)
    bits = source.pick((8, 24, 32)) if source.chance(0.9) else source.pick((0, 1, 16, 65535))
    row = (width * bits // 8 + 3) // 4 * 4
    begin, rows = 54, height if source.chance(0.5) else -height
    pixels = source.random.bytes(height * row if row < 1000 else 100)
    if source.chance(0.15):
        width = source.pick((0, -1, 7, 2**31 - 1, -(2**31)))
    if source.chance(0.15):
        rows = source.pick((0, 6, -6, 2**31 - 1, -(2**31)))
    if source.chance(0.1):
        begin = source.pick((0, -1, 31, 55, 2**31 - 1))
    header = struct.pack("<2sIHHiIiiHH", b"BM", 0, 0, 0, begin, 40, width, rows, 1, bits)
    file = header + bytes(54 - len(header)) + pixels
    if source.chance(0.1):
        file = file[: source.integer(0, len(file))]
    return file if source.chance(0.95) else b"GM" + file[2:]


def _make_bmp(source: Source, op: Any) -> Case:
    shape = () if source.chance(0.95) else (1,)
    contents = np.empty(shape, object)
    contents[...] = _bitmap(source)
    channels = 0 if source.chance(0.6) else source.pick((1, 3, 4, 2, -1))
    return Case(op.name, [Input("string", contents)], {"channels": attr_text(channels)})


def _bmp(case: Case) -> Outcome:
    channels = case.attr("channels")
    refuse_unless(channels in (0, 1, 3, 4), "channels")
    refuse_unless(case.array(0).ndim == 0, "contents")
    file: Any = case.array(0)[()]
    refuse_unless(len(file) >= 32 and file[:2] == b"BM", "contents")
    (begin,) = struct.unpack_from("<i", file, 10)
    width, rows = struct.unpack_from("<ii", file, 18)
    (bits,) = struct.unpack_from("<H", file, 28)
    refuse_unless(bits in (8, 24, 32), "contents")
    refuse_unless(channels in (0, bits // 8), "channels")
    refuse_unless(width > 0 and rows != 0 and begin >= 32, "contents")
    line, depth, height = (width * bits // 8 + 3) // 4 * 4, bits // 8, abs(rows)
    refuse_unless(begin + (height - 1) * line + width * depth <= len(file), "contents")
    result: Array = np.zeros((height, width, depth), np.uint8)
    for y in range(height):
        at = begin + (y if rows < 0 else height - 1 - y) * line
        pixels = np.frombuffer(file, np.uint8, width * depth, at).reshape(width, depth)
        result[y] = pixels if depth == 1 else pixels[:, [2, 1, 0, *range(3, depth)]]
    return [result]


define_tests(
    "DecodeBmp",
    cases=_make_bmp,
    reference=_bmp,
    exceptions={Property.STATIC_SHAPE: "the file says the size of its image"},
)
