"""Features of rows in all combinations; golden cases have the hashes of texts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Drawn, Outcome, checked_size, refuse_unless, type_attr
from testing.ops.support.registry import Property, define_tests
from testing.ops.support.source import Source

_TYPES = ("int64", "string")
_BITS = 2**64 - 1


def _make(source: Source, op: Any) -> Case:
    rows = source.size(4)
    sparse, dense = source.integer(0, 2), source.integer(0, 2)
    types = [source.pick(_TYPES) for _ in range(sparse)]
    dense_types = [source.pick(_TYPES) for _ in range(dense)]
    if source.chance(0.4):
        types, dense_types = ["int64"] * sparse, ["int64"] * dense
    parts: list[list[Input]] = [[], [], []]
    for dtype in types:
        places = np.array(list(np.ndindex(rows, 3)), np.int64).reshape(-1, 2)
        places = places[source.random.random(len(places)) < 0.6]
        if source.chance(0.06):
            places = source.random.permutation(places)
        count = len(places) + (1 if source.chance(0.03) else 0)
        sizes = [rows + (1 if source.chance(0.03) else 0), 3]
        if source.chance(0.03):
            sizes = source.pick(([-1, 3], [rows], [2**62, 4], [rows, 3, 1]))
        parts[0].append(Input("int64", places))
        parts[1].append(Input(dtype, source.values(dtype, (count,))))
        parts[2].append(Input("int64", np.array(sizes, np.int64)))
    inputs = [*parts[0], *parts[1], *parts[2]]
    for dtype in dense_types:
        shape = (rows, source.size(3)) if source.chance(0.96) else source.small_shape()
        inputs.append(Input(dtype, source.values(dtype, shape)))
    hashed = source.chance(0.6)
    out_type = "int64" if hashed == source.chance(0.97) else "string"
    attrs = {
        "N": attr_text(sparse),
        "hashed_output": attr_text(hashed),
        "num_buckets": attr_text(source.pick((0, 1, 7, 2**40))),
        "hash_key": attr_text(source.integer(-(2**62), 2**62)),
        "sparse_types": attr_text([("type", dtype) for dtype in types]),
        "dense_types": attr_text([("type", dtype) for dtype in dense_types]),
        "out_type": type_attr(out_type),
        "internal_type": type_attr(source.pick(_TYPES)),
    }
    return Case(op.name, inputs, attrs)


def _mixed(x: int) -> int:
    return x ^ (x >> 47)


def _hash(key: int, features: Any) -> int:
    joined, factor = key & _BITS, 0xC6A4A7935BD1E995
    for feature in features:
        part = _mixed((int(feature) & _BITS) * factor & _BITS) * factor & _BITS
        joined = ((joined ^ factor) ^ part) * factor & _BITS
        joined = _mixed(_mixed(joined) * factor & _BITS)
    return joined


def _columns(case: Case) -> list[list[list[Any]]]:
    """The features of each row of each input."""
    count = case.attr("N")
    refuse_unless(case.inputs, "N")
    refuse_unless(case.attr("hashed_output") == (case.attr("out_type")[1] == "int64"), "out_type")
    columns = []
    for i in range(count):
        indices, values, sizes = (case.array(k * count + i) for k in range(3))
        refuse_unless(values.shape == indices.shape[:1], "values")
        refuse_unless(sizes.shape == (2,), "shapes")
        shape = checked_size([int(size) for size in sizes], "shapes")
        rows = [int(index[0]) for index in indices]
        refuse_unless(rows == sorted(rows), "indices")
        refuse_unless(all(0 <= row < shape[0] for row in rows), "indices")
        refuse_unless(shape[0] < 100, "shapes")
        columns.append(
            [[v for r, v in zip(rows, values, strict=True) if r == b] for b in range(shape[0])]
        )
    for i in range(3 * count, len(case.inputs)):
        refuse_unless(case.array(i).ndim == 2, "dense_inputs")
        columns.append([list(row) for row in case.array(i)])
    refuse_unless(len({len(column) for column in columns}) == 1, "shapes")
    return columns


def _text(feature: Any) -> bytes:
    return feature if isinstance(feature, bytes) else str(int(feature)).encode()


def _cross(case: Case) -> Outcome:
    columns = _columns(case)
    hashed, buckets = case.attr("hashed_output"), case.attr("num_buckets")
    places, found, most = [], [], 0
    for row in range(len(columns[0])):
        crosses = list(itertools.product(*(column[row] for column in columns)))
        most = max(most, len(crosses))
        places += [(row, k) for k in range(len(crosses))]
        found += crosses
    indices = np.array(places, np.int64).reshape(-1, 2)
    shape = np.array([len(columns[0]), most], np.int64)
    if not hashed:
        texts = np.empty(len(found), object)
        texts[:] = [b"_X_".join(_text(one) for one in features) for features in found]
        return [indices, texts, shape]
    end = buckets or 2**63 - 1
    if any(isinstance(one, bytes) for features in found for one in features):

        def check(values: Array) -> str:
            return "" if ((values >= 0) & (values < end)).all() else "is no bucket"

        return [indices, Drawn((len(found),), check), shape]
    hashes = [_hash(case.attr("hash_key"), features) % end for features in found]
    return [indices, np.array(hashes, np.int64), shape]


define_tests(
    "SparseCross",
    cases=_make,
    reference=_cross,
    exceptions={Property.STATIC_SHAPE: "features are counted in the step"},
)
