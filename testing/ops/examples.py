"""Ops that read training examples: features of one or many, and lists of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.strings import strings_input
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_TYPES = ("float32", "int64", "string")
_KEYS = ("a", "bc", "", "\u00e9", "d")
_SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (2, 1), (3,))
_ROWS: tuple[tuple[int, ...], ...] = ((-1,), (-1, 2))
_WORDS = (b"", b"x", b"yy", b"\xff\x00")
_MALFORMED = (b"\n\x7fjunk", b"\x0a", b"\x0b", b"\x80", b"\n\x04\n\x02\n\x05")
_EXCEPTIONS = {Property.STATIC_SHAPE: "the examples say how many values there are"}
_NO_NUMBERS = NotTested("copies values; one thread writes those of an example")

# A feature is a type, "" for one without values, and its values. A list is its steps.
Feature = tuple[str, list[Any]]


@dataclass(frozen=True)
class Column:
    """A feature that a case asks for; the shape is None of a sparse one."""

    key: str
    dtype: str
    shape: tuple[int, ...] | None = None
    default: Input | None = None

    @property
    def varies(self) -> bool:
        """Whether examples have any number of rows."""
        return self.shape is not None and self.shape[:1] == (-1,)

    @property
    def row(self) -> tuple[int, ...]:
        """The shape of an example, or of one of its rows."""
        shape = self.shape or ()
        return shape[1:] if self.varies else shape


# ---- Random examples ----


def _default(source: Source, dtype: str, shape: tuple[int, ...], may_lack: bool) -> Input:
    if shape[:1] == (-1,):
        shape = () if source.chance(0.9) else source.pick(((1,), (2,), (0,)))
    elif may_lack and source.chance(0.5):
        shape = (0,)
    elif source.chance(0.04):
        shape = (*shape, 2)
    return Input(dtype, source.values(dtype, shape, "small"))


def _columns(source: Source, shapes: Any) -> tuple[list[Column], list[Column]]:
    """Some sparse and some dense features."""
    keys = list(_KEYS)
    sparse, dense = [], []
    for _ in range(source.integer(1, 4)):
        key = keys.pop(source.integer(0, len(keys) - 1))
        dtype = source.pick(_TYPES)
        if source.chance(0.5):
            sparse.append(Column(key, dtype))
            continue
        shape = source.pick(shapes)
        dense.append(Column(key, dtype, shape, _default(source, dtype, shape, True)))
    return sparse, dense


def _values(source: Source, dtype: str, count: int) -> list[Any]:
    if dtype == "string":
        return [source.pick(_WORDS) for _ in range(count)]
    return [value.item() for value in source.values(dtype, (count,), "small")]


def _feature(source: Source, column: Column) -> Feature:
    if source.chance(0.05):
        return "", []
    dtype = column.dtype if source.chance(0.97) else source.pick(_TYPES)
    count = source.integer(0, 3)
    if column.shape is not None:
        size = int(np.prod(column.row, dtype=int))
        count = size * (count if column.varies else 1) + (1 if source.chance(0.03) else 0)
    return dtype, _values(source, dtype, count)


def _features(source: Source, columns: Sequence[Column]) -> dict[str, Feature]:
    found = {each.key: _feature(source, each) for each in columns if source.chance(0.8)}
    if source.chance(0.3):
        found["other"] = "int64", [7]
    return found


def _message(feature: Feature) -> Any:
    dtype, values = feature
    if dtype == "string":
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature()


def _features_message(features: dict[str, Feature]) -> Any:
    return tf.train.Features(feature={key: _message(each) for key, each in features.items()})


# ---- What is in them ----


def _count(feature: Feature, column: Column) -> int:
    """How many values the feature of an example has, which must be of the column's type."""
    dtype, values = feature
    refuse_unless(dtype in ("", column.dtype), "serialized")
    return len(values)


def _array(values: Any, dtype: str, shape: Sequence[int]) -> Array:
    made = np.empty(len(values), number_types.stored_type(dtype))
    made[:] = values
    return made.reshape(tuple(shape))


def _sparse_outputs(
    records: list[dict[str, Feature]], columns: list[Column], single: bool
) -> list[Any]:
    outputs: list[list[Any]] = [[], [], []]
    for column in columns:
        found = [record.get(column.key, ("", [])) for record in records]
        counts = [_count(feature, column) for feature in found]
        indices = [(i, j) for i, count in enumerate(counts) for j in range(count)]
        values = [value for _, each in found for value in each]
        width, shape = 2, [len(records), max(counts, default=0)]
        if single:
            width, shape, indices = 1, shape[1:], [(j,) for _, j in indices]  # type: ignore[misc]
        outputs[0].append(np.array(indices, np.int64).reshape(-1, width))
        outputs[1].append(_array(values, column.dtype, (len(values),)))
        outputs[2].append(np.array(shape, np.int64))
    return [output for part in outputs for output in part]


def _check_default(column: Column, argument: str) -> Array:
    assert column.default is not None
    value = column.default.value
    assert value is not None
    if column.varies:
        refuse_unless(value.size == 1, argument)
    else:
        refuse_unless(value.size == 0 or value.shape == column.shape, argument)
    return value


def _dense_outputs(
    records: list[dict[str, Feature]], columns: list[Column], single: bool, argument: str
) -> list[Any]:
    defaults = [_check_default(column, argument) for column in columns]
    outputs = []
    for column, default in zip(columns, defaults, strict=True):
        size = int(np.prod(column.row, dtype=int))
        found = [record.get(column.key, ("", [])) for record in records]
        for feature in found:
            count = _count(feature, column)
            if column.varies:
                refuse_unless(count % size == 0, "serialized")
            elif feature[0]:
                refuse_unless(count == size, "serialized")
            else:
                refuse_unless(default.size > 0, "serialized")
        most = max((len(values) for _, values in found), default=0) if column.varies else size
        flat: list[Any] = []
        for dtype, values in found:
            filled = values if dtype else [] if column.varies else list(default.reshape(-1))
            flat += [*filled, *(default.reshape(-1)[:1].tolist() * (most - len(filled)))]
        rows = (most // size,) if column.varies else ()
        shape = (*(() if single else (len(records),)), *rows, *column.row)
        outputs.append(_array(flat, column.dtype, shape))
    return outputs


# ---- ParseExample, ParseSingleExample ----


def _types(columns: list[Column]) -> Any:
    return attr_text([("type", column.dtype) for column in columns])


def _shapes(columns: list[Column]) -> Any:
    return attr_text([("shape", column.shape) for column in columns])


def _text(value: str) -> Input:
    return strings_input([value.encode()], ())


def _serialized(source: Source, records: list[Any]) -> tuple[list[bytes], list[Any]]:
    """The records as strings; None in the place of one that is damaged."""
    texts = [record.SerializeToString() for record in records]
    if texts and source.chance(0.04):
        texts[source.integer(0, len(texts) - 1)] = source.pick(_MALFORMED)
        return texts, [None]
    return texts, []


def _make_example(source: Source, op: Any) -> Case:
    single = op.name == "ParseSingleExample"
    sparse, dense = _columns(source, (*_SHAPES, *_ROWS))
    count = 1 if single else source.integer(0, 4)
    records = [_features(source, [*sparse, *dense]) for _ in range(count)]
    messages = [tf.train.Example(features=_features_message(each)) for each in records]
    texts, damaged = _serialized(source, messages)
    defaults = [column.default for column in dense if column.default is not None]
    attrs = {
        "sparse_types": _types(sparse),
        "Tdense": _types(dense),
        "dense_shapes": _shapes(dense),
    }
    if single:
        inputs = [strings_input(texts, ()), *defaults]
        attrs["num_sparse"] = attr_text(len(sparse))
        attrs["sparse_keys"] = attr_text([column.key for column in sparse])
        attrs["dense_keys"] = attr_text([column.key for column in dense])
    else:
        names = [b"n%d" % i for i in range(count)] if source.chance(0.3) else []
        names += [b"one more"] if source.chance(0.03) else []
        inputs = [
            strings_input(texts, (count,)),
            strings_input(names, (len(names),)),
            *(_text(column.key) for column in [*sparse, *dense]),
            *defaults,
        ]
        attrs["Nsparse"] = attr_text(len(sparse))
        attrs["Ndense"] = attr_text(len(dense))
    kept = {"records": records, "damaged": damaged, "sparse": sparse, "dense": dense}
    return Case(op.name, inputs, attrs, kept)


def _parse_example(case: Case) -> Outcome:
    single = case.op == "ParseSingleExample"
    records, dense = case.values["records"], case.values["dense"]
    if not single:
        names = case.array(1)
        refuse_unless(names.size in (0, len(records)), "serialized")
    for column in dense:
        _check_default(column, "dense_defaults")
    refuse_unless(not case.values["damaged"], "serialized")
    return [
        *_sparse_outputs(records, case.values["sparse"], single),
        *_dense_outputs(records, dense, single, "dense_defaults"),
    ]


define_tests(
    ["ParseExample", "ParseSingleExample"],
    cases=_make_example,
    reference=_parse_example,
    determinism=_NO_NUMBERS,
    exceptions=_EXCEPTIONS,
)

# ---- ParseSequenceExample, ParseSingleSequenceExample ----


def _steps(source: Source, column: Column) -> list[Feature]:
    return [_feature(source, column) for _ in range(source.integer(0, 3))]


def _sequence_message(context: dict[str, Feature], lists: dict[str, list[Feature]]) -> Any:
    made = {
        key: tf.train.FeatureList(feature=[_message(step) for step in steps])
        for key, steps in lists.items()
    }
    return tf.train.SequenceExample(
        context=_features_message(context), feature_lists=tf.train.FeatureLists(feature_list=made)
    )


def _make_sequence(source: Source, op: Any) -> Case:
    single = op.name == "ParseSingleSequenceExample"
    sparse, dense = _columns(source, _SHAPES)
    list_sparse, list_dense = _columns(source, _SHAPES)
    count = 1 if single else source.integer(0, 3)
    contexts = [_features(source, [*sparse, *dense]) for _ in range(count)]
    lists = [
        {each.key: _steps(source, each) for each in [*list_sparse, *list_dense]
         if source.chance(0.9)}
        for _ in range(count)
    ]  # fmt: skip
    may_miss = [column.key for column in list_dense if source.chance(0.6)]
    messages = [_sequence_message(*each) for each in zip(contexts, lists, strict=True)]
    texts, damaged = _serialized(source, messages)
    groups = {
        "context_sparse": sparse,
        "context_dense": dense,
        "feature_list_sparse": list_sparse,
        "feature_list_dense": list_dense,
    }
    defaults = [column.default for column in dense if column.default is not None]
    attrs = {f"N{name}": attr_text(len(columns)) for name, columns in groups.items()}
    attrs["context_sparse_types"] = _types(sparse)
    attrs["Tcontext_dense"] = _types(dense)
    attrs["context_dense_shapes"] = _shapes(dense)
    attrs["feature_list_sparse_types"] = _types(list_sparse)
    attrs["feature_list_dense_types"] = _types(list_dense)
    attrs["feature_list_dense_shapes"] = _shapes(list_dense)
    if single:
        inputs = [
            strings_input(texts, ()),
            strings_input([key.encode() for key in may_miss], (len(may_miss),)),
            *(_text(column.key) for columns in groups.values() for column in columns),
            *defaults,
            _text("name"),
        ]
    else:
        inputs = [strings_input(texts, (count,)), strings_input([], (0,)), *defaults]
        attrs["feature_list_dense_missing_assumed_empty"] = attr_text(may_miss)
        for name, columns in groups.items():
            attrs[f"{name}_keys"] = attr_text([column.key for column in columns])
    kept = {"contexts": contexts, "lists": lists, "damaged": damaged, "may_miss": may_miss}
    return Case(op.name, inputs, attrs, {**kept, **groups})


def _sparse_lists(lists: list[Any], columns: list[Column], single: bool) -> list[Any]:
    outputs: list[list[Any]] = [[], [], []]
    for column in columns:
        found = [each.get(column.key, []) for each in lists]
        places = [
            (i, step, j)
            for i, steps in enumerate(found)
            for step, feature in enumerate(steps)
            for j in range(_count(feature, column))
        ]
        values = [value for steps in found for _, each in steps for value in each]
        most = max((len(each) for steps in found for _, each in steps), default=0)
        shape = [len(lists), max((len(steps) for steps in found), default=0), most]
        first = 1 if single else 0
        outputs[0].append(np.array(places, np.int64).reshape(-1, 3)[:, first:])
        outputs[1].append(_array(values, column.dtype, (len(values),)))
        outputs[2].append(np.array(shape[first:], np.int64))
    return [output for part in outputs for output in part]


def _dense_lists(
    lists: list[Any], columns: list[Column], single: bool, may_miss: list[str]
) -> tuple[list[Any], list[Any]]:
    outputs, lengths = [], []
    for column in columns:
        size = int(np.prod(column.row, dtype=int))
        for each in lists:
            refuse_unless(column.key in each or column.key in may_miss, "serialized")
        found = [each.get(column.key, []) for each in lists]
        for steps in found:
            for dtype, values in steps:
                refuse_unless(dtype == column.dtype and len(values) == size, "serialized")
        most = max((len(steps) for steps in found), default=0)
        zero: Any = b"" if column.dtype == "string" else 0
        flat: list[Any] = []
        for steps in found:
            flat += [value for _, values in steps for value in values]
            flat += [zero] * (size * (most - len(steps)))
        batch = () if single else (len(lists),)
        outputs.append(_array(flat, column.dtype, (*batch, most, *column.row)))
        lengths.append(np.array([len(steps) for steps in found], np.int64))
    return outputs, [] if single else lengths


def _parse_sequence(case: Case) -> Outcome:
    single = case.op == "ParseSingleSequenceExample"
    contexts, lists = case.values["contexts"], case.values["lists"]
    for column in case.values["context_dense"]:
        _check_default(column, "context_dense_defaults")
    refuse_unless(not case.values["damaged"], "serialized")
    dense, lengths = _dense_lists(
        lists, case.values["feature_list_dense"], single, case.values["may_miss"]
    )
    return [
        *_sparse_outputs(contexts, case.values["context_sparse"], single),
        *_dense_outputs(contexts, case.values["context_dense"], single, "context_dense_defaults"),
        *_sparse_lists(lists, case.values["feature_list_sparse"], single),
        *dense,
        *lengths,
    ]


define_tests(
    ["ParseSequenceExample", "ParseSingleSequenceExample"],
    cases=_make_sequence,
    reference=_parse_sequence,
    determinism=_NO_NUMBERS,
    exceptions=_EXCEPTIONS,
)
