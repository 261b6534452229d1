"""The corpora of files of images, see image_file.cc and bmp_file.cc."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_CASES = Path("testdata/conformance/ops/cases/image_codecs.jsonl")
_LETTERS = {b"\x89PNG": b"p", b"\xff\xd8\xff": b"j", b"GIF8": b"g"}
# Which channels, which ratio, upscaling, recovery, a part of the rows, a crop.
_OPTIONS = (0x10, 0x12, 0x36, 0x44, 0x91, 0x08)


def _files() -> Iterator[tuple[str, bytes]]:
    """Those of the golden cases, without files of others."""
    for line in _CASES.read_text().splitlines():
        case = json.loads(line)
        if case["name"].startswith("Decode") and not re.search("file|lena", case["name"]):
            (text,) = case["inputs"][0]["strings"]["b64"][:1]
            yield case["name"].replace("/", "_"), base64.b64decode(text)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, bits: int, color: int, interlace: int, *rest: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + b"".join(rest)


def _pngs() -> Iterator[tuple[str, bytes]]:
    end = _chunk(b"IEND", b"")
    palette = _chunk(b"PLTE", bytes(range(12)))
    pixels = _chunk(b"IDAT", zlib.compress(b"\x00\x1b\x01\x27\x02\xe4"))
    yield "palette", _png(4, 3, 2, 3, 0, palette, pixels, end)
    yield "transparent", _png(4, 3, 2, 3, 0, palette, _chunk(b"tRNS", b"\x07\x80"), pixels, end)
    yield "interlaced", _png(2, 2, 8, 0, 1, _chunk(b"IDAT", zlib.compress(bytes(8))), end)
    yield "gamma", _png(4, 3, 2, 3, 0, _chunk(b"gAMA", b"\x00\x00\xb1\x8f"), palette, pixels, end)
    yield "huge", _png(2**31 - 1, 2**31 - 1, 8, 6, 1)
    yield "large", _png(60_000, 60_000, 16, 6, 1, pixels, end)
    yield "without_data", _png(3, 3, 8, 6, 0)


def _gif(width: int, height: int, *frames: bytes) -> bytes:
    colors = bytes(range(0, 240, 20))
    return (
        b"GIF89a"
        + struct.pack("<HHBBB", width, height, 0x81, 0, 0)
        + colors
        + b"".join(frames)
        + b";"
    )


def _gifs() -> Iterator[tuple[str, bytes]]:
    """The codes are: a new table, color 1, color 2; and so on; the end."""
    control = b"\x21\xf9\x04\x05\x00\x00\x01\x00"
    data = b"\x02\x02\x8c\x0a\x00"
    first = struct.pack("<cHHHHB", b",", 0, 0, 2, 1, 0) + data
    second = control + struct.pack("<cHHHHB", b",", 1, 1, 1, 2, 0x40) + data
    yield "one", _gif(2, 1, first)
    yield "two", _gif(3, 3, first, second)
    yield "comment", _gif(2, 1, b"\x21\xfe\x02hi\x00", first)
    yield "many", _gif(200, 200, *[first] * 40)
    yield "screen", _gif(65535, 65535, first)
    yield "no_screen", _gif(0, 0, first)


def files_of_images() -> Iterator[tuple[str, bytes]]:
    """A letter for the format, options, and the file."""
    for i, (name, file) in enumerate(_files()):
        for begin, letter in _LETTERS.items():
            if file.startswith(begin):
                yield name, letter + bytes([_OPTIONS[i % len(_OPTIONS)]]) + file
    for name, file in _pngs():
        yield f"png_{name}", b"p\x03" + file
        yield f"png_{name}_gray", b"p\x05" + file
    for name, file in _gifs():
        yield f"gif_{name}", b"g\x00" + file
    yield "jpeg_begin", b"j\x20\xff\xd8\xff"
    yield "zlib", b"z\x00" + zlib.compress(b"text" * 9) + zlib.compress(b"")
    yield "gzip", b"Z\x00" + gzip.compress(bytes(3000), mtime=0)


def bmp_files() -> Iterator[tuple[str, bytes]]:
    """The file alone."""
    yield from ((name, file) for name, file in _files() if name.startswith("DecodeBmp"))
