"""Ops on slices of tensors that index vectors name."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input
from testing.ops.support.definitions import function_of
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import integers
from testing.ops.support.reference import (
    Outcome,
    checked_size,
    pick_type,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source
from testing.ops.variable_parts import gathered_slices, index_vectors, with_slices

_X = spread("x", 4, 3, 2)
_ELEMENTS = np.array([[0, 2, 1], [3, 1, 0]], np.int32)
_ROWS = np.array([[[3], [0]], [[2], [1]]], np.int64)
_REPEATED = np.array([[2], [0], [2]], np.int32)
_UPDATES_OF_ROWS = spread("u", 2, 2, 3, 2)


def _make_gather_nd(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "Tparams")
    shape = source.small_shape(0, 4, 4)
    indices, _ = index_vectors(source, shape)
    attrs = {"Tparams": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    return Case(op.name, [Input(dtype, source.values(dtype, shape)), indices], attrs)


def _gather_nd(case: Case) -> Outcome:
    return [gathered_slices(case.array(0), case.array(1))]


define_tests(
    "GatherNd",
    cases=_make_gather_nd,
    reference=_gather_nd,
    gradient=[
        Check(lambda x: gen_ops.gather_nd(x, _ELEMENTS), (_X,)),
        Check(lambda x: gen_ops.gather_nd(x, _ROWS), (_X,)),
        Check(lambda x: gen_ops.gather_nd(x, _REPEATED), (_X,)),
        Check(lambda x: gen_ops.gather_nd(x, np.zeros([2, 0], np.int32)), (_X,)),
    ],
)


def _make_tensor_scatter(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0, 4, 4)
    indices, slices = index_vectors(source, shape)
    if source.chance(0.06):
        slices = list(source.small_shape(0, 3))
    inputs = [
        Input(dtype, source.values(dtype, shape, "plain")),
        indices,
        Input(dtype, source.values(dtype, slices, "plain")),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype), "Tindices": type_attr(indices.dtype)})


def _tensor_scatter(case: Case) -> Outcome:
    dtype = case.inputs[0].dtype
    return [with_slices(case.op, case.array(0), case.array(1), case.array(2), dtype)]


def _tensor_scatter_checks(op: str) -> list[Check]:
    function = function_of(op)
    checks = [
        Check(lambda x, u: function(x, _ELEMENTS, u), (_X, spread("u", 2))),
        Check(lambda x, u: function(x, _ROWS, u), (_X, _UPDATES_OF_ROWS)),
    ]
    if not op.endswith("Update"):
        repeated = Check(lambda x, u: function(x, _REPEATED, u), (_X, spread("u", 3, 3, 2)))
        checks.append(repeated)
    return checks


def _large_scatter(op: str) -> LargeCase:
    def build(values: Values) -> Any:
        vectors = tf.stack([values.rows(3000, 60), values.rows(3000, 5)], 1)
        return function_of(op)(values.of(60, 5, 30), vectors, values.of(3000, 30))

    return LargeCase(build)


define_tests(
    ["TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"],
    cases=_make_tensor_scatter,
    reference=_tensor_scatter,
    gradient=_tensor_scatter_checks,
)
define_tests(
    "ScatterNdNonAliasingAdd",
    cases=_make_tensor_scatter,
    reference=_tensor_scatter,
    gradient=_tensor_scatter_checks,
    determinism=_large_scatter,
)


def _make_scatter_nd(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    sizes = list(source.small_shape(0, 4, 4))
    if source.chance(0.1):
        # Negative, or more elements than an int64 counts, of either type of indices.
        more = [max(size, 1) for size in sizes]
        sizes = source.pick(([-1, *sizes], [*more, 2**62, 2**62, 2**62]))
    shape = [size if 0 <= size < 9 else 1 for size in sizes]
    indices, slices = index_vectors(source, shape)
    if source.chance(0.06):
        slices = list(source.small_shape(0, 3))
    limits = np.iinfo(indices.dtype)
    cut = [min(max(size, limits.min), limits.max) for size in sizes]
    updates = Input(dtype, source.values(dtype, slices, "plain"))
    whole = Input(indices.dtype, np.array(cut, indices.dtype).reshape(len(cut)))
    attrs = {"T": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    return Case(op.name, [indices, updates, whole], attrs)


def _scatter_nd(case: Case) -> Outcome:
    shape = checked_size(integers(case, 2), "shape")
    updates = case.array(1)
    zero = b"" if case.inputs[1].dtype == "string" else 0
    zeros = np.full(shape, zero, updates.dtype)
    return [with_slices(case.op, zeros, case.array(0), updates, case.inputs[1].dtype)]


_SHAPE = np.array([4, 3, 2], np.int32)
define_tests(
    "ScatterNd",
    cases=_make_scatter_nd,
    reference=_scatter_nd,
    gradient=[
        Check(lambda u: gen_ops.scatter_nd(_ELEMENTS, u, _SHAPE), (spread("u", 2),)),
        Check(lambda u: gen_ops.scatter_nd(_ROWS, u, _SHAPE.astype(np.int64)), (_UPDATES_OF_ROWS,)),
        Check(lambda u: gen_ops.scatter_nd(_REPEATED, u, _SHAPE), (spread("u", 3, 3, 2),)),
    ],
)
