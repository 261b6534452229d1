"""Variables, by handles and by references, and the optimizers' steps."""

from __future__ import annotations

from collections.abc import Callable
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
    Near,
    Outcome,
    Reference,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
    types_among,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

_AS_ON_HANDLES = NotTested("runs as the op on handles that does the same")
_COPIES = NotTested("copies its value or asks for it, and computes nothing")


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


def _variable(source: Source, op: Any, dtype: str, shape: Any, unassigned: float = 0.06) -> Input:
    kind = "reference" if _is_reference(op) else "resource"
    value = None if source.chance(unassigned) else source.values(dtype, shape, "plain")
    return Input(dtype, value, kind)


def _stored_of(case: Case, i: int) -> Array:
    """The variable of input i, which must have been assigned."""
    value = case.inputs[i].value
    refuse_unless(value is not None, "variable")
    assert value is not None
    return value


# ---- Whole variables ----


def _make_whole(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, _type_name(op))
    shape = source.small_shape()
    variable = _variable(source, op, dtype, shape)
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
    _stored_of(case, 0)
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
    value = _stored_of(case, 0)
    return [value, value]


def _is_initialized(case: Case) -> Outcome:
    value = case.inputs[0].value
    found = np.asarray(value is not None)
    return [found] if value is None else [found, value]


def _make_asked(source: Source, op: Any) -> Case:
    dtype = source.pick(number_types.VALUES)
    variable = _variable(source, op, dtype, source.small_shape(), 0.3)
    attrs = {"dtype": type_attr(dtype)} if _is_reference(op) else {}
    return Case(op.name, [variable], attrs)


def _define_whole(on_references: str, on_handles: str, reference: Reference) -> None:
    """The tests of an update that there is on references and on handles."""
    define_tests(on_references, cases=_make_whole, reference=reference, determinism=_AS_ON_HANDLES)
    define_tests(on_handles, cases=_make_whole, reference=reference, determinism=LARGE_UPDATES)


define_tests(
    ["Assign", "AssignVariableOp"], cases=_make_whole, reference=_assign, determinism=_COPIES
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
    determinism=_COPIES,
)
define_tests("RefIdentity", cases=_make_whole, reference=_read, determinism=_COPIES)
define_tests(
    "IsVariableInitialized", cases=_make_asked, reference=_is_initialized, determinism=_COPIES
)
define_tests("VarIsInitializedOp", cases=_make_asked, reference=_is_initialized)
define_tests(
    ["VarHandleOp", "VariableV2"],
    reference=NotTested("makes the variables of other cases"),
    determinism=_COPIES,
)
define_tests(
    "Variable",
    reference=NotTested("has no value of its own: VariableV2 makes the variables of other cases"),
    determinism=_COPIES,
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
    variable = _variable(source, op, dtype, shape, 0)
    return Case(op.name, [variable, indices], attrs, {"batch_dims": batch_dims})


def _resource_gather(case: Case) -> Outcome:
    value, indices, batch_dims = _stored_of(case, 0), case.array(1), case.values["batch_dims"]
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


def _make_scatter(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, _type_name(op))
    shape = source.small_shape(1, 4, 4)
    leading = source.small_shape(0, 2, 4)
    indices = row_indices(source, leading, shape[0])
    updates = [*leading, *shape[1:]]
    if source.chance(0.1):
        updates = source.pick(([], list(source.small_shape(0, 2))))
    variable = _variable(source, op, dtype, shape, 0)
    attrs = {_type_name(op): type_attr(dtype), "Tindices": type_attr(indices.dtype)}
    inputs = [variable, indices, Input(dtype, source.values(dtype, updates, "plain"))]
    return Case(op.name, inputs, attrs)


def _scatter(case: Case) -> Outcome:
    _stored_of(case, 0)
    value, indices, updates = numbers(case, 0), case.array(1), numbers(case, 2)
    fits = updates.ndim == 0 or updates.shape == (*indices.shape, *value.shape[1:])
    refuse_unless(fits, "updates")
    # Rows of nothing are no harm, wherever they would go.
    picks = 0 not in value.shape[1:]
    refuse_unless(not picks or ((indices >= 0) & (indices < len(value))).all(), "indices")
    rows = np.broadcast_to(updates, (*indices.shape, *value.shape[1:]))
    dtype = case.inputs[0].dtype
    inexact = number_types.is_inexact(dtype)
    sums = longer(value) if inexact else value.copy()
    scale = np.abs(sums).astype(np.float64) if inexact else np.zeros(value.shape)
    for place in np.ndindex(indices.shape if picks else (0,)):
        sums[indices[place]] += rows[place]
        if inexact:
            scale[indices[place]] += np.abs(rows[place])
    result = summed(sums, scale, indices.size + 1, dtype) if inexact else sums
    return [result, result] if case.inputs[0].source == "reference" else [result]


define_tests(
    "ResourceScatterAdd", cases=_make_scatter, reference=_scatter, determinism=LARGE_UPDATES
)
define_tests("ScatterAdd", cases=_make_scatter, reference=_scatter, determinism=_AS_ON_HANDLES)


# ---- Optimizers ----

# How many variables there are, and where the gradient is.
_SLOTS = {
    "GradientDescent": 1,
    "Momentum": 2,
    "Adagrad": 2,
    "Adam": 3,
    "RMSProp": 3,
    "CenteredRMSProp": 4,
    "Adadelta": 3,
}
_GRADIENT_AT = {
    "GradientDescent": 2,
    "Momentum": 3,
    "Adagrad": 3,
    "Adam": 9,
    "RMSProp": 7,
    "CenteredRMSProp": 8,
    "Adadelta": 6,
}
_VARIABLES = ("var", "accum", "m", "v", "mg", "ms", "mom", "accum_update")
_POSITIVE = ("accum", "v", "ms", "accum_update")
_FLAGS = {"Momentum": "use_nesterov", "Adam": "use_nesterov", "Adagrad": "update_slots"}


def _optimizer(op: str) -> str:
    return op.rsplit("Apply", 1)[1]


def _make_step(source: Source, op: Any) -> Case:
    name = _optimizer(op.name)
    # ms - mg * mg may cancel to nothing where ms is rounded to 16 bits.
    wide = ("float32", "float64")
    kinds = wide if name == "CenteredRMSProp" else number_types.REALS
    dtype = source.pick(types_among(kinds, op, "T"))
    sparse = "Sparse" in op.name
    shape = source.small_shape(1 if sparse else 0, 4, 4)
    indices = row_indices(source, [source.integer(0, 5)], shape[0]) if sparse else None
    gradient = list(shape)
    case = Case(op.name, [], {"T": type_attr(dtype)})
    if indices is not None:
        assert indices.value is not None
        gradient = [indices.value.size, *shape[1:]]
        case.attrs["Tindices"] = type_attr(indices.dtype)
    if name in _FLAGS:
        case.values["flag"] = source.chance(0.5)
        case.attrs[_FLAGS[name]] = attr_text(case.values["flag"])
    if source.chance(0.06):
        gradient = list(source.small_shape())
    for argument in op.input_arg:
        case.inputs.append(_step_input(source, op, argument.name, dtype, shape, gradient, indices))
    return case


def _step_input(
    source: Source, op: Any, name: str, dtype: str, shape: Any, gradient: Any, indices: Any
) -> Input:
    if name in _VARIABLES:
        if source.chance(0.03):
            shape = source.small_shape(1)
        variable = _variable(source, op, dtype, shape, 0)
        if variable.value is None or dtype not in number_types.REALS:
            return variable
        value = number_types.as_numbers(variable.value, dtype)
        if name in _POSITIVE:
            variable.value = number_types.from_numbers(np.abs(value) + np.float32(0.5), dtype)
        elif name == "mg":
            # A mean whose square is below ms.
            small = value / (2 + 2 * np.abs(value))
            variable.value = number_types.from_numbers(small.astype(value.dtype), dtype)
        return variable
    if name == "indices":
        return Input(indices.dtype, indices.value)
    if name in ("grad", "delta"):
        return Input(dtype, source.values(dtype, gradient, "plain"))
    rate = np.full(() if source.chance(0.98) else (1,), 0.25, np.float32)
    number = rate.astype(np.float32 if dtype == "bfloat16" else dtype)
    return Input(dtype, number_types.from_numbers(number, dtype))


def _step(case: Case) -> Outcome:
    """The steps in longer numbers; the bounds are for numbers of common size alone."""
    name = _optimizer(case.op)
    count = _SLOTS[name]
    dtype = case.inputs[0].dtype
    sparse = "Sparse" in case.op
    stored = [_stored_of(case, i) for i in range(count)]
    refuse_unless(all(value.shape == stored[0].shape for value in stored), "var")
    wide = [_wide(number_types.as_numbers(value, dtype)) for value in stored]
    gradient_at = _GRADIENT_AT[name]
    for i in range(count, len(case.inputs)):
        if i != gradient_at and not (sparse and i == gradient_at + 1):
            refuse_unless(case.array(i).ndim == 0, "scalar")
    gradient = _wide(numbers(case, gradient_at))
    steps = _STEPS[name]
    if not sparse:
        refuse_unless(gradient.shape == wide[0].shape, "grad")
        steps(case, wide, gradient, ...)
    else:
        indices = case.array(gradient_at + 1)
        refuse_unless(indices.ndim == 1, "indices")
        refuse_unless(gradient.shape == (indices.size, *wide[0].shape[1:]), "grad")
        refuse_unless(((indices >= 0) & (indices < len(wide[0]))).all(), "indices")
        for k, row in enumerate(indices):
            steps(case, wide, gradient[k], int(row))
    results: list[Any] = [_bounded(value, case, dtype) for value in wide]
    return [results[0], *results] if case.inputs[0].source == "reference" else results


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def _bounded(value: Array, case: Case, dtype: str) -> Near:
    floats = [numbers(case, i) for i, item in enumerate(case.inputs) if item.dtype == dtype]
    largest = max(float(np.max(np.abs(_wide(x)), initial=1)) for x in floats)
    rows = case.array(_GRADIENT_AT[_optimizer(case.op)] + 1).size if "Sparse" in case.op else 0
    steps = 1 + rows
    bound = number_types.epsilon(dtype) * 40 * steps * largest**2
    return Near(value, bound)


def _rate(case: Case, i: int) -> Any:
    return _wide(numbers(case, i)).reshape(())[()]


def _descent(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    variables[0][at] -= _rate(case, 1) * gradient


def _momentum(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    sparse = "Sparse" in case.op
    rate, momentum = _rate(case, 2), _rate(case, 5 if sparse else 4)
    var, accum = variables
    accum[at] = accum[at] * momentum + gradient
    nesterov = case.values["flag"]
    var[at] -= rate * ((gradient + momentum * accum[at]) if nesterov else accum[at])


def _adagrad(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    var, accum = variables
    if case.values["flag"]:
        accum[at] += gradient * gradient
    var[at] -= _rate(case, 2) * gradient / np.sqrt(accum[at])


def _adam(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    var, m, v = variables
    power1, power2, rate, beta1, beta2, epsilon = (_rate(case, i) for i in range(3, 9))
    m[at] += (1 - beta1) * (gradient - m[at])
    v[at] += (1 - beta2) * (gradient * gradient - v[at])
    corrected = rate * np.sqrt(1 - power2) / (1 - power1)
    direction = beta1 * m[at] + (1 - beta1) * gradient if case.values["flag"] else m[at]
    var[at] -= corrected * direction / (np.sqrt(v[at]) + epsilon)


def _rms_prop(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    var, ms, mom = variables
    rate, rho, momentum, epsilon = (_rate(case, i) for i in range(3, 7))
    ms[at] += (1 - rho) * (gradient * gradient - ms[at])
    mom[at] = momentum * mom[at] + rate * gradient / np.sqrt(ms[at] + epsilon)
    var[at] -= mom[at]


def _centered_rms_prop(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    var, mg, ms, mom = variables
    rate, rho, momentum, epsilon = (_rate(case, i) for i in range(4, 8))
    mg[at] += (1 - rho) * (gradient - mg[at])
    ms[at] += (1 - rho) * (gradient * gradient - ms[at])
    mom[at] = momentum * mom[at] + rate * gradient / np.sqrt(ms[at] - mg[at] ** 2 + epsilon)
    var[at] -= mom[at]


def _adadelta(case: Case, variables: list[Array], gradient: Array, at: Any) -> None:
    var, accum, accum_update = variables
    rate, rho, epsilon = (_rate(case, i) for i in range(3, 6))
    accum[at] += (1 - rho) * (gradient * gradient - accum[at])
    update = np.sqrt(accum_update[at] + epsilon) / np.sqrt(accum[at] + epsilon) * gradient
    accum_update[at] += (1 - rho) * (update * update - accum_update[at])
    var[at] -= rate * update


_STEPS: dict[str, Callable[[Case, list[Array], Array, Any], None]] = {
    "GradientDescent": _descent,
    "Momentum": _momentum,
    "Adagrad": _adagrad,
    "Adam": _adam,
    "RMSProp": _rms_prop,
    "CenteredRMSProp": _centered_rms_prop,
    "Adadelta": _adadelta,
}
_SPARSE = ("Momentum", "Adagrad", "RMSProp", "CenteredRMSProp", "Adadelta")

for _prefix, _large in (("", _AS_ON_HANDLES), ("Resource", LARGE_UPDATES)):
    define_tests(
        [f"{_prefix}Apply{name}" for name in _SLOTS],
        cases=_make_step,
        reference=_step,
        determinism=_large,
    )
    define_tests(
        [f"{_prefix}SparseApply{name}" for name in _SPARSE],
        cases=_make_step,
        reference=_step,
        determinism=_large,
    )
