"""Files in JPEG, read and written."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Outcome, refuse_unless
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_SIDE = 8  # of a block

# ---- A format in which all pixels of a block are equal, so that results are exact ----


def _segment(mark: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, mark, len(data) + 2) + data


# Quantization by 8, which makes the first coefficient the mean of its block. A difference of the
# first coefficients has a code of four bits for its length; the other coefficients, none, of one.
_BEFORE = b"\xff\xd8" + _segment(0xDB, b"\x00" + bytes([8] * 64))
_CODES = _segment(0xC4, b"\x00" + bytes([0, 0, 0, 9] + [0] * 12) + bytes(range(9)))
_CODES += _segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\x00")
_SCAN = _segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")
_SIZE_AT = len(_BEFORE) + 5


def _file(blocks: Array, height: int, width: int) -> bytes:
    """The file of a gray image whose blocks have these values."""
    bits, last = "", 128
    for value in blocks.ravel().tolist():
        difference, last = value - last, value
        length = abs(difference).bit_length()
        digits = difference if difference > 0 else difference + (1 << length) - 1
        bits += f"{length:04b}" + (f"{digits:0{length}b}" if length else "") + "0"
    bits += "1" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00")
    frame = _segment(0xC0, struct.pack(">BHHB3s", 8, height, width, 1, b"\x01\x11\x00"))
    return _BEFORE + frame + _CODES + _SCAN + data + b"\xff\xd9"


def _decoded(file: bytes) -> tuple[Array, int, int]:
    """The blocks, and the size in pixels. The file is whole."""
    height, width = struct.unpack_from(">HH", file, _SIZE_AT)
    data = file[file.index(_SCAN) + len(_SCAN) : -2].replace(b"\xff\x00", b"\xff")
    bits = f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"
    rows, columns = -(-height // _SIDE), -(-width // _SIDE)
    values, last, at = [], 128, 0
    for _ in range(rows * columns):
        length = int(bits[at : at + 4], 2)
        digits = int(bits[at + 4 : at + 4 + length] or "0", 2)
        is_positive = length == 0 or bits[at + 4] == "1"
        last += digits if is_positive else digits - (1 << length) + 1
        values.append(last)
        at += 5 + length
    return np.array(values, np.uint8).reshape(rows, columns), height, width


# ---- Reading ----


def _whole_file(source: Source) -> bytes:
    height, width = source.integer(1, 30), source.integer(1, 30)
    shape = (-(-height // _SIDE), -(-width // _SIDE))
    return _file(source.random.integers(0, 256, size=shape), height, width)


def _contents(source: Source) -> Input:
    file = _whole_file(source)
    if source.chance(0.1):
        file = file[: source.integer(0, len(file) - 1)]
    contents = np.empty(() if source.chance(0.97) else (1,), object)
    contents[...] = file
    return Input("string", contents)


def _check_contents(case: Case) -> bytes:
    refuse_unless(case.array(0).ndim == 0, "contents")
    file: Any = case.array(0)[()]
    # Nothing of a file that is cut looks like its end.
    refuse_unless(file[:3] == b"\xff\xd8\xff" and file[-2:] == b"\xff\xd9", "contents")
    return bytes(file)


def _make_decode(source: Source, op: Any) -> Case:
    def most(legal: tuple[Any, ...], others: tuple[Any, ...]) -> str:
        return attr_text(source.pick(legal if source.chance(0.96) else others))

    attrs = {
        "channels": most((0, 1, 3), (4, 2, -1)),
        "ratio": most((1, 2, 4, 8), (0, 3, 16, -1)),
        "fancy_upscaling": attr_text(source.chance(0.5)),
        "try_recover_truncated": attr_text(False),
        "acceptable_fraction": attr_text(source.pick((1.0, 1.5))),
        "dct_method": most((b"", b"INTEGER_FAST", b"INTEGER_ACCURATE"), (b"FLOAT", b"\x00")),
    }
    inputs = [_contents(source)]
    if op.name == "DecodeAndCropJpeg":
        inputs.append(Input("int32", _window(source)))
    return Case(op.name, inputs, attrs)


def _window(source: Source) -> Array:
    top, left, height, width = (source.integer(0, 3), source.integer(0, 4), 1, 2)
    if source.chance(0.5):
        height, width = source.integer(1, 9), source.integer(1, 9)
    window = [top, left, height, width]
    if source.chance(0.1):
        window[source.integer(0, 3)] = source.pick((-1, 0, 31, 2**31 - 1, -(2**31)))
    return np.array(window[: 4 if source.chance(0.97) else 3], np.int32)


def _decode(case: Case) -> Outcome:
    channels, ratio = case.attr("channels"), case.attr("ratio")
    refuse_unless(ratio in (1, 2, 4, 8), "ratio")
    refuse_unless(case.attr("dct_method") in (b"", b"INTEGER_FAST", b"INTEGER_ACCURATE"), "dct")
    refuse_unless(channels in (0, 1, 3), "channels")
    blocks, height, width = _decoded(_check_contents(case))
    side = _SIDE // ratio
    image = np.repeat(np.repeat(blocks, side, 0), side, 1)
    image = image[: -(-height // ratio), : -(-width // ratio), None]
    if case.op == "DecodeAndCropJpeg":
        refuse_unless(case.array(1).shape == (4,), "crop_window")
        top, left, rows, columns = case.array(1).tolist()
        refuse_unless(min(top, left) >= 0 and min(rows, columns) > 0, "crop_window")
        refuse_unless(top + rows <= image.shape[0], "crop_window")
        refuse_unless(left + columns <= image.shape[1], "crop_window")
        image = image[top : top + rows, left : left + columns]
    return [np.repeat(image, 3, 2) if channels == 3 else image]


define_tests(
    ["DecodeJpeg", "DecodeAndCropJpeg"],
    cases=_make_decode,
    reference=_decode,
    exceptions={Property.STATIC_SHAPE: "the file says the size of its image"},
)


def _make_extract(source: Source, op: Any) -> Case:
    dtype = source.pick(("int32", "int64"))
    # Whole: the header alone is read.
    contents = np.empty((), object)
    contents[...] = _whole_file(source) if source.chance(0.9) else b"\xff\xd8\xff"
    return Case(op.name, [Input("string", contents)], {"output_type": attr_text(("type", dtype))})


def _extract(case: Case) -> Outcome:
    _, height, width = _decoded(_check_contents(case))
    return [np.array([height, width, 1], case.attr("output_type")[1])]


define_tests("ExtractJpegShape", cases=_make_extract, reference=_extract)

# ---- Writing ----


def _image(source: Source) -> Input:
    shape = [source.integer(1, 9), source.integer(1, 20), source.pick((1, 3))]
    if source.chance(0.15):
        shape = source.pick(([0, 2, 3], [2, 2, 0], [2, 2, 2], [2, 2, 4], [2, 2], [1, 2, 2, 3]))
    return Input("uint8", source.values("uint8", shape))


def _make_encode(source: Source, op: Any) -> Case:
    quality = source.integer(0, 100) if source.chance(0.93) else source.pick((-1, 101, 2**31 - 1))
    image = _image(source)
    if op.name == "EncodeJpegVariableQuality":
        return Case(op.name, [image, Input("int32", np.array(quality, np.int32))])
    density = source.integer(0, 65535) if source.chance(0.95) else source.pick((-1, 65536))
    attrs = {
        "format": source.pick((b"", b"", b"grayscale", b"rgb")),
        "quality": quality,
        "progressive": source.chance(0.3),
        "optimize_size": source.chance(0.3),
        "chroma_downsampling": source.chance(0.5),
        "density_unit": source.pick((b"in", b"cm")),
        "x_density": density,
        "y_density": source.integer(0, 65535),
        "xmp_metadata": source.pick((b"", b"", b"<x/>")),
    }
    return Case(op.name, [image], {name: attr_text(value) for name, value in attrs.items()})


def _encode(case: Case) -> Outcome:
    image = case.array(0)
    if case.op == "EncodeJpeg":
        quality, wanted = case.attr("quality"), case.attr("format")
        for name in ("x_density", "y_density"):
            refuse_unless(0 <= case.attr(name) <= 65535, name)
    else:
        quality, wanted = int(case.array(1)), b""
    refuse_unless(0 <= quality <= 100, "quality")
    refuse_unless(image.ndim == 3 and image.size > 0, "image")
    allowed = {b"": (1, 3), b"grayscale": (1,), b"rgb": (3,)}[wanted]
    refuse_unless(image.shape[2] in allowed, "image")

    def check(contents: Array) -> str:
        file: Any = contents[()]
        if file[:3] != b"\xff\xd8\xff" or file[-2:] != b"\xff\xd9":
            return f"begins with {file[:4]} and ends with {file[-4:]}"
        at = max(file.find(b"\xff\xc0\x00"), file.find(b"\xff\xc2\x00"))
        height, width, channels = struct.unpack_from(">HHB", file, at + 5)
        if image.shape != (height, width, channels):
            return f"is of {height} x {width} x {channels}"
        return "" if case.op != "EncodeJpeg" or case.attr("xmp_metadata") in file else "lacks XMP"

    return [Drawn((), check)]


define_tests(["EncodeJpeg", "EncodeJpegVariableQuality"], cases=_make_encode, reference=_encode)
