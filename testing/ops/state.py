"""Whole variables, by handles and by references."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.rows import LARGE_ROWS, gathered
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values, sizes_of
from testing.ops.support.gradient import Check, spread
from testing.ops.support.inputs import row_indices
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Outcome,
    Reference,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

AS_ON_HANDLES = NotTested("runs as the op on handles that does the same")
COPIES = NotTested("copies its value or asks for it, and computes nothing")


def _large_updates(values: Values) -> Any:
    """Steps of each optimizer, dense and of rows, and the variables that they leave."""
    found = []
    for make in (
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
        lambda: tf.train.RMSPropOptimizer(0.1, centered=True, epsilon=0.5),
        lambda: tf.train.AdadeltaOptimizer(0.1),
        lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.1),
        lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.1),
        lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.01, 0.1),
        lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
        lambda: tf.train.AdagradDAOptimizer(0.1, tf.constant(2, tf.int64), 0.1, 0.01, 0.1),
    ):
        for rows in (False, True):
            pieces = [values.variable(400, 300), values.variable(70, 30)]
            pairs = []
            for piece in pieces:
                gradient: Any = values.of(*sizes_of(piece))
                if rows:
                    count, width = 3000, sizes_of(piece)[1]
                    gradient = tf.IndexedSlices(
                        values.of(count, width), values.rows(count, 60), tf.shape(piece)
                    )
                pairs.append((gradient, piece))
            with tf.control_dependencies([make().apply_gradients(pairs)]):
                found += [piece.read_value() for piece in pieces]
    added, scattered = values.variable(400, 300), values.variable(60, 30)
    changes = [
        added.assign_add(values.of(400, 300)),
        added.assign_sub(values.of(400, 300)),
        scattered.scatter_add(
            tf.IndexedSlices(values.of(3000, 30), values.rows(3000, 60), tf.shape(scattered))
        ),
    ]
    return found + changes


LARGE_UPDATES = LargeCase(_large_updates, FLOAT32_AND_64)


def _is_reference(op: Any) -> bool:
    return bool(op.input_arg[0].is_ref)


def _type_name(op: Any) -> str:
    return "T" if any(attr.name == "T" for attr in op.attr) else "dtype"


def variable_input(
    source: Source, op: Any, dtype: str, shape: Any, unassigned: float = 0.06
) -> Input:
    """Input 0 of an op on a variable; at times of one that was never assigned."""
    kind = "reference" if _is_reference(op) else "resource"
    value = None if source.chance(unassigned) else source.values(dtype, shape, "plain")
    return Input(dtype, value, kind)


def stored_of(case: Case, i: int) -> Array:
    """The variable of input i, which must have been assigned."""
    value = case.inputs[i].value
    refuse_unless(value is not None, "variable")
    assert value is not None
    return value


# ---- Whole variables ----


def _make_whole(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, _type_name(op))
    shape = source.small_shape()
    variable = variable_input(source, op, dtype, shape)
    shape = (2,) if variable.value is None else shape
    case = Case(op.name, [variable], {_type_name(op): type_attr(dtype)})
    if len(op.input_arg) > 1:
        other = shape if source.chance(0.9) else source.small_shape()
        case.inputs.append(Input(dtype, source.values(dtype, other)))
    if op.name == "Assign":
        case.attrs["validate_shape"] = attr_text(True)
    return case


def _assign(case: Case) -> Outcome:
    variable, value = case.inputs[0].value, case.array(1)
    refuse_unless(value.shape == ((2,) if variable is None else variable.shape), "value")
    if case.op == "Assign":
        return [value] if variable is None else [value, value]
    return [] if variable is None else [value]


def _grown(case: Case) -> Outcome:
    stored_of(case, 0)
    x, y = numbers(case, 0), numbers(case, 1)
    refuse_unless(x.shape == y.shape, "value")
    grows = "Add" in case.op
    dtype = case.inputs[0].dtype
    if not number_types.is_inexact(dtype):
        result: Any = x + y if grows else x - y
    else:
        wide = longer(x) + longer(y) if grows else longer(x) - longer(y)
        scale = np.abs(longer(x)) + np.abs(longer(y))
        result = summed(wide, scale, 1, dtype)
    return [result, result] if case.inputs[0].source == "reference" else [result]


def _read(case: Case) -> Outcome:
    value = stored_of(case, 0)
    return [value, value]


def _is_initialized(case: Case) -> Outcome:
    value = case.inputs[0].value
    found = np.asarray(value is not None)
    return [found] if value is None else [found, value]


def _make_asked(source: Source, op: Any) -> Case:
    dtype = source.pick(number_types.VALUES)
    variable = variable_input(source, op, dtype, source.small_shape(), 0.3)
    attrs = {"dtype": type_attr(dtype)} if _is_reference(op) else {}
    return Case(op.name, [variable], attrs)


def _define_whole(on_references: str, on_handles: str, reference: Reference) -> None:
    """The tests of an update that there is on references and on handles."""
    define_tests(on_references, cases=_make_whole, reference=reference, determinism=AS_ON_HANDLES)
    define_tests(on_handles, cases=_make_whole, reference=reference, determinism=LARGE_UPDATES)


define_tests(
    ["Assign", "AssignVariableOp"], cases=_make_whole, reference=_assign, determinism=COPIES
)
_define_whole("AssignAdd", "AssignAddVariableOp", _grown)
_define_whole("AssignSub", "AssignSubVariableOp", _grown)
define_tests(
    "ReadVariableOp",
    cases=_make_whole,
    reference=_read,
    gradient=[
        Check(
            lambda handle: gen_ops.read_variable_op(handle, dtype=tf.float64),
            (spread("x", 4, 3),),
            of_variable=True,
        )
    ],
    determinism=COPIES,
)
define_tests("RefIdentity", cases=_make_whole, reference=_read, determinism=COPIES)
define_tests(
    "IsVariableInitialized", cases=_make_asked, reference=_is_initialized, determinism=COPIES
)
define_tests("VarIsInitializedOp", cases=_make_asked, reference=_is_initialized)
define_tests(
    ["VarHandleOp", "VariableV2"],
    reference=NotTested("makes the variables of other cases"),
    determinism=COPIES,
)
define_tests(
    "Variable",
    reference=NotTested("has no value of its own: VariableV2 makes the variables of other cases"),
    determinism=COPIES,
)
define_tests(
    ["TemporaryVariable", "DestroyTemporaryVariable"],
    reference=NotTested("one needs the other: import_refs_test.cc runs a step of both"),
    determinism=COPIES,
)
define_tests(
    "_TakeVariable",
    reference=NotTested("leaves nothing to read; import_refs_test.cc runs it"),
    determinism=COPIES,
)
define_tests(
    "DestroyResourceOp",
    reference=NotTested("leaves nothing to compare: state_test.py reads after it"),
)


# ---- Rows of variables ----


def _make_resource_gather(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "dtype")
    batch = list(source.small_shape(0, 2, 3)) if source.chance(0.3) else []
    shape = [*batch, *source.small_shape(1, 4, 4)]
    indices = row_indices(source, [*batch, *source.small_shape(0, 2, 4)], shape[len(batch)])
    batch_dims = len(batch)
    if source.chance(0.05):
        batch_dims = source.pick((1, 7, 2**32, 2**63 - 1))
    attrs = {"dtype": type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    attrs["batch_dims"] = attr_text(batch_dims)
    variable = variable_input(source, op, dtype, shape, 0)
    return Case(op.name, [variable, indices], attrs, {"batch_dims": batch_dims})


def _resource_gather(case: Case) -> Outcome:
    value, indices, batch_dims = stored_of(case, 0), case.array(1), case.values["batch_dims"]
    refuse_unless(batch_dims < value.ndim and batch_dims <= indices.ndim, "batch_dims")
    refuse_unless(value.shape[:batch_dims] == indices.shape[:batch_dims], "indices")
    return [gathered(value, indices, batch_dims, batch_dims), value]


_ROWS = np.array([[2, 0], [2, 3]], np.int32)
define_tests(
    "ResourceGather",
    cases=_make_resource_gather,
    reference=_resource_gather,
    gradient=[
        Check(
            lambda handle: gen_ops.resource_gather(handle, _ROWS, dtype=tf.float64),
            (spread("x", 4, 3),),
            of_variable=True,
        )
    ],
    determinism=LARGE_ROWS,
)
