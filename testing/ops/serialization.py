"""Tensors and sparse tensors in strings, and examples in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.strings import strings_input
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless, type_attr
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.sparse import (
    Sparse,
    drawn_shape,
    read_sparse,
    sparse_inputs,
    sparse_outputs,
)

_NUMBERS = {name: number for number, (name, _) in number_types.NAMES.items()}
_TYPES = ("float32", "int32", "int64", "string", "bool", "bfloat16", "complex64", "uint8", "qint8")
_MALFORMED = (b"\xff\xff\xff\xff\x01junk", b"\x08", b"\x12\x05")

# ---- One tensor ----


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low]) if rest == 0 else bytes([low | 0x80]) + _varint(rest)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def serialized(value: Array, dtype: str) -> bytes:
    """The TensorProto message that has the elements as bytes, and strings one by one."""
    dims = [b"\x08" + _varint(size) if size else b"" for size in value.shape]
    shape = b"".join(_field(2, dim) for dim in dims)
    head = b"\x08" + _varint(_NUMBERS[dtype]) + _field(2, shape)
    if dtype == "string":
        return head + b"".join(_field(8, bytes(text)) for text in value.reshape(-1))
    content = np.ascontiguousarray(value).tobytes()
    return head + (_field(4, content) if content else b"")


def _text_output(values: Sequence[bytes], shape: Sequence[int]) -> Array:
    made = strings_input(list(values), tuple(shape)).value
    assert made is not None
    return made


def _make_serialize_tensor(source: Source, op: Any) -> Case:
    dtype = source.pick(_TYPES)
    value = source.values(dtype, source.small_shape(0, 3, 3))
    return Case(op.name, [Input(dtype, value)], {"T": type_attr(dtype)})


define_tests(
    "SerializeTensor",
    cases=_make_serialize_tensor,
    reference=lambda case: [_text_output([serialized(case.array(0), case.inputs[0].dtype)], ())],
)


def _make_parse_tensor(source: Source, op: Any) -> Case:
    dtype = source.pick(_TYPES)
    value = source.values(dtype, source.small_shape(0, 3, 3))
    text = serialized(value, dtype)
    good = source.chance(0.93)
    if not good:
        text = source.pick((*_MALFORMED, text[:-1] + b"\xff\xff"))
    wanted = dtype if source.chance(0.95) else source.pick(_TYPES)
    kept = {"value": value, "good": good and wanted == dtype}
    return Case(op.name, [strings_input([text], ())], {"out_type": type_attr(wanted)}, kept)


def _parse_tensor(case: Case) -> Outcome:
    refuse_unless(case.values["good"], "serialized")
    return [case.values["value"]]


define_tests(
    "ParseTensor",
    cases=_make_parse_tensor,
    reference=_parse_tensor,
    exceptions={Property.STATIC_SHAPE: "the string says the shape"},
)

# ---- Sparse tensors ----


def _parts(sparse: Sparse, dtype: str) -> list[bytes]:
    indices, values, shape = sparse_outputs(sparse.indices, sparse.values, sparse.shape)
    return [serialized(indices, "int64"), serialized(values, dtype), serialized(shape, "int64")]


def _make_serialize_sparse(source: Source, op: Any) -> Case:
    dtype = source.pick(_TYPES)
    inputs = sparse_inputs(source, dtype, drawn_shape(source, 1, 3), in_order=source.chance(0.8))
    return Case(op.name, inputs, {"T": type_attr(dtype), "out_type": type_attr("string")})


def _serialize_sparse(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "sparse_", in_order=False, bounded=False)
    return [_text_output(_parts(sparse, case.inputs[1].dtype), (3,))]


def _serialize_many(case: Case) -> Outcome:
    sparse = read_sparse(case, 0, "sparse_", in_order=False, bounded=False)
    refuse_unless(len(sparse.shape) > 1, "sparse_shape")
    texts: list[bytes] = []
    for index in sparse.indices:
        refuse_unless(0 <= index[0] < sparse.shape[0], "sparse_indices")
    for row in range(sparse.shape[0]):
        own = [k for k, index in enumerate(sparse.indices) if index[0] == row]
        indices = [sparse.indices[k][1:] for k in own]
        part = Sparse(indices, sparse.values[own], sparse.shape[1:])
        texts += _parts(part, case.inputs[1].dtype)
    return [_text_output(texts, (sparse.shape[0], 3))]


define_tests(
    "SerializeSparse",
    cases=_make_serialize_sparse,
    reference=_serialize_sparse,
)
define_tests(
    "SerializeManySparse",
    cases=_make_serialize_sparse,
    reference=_serialize_many,
    exceptions={Property.STATIC_SHAPE: "the reference's shape function does not read the shape"},
)


def _one_sparse(source: Source, dtype: str, rank: int) -> Sparse:
    shape = tuple(source.size(3) for _ in range(rank))
    indices = [index for index in np.ndindex(*shape) if source.chance(0.5)]
    return Sparse(indices, source.values(dtype, (len(indices),)), shape)


def _make_deserialize(source: Source, op: Any) -> Case:
    dtype = source.pick(_TYPES)
    shapes: tuple[tuple[int, ...], ...] = ((2,), (1,), (3,))
    if op.name == "DeserializeSparse":
        shapes = (*shapes, (), (2, 2))
    before = source.pick(shapes) if source.chance(0.96) else (0,)
    count = int(np.prod(before, dtype=int))
    rank = source.integer(1, 3)
    all_of = [_one_sparse(source, dtype, rank) for _ in range(count)]
    good = count > 0
    if count > 1 and source.chance(0.05):
        all_of[-1] = _one_sparse(source, dtype, rank + 1)
        good = False
    texts = [text for each in all_of for text in _parts(each, dtype)]
    if texts and source.chance(0.06):
        texts[source.integer(0, len(texts) - 1)] = source.pick(_MALFORMED)
        good = False
    wanted = dtype
    if source.chance(0.04):
        wanted, good = ("int32" if dtype == "float32" else "float32"), False
    attrs = {"dtype": type_attr(wanted)}
    if op.name == "DeserializeSparse":
        attrs["Tserialized"] = type_attr("string")
    kept = {"all": all_of, "before": before, "good": good, "rank": rank}
    return Case(op.name, [strings_input(texts, (*before, 3))], attrs, kept)


def _deserialize(case: Case) -> Outcome:
    refuse_unless(case.values["good"], "serialized_sparse")
    before, all_of = case.values["before"], case.values["all"]
    places = list(np.ndindex(*before))
    indices = [
        (*place, *index)
        for place, each in zip(places, all_of, strict=True)
        for index in each.indices
    ]
    sizes = [max(each.shape[d] for each in all_of) for d in range(case.values["rank"])]
    values = np.concatenate([each.values for each in all_of])
    return sparse_outputs(indices, values, (*before, *sizes))


define_tests(
    ["DeserializeSparse", "DeserializeManySparse"],
    cases=_make_deserialize,
    reference=_deserialize,
    exceptions={Property.STATIC_SHAPE: "the strings say the shape"},
)

# ---- DecodeJSONExample ----

_EXAMPLES: tuple[Any, ...] = (
    {},
    {"features": {}},
    {"features": {"feature": {"n": {"int64List": {"value": ["3", 4]}}}}},
    {"features": {"feature": {"x": {"floatList": {"value": [0.5, -1]}}}}},
    {"features": {"feature": {"w": {"bytesList": {"value": ["YQ=="]}}}}},
)
_BINARY = (
    b"",
    b"\x0a\x00",
    tf.train.Example(
        features=tf.train.Features(
            feature={"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4]))}
        )
    ).SerializeToString(),
    tf.train.Example(
        features=tf.train.Features(
            feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1.0]))}
        )
    ).SerializeToString(),
    tf.train.Example(
        features=tf.train.Features(
            feature={"w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"]))}
        )
    ).SerializeToString(),
)
_NO_JSON = (b"{not json", b"", b"[1]", b'{"features": 3}', b'{"no": {}}', b"\xff")


def _make_json(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 2, 3)
    chosen = [source.integer(0, len(_EXAMPLES) - 1) for _ in range(int(np.prod(shape, dtype=int)))]
    texts = [json.dumps(_EXAMPLES[i]).encode() for i in chosen]
    good = not texts or source.chance(0.9)
    if not good:
        texts[source.integer(0, len(texts) - 1)] = source.pick(_NO_JSON)
    kept = {"chosen": chosen, "good": good}
    return Case(op.name, [strings_input(texts, shape)], {}, kept)


def _from_json(case: Case) -> Outcome:
    refuse_unless(case.values["good"], "json_examples")
    return [_text_output([_BINARY[i] for i in case.values["chosen"]], case.array(0).shape)]


define_tests("DecodeJSONExample", cases=_make_json, reference=_from_json)
