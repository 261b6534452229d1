"""Hashes of strings and of other data."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.reference import pick_type, type_attr
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source


def _texts(source: Source, shape: Any) -> Input:
    cells = np.empty(int(np.prod(shape, dtype=int)), object)
    for i in range(cells.size):
        cells[i] = source.pick((b"", b"a", b"\xff\x00", b"hello")) * source.integer(0, 20)
    return Input("string", cells.reshape(shape))


def _make_buckets(source: Source, op: Any) -> Case:
    attrs = {"num_buckets": attr_text(source.integer(1, 1000))}
    if op.name == "StringToHashBucketStrong":
        attrs["key"] = attr_text([7, -9])
    return Case(op.name, [_texts(source, source.small_shape(0, 3, 3))], attrs)


def _make_rows(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    data = Input(dtype, source.values(dtype, source.small_shape(1, 3, 3)))
    method = np.empty((), object)
    method[()] = b"farmhash64"
    return Case(op.name, [data, Input("string", method)], {"T": type_attr(dtype)})


_BITS = NotTested("their bits are those of the golden cases")
define_tests(
    ["StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong"],
    cases=_make_buckets,
    reference=_BITS,
)
define_tests("Fingerprint", cases=_make_rows, reference=_BITS)
