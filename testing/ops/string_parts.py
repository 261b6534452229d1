"""Ops of strings: the case of letters, characters, sequences, and fields of records."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from testing.ops.strings import each_string, random_texts, strings_input
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.inputs import INDEX_TYPES, integers
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.sparse import Sparse, read_sparse, sparse_inputs

_COUNTED = {Property.STATIC_SHAPE: "parts are counted in the step"}

# ---- StringLower, StringUpper ----

_LETTERS = (
    *(b"a", b"B", b"z1", b"\xc3\x80", b"\xc3\xa9", b"\xc3\x9f", b"\xef\xac\x81", b"\xe6\x97\xa5"),
    *(b"\xce\xa3", b"\xce\xbf", b" ", b"\xff", b"\xc4\xb0", b"\xd0\x96", b"\xe1\xbe\x80", b""),
)


def _make_case(source: Source, op: Any) -> Case:
    texts = random_texts(source, source.small_shape(0, 3, 3), _LETTERS)
    encoding = source.pick(("", "utf-8")) if source.chance(0.95) else "latin-1"
    return Case(op.name, [texts], {"encoding": attr_text(encoding)})


def _changed_case(case: Case) -> Outcome:
    encoding = case.attr("encoding")
    refuse_unless(encoding in ("", "utf-8"), "encoding")
    name = "lower" if case.op == "StringLower" else "upper"

    def change(text: bytes) -> bytes:
        if not encoding:
            return bytes(getattr(text, name)())
        return str(getattr(text.decode("utf-8", "replace"), name)()).encode()

    return [each_string(case.array(0), change)]


define_tests(["StringLower", "StringUpper"], cases=_make_case, reference=_changed_case)

# ---- Unicode ----

_ENCODINGS = {
    "UTF-8": "utf-8",
    "UTF-16-BE": "utf-16-be",
    "UTF-32-BE": "utf-32-be",
    "ISO-8859-1": "latin-1",
    "US-ASCII": "ascii",
    "windows-1251": "cp1251",
    # As without a byte order mark.
    "UTF-16": "utf-16-be",
    "UTF-32": "utf-32-be",
}
_MARKED = ("UTF-16", "UTF-32")
_MARK = "\ufeff"
_CHARACTERS = (*("a", "\t", "\u00e9", "\u65e5", "\U0001f600", "\u0416", "\x01", "\ufeff"),)
_NO_ENCODINGS = ("no-such", "", "\x7f", "\u00e9", "UTF-8\x7f", "UTF-8//IGNORE")
_OUTPUTS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


def _in_order(codec: str, order: str) -> str:
    """The codec of the same units with another order of bytes."""
    return codec.removesuffix("be") + order


def _encoded(source: Source, encoding: str) -> bytes:
    text = "".join(source.pick(_CHARACTERS) for _ in range(source.integer(0, 5)))
    codec = _ENCODINGS.get(encoding, "utf-8")
    if encoding in _MARKED and source.chance(0.7):
        codec, text = _in_order(codec, source.pick(("be", "le"))), _MARK + text
    encoded = text.encode(codec, "ignore")
    if encoded and source.chance(0.25):
        place = source.integer(0, len(encoded) - 1)
        bad = source.pick((b"\xff", b"\xc3", b"\xe6\x97", b"\xed\xa0\x80", b"\xd8\x00", b""))
        encoded = encoded[:place] + bad + encoded[place + source.integer(0, 1) :]
    return encoded


def _error_attrs(source: Source) -> dict[str, str]:
    return {
        "errors": attr_text(source.pick(("replace", "ignore", "strict"))),
        "replacement_char": attr_text(
            source.pick((65533, 63))
            if source.chance(0.9)
            else source.pick((-1, 0xD800, 0xDFFF, 0xFFFE, 0x110000))
        ),
    }


def _make_decode(source: Source, op: Any) -> Case:
    is_known = source.chance(0.96)
    encoding = source.pick(tuple(_ENCODINGS) if is_known else _NO_ENCODINGS)
    shape = source.small_shape(0, 2, 3)
    texts = [_encoded(source, encoding) for _ in range(int(np.prod(shape, dtype=int)))]
    attrs = {
        "input_encoding": attr_text(encoding),
        "replace_control_characters": attr_text(source.chance(0.3)),
        **_error_attrs(source),
    }
    if op.name == "UnicodeTranscode":
        attrs["output_encoding"] = attr_text(source.pick(_OUTPUTS))
    else:
        attrs["Tsplits"] = type_attr(source.pick(INDEX_TYPES))
    return Case(op.name, [strings_input(texts, shape)], attrs)


def _is_code_point(code: int) -> bool:
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


# What stands in a decoded text for bytes that are no character; no test's text has it.
_BAD = "\ue123"


def _replace_one(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _BAD, error.end


codecs.register_error("test_replace_one", _replace_one)


def _characters(text: bytes, encoding: str) -> list[tuple[int, int, bool]]:
    """The code point, the bytes and the validity of each character."""
    codec, mark = _ENCODINGS[encoding], 0
    for marked in (_in_order(codec, order) for order in ("be", "le") if encoding in _MARKED):
        if text.startswith(_MARK.encode(marked)):
            codec, mark = marked, len(_MARK.encode(marked))
    decoder = codecs.getincrementaldecoder(codec)("test_replace_one")
    found: list[tuple[int, int, bool]] = []
    begin = 0  # the first character has the bytes of the mark
    for i in range(mark, len(text)):
        decoded = decoder.decode(text[i : i + 1], i + 1 == len(text))
        # Bytes that end a bad sequence make a character of their own, or begin one.
        waiting = len(decoder.getstate()[0])
        for k, character in enumerate(decoded):
            end = i + 1 - waiting - (len(decoded) - 1 - k) * len("a".encode(codec))
            found.append((ord(character), end - begin, character != _BAD))
            begin = end
    return found


def _resolved(case: Case, text: bytes) -> list[tuple[int, int]]:
    """The code points that stand for a text, and where they begin."""
    strict, ignores = case.attr("errors") == "strict", case.attr("errors") == "ignore"
    found, at = [], 0
    for code, size, valid in _characters(text, case.attr("input_encoding")):
        refuse_unless(valid or not strict, "input")
        control = case.attr("replace_control_characters") and code < 32
        refuse_unless(not (control and strict and case.op == "UnicodeTranscode"), "input")
        if valid and not control:
            found.append((code, at))
        elif not ignores:
            found.append((case.attr("replacement_char"), at))
        at += size
    return found


def _check_attrs(case: Case) -> None:
    refuse_unless(0 <= case.attr("replacement_char") <= 0x10FFFF, "replacement_char")
    if "input_encoding" in case.attrs:
        refuse_unless(case.attr("input_encoding") in _ENCODINGS, "input_encoding")


def _decode(case: Case) -> Outcome:
    _check_attrs(case)
    rows = [_resolved(case, text) for text in case.array(0).reshape(-1)]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    codes = np.array([code for row in rows for code, _ in row], np.int32)
    starts = np.array([at for row in rows for _, at in row], np.int64)
    outputs: list[Any] = [ends.astype(case.attr("Tsplits")[1]), codes]
    return outputs if case.op == "UnicodeDecode" else [*outputs, starts]


def _of_code(code: int, codec: str) -> bytes:
    """A character encoded; UTF-8 has no bytes for a surrogate, which others write as a unit."""
    if codec == "utf-8" and 0xD800 <= code <= 0xDFFF:
        code = 0xFFFD
    return chr(code).encode(codec, "surrogatepass")


def _transcode(case: Case) -> Outcome:
    _check_attrs(case)
    codec = _ENCODINGS[case.attr("output_encoding")]

    def change(text: bytes) -> bytes:
        return b"".join(_of_code(code, codec) for code, _ in _resolved(case, text))

    return [each_string(case.array(0), change)]


define_tests(
    ["UnicodeDecode", "UnicodeDecodeWithOffsets"],
    cases=_make_decode,
    reference=_decode,
    exceptions=_COUNTED,
)
define_tests("UnicodeTranscode", cases=_make_decode, reference=_transcode)


def _splits(source: Source, count: int, rows: int) -> list[int]:
    """Where rows of `count` values end; at times not in order, or beyond the values."""
    ends = sorted(source.integer(0, count) for _ in range(rows))
    splits = [0, *ends]
    splits[-1] = count if rows else 0
    if source.chance(0.1):
        splits[source.integer(0, rows)] = source.pick((-1, count + 1, count))
    return splits


def _make_encode(source: Source, op: Any) -> Case:
    count = source.integer(0, 8)
    codes = (97, 233, 0x65E5, 0x1F600, 0xD800, 0xFFFF, 0xFDD0, -1, 0x110000, 7)
    values = np.array([source.pick(codes) for _ in range(count)], np.int32).reshape(count)
    dtype = source.pick(INDEX_TYPES)
    splits = np.array(_splits(source, count, source.integer(0, 3)), dtype)
    if source.chance(0.04):
        splits = splits[:0]
    attrs = {
        "output_encoding": attr_text(source.pick(_OUTPUTS)),
        "Tsplits": type_attr(dtype),
        **_error_attrs(source),
    }
    return Case(op.name, [Input("int32", values), Input(dtype, splits)], attrs)


def _check_splits(splits: Sequence[int], count: int, name: str) -> None:
    refuse_unless(len(splits) > 0 and splits[0] == 0 and splits[-1] <= count, name)
    refuse_unless(all(a <= b for a, b in itertools.pairwise(splits)), name)


def _encode(case: Case) -> Outcome:
    _check_attrs(case)
    codes, splits = integers(case, 0), integers(case, 1)
    _check_splits(splits, len(codes), "input_splits")
    codec = _ENCODINGS[case.attr("output_encoding")]
    rows = []
    for begin, end in itertools.pairwise(splits):
        row = b""
        for code in codes[begin:end]:
            valid = _is_code_point(code)
            refuse_unless(valid or case.attr("errors") != "strict", "input_values")
            if valid or case.attr("errors") == "replace":
                row += _of_code(code if valid else case.attr("replacement_char"), codec)
        rows.append(row)
    return [strings_input(rows, (len(rows),)).value]


define_tests("UnicodeEncode", cases=_make_encode, reference=_encode)

# ---- StringNGrams, UnsortedSegmentJoin, Fact ----


def _make_ngrams(source: Source, op: Any) -> Case:
    count = source.integer(0, 8)
    dtype = source.pick(INDEX_TYPES)
    splits = np.array(_splits(source, count, source.integer(0, 4)), dtype)
    if source.chance(0.04):
        splits = splits[:0]
    widths = [source.integer(1, 4) for _ in range(source.integer(0, 3))]
    if source.chance(0.04):
        widths.append(source.pick((0, -1, 2**40)))
    attrs = {
        "separator": attr_text(source.pick(("", "|"))),
        "ngram_widths": attr_text(widths),
        "left_pad": attr_text("<"),
        "right_pad": attr_text(">"),
        "pad_width": attr_text(source.pick((-1, 0, 1, 2, 5))),
        "preserve_short_sequences": attr_text(source.chance(0.5)),
        "Tsplits": type_attr(dtype),
    }
    values = {"widths": widths}
    return Case(op.name, [random_texts(source, (count,)), Input(dtype, splits)], attrs, values)


def _ngrams_of(case: Case, row: list[bytes]) -> list[bytes]:
    separator, widths, pads = case.attr("separator"), case.values["widths"], case.attr("pad_width")

    def joined(width: int, padding: int) -> list[bytes]:
        whole = [b"<"] * padding + row + [b">"] * padding
        runs = range(len(whole) - width + 1)
        return [separator.encode().join(whole[i : i + width]) for i in runs]

    found = []
    for width in widths:
        found += joined(width, width - 1 if pads < 0 else min(pads, width - 1))
    if not found and row and case.attr("preserve_short_sequences"):
        found = joined(len(row) + 2 * max(pads, 0), max(pads, 0))
    return found


def _ngrams(case: Case) -> Outcome:
    data, splits = list(case.array(0)), integers(case, 1)
    refuse_unless(all(1 <= width < 2**16 for width in case.values["widths"]), "ngram_widths")
    if splits:
        _check_splits(splits, len(data), "data_splits")
        refuse_unless(splits[-1] == len(data), "data_splits")
    if not data or not splits:
        return [strings_input([b""] * len(data), (len(data),)).value, np.zeros_like(case.array(1))]
    rows = [_ngrams_of(case, data[begin:end]) for begin, end in itertools.pairwise(splits)]
    ends = np.cumsum([0, *(len(row) for row in rows)]).astype(case.array(1).dtype)
    flat = [ngram for row in rows for ngram in row]
    return [strings_input(flat, (len(flat),)).value, ends]


define_tests("StringNGrams", cases=_make_ngrams, reference=_ngrams, exceptions=_COUNTED)


def _make_segment_join(source: Source, op: Any) -> Case:
    ids_shape = source.small_shape(0, 2, 3)
    shape = (*ids_shape, *source.small_shape(0, 2, 3))
    segments = source.integer(0, 4)
    dtype, count_type = source.pick(INDEX_TYPES), source.pick(INDEX_TYPES)
    last = segments - (0 if source.chance(0.1) else 1)
    first = min(last, -1 if source.chance(0.1) else 0)
    ids = source.index_values(dtype, ids_shape, first, last)
    if source.chance(0.05):
        segments = -1
    if source.chance(0.05):
        shape = source.small_shape(0, 3)
    inputs = [
        random_texts(source, shape),
        Input(dtype, ids),
        Input(count_type, np.array(segments, count_type)),
    ]
    attrs = {
        "separator": attr_text(source.pick(("", ":"))),
        "Tindices": type_attr(dtype),
        "Tnumsegments": type_attr(count_type),
    }
    return Case(op.name, inputs, attrs)


def _segment_join(case: Case) -> Outcome:
    texts, ids, segments = case.array(0), case.array(1), int(case.array(2))
    refuse_unless(segments >= 0, "num_segments")
    refuse_unless(ids.shape == texts.shape[: ids.ndim], "segment_ids")
    shape = (segments, *texts.shape[ids.ndim :])
    parts: dict[Any, list[bytes]] = {}
    for place in np.ndindex(*texts.shape):
        segment = int(ids[place[: ids.ndim]])
        refuse_unless(0 <= segment < segments, "segment_ids")
        parts.setdefault((segment, *place[ids.ndim :]), []).append(bytes(texts[place]))
    refuse_unless(((ids >= 0) & (ids < segments)).all(), "segment_ids")
    result = np.empty(shape, object)
    for place in np.ndindex(*shape):
        joined = b""
        for part in parts.get(place, []):
            joined = joined + case.attr("separator").encode() + part if joined else part
        result[place] = joined
    return [result]


define_tests("UnsortedSegmentJoin", cases=_make_segment_join, reference=_segment_join)
define_tests(
    "Fact",
    cases=lambda source, op: Case(op.name, []),
    reference=lambda case: [np.array(b"0! == 1", object)],
    exceptions={Property.STATIC_SHAPE: "the reference's shape function says nothing"},
)

# ---- DecodeCSV ----

_FIELDS = {
    "int32": (b"1", b"-25", b" 7 ", b"2147483648", b"x"),
    "int64": (b"1", b"-25", b"2147483648"),
    "float32": (b"1.5", b"-2e3", b"7"),
    "float64": (b"1.5", b"-2e-3", b".5"),
    "string": (b"a", b"b c", b'"q,""x"', b'"', b"\xc3\xa9"),
}
_NA = b"NA"


def _make_csv(source: Source, op: Any) -> Case:
    types = [source.pick(tuple(_FIELDS)) for _ in range(source.integer(1, 4))]
    shape = source.small_shape(0, 2, 3)
    records = []
    for _ in range(int(np.prod(shape, dtype=int))):
        fields = []
        for dtype in types:
            choices = _FIELDS[dtype][: None if source.chance(0.1) else 3]
            fields.append(source.pick(choices) if source.chance(0.85) else source.pick((b"", _NA)))
        if source.chance(0.03):
            fields.append(b"1")
        records.append(b",".join(fields))
    columns = [i for i in range(len(types)) if source.chance(0.5)] if source.chance(0.3) else []
    chosen = [types[i] for i in columns] if columns else types
    inputs = [strings_input(records, shape)]
    for dtype in chosen:
        size: tuple[int, ...] = source.pick(((), (1,), (1,), (0,)))
        inputs.append(Input(dtype, source.values(dtype, size, "small")))
    quotes = source.chance(0.8)
    attrs = {
        "OUT_TYPE": attr_text([("type", dtype) for dtype in chosen]),
        "field_delim": attr_text("," if source.chance(0.97) else source.pick(("", ",,", "\n"))),
        "use_quote_delim": attr_text(quotes),
        "na_value": attr_text(source.pick(("", "NA"))),
        "select_cols": attr_text(columns),
    }
    return Case(op.name, inputs, attrs, {"types": chosen, "columns": columns})


def _fields(case: Case, record: bytes) -> list[bytes]:
    """The fields of a record of the cases, which quote only whole fields."""
    if not record:
        return []
    if not case.attr("use_quote_delim"):
        return record.split(b",")
    refuse_unless(record.count(b'"') % 2 == 0, "records")
    [row] = csv.reader([record.decode("latin-1")])
    return [field.encode("latin-1") for field in row]


def _csv(case: Case) -> Outcome:
    refuse_unless(case.attr("field_delim") == ",", "field_delim")
    columns, types = case.values["columns"], case.values["types"]
    records = case.array(0)
    outputs = [np.zeros(records.shape, number_types.stored_type(dtype)) for dtype in types]
    for place in np.ndindex(*records.shape):
        fields = _fields(case, bytes(records[place]))
        if columns:
            refuse_unless(columns[-1] < len(fields), "records")
            fields = [fields[i] for i in columns]
        refuse_unless(len(fields) == len(types), "records")
        for k, (dtype, field) in enumerate(zip(types, fields, strict=True)):
            outputs[k][place] = _field(case, dtype, field, case.array(k + 1))
    return list(outputs)


def _field(case: Case, dtype: str, field: bytes, default: Array) -> Any:
    if field == b"" or field == case.attr("na_value").encode():
        refuse_unless(default.size == 1, "record_defaults")
        return default.reshape(-1)[0]
    if dtype == "string":
        return field
    try:
        number = int(field) if dtype.startswith("int") else float(field)
    except ValueError:
        refuse_unless(False, "records")
    if dtype.startswith("int"):
        refuse_unless(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max, "records")
    return number


define_tests(
    "DecodeCSV",
    cases=_make_csv,
    reference=_csv,
    determinism=NotTested("reads texts, on one thread"),
)

# ---- EditDistance ----


def _make_distance(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = [source.size(3) for _ in range(source.integer(1, 3))]
    other = [*(source.size(3) for _ in shape[:-1]), source.size(4)]
    if source.chance(0.05):
        other = [*other, 2]
    inputs = sparse_inputs(source, dtype, shape, "small", faults=0.06)
    inputs += sparse_inputs(source, dtype, other, "small", faults=0.06)
    attrs = {"T": type_attr(dtype), "normalize": attr_text(source.chance(0.5))}
    return Case(op.name, inputs, attrs, {"type": dtype})


def _sequences(sparse: Sparse, dtype: str) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    values = number_types.as_numbers(sparse.values, dtype)
    for index, value in zip(sparse.indices, values, strict=True):
        found.setdefault(index[:-1], []).append(value)
    return found


def _distance_of(a: list[Any], b: list[Any]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + int(x != y)))
    return row[-1]


def _distance(case: Case) -> Outcome:
    a = read_sparse(case, 0, "hypothesis_", in_order=False)
    b = read_sparse(case, 3, "truth_", in_order=False)
    refuse_unless(0 < len(a.shape) == len(b.shape), "truth_shape")
    left, right = (_sequences(sparse, case.values["type"]) for sparse in (a, b))
    shape = tuple(max(x, y) for x, y in zip(a.shape[:-1], b.shape[:-1], strict=True))
    result = np.zeros(shape, np.float32)
    for place in {*left, *right}:
        x, y = left.get(place, []), right.get(place, [])
        distance = float(_distance_of(x, y))
        if case.attr("normalize"):
            distance = float(np.float32(distance) / np.float32(len(y))) if y else np.inf
        result[place] = distance
    return [result]


define_tests(
    "EditDistance",
    cases=_make_distance,
    reference=_distance,
    determinism=NotTested("counts changes, on one thread"),
)
