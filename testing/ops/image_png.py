"""Files in PNG: DecodePng and EncodePng."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Outcome, refuse_unless
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_PLANES = {_GRAY: 1, _RGB: 3, _PALETTE: 1, _GRAY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {
    _GRAY: (1, 2, 4, 8, 16),
    _RGB: (8, 16),
    _PALETTE: (1, 2, 4, 8),
    _GRAY_ALPHA: (8, 16),
    _RGBA: (8, 16),
}


# ---- The format, without interlaced rows ----


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _packed(samples: Array, bits: int) -> list[bytes]:
    """The bytes of each row of numbers."""
    if bits == 16:
        return [row.astype(">u2").tobytes() for row in samples]
    if bits == 8:
        return [row.astype(np.uint8).tobytes() for row in samples]
    places = np.arange(bits - 1, -1, -1)
    return [np.packbits((row[:, None] >> places & 1).astype(np.uint8)).tobytes() for row in samples]


def _filtered(rows: list[bytes], step: int, filters: list[int]) -> bytes:
    """The rows as differences from the bytes on the left (1) or above (2), or as they are (0)."""
    result = b""
    above = np.zeros(len(rows[0]), np.uint8)
    for row, kind in zip(rows, filters, strict=True):
        line = np.frombuffer(row, np.uint8)
        left = np.concatenate([np.zeros(step, np.uint8), line])[: len(line)]
        result += (
            bytes([kind]) + (line - (left if kind == 1 else above if kind == 2 else 0)).tobytes()
        )
        above = line
    return result


def _of_paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))


def _unfiltered(raw: bytes, height: int, length: int, step: int) -> list[bytes]:
    rows: list[bytes] = []
    above = bytes(length)
    for y in range(height):
        kind, line = raw[y * (length + 1)], bytearray(raw[y * (length + 1) + 1 :][:length])
        refuse_unless(kind <= 4, "contents")
        for i in range(length):
            left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
            guesses = (0, left, above[i], (left + above[i]) // 2, _of_paeth(left, above[i], corner))
            line[i] = (line[i] + guesses[kind]) % 256
        above = bytes(line)
        rows.append(above)
    return rows


def _unpacked(rows: list[bytes], count: int, bits: int) -> Array:
    if bits == 16:
        return np.array([np.frombuffer(row, ">u2") for row in rows], np.uint16)
    numbers = np.array([np.frombuffer(row, np.uint8) for row in rows])
    if bits == 8:
        return numbers.astype(np.uint16)
    all_bits = np.unpackbits(numbers, axis=1).reshape(len(rows), -1, bits)
    return (all_bits @ (1 << np.arange(bits - 1, -1, -1)))[:, :count].astype(np.uint16)


def _chunks(file: bytes) -> dict[bytes, bytes]:
    """What the chunks hold; refused unless all of them are whole."""
    refuse_unless(file[:8] == _SIGNATURE, "contents")
    found: dict[bytes, bytes] = {}
    at = 8
    while b"IEND" not in found:
        refuse_unless(at + 12 <= len(file), "contents")
        (length,) = struct.unpack_from(">I", file, at)
        refuse_unless(at + 12 + length <= len(file), "contents")
        kind, data = file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        (crc,) = struct.unpack_from(">I", file, at + 8 + length)
        refuse_unless(crc == zlib.crc32(kind + data), "contents")
        found[kind] = found.get(kind, b"") + data
        at += 12 + length
    return found


def decoded_png(file: bytes) -> tuple[Array, int]:
    """The numbers of a file, [height, width, planes], with colors for a palette; their bits."""
    chunks = _chunks(file)
    width, height, bits, color = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    refuse_unless(0 < width <= 10**6 and 0 < height <= 10**6, "contents")
    planes = _PLANES[color]
    length, step = (width * planes * bits + 7) // 8, max(planes * bits // 8, 1)
    raw = zlib.decompress(chunks[b"IDAT"])
    refuse_unless(len(raw) >= height * (length + 1), "contents")
    rows = _unfiltered(raw, height, length, step)
    image = _unpacked(rows, width * planes, bits).reshape(height, width, planes)
    if color == _PALETTE:
        colors = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
        image = colors[image[:, :, 0]].astype(np.uint16)
        if b"tRNS" in chunks:
            alpha = np.frombuffer(chunks[b"tRNS"].ljust(len(colors), b"\xff"), np.uint8)
            indices = _unpacked(rows, width, bits)
            image = np.concatenate([image, alpha[indices][:, :, None]], 2).astype(np.uint16)
        return image, 8
    if bits < 8:
        return image * (255 // (2**bits - 1)), 8
    return image, bits


# ---- Cases and references ----


def _file(source: Source) -> bytes:
    """A file, at times damaged."""
    color = source.pick(tuple(_PLANES))
    bits = source.pick(_DEPTHS[color])
    height, width = source.integer(1, 6), source.integer(1, 7)
    planes = _PLANES[color]
    samples = source.random.integers(0, 2**bits, size=(height, width * planes))
    filters = [source.integer(0, 2) for _ in range(height)]
    raw = _filtered(_packed(samples, bits), max(planes * bits // 8, 1), filters)
    if source.chance(0.06):
        height, width = source.pick(((2**31 - 1, 2**31 - 1), (0, 1), (2**20 + 1, 1), (99, width)))
    parts = [_SIGNATURE if source.chance(0.97) else b"\x89PNG\r\n\x1a\r"]
    parts.append(_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)))
    if color == _PALETTE:
        parts.append(_chunk(b"PLTE", source.random.bytes(3 * 2**bits)))
        if source.chance(0.5):
            parts.append(_chunk(b"tRNS", source.random.bytes(source.integer(1, 2**bits))))
    data = _chunk(b"IDAT", zlib.compress(raw))
    if source.chance(0.05):
        data = data[:-1] + bytes([data[-1] ^ 1])
    file = b"".join([*parts, data, _chunk(b"IEND", b"")])
    return file[: source.integer(0, len(file))] if source.chance(0.08) else file


def _make_decode(source: Source, op: Any) -> Case:
    contents = np.empty(() if source.chance(0.97) else (1,), object)
    contents[...] = _file(source)
    channels = source.pick((0, 0, 1, 3, 4)) if source.chance(0.95) else source.pick((2, -1, 5))
    attrs = {"channels": attr_text(channels)}
    attrs["dtype"] = attr_text(("type", source.pick(("uint8", "uint16"))))
    return Case(op.name, [Input("string", contents)], attrs)


def _with_channels(image: Array, channels: int, most: int) -> Array:
    """Gray becomes three equal colors; what has no alpha gets `most`."""
    planes = image.shape[2]
    colors, alpha = image[:, :, : planes - (planes + 1) % 2], image[:, :, planes - 1 :]
    if planes % 2 != 0:
        alpha = np.full_like(image[:, :, :1], most)
    if channels == 1 and planes >= 3:
        colors = (colors @ np.array([0.299, 0.587, 0.114]))[:, :, None]
    elif channels >= 3 and planes < 3:
        colors = np.repeat(colors, 3, axis=2)
    return np.concatenate([colors, alpha], 2) if channels == 4 else colors


def _not_near(got: Array, image: Array, bound: float) -> str:
    """Shades of gray are rounded, which the comparison of integers does not know."""
    return "" if (abs(got - image) <= bound).all() else f"the reference has {image}"


def _decode(case: Case) -> Outcome:
    channels, (_, dtype) = case.attr("channels"), case.attr("dtype")
    refuse_unless(channels in (0, 1, 3, 4), "channels")
    refuse_unless(case.array(0).ndim == 0, "contents")
    contents: Any = case.array(0)[()]
    image, bits = decoded_png(contents)
    if channels != 0:
        # The largest number of the file's bits: opaque, but where there are less than 8 of them.
        (file_bits,) = struct.unpack_from(">8xB", _chunks(contents)[b"IHDR"])
        image = _with_channels(image, channels, 2**file_bits - 1)
    wanted = 16 if dtype == "uint16" else 8
    if wanted != bits:
        image = image * 257 if wanted == 16 else np.floor_divide(image, 256)
    if image.dtype.kind == "f":
        # libpng's weights are multiples of 2^-15; 65,535 or 255 (times 257) are multiplied by them.
        bound = 1.1 if wanted == 8 else 4 if bits == 16 else 258
        return [Drawn(image.shape, lambda got: _not_near(got, image, bound))]
    return [image.astype(dtype)]


define_tests(
    "DecodePng",
    cases=_make_decode,
    reference=_decode,
    exceptions={Property.STATIC_SHAPE: "the file says the size of its image"},
)


def _make_encode(source: Source, op: Any) -> Case:
    dtype = source.pick(("uint8", "uint16"))
    shape = [source.integer(1, 5), source.integer(1, 6), source.integer(1, 4)]
    if source.chance(0.15):
        shape = source.pick(([0, 2, 3], [2, 0, 1], [2, 2, 0], [2, 2, 5], [2, 2], [1, 2, 2, 3]))
    level = source.integer(-1, 9) if source.chance(0.95) else source.pick((-2, 10, 2**40))
    attrs = {"compression": attr_text(level), "T": attr_text(("type", dtype))}
    return Case(op.name, [Input(dtype, source.values(dtype, shape))], attrs)


def _encode(case: Case) -> Outcome:
    image = case.array(0)
    refuse_unless(-1 <= case.attr("compression") <= 9, "compression")
    refuse_unless(image.ndim == 3 and image.size > 0 and image.shape[2] <= 4, "image")

    def check(contents: Array) -> str:
        file: Any = contents[()]
        got, bits = decoded_png(file)
        same = got.shape == image.shape and bool((got == image).all())
        return "" if same and bits == 8 * image.itemsize else f"holds {got} of {bits} bits"

    return [Drawn((), check)]


define_tests("EncodePng", cases=_make_encode, reference=_encode)
