"""Ops on the memory of tensors: bytes as another type, empty tensors, rows that change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import any_tensor, drawn_sizes, indices, integers, zero_of
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

# ---- Bitcast ----


def _size(dtype: str) -> int:
    return number_types.stored_type(dtype).itemsize


def _make_bitcast(source: Source, op: Any) -> Case:
    dtype, out = pick_type(source, op, "T"), pick_type(source, op, "type")
    shape = source.small_shape(0, 4, 4)
    if _size(dtype) < _size(out) and source.chance(0.9):
        shape = (*shape, _size(out) // _size(dtype))
    x = Input(dtype, source.values(dtype, shape))
    return Case(op.name, [x], {"T": type_attr(dtype), "type": type_attr(out)}, {"out": out})


def _bitcast(case: Case) -> Outcome:
    x, out = case.array(0), number_types.stored_type(case.values["out"])
    shape = list(x.shape)
    if x.dtype.itemsize > out.itemsize:
        shape.append(x.dtype.itemsize // out.itemsize)
    elif x.dtype.itemsize < out.itemsize:
        refuse_unless(shape and shape.pop() == out.itemsize // x.dtype.itemsize, "input")
    return [np.frombuffer(x.tobytes(), out).reshape(shape)]


define_tests(
    "Bitcast",
    cases=_make_bitcast,
    reference=_bitcast,
    determinism=NotTested("copies bytes, on one thread"),
)


# ---- Empty ----


def _make_empty(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "dtype")
    sizes = [size for size in drawn_sizes(source) if -(2**31) <= size < 2**31]
    if 10**6 < math.prod(sizes) < 2**63:
        sizes.insert(0, 0)  # what neither overflows nor is empty, but takes all memory
    shape = indices(source, sizes, "int32")
    attrs = {"dtype": type_attr(dtype), "init": attr_text(source.chance(0.5))}
    return Case(op.name, [shape], attrs, {"dtype": dtype})


def _empty(case: Case) -> Outcome:
    shape = checked_size(integers(case, 0), "shape")
    made = np.empty(shape, number_types.stored_type(case.values["dtype"]))
    made[...] = zero_of(made)
    return [made]


define_tests("Empty", cases=_make_empty, reference=_empty)


# ---- InplaceUpdate, InplaceAdd, InplaceSub ----


def _make_inplace(source: Source, op: Any) -> Case:
    shape = source.small_shape(0 if source.chance(0.03) else 1, 4, 4)
    x = any_tensor(source, op, shape)
    if op.name != "InplaceUpdate":
        dtype = source.pick((*number_types.REALS, *number_types.INTEGERS, *number_types.COMPLEX))
        x = Input(dtype, source.values(dtype, shape))
    count = source.integer(0, 4) if shape[:1] != (0,) or source.chance(0.1) else 0
    rows = source.index_values("int32", (count,), -9 if source.chance(0.2) else 0, 5)
    values = (count, *shape[1:])
    if source.chance(0.06):
        values = source.pick((shape, values[1:], (*values, 1)))
    v = Input(x.dtype, source.values(x.dtype, values))
    return Case(op.name, [x, Input("int32", rows), v], {"T": type_attr(x.dtype)})


def _changed(change: Callable[[Array, Array], Array]) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        x, rows, v = case.array(0), case.array(1), case.array(2)
        refuse_unless(x.ndim >= 1, "x")
        refuse_unless(v.shape == (len(rows), *x.shape[1:]), "v")
        refuse_unless(len(x) or not len(rows), "i")
        y = x.copy()
        dtype = case.inputs[0].dtype
        for k, row in enumerate(rows):
            old = number_types.as_numbers(y[row % len(x)], dtype)
            new = change(old, number_types.as_numbers(v[k], dtype))
            y[row % len(x)] = number_types.from_numbers(new, dtype)
        return [y]

    return compute


def _inplace_checks(op: str) -> list[Check]:
    rows = np.array([2, 0], np.int32)
    function = function_of(op)
    return [Check(lambda x, v: function(x, rows, v), (spread("x", 4, 3), spread("v", 2, 3)))]


def _large_rows(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        return function_of(op)(values.of(5000, 40), values.rows(9000, 5000), values.of(9000, 40))

    return LargeCase(build)


define_tests(
    "InplaceUpdate",
    cases=_make_inplace,
    reference=_changed(lambda old, new: new),
    gradient=_inplace_checks,
)
define_tests(
    "InplaceAdd",
    cases=_make_inplace,
    reference=_changed(lambda old, new: old + new),
    gradient=_inplace_checks,
    determinism=_large_rows,
)
define_tests(
    "InplaceSub",
    cases=_make_inplace,
    reference=_changed(lambda old, new: old - new),
    gradient=_inplace_checks,
    determinism=_large_rows,
)
