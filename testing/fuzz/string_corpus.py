"""The corpus of strings that ops parse, see parsed_string.cc."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Iterator
from pathlib import Path

_CASES = Path("testdata/conformance/ops/cases")
# The letter of the op, and which of its inputs is fed.
_OPS = {
    "DecodeWav": (b"w", 0),
    "DecodeCSV": (b"c", 0),
    "StringToNumber": (b"n", 0),
    "UnicodeDecode": (b"u", 0),
    "UnicodeTranscode": (b"t", 0),
    "DecodeBase64": (b"b", 0),
    "DecodeRaw": (b"d", 0),
    "RegexFullMatch": (b"r", 1),
    "RegexReplace": (b"R", 2),
    "StringSplitV2": (b"s", 0),
    "DecodeJSONExample": (b"j", 0),
    "ParseTensor": (b"p", 0),
    "StringLower": (b"l", 0),
}


def _golden() -> Iterator[tuple[str, bytes]]:
    """The first string of each golden case of these ops."""
    for path in ("strings.jsonl", "parsing.jsonl"):
        for line in (_CASES / path).read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            letter, place = _OPS.get(case["name"].split("/")[0], (b"", 0))
            if not letter or len(case["inputs"]) <= place:
                continue
            strings = case["inputs"][place].get("strings", {})
            texts = [base64.b64decode(text) for text in strings.get("b64", [])[:1]]
            for text in texts:
                yield case["name"].replace("/", "_"), letter + text


def _wav(bits: int, channels: int, data: bytes, *, rate: int = 8000, form: int = 1) -> bytes:
    """A file of RIFF chunks: the format, then the samples."""
    frame = channels * bits // 8
    fields = struct.pack("<HHIIHH", form, channels, rate, rate * frame, frame, bits)
    chunks = b"fmt " + struct.pack("<I", len(fields)) + fields
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _sounds() -> Iterator[tuple[str, bytes]]:
    good = _wav(16, 2, bytes(range(16)))
    yield "wav_stereo", good
    yield "wav_empty", _wav(16, 1, b"")
    yield "wav_8_bits", _wav(8, 1, bytes(5))
    yield "wav_no_channels", _wav(16, 0, bytes(8))
    yield "wav_many_channels", _wav(8, 65535, bytes(8))
    yield "wav_compressed", _wav(16, 1, bytes(8), form=85)
    yield "wav_cut", good[:50]
    yield "wav_long_samples", good.replace(struct.pack("<I", 16) + bytes(range(4)), b"\xff" * 8)
    yield "wav_long_format", good[:16] + b"\xff\xff\xff\x7f" + good[20:]
    yield "wav_unknown_chunk", good[:12] + b"LIST\x03\x00\x00\x00abc\x00" + good[12:]


def _texts() -> Iterator[tuple[str, bytes]]:
    """Each with the letter of its op."""
    yield "csv_quotes", b'c1.5,"a ""quoted"", word"'
    yield "csv_open_quote", b'c1,"a'
    yield "csv_empty_fields", b"c,"
    yield "csv_too_many", b"c1,2,3"
    yield "csv_some", b'Ca,"b\nc",d'
    yield "float_long", b"n" + b"1" * 400 + b"e-400"
    yield "float_hex", b"n 0x1.8p-1074 "
    yield "float_nan", b"nnan(1)"
    yield "int64_least", b"N-9223372036854775808"
    yield "int64_too_large", b"N9223372036854775808"
    yield "utf8_overlong", b"u\xc0\x80\xe0\x80\x80\xf0\x80\x80\x80"
    yield "utf8_surrogate", b"u\xed\xa0\x80\xf4\x90\x80\x80\xff"
    yield "utf8_cut", b"uabc\xf0\x9f\x98"
    yield "utf16_lone_surrogates", b"U\xd8\x3d\x00a\xde\x00\xd8"
    yield "utf16_mark", b"U\xff\xfea\x00"
    yield "shift_jis", b"t\x83\x65\x83\x58\x83\x67\x80\xff\x81"
    yield "lower_special", "lİI\u1e9e\U0001f600".encode()
    yield "length", "La\u0301\U0001f600".encode() + b"\x80"
    yield "base64_padded", b"bYWJjZA=="
    yield "base64_wrong", b"bYW=jZ*=="
    yield "raw", b"d\x01\x02\x03\x04\x05"
    yield "regex_nested", b"r((a*)*)*b"
    yield "regex_repeated", b"r(((a{100}){100}){100})"
    yield "regex_class", b"r[[:^alpha:]\\p{Greek}\\Q]\\E-\\x{10FFFF}]+"
    yield "regex_open", b"r(a|[b"
    yield "rewrite_group", b"R<\\0|\\1\\2>\\\\"
    yield "rewrite_no_group", b"R\\9"
    yield "regex_input", b"maaab\xff\x00ab" + b"a" * 3000
    yield "split", b"s,a,,b,"
    yield "separator_empty", b"S"
    yield "separator", b"Sab"
    yield "json", b'j{"features": {"feature": {"a": {"floatList": {"value": [1, "NaN"]}}}}}'
    yield "json_deep", b"j" + b'{"features":' * 200
    yield (
        "json_escapes",
        b'j{"features":{"feature":{"\\ud83d":{"bytesList":{"value":["="]}}}}}',
    )
    yield "tensor", b"p\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08" + struct.pack("<2f", 1, 2)
    yield "tensor_huge", b"p\x08\x01\x12\x0b\x12\x09\x08" + b"\xff" * 8
    yield "gzip", b"z" + gzip.compress(bytes(3000), mtime=0)
    yield "gzip_cut", b"z" + gzip.compress(b"abc" * 50, mtime=0)[:-9]


def parsed_strings() -> Iterator[tuple[str, bytes]]:
    """A letter for the op, and what it parses."""
    yield from _golden()
    for name, sound in _sounds():
        yield name, b"w" + sound
    yield from _texts()
