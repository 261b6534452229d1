"""Ops that order the elements along the last dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import integers, row_indices, scalar
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, numbers, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make_order(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0 if source.chance(0.05) else 1, most=9)
    case = Case(op.name, [Input(dtype, source.values(dtype, shape))], {"T": type_attr(dtype)})
    count = source.integer(0, shape[-1] if shape else 1)
    if source.chance(0.1):
        count = source.pick((-1, shape[-1] + 1 if shape else 2, 2**31 - 1))
    if op.name == "TopK":
        case.attrs["k"] = attr_text(max(count, 0))
        case.values["count"] = max(count, 0)
    else:
        case.inputs.append(scalar(count, "int32"))
        if source.chance(0.03):
            case.inputs[1].value = np.array([count] * source.integer(0, 2), np.int32)
    flag = source.chance(0.5)
    case.attrs["reverse" if op.name == "NthElement" else "sorted"] = attr_text(flag)
    case.values["flag"] = flag
    return case


def _count(case: Case, argument: str) -> int:
    if case.op == "TopK":
        return int(case.values["count"])
    refuse_unless(case.array(1).ndim == 0, argument)
    return integers(case, 1)[0]


def _descending(row: Array) -> list[int]:
    """The places of the elements: larger ones first, then lower places, and NaNs last."""
    values = row.tolist()
    ranks = [(1, 0) if math.isnan(value) else (0, -value) for value in values]
    return sorted(range(len(values)), key=lambda i: (ranks[i], i))


def _rows(case: Case) -> tuple[Array, Array]:
    """The stored elements and the numbers that they stand for, as matrices."""
    stored, found = case.array(0), numbers(case, 0)
    refuse_unless(stored.ndim >= 1, "input")
    shape = (math.prod(stored.shape[:-1]), stored.shape[-1])
    return stored.reshape(shape), found.reshape(shape)


def _top_k(case: Case) -> Outcome:
    stored, found = _rows(case)
    k = _count(case, "k")
    refuse_unless(0 <= k <= stored.shape[1], "k")
    places = np.array([_descending(row)[:k] for row in found], np.int32).reshape(len(found), k)
    shape = (*case.array(0).shape[:-1], k)
    values = np.take_along_axis(stored, places.astype(np.int64), 1)
    return [values.reshape(shape), places.reshape(shape)]


def _nth_element(case: Case) -> Outcome:
    stored, found = _rows(case)
    n = _count(case, "n")
    refuse_unless(0 <= n < stored.shape[1], "n")
    place = n if case.values["flag"] else -1 - n
    places = [_descending(row)[place] for row in found]
    values = stored[np.arange(len(places)), np.array(places, np.int64)]
    return [values.reshape(case.array(0).shape[:-1])]


_ROWS = spread("rows", 3, 5)


def _large_order(values: Values) -> Any:
    found: list[Any] = []
    for rows, size, k in ((3, 100_000, 7), (30_000, 10, 3), (40, 3000, 3000)):
        x = values.of(rows, size)
        found += [*tf.nn.top_k(x, k), gen_ops.nth_element(x, k // 2)]
    return found


_LARGE_ORDER = LargeCase(_large_order)


def _top_k_checks(op: str) -> list[Check]:
    def values(x: tf.Tensor, k: int) -> tf.Tensor:
        found = gen_ops.top_k(x, k=k) if op == "TopK" else gen_ops.top_kv2(x, k)
        result: tf.Tensor = found.values
        return result

    return [
        Check(lambda x: values(x, 2), (_ROWS,)),
        Check(lambda x: values(x, 5), (_ROWS,)),
        Check(lambda x: values(x, 3), (spread("cube", 2, 2, 4),)),
        Check(lambda x: values(x, 1), (spread("vector", 6),)),
    ]


define_tests(
    ["TopK", "TopKV2"],
    cases=_make_order,
    reference=_top_k,
    gradient=_top_k_checks,
    determinism=_LARGE_ORDER,
)
define_tests(
    "NthElement",
    cases=_make_order,
    reference=_nth_element,
    gradient=[
        Check(lambda x: gen_ops.nth_element(x, 1), (_ROWS,)),
        Check(lambda x: gen_ops.nth_element(x, 1, reverse=True), (_ROWS,)),
        Check(lambda x: gen_ops.nth_element(x, 4), (spread("vector", 6),)),
    ],
    determinism=_LARGE_ORDER,
)


def _make_in_top_k(source: Source, op: Any) -> Case:
    rows, classes = source.size(), source.size(8)
    shape = [rows, classes] if source.chance(0.95) else list(source.small_shape(0, 3))
    count = rows if source.chance(0.95) else rows + 1
    targets = row_indices(source, [count] if source.chance(0.97) else [count, 1], classes)
    inputs = [Input("float32", source.values("float32", shape)), targets]
    k = source.integer(0, 9) if source.chance(0.9) else source.pick((-1, 2**31 - 1, -(2**31)))
    case = Case(op.name, inputs, {"T": type_attr(targets.dtype)}, {"k": k})
    if op.name == "InTopK":
        case.attrs["k"] = attr_text(k)
    else:
        case.inputs.append(scalar(k, targets.dtype))
        if source.chance(0.03):
            case.inputs[2].value = np.array([k], targets.dtype)
    return case


def _in_top_k(case: Case) -> Outcome:
    predictions, targets = case.array(0), case.array(1)
    refuse_unless(predictions.ndim == 2, "predictions")
    refuse_unless(targets.ndim == 1 and len(targets) == len(predictions), "targets")
    refuse_unless(case.op == "InTopK" or case.array(2).ndim == 0, "k")
    found = []
    for row, target in zip(predictions, targets, strict=True):
        is_there = 0 <= target < len(row) and bool(np.isfinite(row).all())
        found.append(is_there and int(np.sum(row > row[target])) < case.values["k"])
    return [np.array(found, bool).reshape(len(found))]


def _large_in_top_k(values: Values) -> Any:
    return [
        tf.nn.in_top_k(values.of(rows, classes), values.rows(rows, classes), classes // 2)
        for rows, classes in ((20, 15_000), (30_000, 10))
    ]


define_tests(
    ["InTopK", "InTopKV2"],
    cases=_make_in_top_k,
    reference=_in_top_k,
    determinism=LargeCase(_large_in_top_k, dtypes=(tf.float32,)),
)
