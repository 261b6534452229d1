"""Ops that change rows and slices of variables, or take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.slices import make_slice_value, slice_key
from testing.ops.state import AS_ON_HANDLES, COPIES, stored_of, variable_input
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import INDEX_TYPES, row_indices
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def operation_of(op: str) -> str:
    """What an op does with a part: the end of its name."""
    return next(end for end in _OPERATIONS if op.endswith(end))


_OPERATIONS = ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max", "ScatterNd")


def update_style(op: str) -> str:
    """How updates are drawn: repeated products of larger numbers overflow."""
    return "small" if operation_of(op) in ("Mul", "Div") else "plain"


def _quotients(x: Array, y: Array) -> Array:
    """Of integers, without the fraction; the smallest number by -1 wraps."""
    limits = np.iinfo(x.dtype)
    count = 2**limits.bits
    found = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        found.append((quotient - int(limits.min)) % count + int(limits.min))
    return np.array(found, x.dtype).reshape(x.shape)


def _exactly(operation: str, x: Array, update: Array) -> Array:
    """What becomes of numbers that are not rounded."""
    if operation in ("Min", "Max"):
        return np.asarray((np.minimum if operation == "Min" else np.maximum)(x, update))
    if operation == "Div":
        return _quotients(x, update)
    if x.dtype == np.bool_:
        return np.asarray(x | update)
    return np.asarray({"Sub": np.subtract, "Mul": np.multiply}.get(operation, np.add)(x, update))


def _rounded(operation: str, table: Array, rows: Sequence[int], updates: Array, dtype: str) -> Near:
    """Numbers that are rounded: in a longer type, with a bound.

    Sums: see `summed`. A product and a quotient are wrong by a unit for each factor, a complex one
    by a few, unless something overflows on the way.
    """
    is_sum = operation not in ("Mul", "Div")
    values, wide = longer(table), longer(updates)
    scale = np.abs(values).astype(np.float64)
    odd = np.zeros(table.shape, bool)
    for k, row in enumerate(rows):
        if is_sum:
            values[row] += -wide[k] if operation == "Sub" else wide[k]
            scale[row] += np.abs(wide[k])
            continue
        values[row] = values[row] * wide[k] if operation == "Mul" else values[row] / wide[k]
        odd[row] |= ~(np.abs(values[row]) < number_types.largest(dtype) / 8)
    if is_sum:
        return summed(values, scale, len(rows) + 1, dtype)
    units = (len(rows) + 1) * (8 if dtype in number_types.COMPLEX else 1)
    magnitude = np.abs(np.where(odd, 0, values)) + number_types.smallest_normal(dtype)
    return Near(values, magnitude * (number_types.epsilon(dtype) * units), odd)


def updated(op: str, table: Array, rows: Sequence[int], updates: Array, dtype: str) -> Any:
    """A table whose rows change by updates, one after the other.

    Parameters
    ----------
    op
        The op, by whose name the operation goes.
    table, updates
        Matrices, as `number_types` stores them.
    rows
        The row that each update changes.
    dtype
        Their type.
    """
    operation = operation_of(op)
    if operation == "Update":
        result = table.copy()
        for k, row in enumerate(rows):
            result[row] = updates[k]
        return result
    x, y = (number_types.as_numbers(array, dtype) for array in (table, updates))
    with np.errstate(all="ignore"):
        if number_types.is_inexact(dtype) and operation not in ("Min", "Max"):
            return _rounded(operation, x, rows, y, dtype)
        if operation == "Div" and len(rows):
            refuse_unless((y != 0).all(), "updates")
        result = x.copy()
        for k, row in enumerate(rows):
            result[row] = _exactly(operation, result[row], y[k])
    return number_types.from_numbers(result, dtype)


def reshaped(result: Any, shape: tuple[int, ...]) -> Any:
    """A result of `updated` in the shape of the whole."""
    if not isinstance(result, Near):
        return result.reshape(shape)
    odd = None if result.any_where is None else np.reshape(result.any_where, shape)
    return Near(result.value.reshape(shape), np.reshape(result.bound, shape), odd)


def _outcome(case: Case, result: Any) -> Outcome:
    """The variable, and what an op on a reference gives."""
    return [result, result] if case.inputs[0].source == "reference" else [result]


# ---- Rows ----


def _type_name(op: Any) -> str:
    return "T" if any(attr.name == "T" for attr in op.attr) else "dtype"


def _make_scatter(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, _type_name(op))
    shape = source.small_shape(1, 4, 4)
    leading = source.small_shape(0, 2, 4)
    indices = row_indices(source, leading, shape[0])
    updates = [*leading, *shape[1:]]
    if source.chance(0.1):
        updates = source.pick(([], list(source.small_shape(0, 2))))
    variable = variable_input(source, op, dtype, shape, 0)
    attrs = {_type_name(op): type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    values = source.values(dtype, updates, update_style(op.name))
    return Case(op.name, [variable, indices, Input(dtype, values)], attrs)


def _scatter(case: Case) -> Outcome:
    value, indices, updates = stored_of(case, 0), case.array(1), case.array(2)
    row = value.shape[1:]
    fits = updates.ndim == 0 or updates.shape == (*indices.shape, *row)
    refuse_unless(fits, "updates")
    # Of rows of nothing, too.
    refuse_unless(((indices >= 0) & (indices < len(value))).all(), "indices")
    if 0 in row:
        return _outcome(case, value)
    width = math.prod(row)
    spread_out = np.broadcast_to(updates, (*indices.shape, *row)).reshape(indices.size, width)
    table = value.reshape(len(value), width)
    rows = [int(index) for index in indices.reshape(-1)]
    result = updated(case.op, table, rows, spread_out, case.inputs[0].dtype)
    return _outcome(case, reshaped(result, value.shape))


def _large_scatter(op: str) -> LargeCase:
    """Many updates of few rows, and scalars."""
    scatter = getattr(gen_ops, f"resource_scatter_{operation_of(op).lower()}")

    def build(values: Values) -> Any:
        found = []
        for update in (values.of(3000, 30, low=0.9, high=1.1), tf.constant(1.5, values.dtype)):
            variable = values.variable(60, 30)
            with tf.control_dependencies([scatter(variable.handle, values.rows(3000, 60), update)]):
                found.append(variable.read_value())
        return found

    return LargeCase(build)


_KINDS = ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")
define_tests(
    [f"ResourceScatter{kind}" for kind in _KINDS],
    cases=_make_scatter,
    reference=_scatter,
    determinism=_large_scatter,
)
define_tests(
    [f"Scatter{kind}" for kind in _KINDS],
    cases=_make_scatter,
    reference=_scatter,
    determinism=AS_ON_HANDLES,
)


# ---- Slices by index vectors ----


def index_vectors(source: Source, shape: Sequence[int]) -> tuple[Input, list[int]]:
    """Index vectors into a tensor of a shape, and the shape of the slices that they name."""
    depth = source.integer(0, len(shape))
    leading = list(source.small_shape(0, 2, 4))
    if source.chance(0.04):
        depth = len(shape) + 1
    dtype = source.pick(INDEX_TYPES)
    columns = [
        source.index_values(dtype, leading, 0, max(size - 1, 0)) for size in [*shape, 1][:depth]
    ]
    empty = np.zeros([*leading, 0], dtype)
    vectors = np.stack(columns, -1) if columns else empty
    if vectors.size and source.chance(0.12):
        limits = np.iinfo(dtype)
        bad = source.pick((-1, *shape, limits.max, limits.min))
        vectors.reshape(-1)[source.integer(0, vectors.size - 1)] = bad
    if source.chance(0.03):
        vectors = np.zeros((), dtype)
    return Input(dtype, vectors), [*leading, *shape[depth:]]


def rows_of(
    whole: tuple[int, ...], vectors: Array
) -> tuple[tuple[int, ...], list[int] | None, int]:
    """The shape of the slices that index vectors name, the number of each, and its elements.

    The numbers are None where there are no slices, or nothing in them: whether there may be vectors
    then is for the caller to say.
    """
    refuse_unless(vectors.ndim >= 1, "indices")
    depth = vectors.shape[-1]
    refuse_unless(depth <= len(whole), "indices")
    shape = (*vectors.shape[:-1], *whole[depth:])
    width = math.prod(whole[depth:])
    if 0 in shape:
        return shape, None, width
    for d in range(depth):
        places = vectors[..., d]
        refuse_unless(((places >= 0) & (places < whole[d])).all(), "indices")
    rows = np.zeros(vectors.shape[:-1], np.int64)
    for d in range(depth):
        rows = rows * whole[d] + vectors[..., d]
    return shape, [int(row) for row in rows.reshape(-1)], width


def with_slices(op: str, whole: Array, vectors: Array, updates: Array, dtype: str) -> Any:
    """A tensor, whose slices change by updates."""
    shape, rows, width = rows_of(whole.shape, vectors)
    refuse_unless(updates.shape == shape, "updates")
    refuse_unless(whole.size > 0 or vectors.size == 0, "indices")
    if rows is None:
        return whole
    table = whole.reshape(whole.size // width, width)
    result = updated(op, table, rows, updates.reshape(len(rows), width), dtype)
    return reshaped(result, whole.shape)


def _make_scatter_nd(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0, 4, 4)
    indices, slices = index_vectors(source, shape)
    if source.chance(0.06):
        slices = list(source.small_shape(0, 3))
    variable = variable_input(source, op, dtype, shape, 0)
    updates = Input(dtype, source.values(dtype, slices, "plain"))
    attrs = {"T": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    return Case(op.name, [variable, indices, updates], attrs)


def _scatter_nd(case: Case) -> Outcome:
    value, dtype = stored_of(case, 0), case.inputs[0].dtype
    return _outcome(case, with_slices(case.op, value, case.array(1), case.array(2), dtype))


def _large_scatter_nd(op: str) -> LargeCase:
    scatter = getattr(gen_ops, f"resource_scatter_nd_{operation_of(op).lower()}")

    def build(values: Values) -> Any:
        variable = values.variable(60, 5, 30)
        vectors = tf.stack([values.rows(3000, 60), values.rows(3000, 5)], 1)
        written = scatter(variable.handle, vectors, values.of(3000, 30))
        with tf.control_dependencies([written]):
            return variable.read_value()

    return LargeCase(build)


_ND_KINDS = ("Update", "Add", "Sub")
define_tests(
    [f"ResourceScatterNd{kind}" for kind in _ND_KINDS],
    cases=_make_scatter_nd,
    reference=_scatter_nd,
    determinism=_large_scatter_nd,
)
define_tests(
    [f"ScatterNd{kind}" for kind in _ND_KINDS],
    cases=_make_scatter_nd,
    reference=_scatter_nd,
    determinism=AS_ON_HANDLES,
)


def _make_gather_nd(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "dtype")
    shape = source.small_shape(0, 4, 4)
    indices, _ = index_vectors(source, shape)
    attrs = {"dtype": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    return Case(op.name, [variable_input(source, op, dtype, shape, 0), indices], attrs)


def gathered_slices(params: Array, vectors: Array) -> Array:
    """The slices that index vectors name."""
    shape, rows, width = rows_of(params.shape, vectors)
    refuse_unless(params.size > 0 or math.prod(vectors.shape[:-1]) == 0, "params")
    if rows is None:
        return np.empty(shape, params.dtype)
    return params.reshape(params.size // width, width)[rows].reshape(shape)


def _gather_nd(case: Case) -> Outcome:
    value = stored_of(case, 0)
    return [gathered_slices(value, case.array(1)), value]


_PLACES = np.array([[2, 0], [2, 1], [2, 0]], np.int32)
define_tests(
    "ResourceGatherNd",
    cases=_make_gather_nd,
    reference=_gather_nd,
    gradient=[
        Check(
            lambda handle: gen_ops.resource_gather_nd(handle, _PLACES, dtype=tf.float64),
            (spread("x", 4, 3),),
            of_variable=True,
        ),
        Check(
            lambda handle: gen_ops.resource_gather_nd(handle, _PLACES[:, :1], dtype=tf.float64),
            (spread("x", 4, 3),),
            of_variable=True,
        ),
    ],
    determinism=COPIES,
)


# ---- Slices by ranges ----


def _make_slice_assign(source: Source, op: Any) -> Case:
    case = make_slice_value(source, op)
    whole = case.inputs[0]
    assert whole.value is not None
    case.inputs[0] = variable_input(source, op, whole.dtype, whole.value.shape, 0)
    return case


def _slice_assign(case: Case) -> Outcome:
    whole, value = stored_of(case, 0).copy(), case.array(4)
    key = slice_key(case, whole.shape, 1)
    refuse_unless(np.asarray(whole[key]).shape == value.shape, "value")
    whole[key] = value
    return _outcome(case, whole)


define_tests(
    ["ResourceStridedSliceAssign", "StridedSliceAssign"],
    cases=_make_slice_assign,
    reference=_slice_assign,
    determinism=COPIES,
)


# ---- Counters, shapes, temporary variables ----


def _make_count(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    limits = np.iinfo(dtype)
    limit = source.pick((3, 100, 0, -7, int(limits.max), 2**40))
    variable = variable_input(source, op, dtype, () if source.chance(0.9) else (2,))
    if variable.value is not None and source.chance(0.5):
        number = min(max(limit + source.integer(-2, 2), limits.min), limits.max)
        variable.value = np.full(variable.value.shape, number, dtype)
    attrs = {"T": type_attr(dtype), "limit": attr_text(limit)}
    return Case(op.name, [variable], attrs, {"limit": limit})


def _count(case: Case) -> Outcome:
    value = stored_of(case, 0)
    refuse_unless(value.ndim == 0, "resource")
    number = int(value)
    refuse_unless(number < min(case.values["limit"], np.iinfo(value.dtype).max), "limit")
    return [value, np.array(number + 1, value.dtype)]


define_tests(["CountUpTo", "ResourceCountUpTo"], cases=_make_count, reference=_count)


def _make_variable_shape(source: Source, op: Any) -> Case:
    dtype, out = source.pick(number_types.VALUES), source.pick(INDEX_TYPES)
    variable = variable_input(source, op, dtype, source.small_shape())
    return Case(op.name, [variable], {"out_type": type_attr(out)}, {"out": out})


def _variable_shape(case: Case) -> Outcome:
    value = stored_of(case, 0)
    return [np.array(value.shape, case.values["out"]), value]


define_tests("VariableShape", cases=_make_variable_shape, reference=_variable_shape)
