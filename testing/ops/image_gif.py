"""Files in GIF: DecodeGif."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

# Codes of three bits: four colors, and these. A clear after two colors keeps all codes so short.
_CLEAR, _END, _BITS = 4, 5, 3


def _codes(pixels: Array) -> bytes:
    """The colors of a frame, compressed, as blocks."""
    codes = []
    for i, color in enumerate(pixels.ravel().tolist()):
        codes += [_CLEAR, color] if i % 2 == 0 else [color]
    bits = sum(code << _BITS * i for i, code in enumerate([*codes, _END]))
    data = bits.to_bytes((_BITS * (len(codes) + 1) + 7) // 8, "little")
    blocks = [data[i : i + 255] for i in range(0, len(data), 255)]
    return b"\x02" + b"".join(bytes([len(block)]) + block for block in blocks) + b"\x00"


def _rows(height: int, is_interlaced: bool) -> list[int]:
    """The rows of a frame in the order of the file."""
    if not is_interlaced:
        return list(range(height))
    steps = ((0, 8), (4, 8), (2, 4), (1, 2))
    return [row for first, step in steps for row in range(first, height, step)]


def _frame(source: Source, width: int, height: int) -> bytes:
    left, top = source.integer(0, width - 1), source.integer(0, height - 1)
    if source.chance(0.5):
        left = top = 0
    wide, high = source.integer(1, width), source.integer(1, height)
    if source.chance(0.02):
        wide = 0
    flags, table = source.pick((0, 0x40)), b""
    if source.chance(0.3):
        flags, table = flags | 0x81, source.random.bytes(12)
    pixels = source.random.integers(0, 4, size=(high, wide))
    control = b""
    if source.chance(0.5):
        transparent = source.integer(0, 1)
        kind = source.integer(0, 3) << 2 | transparent
        control = b"\x21\xf9\x04" + struct.pack("<BHB", kind, 3, source.integer(0, 3)) + b"\x00"
    return (
        control
        + struct.pack("<cHHHHB", b",", left, top, wide, high, flags)
        + table
        + _codes(pixels)
    )


def _file(source: Source) -> bytes:
    """A file, at times damaged."""
    width, height = source.integer(1, 6), source.integer(1, 9)
    has_table = source.chance(0.95)
    colors = 4 if source.chance(0.9) else 2
    flags = (0x80 if has_table else 0) | (1 if colors == 4 else 0)
    parts = [b"GIF89a" + struct.pack("<HHBBB", width, height, flags, 0, 0)]
    parts.append(source.random.bytes(3 * colors) if has_table else b"")
    if source.chance(0.2):
        parts.append(b"\x21\xfe\x02hi\x00")
    parts += [_frame(source, width, height) for _ in range(source.integer(0, 3))]
    file = b"".join([*parts, b";"])
    if source.chance(0.05):
        file = b"GIX" + file[3:]
    return file[: source.integer(0, len(file))] if source.chance(0.08) else file


def _make(source: Source, op: Any) -> Case:
    contents = np.empty(() if source.chance(0.97) else (1,), object)
    contents[...] = _file(source)
    return Case(op.name, [Input("string", contents)])


class _Bytes:
    """A file that is read from its beginning on; refused at its end."""

    def __init__(self, file: bytes) -> None:
        self._file, self._at = file, 0

    def take(self, count: int) -> bytes:
        refuse_unless(self._at + count <= len(self._file), "contents")
        self._at += count
        return self._file[self._at - count : self._at]

    def blocks(self) -> bytes:
        """What blocks hold, up to the empty one."""
        data = b""
        while (size := self.take(1)[0]) != 0:
            data += self.take(size)
        return data


def _colors_of(data: bytes, count: int) -> list[int]:
    bits = int.from_bytes(data, "little")
    codes = [bits >> at & 7 for at in range(0, 8 * len(data), _BITS)]
    return [code for code in codes if code < _CLEAR][:count]


def _draw(canvas: Array, place: tuple[int, ...], pixels: Array, table: Array, skipped: int) -> None:
    left, top, _, _ = place
    for y, row in enumerate(pixels):
        for x, color in enumerate(row.tolist()):
            if y + top < canvas.shape[0] and x + left < canvas.shape[1] and color != skipped:
                refuse_unless(color < len(table), "contents")
                canvas[y + top, x + left] = table[color]


def _decode(case: Case) -> Outcome:
    refuse_unless(case.array(0).ndim == 0, "contents")
    contents: Any = case.array(0)[()]
    refuse_unless(contents[:4] == b"GIF8", "contents")
    file = _Bytes(contents)
    file.take(6)
    width, height, flags, _, _ = struct.unpack("<HHBBB", file.take(7))
    common = _table(file, flags)
    canvas, frames, skipped = np.zeros((height, width, 3), np.uint8), [], -1
    while (mark := file.take(1)) != b";":
        if mark == b"!":
            kind, data = file.take(1), file.blocks()
            if kind == b"\xf9":
                skipped = data[3] if data[0] & 1 else -1
            continue
        place = struct.unpack("<HHHH", file.take(8))
        (own,) = file.take(1)
        table = _table(file, own) if own & 0x80 else common
        refuse_unless(0 not in place[2:], "contents")
        file.take(1)
        colors = _colors_of(file.blocks(), place[2] * place[3])
        pixels: Array = np.zeros((place[3], place[2]), np.int64)
        pixels[_rows(place[3], own & 0x40 != 0)] = np.reshape(colors, (place[3], place[2]))
        refuse_unless(len(table) > 0, "contents")
        _draw(canvas, place, pixels, table, skipped)
        frames.append(canvas.copy())
        skipped = -1
    refuse_unless(bool(frames), "contents")
    return [np.stack(frames)]


def _table(file: _Bytes, flags: int) -> Array:
    if not flags & 0x80:
        return np.zeros((0, 3), np.uint8)
    return np.frombuffer(file.take(3 * (2 << (flags & 7))), np.uint8).reshape(-1, 3)


define_tests(
    "DecodeGif",
    cases=_make,
    reference=_decode,
    exceptions={Property.STATIC_SHAPE: "the file says the size of its image"},
)
