"""Packed strings: DecodeCompressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, RefusedError, refuse_unless
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_PACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"": bytes,
    b"ZLIB": zlib.compress,
    b"GZIP": lambda text: gzip.compress(text, mtime=0),
}
_WINDOW = {b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS + 16}


def _text(source: Source, kind: bytes) -> bytes:
    """A packed string, at times of several streams, or damaged."""
    packed = b""
    for _ in range(source.pick((1, 1, 1, 0, 2))):
        text = source.random.bytes(source.integer(0, 40)) * source.pick((1, 1, 50))
        packed += _PACK[kind](text)
    if source.chance(0.04):
        packed = packed[: source.integer(0, len(packed))]
    if source.chance(0.04):
        packed += b"rest"
    return packed


def _make(source: Source, op: Any) -> Case:
    kind = source.pick(tuple(_PACK))
    shape = source.small_shape(0, 3)
    texts = np.empty(shape, object)
    flat = texts.reshape(-1)
    flat[:] = [_text(source, kind) for _ in range(flat.size)]
    if source.chance(0.05):
        kind = source.pick((b"BZIP", b"zlib", b"\x00"))
    return Case(op.name, [Input("string", texts)], {"compression_type": attr_text(kind)})


def _unpacked(packed: bytes, kind: bytes) -> bytes:
    if kind == b"":
        return packed
    text = b""
    while packed:
        stream = zlib.decompressobj(_WINDOW[kind])
        try:
            text += stream.decompress(packed)
        except zlib.error:
            raise RefusedError("bytes") from None
        refuse_unless(stream.eof, "bytes")
        packed = stream.unused_data
    return text


def _decode(case: Case) -> Outcome:
    kind = case.attr("compression_type")
    refuse_unless(kind in _PACK, "compression_type")
    texts: Array = case.array(0)
    result = np.empty(texts.shape, object)
    flat: Any = result.reshape(-1)
    flat[:] = [_unpacked(bytes(text), kind) for text in texts.reshape(-1).tolist()]
    return [result]


define_tests("DecodeCompressed", cases=_make, reference=_decode)
