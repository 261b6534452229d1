"""Ops that find elements: those that are set, those that differ, those that another list lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, any_tensor, indices, integers, normalized
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source
from testing.ops.support.variants import check_of_lists

_COUNTED = {Property.STATIC_SHAPE: "elements are counted in the step"}


# ---- Where ----


def _make_where(source: Source, op: Any) -> Case:
    tensor = any_tensor(source, op)
    return Case(op.name, [tensor], {"T": type_attr(tensor.dtype)})


def _where(case: Case) -> Outcome:
    x = number_types.as_numbers(case.array(0), case.inputs[0].dtype)
    if x.ndim == 0:
        return [np.zeros((int(x != 0), 0), np.int64)]
    return [np.argwhere(x != 0).astype(np.int64)]


define_tests(
    "Where",
    cases=_make_where,
    reference=_where,
    determinism=NotTested("gives integers"),
    exceptions=_COUNTED,
)


# ---- SelectV2 ----


def _make_select(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first, second = source.broadcast_pair()
    condition = source.pick((first, second, (), first[-1:]))
    inputs = [Input("bool", source.values("bool", condition))]
    inputs += [Input(dtype, source.values(dtype, shape)) for shape in (first, second)]
    if source.chance(0.1):
        inputs[2] = Input(dtype, None, "", 1)
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _select(case: Case) -> Outcome:
    arrays = [case.array(i) for i in range(3)]
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        refuse_unless(False, "condition")
    return [np.where(*arrays)]


def _select_checks(op: str) -> list[Check]:
    cells = np.array([[True, False], [False, False], [True, True]])
    rows = np.array([True, False])
    x, y = spread("x", 3, 2), spread("y", 3, 2)
    row, column = spread("row", 2), spread("column", 3, 1)
    return [
        Check(lambda a, b: gen_ops.select_v2(tf.constant(cells), a, b), (x, y)),
        Check(lambda a, b: gen_ops.select_v2(tf.constant(cells), a, b), (row, column)),
        Check(lambda a, b: gen_ops.select_v2(tf.constant(rows), a, b), (column, spread("one"))),
        Check(lambda a, b: gen_ops.select_v2(tf.constant(True), a, b), (row, column)),
        check_of_lists(
            lambda a: gen_ops.select_v2(tf.constant([True, False]), a, gen_ops.roll(a, [1], [0])),
            2,
        ),
    ]


define_tests("SelectV2", cases=_make_select, reference=_select, gradient=_select_checks)


# ---- Unique, its other forms, and ListDiff ----


def _drawn(source: Source, dtype: str, shape: tuple[int, ...]) -> Input:
    """A tensor many of whose elements come more than once."""
    return Input(dtype, source.values(dtype, shape, source.pick(("small", "edges"))))


def _make_unique(source: Source, op: Any) -> Case:
    shape = (source.integer(0, 20),) if source.chance(0.95) else source.pick(((), (2, 2)))
    dtype = pick_type(source, op, "T")
    out = source.pick(INDEX_TYPES)
    attrs = {"T": type_attr(dtype), "out_idx": type_attr(out)}
    return Case(op.name, [_drawn(source, dtype, shape)], attrs, {"out": out})


def _make_unique_along(source: Source, op: Any) -> Case:
    shape = source.small_shape(0 if source.chance(0.05) else 1, 3, 4)
    dtype = pick_type(source, op, "T")
    axes = [] if len(shape) == 1 and source.chance(0.5) else [source.axis(len(shape), 0.95)]
    if source.chance(0.04):
        axes.append(0)
    out = source.pick(INDEX_TYPES)
    axis = indices(source, axes)
    attrs = {"T": type_attr(dtype), "Taxis": type_attr(axis.dtype), "out_idx": type_attr(out)}
    return Case(op.name, [_drawn(source, dtype, shape), axis], attrs, {"out": out})


def _key(element: Any, place: int) -> Any:
    """What equals that of an equal element: a NaN equals nothing."""
    value = element if isinstance(element, bytes) else element.item()
    return value if value == value else ("NaN", place)


def _unique(case: Case) -> Outcome:
    x = case.array(0)
    axes = integers(case, 1) if len(case.inputs) > 1 else []
    refuse_unless(len(axes) <= 1, "axis")
    refuse_unless(bool(axes) or x.ndim == 1, "x")
    axis = normalized(axes[0], x.ndim, "axis") if axes else 0
    numbers = np.moveaxis(number_types.as_numbers(x, case.inputs[0].dtype), axis, 0)
    found: dict[Any, int] = {}
    firsts, places = [], []
    for i in range(x.shape[axis]):
        row: Array = numbers[i : i + 1].reshape(-1)
        key = tuple(_key(element, i) for element in row)
        if key not in found:
            found[key] = len(found)
            firsts.append(i)
        places.append(found[key])
    out = case.values["out"]
    different = np.take(x, np.array(firsts, np.int64), axis)
    outcome: Outcome = [different, np.array(places, out)]
    if "Counts" in case.op:
        outcome.append(np.bincount(np.array(places, int), minlength=len(firsts)).astype(out))
    return outcome


define_tests(
    ["Unique", "UniqueWithCounts"], cases=_make_unique, reference=_unique, exceptions=_COUNTED
)
define_tests(
    ["UniqueV2", "UniqueWithCountsV2"],
    cases=_make_unique_along,
    reference=_unique,
    exceptions=_COUNTED,
)


def _make_list_diff(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shapes: list[tuple[int, ...]] = [(source.integer(0, 12),) for _ in range(2)]
    if source.chance(0.06):
        shapes[source.integer(0, 1)] = source.pick(((), (2, 2)))
    out = source.pick(INDEX_TYPES)
    attrs = {"T": type_attr(dtype), "out_idx": type_attr(out)}
    return Case(op.name, [_drawn(source, dtype, shape) for shape in shapes], attrs, {"out": out})


def _list_diff(case: Case) -> Outcome:
    x, y = case.array(0), case.array(1)
    refuse_unless(x.ndim == 1, "x")
    refuse_unless(y.ndim == 1, "y")
    dtype = case.inputs[0].dtype
    taken = {_key(element, -1) for element in number_types.as_numbers(y, dtype)}
    elements = number_types.as_numbers(x, dtype)
    kept = [i for i, element in enumerate(elements) if _key(element, i) not in taken]
    return [x[np.array(kept, np.int64)], np.array(kept, case.values["out"])]


define_tests("ListDiff", cases=_make_list_diff, reference=_list_diff, exceptions=_COUNTED)
