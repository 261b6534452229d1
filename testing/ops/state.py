"""Variables, by handles and by references, and the optimizers' steps."""

from __future__ import annotations

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class _Optimizer:
    """One optimizer: the step in longer numbers, and what its cases must keep to.

    Parameters
    ----------
    step
        Changes the elements at a place of the variables, which are given by their names.
    variables
        The names of the variables and slots.
    flag
        The attribute that says how it steps, if there is one.
    positive
        Slots of which a root is taken.
    dtypes
        The types of its cases.
    sparse
        Whether there is a step on rows.
    """

    step: Callable[[_Rates, dict[str, Array], Array, Any], None]
    variables: tuple[str, ...] = ("var",)
    flag: str | None = None
    positive: tuple[str, ...] = ()
    sparse: bool = True
    dtypes: tuple[str, ...] = tuple(number_types.REALS)


class _Rates:
    """The scalars of a case by their names, and its flag."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def __getitem__(self, name: str) -> Any:
        return _wide(numbers(self._case, _place(self._case, name))).reshape(())[()]

    def __contains__(self, name: str) -> bool:
        return name in self._case.values["names"]

    @property
    def flag(self) -> bool:
        return bool(self._case.values["flag"])


def _descent(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    at["var"][row] -= rates["alpha"] * gradient


def _momentum(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    accum = at["accum"]
    accum[row] = accum[row] * rates["momentum"] + gradient
    ahead = gradient + rates["momentum"] * accum[row]
    at["var"][row] -= rates["lr"] * (ahead if rates.flag else accum[row])


def _adagrad(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    if rates.flag:
        at["accum"][row] += gradient * gradient
    at["var"][row] -= rates["lr"] * gradient / np.sqrt(at["accum"][row])


def _adam(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    m, v = at["m"], at["v"]
    beta1, beta2 = rates["beta1"], rates["beta2"]
    m[row] += (1 - beta1) * (gradient - m[row])
    v[row] += (1 - beta2) * (gradient * gradient - v[row])
    corrected = rates["lr"] * np.sqrt(1 - rates["beta2_power"]) / (1 - rates["beta1_power"])
    direction = beta1 * m[row] + (1 - beta1) * gradient if rates.flag else m[row]
    at["var"][row] -= corrected * direction / (np.sqrt(v[row]) + rates["epsilon"])


def _rms_prop(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    at["ms"][row] += (1 - rates["rho"]) * (gradient * gradient - at["ms"][row])
    square = at["ms"][row] + rates["epsilon"]
    if "mg" in at:
        at["mg"][row] += (1 - rates["rho"]) * (gradient - at["mg"][row])
        square = square - at["mg"][row] ** 2
    at["mom"][row] = rates["momentum"] * at["mom"][row] + rates["lr"] * gradient / np.sqrt(square)
    at["var"][row] -= at["mom"][row]


def _adadelta(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    rho, epsilon = rates["rho"], rates["epsilon"]
    accum, updates = at["accum"], at["accum_update"]
    accum[row] = rho * accum[row] + (1 - rho) * gradient * gradient
    update = np.sqrt(updates[row] + epsilon) / np.sqrt(accum[row] + epsilon) * gradient
    updates[row] = rho * updates[row] + (1 - rho) * update * update
    at["var"][row] -= rates["lr"] * update


def _proximal(rates: _Rates, value: Array, rate: Any) -> Any:
    shrunk = np.sign(value) * np.maximum(np.abs(value) - rate * rates["l1"], 0)
    return (shrunk if rates["l1"] > 0 else value) / (1 + rate * rates["l2"])


def _proximal_descent(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    alpha = rates["alpha"]
    at["var"][row] = _proximal(rates, at["var"][row] - alpha * gradient, alpha)


def _proximal_adagrad(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    at["accum"][row] += gradient * gradient
    rate = rates["lr"] / np.sqrt(at["accum"][row])
    at["var"][row] = _proximal(rates, at["var"][row] - rate * gradient, rate)


def _ftrl(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    power, l1 = -rates["lr_power"], rates["l1"]
    before, value = at["accum"][row], at["var"][row]
    total = before + gradient * gradient
    pull = (total**power - before**power) / rates["lr"]
    shrinkage = 2 * rates["l2_shrinkage"] if "l2_shrinkage" in rates else 0
    linear = at["linear"][row] + gradient + (shrinkage - pull) * value
    beyond = np.maximum(np.abs(linear) - l1, 0)
    at["var"][row] = -np.sign(linear) * beyond / (total**power / rates["lr"] + 2 * rates["l2"])
    at["accum"][row], at["linear"][row] = total, linear


def _adagrad_da(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    total, squares = at["gradient_accumulator"], at["gradient_squared_accumulator"]
    total[row] += gradient
    squares[row] += gradient * gradient
    beyond = np.maximum(np.abs(total[row]) - rates["l1"] * rates["global_step"], 0)
    damping = rates["lr"] * rates["l2"] * rates["global_step"]
    at["var"][row] = -rates["lr"] * np.sign(total[row]) * beyond / (np.sqrt(squares[row]) + damping)


# Steps without a root: a sum of squares of complex numbers may be near 0, where it has no bound.
_COMPLEX_TOO = (*number_types.REALS, *number_types.COMPLEX)
_OPTIMIZERS = {
    "GradientDescent": _Optimizer(_descent, sparse=False, dtypes=_COMPLEX_TOO),
    "Momentum": _Optimizer(_momentum, ("var", "accum"), "use_nesterov", dtypes=_COMPLEX_TOO),
    "Adagrad": _Optimizer(_adagrad, ("var", "accum"), "update_slots", ("accum",)),
    "Adam": _Optimizer(_adam, ("var", "m", "v"), "use_nesterov", ("v",), sparse=False),
    "RMSProp": _Optimizer(_rms_prop, ("var", "ms", "mom"), positive=("ms",)),
    # ms - mg * mg may cancel to nothing where ms is rounded to 16 bits.
    "CenteredRMSProp": _Optimizer(
        _rms_prop,
        ("var", "mg", "ms", "mom"),
        positive=("ms",),
        dtypes=("float32", "float64"),
    ),
    "Adadelta": _Optimizer(
        _adadelta, ("var", "accum", "accum_update"), positive=("accum", "accum_update")
    ),
    "ProximalGradientDescent": _Optimizer(_proximal_descent),
    "ProximalAdagrad": _Optimizer(_proximal_adagrad, ("var", "accum"), positive=("accum",)),
    "Ftrl": _Optimizer(_ftrl, ("var", "accum", "linear"), positive=("accum",)),
    "FtrlV2": _Optimizer(_ftrl, ("var", "accum", "linear"), positive=("accum",)),
    "AdagradDA": _Optimizer(
        _adagrad_da,
        ("var", "gradient_accumulator", "gradient_squared_accumulator"),
        positive=("gradient_squared_accumulator",),
    ),
}
_GRADIENTS = ("grad", "delta")


def _optimizer(op: str) -> _Optimizer:
    return _OPTIMIZERS[op.rsplit("Apply", 1)[1]]


def _place(case: Case, name: str) -> int:
    """The number of the input of that name."""
    return int(case.values["names"].index(name))


def _make_step(source: Source, op: Any) -> Case:
    optimizer = _optimizer(op.name)
    dtype = source.pick(types_among(optimizer.dtypes, op, "T"))
    sparse = "Sparse" in op.name
    shape = source.small_shape(1 if sparse else 0, 4, 4)
    indices = row_indices(source, [source.integer(0, 5)], shape[0]) if sparse else None
    gradient = list(shape)
    case = Case(op.name, [], {"T": type_attr(dtype)})
    case.values["names"] = [argument.name for argument in op.input_arg]
    if indices is not None:
        assert indices.value is not None
        gradient = [indices.value.size, *shape[1:]]
        case.attrs["Tindices"] = type_attr(indices.dtype)
    if optimizer.flag is not None:
        case.values["flag"] = source.chance(0.5)
        case.attrs[optimizer.flag] = attr_text(case.values["flag"])
    if source.chance(0.06):
        gradient = list(source.small_shape())
    for argument in op.input_arg:
        case.inputs.append(_step_input(source, op, argument.name, dtype, shape, gradient, indices))
    return case


def _step_input(
    source: Source, op: Any, name: str, dtype: str, shape: Any, gradient: Any, indices: Any
) -> Input:
    optimizer = _optimizer(op.name)
    if name in optimizer.variables:
        if source.chance(0.03):
            shape = source.small_shape(1)
        variable = _variable(source, op, dtype, shape, 0)
        if variable.value is None:
            return variable
        value = number_types.as_numbers(variable.value, dtype)
        if name in optimizer.positive:
            variable.value = number_types.from_numbers(np.abs(value) + np.float32(0.5), dtype)
        elif name == "mg":
            # A mean whose square is below ms.
            small = value / (2 + 2 * np.abs(value))
            variable.value = number_types.from_numbers(small.astype(value.dtype), dtype)
        return variable
    if name == "indices":
        return Input(indices.dtype, indices.value)
    if name in _GRADIENTS:
        return Input(dtype, source.values(dtype, gradient, "plain"))
    scalar = () if source.chance(0.98) else (1,)
    if name == "global_step":
        return Input("int64", np.full(scalar, source.integer(1, 9), np.int64))
    power = name == "lr_power"
    rate = np.full(scalar, source.pick((-0.5, -0.25)) if power else 0.25, np.float32)
    number = rate.astype(np.float32 if dtype == "bfloat16" else dtype)
    return Input(dtype, number_types.from_numbers(number, dtype))


def _step(case: Case) -> Outcome:
    """The steps in longer numbers; the bounds are for numbers of common size alone."""
    optimizer = _optimizer(case.op)
    count = len(optimizer.variables)
    dtype = case.inputs[0].dtype
    sparse = "Sparse" in case.op
    stored = [_stored_of(case, i) for i in range(count)]
    refuse_unless(all(value.shape == stored[0].shape for value in stored), "var")
    wide = [_wide(number_types.as_numbers(value, dtype)) for value in stored]
    at = dict(zip(optimizer.variables, wide, strict=True))
    names = case.values["names"]
    (gradient_at,) = [i for i, name in enumerate(names) if name in _GRADIENTS]
    for i in range(count, len(names)):
        if i != gradient_at and names[i] != "indices":
            refuse_unless(case.array(i).ndim == 0, "scalar")
    gradient = _wide(numbers(case, gradient_at))
    rates = _Rates(case)
    if not sparse:
        refuse_unless(gradient.shape == wide[0].shape, "grad")
        optimizer.step(rates, at, gradient, ...)
    else:
        indices = case.array(_place(case, "indices"))
        refuse_unless(indices.ndim == 1, "indices")
        refuse_unless(gradient.shape == (indices.size, *wide[0].shape[1:]), "grad")
        refuse_unless(((indices >= 0) & (indices < len(wide[0]))).all(), "indices")
        for k, row in enumerate(indices):
            optimizer.step(rates, at, gradient[k], int(row))
    results: list[Any] = [_bounded(value, case, dtype) for value in wide]
    return [results[0], *results] if case.inputs[0].source == "reference" else results


def _wide(x: Array) -> Array:
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def _bounded(value: Array, case: Case, dtype: str) -> Near:
    floats = [numbers(case, i) for i, item in enumerate(case.inputs) if item.dtype == dtype]
    largest = max(float(np.max(np.abs(_wide(x)), initial=1)) for x in floats)
    sparse = "Sparse" in case.op
    steps = 1 + (case.array(_place(case, "indices")).size if sparse else 0)
    bound = number_types.epsilon(dtype) * 40 * steps * largest**2
    return Near(value, bound)


for _prefix, _large in (("", _AS_ON_HANDLES), ("Resource", LARGE_UPDATES)):
    for _kind in ("Apply", "SparseApply"):
        define_tests(
            [
                f"{_prefix}{_kind}{name}"
                for name, optimizer in _OPTIMIZERS.items()
                if _kind == "Apply" or optimizer.sparse
            ],
            cases=_make_step,
            reference=_step,
            determinism=_large,
        )
