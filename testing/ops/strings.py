"""Ops of strings: parts of them, what they encode, and numbers as text."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.inputs import INDEX_TYPES, integers
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_PIECES = (
    b"",
    b" ",
    b"a",
    b"bc",
    b",",
    b"<>",
    b"\t\n",
    b"\xc3\xa9",
    b"\xe6\x97\xa5",
    b"\xff",
    b"\x97",
    b"9",
)
_COUNTED = {Property.STATIC_SHAPE: "parts are counted in the step"}


def random_text(source: Source, pieces: tuple[bytes, ...] = _PIECES) -> bytes:
    """A string of a few pieces."""
    return b"".join(source.pick(pieces) for _ in range(source.integer(0, 6)))


def strings_input(values: list[bytes], shape: Any) -> Input:
    """A tensor of strings."""
    cells = np.empty(len(values), object)
    cells[:] = values
    return Input("string", cells.reshape(shape))


def random_texts(source: Source, shape: Any, pieces: tuple[bytes, ...] = _PIECES) -> Input:
    """A tensor of such strings."""
    return strings_input(
        [random_text(source, pieces) for _ in range(int(np.prod(shape, dtype=int)))], shape
    )


def each_string(texts: Array, function: Any, dtype: Any = object) -> Array:
    """The function of each string."""
    result = np.empty(texts.size, dtype)
    for i, text in enumerate(texts.reshape(-1)):
        result[i] = function(text)
    return result.reshape(texts.shape)


# ---- StringStrip, StringLength, Substr ----


def _make_each(source: Source, op: Any) -> Case:
    case = Case(op.name, [random_texts(source, source.small_shape(0, 3, 3))])
    if op.name == "StringLength" and source.chance(0.7):
        case.attrs["unit"] = attr_text(source.pick(("BYTE", "UTF8_CHAR")))
    if op.name == "EncodeBase64" and source.chance(0.7):
        case.attrs["pad"] = attr_text(source.chance(0.5))
    return case


def _characters(text: bytes) -> list[bytes]:
    """The text cut before each byte that begins a character; bytes before the first are lost."""
    starts = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
    return [text[a:b] for a, b in zip(starts, [*starts, len(text)][1:], strict=True)]


def _length(case: Case) -> Outcome:
    in_characters = "unit" in case.attrs and case.attr("unit") == "UTF8_CHAR"
    count = (lambda text: len(_characters(text))) if in_characters else len
    return [each_string(case.array(0), count, np.int32)]


_SPACE = b" \t\n\v\f\r"
define_tests(
    "StringStrip",
    cases=_make_each,
    reference=lambda case: [each_string(case.array(0), lambda text: text.strip(_SPACE))],
)
define_tests("StringLength", cases=_make_each, reference=_length)


def _make_substr(source: Source, op: Any) -> Case:
    dtype = source.pick(INDEX_TYPES)
    first, second = source.broadcast_pair()
    if np.prod(first, dtype=float) > 60:
        first = first[-1:]
    pos = source.index_values(dtype, second, -2, 2)
    length = source.index_values(dtype, second if source.chance(0.95) else (2,), -1, 5)
    inputs = [random_texts(source, first), Input(dtype, pos), Input(dtype, length)]
    attrs = {"T": type_attr(dtype), "unit": attr_text(source.pick(("BYTE", "UTF8_CHAR")))}
    return Case(op.name, inputs, attrs)


def _substr(case: Case) -> Outcome:
    texts, pos, length = (case.array(i) for i in range(3))
    refuse_unless(pos.shape == length.shape, "len")
    try:
        texts, pos, length = np.broadcast_arrays(texts, pos, length)
    except ValueError:
        refuse_unless(False, "pos")
    parts = np.empty(texts.shape, object)
    for place in np.ndindex(texts.shape):
        text: Any = texts[place]
        begin = int(pos[place])
        units: Any = text
        if case.attr("unit") == "UTF8_CHAR":
            units = _characters(text)
            # Bytes before the first character are one together.
            rest = text[: len(text) - sum(len(unit) for unit in units)]
            units = [rest, *units] if rest else units
        refuse_unless(-len(units) <= begin <= len(units), "pos")
        count = int(length[place])
        if count < 0:
            in_bytes = case.attr("unit") == "BYTE"
            refuse_unless(in_bytes or begin >= 0, "len")
            count = len(units) if in_bytes else 0
        begin += len(units) if begin < 0 else 0
        part = units[begin : begin + count]
        parts[place] = part if isinstance(part, bytes) else b"".join(part)
    return [parts]


define_tests("Substr", cases=_make_substr, reference=_substr)


# ---- StringSplit, StringSplitV2 ----


def _make_split(source: Source, op: Any) -> Case:
    shape = (source.integer(0, 4),) if source.chance(0.95) else source.pick(((), (2, 2)))
    separator = source.pick((b"", b" ", b",", b"<>", b"a,"))
    at = strings_input([separator], () if source.chance(0.97) else (1,))
    case = Case(op.name, [random_texts(source, shape), at])
    if op.name == "StringSplit":
        case.values["skip"] = source.chance(0.5)
        case.attrs["skip_empty"] = attr_text(case.values["skip"])
    else:
        case.values["most"] = source.integer(-1, 3)
        case.attrs["maxsplit"] = attr_text(case.values["most"])
    return case


def _parts(case: Case, text: bytes, separator: bytes) -> list[bytes]:
    if case.op == "StringSplitV2":
        most = case.values["most"]
        if most == 0:
            return [text]
        if separator:
            return text.split(separator, most)
        parts = []
        text = text.lstrip(_SPACE)
        while text:
            end = min([i for i in range(len(text)) if text[i] in _SPACE], default=len(text))
            parts.append(text[:end])
            text = text[end:].lstrip(_SPACE)
            if len(parts) == most:
                return [*parts, text]
        return parts
    if not text:
        return []
    if not separator:
        return [text[i : i + 1] for i in range(len(text))]
    for byte in separator:
        text = text.replace(bytes([byte]), separator[:1])
    parts = text.split(separator[:1])
    return [part for part in parts if part or not case.values["skip"]]


def _split(case: Case) -> Outcome:
    texts, separator = case.array(0), case.array(1)
    refuse_unless(texts.ndim == 1, "input")
    refuse_unless(separator.ndim == 0, "sep")
    rows = [_parts(case, text, separator.item()) for text in texts]
    indices = [(i, k) for i, row in enumerate(rows) for k in range(len(row))]
    values = [part for row in rows for part in row]
    widest = max((len(row) for row in rows), default=0)
    return [
        np.array(indices, np.int64).reshape(-1, 2),
        strings_input(values, (len(values),)).value,
        np.array([len(texts), widest], np.int64),
    ]


define_tests(
    ["StringSplit", "StringSplitV2"], cases=_make_split, reference=_split, exceptions=_COUNTED
)


# ---- StringToNumber, AsString ----

_NUMBERS = (b"1", b"-2.5", b" 3e2 ", b"inf", b"", b"7x", b"0x10", b"2147483648", b"-7", b"1e400")


def _make_to_number(source: Source, op: Any) -> Case:
    out = pick_type(source, op, "out_type")
    whole = (b"1", b"-25", b" 70 ", b"2147483647")
    shape = source.small_shape(0, 2, 3)
    count = int(np.prod(shape, dtype=int))
    good = whole if out.startswith("int") else (b"1", b"-2.5", b" 3e2 ", b"1e-300", b".5")
    values = [source.pick(_NUMBERS if source.chance(0.05) else good) for _ in range(count)]
    return Case(op.name, [strings_input(values, shape)], {"out_type": type_attr(out)}, {"out": out})


def _to_number(case: Case) -> Outcome:
    out = case.values["out"]

    def read(text: bytes) -> Any:
        stripped = text.strip(_SPACE)
        try:
            if not out.startswith("int"):
                return float(int(stripped, 16) if b"x" in stripped else float(stripped))
            number = int(stripped)
        except ValueError:
            refuse_unless(False, "string_tensor")
        refuse_unless(np.iinfo(out).min <= number <= np.iinfo(out).max, "string_tensor")
        return number

    return [each_string(case.array(0), read, np.dtype(out))]


define_tests(
    "StringToNumber",
    cases=_make_to_number,
    reference=_to_number,
    determinism=NotTested("reads texts, on one thread"),
)


def _make_as_string(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    x = Input(dtype, source.values(dtype, source.small_shape(0, 3, 3)))
    chosen: dict[str, Any] = {}
    if source.chance(0.4) and (number_types.is_inexact(dtype) or source.chance(0.2)):
        chosen["precision"] = source.integer(0, 8)
    if source.chance(0.4) and (number_types.is_inexact(dtype) or source.chance(0.2)):
        chosen[source.pick(("scientific", "shortest"))] = True
    if source.chance(0.3):
        chosen["width"] = source.integer(0, 12)
    if source.chance(0.3):
        chosen["fill"] = source.pick(("+", "-", " ", "0", "x", "00"))
    attrs = {name: attr_text(value) for name, value in chosen.items()}
    return Case(op.name, [x], {"T": type_attr(dtype), **attrs}, chosen)


def _as_string(case: Case) -> Outcome:
    chosen, dtype = case.values, case.inputs[0].dtype
    fill, inexact = chosen.get("fill", ""), number_types.is_inexact(dtype)
    refuse_unless(not fill or fill in ("+", "-", " ", "0"), "fill")
    plain = not any(name in chosen for name in ("precision", "scientific", "shortest"))
    refuse_unless(inexact or plain, "precision")
    width = str(chosen["width"]) if "width" in chosen else ""
    precision = f".{chosen['precision']}" if "precision" in chosen else ""
    kind = "e" if "scientific" in chosen else "g" if "shortest" in chosen else "f"
    form = f"%{fill}{width}{precision}{kind if inexact else 'd'}"

    def write(number: Any) -> str:
        # What is not finite has no zeros before it.
        no_number = inexact and not np.isfinite(number)
        return str((form.replace("0", "", 1) if no_number and fill == "0" else form) % number)

    def text(number: Any) -> bytes:
        if dtype == "bool":
            return b"true" if number else b"false"
        if np.iscomplexobj(number):
            return f"({write(float(number.real))},{write(float(number.imag))})".encode()
        return write(float(number) if inexact else int(number)).encode()

    result = np.empty(case.array(0).size, object)
    for i, number in enumerate(case.array(0).reshape(-1)):
        # The library writes the sign of a NaN.
        parts = [number.real, number.imag] if inexact else [0]
        odd = any(part != part for part in parts)
        result[i] = None if odd else text(number)
    if any(cell is None for cell in result):
        return [None]
    return [result.reshape(case.array(0).shape)]


define_tests(
    "AsString",
    cases=_make_as_string,
    reference=_as_string,
    determinism=NotTested("writes texts, on one thread"),
)


# ---- DecodeRaw, EncodeBase64, DecodeBase64, ReduceJoin ----


def _make_decode_raw(source: Source, op: Any) -> Case:
    out = pick_type(source, op, "out_type")
    size = number_types.stored_type(out).itemsize
    length = size * source.integer(0, 3) + (1 if source.chance(0.06) else 0)
    shape = source.small_shape(0, 3, 3)
    count = int(np.prod(shape, dtype=int))
    values = [source.random.bytes(length) for _ in range(count)]
    if values and source.chance(0.05):
        values[-1] += b"x"
    attrs = {"out_type": type_attr(out)}
    little = source.chance(0.7)
    attrs["little_endian"] = attr_text(little)
    return Case(op.name, [strings_input(values, shape)], attrs, {"out": out, "little": little})


def _decode_raw(case: Case) -> Outcome:
    texts, dtype = case.array(0), number_types.stored_type(case.values["out"])
    lengths = {len(text) for text in texts.reshape(-1)} or {0}
    refuse_unless(len(lengths) == 1, "bytes")
    length = lengths.pop()
    refuse_unless(length % dtype.itemsize == 0, "bytes")
    content = b"".join(texts.reshape(-1))
    numbers = np.frombuffer(content, np.uint8 if case.values["out"] == "bool" else dtype)
    if case.values["out"] == "bool":
        numbers = numbers != 0
    elif not case.values["little"]:
        numbers = numbers.byteswap()
    return [numbers.reshape(*texts.shape, length // dtype.itemsize)]


define_tests(
    "DecodeRaw",
    cases=_make_decode_raw,
    reference=_decode_raw,
    exceptions={Property.STATIC_SHAPE: "the length of strings is no part of a shape"},
    determinism=NotTested("copies bytes, on one thread"),
)


def _make_decode_padded(source: Source, op: Any) -> Case:
    out = pick_type(source, op, "out_type")
    size = number_types.stored_type(out).itemsize
    length = size * source.integer(0 if source.chance(0.05) else 1, 4)
    length += 1 if source.chance(0.06) else 0
    shape = source.small_shape(0, 3, 3)
    values = [
        source.random.bytes(source.integer(0, 2 * length + 1))
        for _ in range(int(np.prod(shape, dtype=int)))
    ]
    little = source.chance(0.7)
    attrs = {"out_type": type_attr(out), "little_endian": attr_text(little)}
    inputs = [strings_input(values, shape), Input("int32", np.array(length, np.int32))]
    return Case(op.name, inputs, attrs, {"out": out, "little": little})


def _decode_padded(case: Case) -> Outcome:
    texts, dtype = case.array(0), number_types.stored_type(case.values["out"])
    length = int(case.array(1))
    refuse_unless(length > 0 and length % dtype.itemsize == 0, "fixed_length")
    content = b"".join(bytes(text)[:length].ljust(length, b"\0") for text in texts.reshape(-1))
    numbers = np.frombuffer(content, dtype)
    if not case.values["little"]:
        numbers = numbers.byteswap()
    return [numbers.reshape(*texts.shape, length // dtype.itemsize)]


define_tests(
    "DecodePaddedRaw",
    cases=_make_decode_padded,
    reference=_decode_padded,
    exceptions={Property.STATIC_SHAPE: "the length of strings is no part of a shape"},
    determinism=NotTested("copies bytes, on one thread"),
)


def _encode(case: Case) -> Outcome:
    pads = "pad" in case.attrs and case.attr("pad")

    def encode(text: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(text)
        return encoded if pads else encoded.rstrip(b"=")

    return [each_string(case.array(0), encode)]


define_tests("EncodeBase64", cases=_make_each, reference=_encode)


def _make_decode(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 2, 3)
    count = int(np.prod(shape, dtype=int))
    values = [base64.urlsafe_b64encode(random_text(source)) for _ in range(count)]
    values = [text.rstrip(b"=") if source.chance(0.5) else text for text in values]
    if values and source.chance(0.15):
        values[0] = source.pick((b"!!!", b"A", b"AB+/", b"YR==", b"YWI==", b"=", b"YQ=", b"\xff"))
    return Case(op.name, [strings_input(values, shape)])


def _decode(case: Case) -> Outcome:
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    def decode(text: bytes) -> bytes:
        if len(text) % 4 == 0:
            text = text[:-2] + text[-2:].rstrip(b"=")
        refuse_unless(all(byte in alphabet for byte in text) and len(text) % 4 != 1, "input")
        decoded = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        refuse_unless(base64.urlsafe_b64encode(decoded).rstrip(b"=") == text, "input")
        return decoded

    return [each_string(case.array(0), decode)]


define_tests("DecodeBase64", cases=_make_decode, reference=_decode)


def _make_reduce_join(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4, 3)
    rank = len(shape)
    axes = [int(axis) for axis in source.random.permutation(rank)[: source.integer(0, rank)]]
    axes = [axis - rank if source.chance(0.4) else axis for axis in axes]
    if source.chance(0.08):
        axes.append(source.pick((rank, -rank - 1, 0, 2**31 - 1)))
    values: Array = np.array(axes, np.int32).reshape(len(axes))
    if len(axes) == 1 and source.chance(0.5):
        values = values.reshape(())
    keep, separator = source.chance(0.5), source.pick(("", "-", ", "))
    attrs = {"keep_dims": attr_text(keep), "separator": attr_text(separator)}
    inputs = [random_texts(source, shape), Input("int32", values)]
    return Case(op.name, inputs, attrs, {"keep": keep, "separator": separator.encode()})


def _reduce_join(case: Case) -> Outcome:
    texts, axes = case.array(0), integers(case, 1)
    refuse_unless(all(-texts.ndim <= axis < texts.ndim for axis in axes), "reduction_indices")
    found = [axis % texts.ndim for axis in axes]
    refuse_unless(len(set(found)) == len(found), "reduction_indices")
    kept = [axis for axis in range(texts.ndim) if axis not in found]
    # The first of the axes changes first.
    turned = texts.transpose([*kept, *reversed(found)])
    shape = [texts.shape[axis] for axis in kept]
    count = int(np.prod([texts.shape[axis] for axis in found], dtype=int))
    rows = turned.reshape([*shape, count])
    joined = np.empty(shape, object)
    for place in np.ndindex(*shape):
        joined[place] = case.values["separator"].join(rows[place])
    if case.values["keep"]:
        joined = joined.reshape([1 if i in found else n for i, n in enumerate(texts.shape)])
    return [joined]


define_tests("ReduceJoin", cases=_make_reduce_join, reference=_reduce_join)


def _make_join(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4)
    count = source.integer(1, 4)
    inputs = []
    for _ in range(count):
        own: tuple[int, ...] = () if source.chance(0.3) else shape
        if source.chance(0.04):
            own = source.small_shape(0, 2)
        inputs.append(Input("string", source.values("string", own)))
    attrs = {"N": attr_text(count), "separator": attr_text(source.pick(("", "-", ", ")))}
    return Case(op.name, inputs, attrs)


def _join(case: Case) -> Outcome:
    arrays = [case.array(i) for i in range(len(case.inputs))]
    shapes = [array.shape for array in arrays if array.ndim]
    refuse_unless(len(set(shapes)) <= 1, "inputs")
    shape = shapes[0] if shapes else ()
    whole = [np.broadcast_to(array, shape) for array in arrays]
    joined = np.empty(shape, object)
    separator = case.attr("separator").encode()
    for place in np.ndindex(*shape):
        joined[place] = separator.join(array[place] for array in whole)
    return [joined]


define_tests("StringJoin", cases=_make_join, reference=_join)
