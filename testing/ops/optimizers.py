"""The steps of optimizers, dense and on rows, by handles and by references."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.state import AS_ON_HANDLES, LARGE_UPDATES, stored_of, variable_input
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import function_of, registered_ops
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.inputs import row_indices
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    refuse_unless,
    type_attr,
    types_among,
)
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source


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
    on_references
        Whether there are steps on references.
    """

    step: Callable[[_Rates, dict[str, Array], Array, Any], None]
    variables: tuple[str, ...] = ("var",)
    flag: str | None = None
    positive: tuple[str, ...] = ()
    sparse: bool = True
    dtypes: tuple[str, ...] = tuple(number_types.REALS)
    on_references: bool = True


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


def _adagrad_v2(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    if rates.flag:
        at["accum"][row] += gradient * gradient
    damped = np.sqrt(at["accum"][row]) + rates["epsilon"]
    at["var"][row] -= rates["lr"] * gradient / damped


def _ada_max(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    m, v = at["m"], at["v"]
    m[row] += (1 - rates["beta1"]) * (gradient - m[row])
    v[row] = np.maximum(rates["beta2"] * v[row], np.abs(gradient))
    corrected = rates["lr"] / (1 - rates["beta1_power"])
    at["var"][row] -= corrected * m[row] / (v[row] + rates["epsilon"])


def _amsgrad(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    m, v = at["m"], at["v"]
    m[row] += (1 - rates["beta1"]) * (gradient - m[row])
    v[row] += (1 - rates["beta2"]) * (gradient * gradient - v[row])
    at["vhat"][row] = np.maximum(at["vhat"][row], v[row])
    corrected = rates["lr"] * np.sqrt(1 - rates["beta2_power"]) / (1 - rates["beta1_power"])
    at["var"][row] -= corrected * m[row] / (np.sqrt(at["vhat"][row]) + rates["epsilon"])


def _agreement(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> Array:
    """The product of the signs of the gradient and of its mean, which goes on."""
    m = at["m"]
    m[row] = rates["beta"] * m[row] + (1 - rates["beta"]) * gradient
    return np.asarray(rates["sign_decay"] * np.sign(gradient) * np.sign(m[row]))


def _add_sign(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    agreement = _agreement(rates, at, gradient, row)
    at["var"][row] -= rates["lr"] * (rates["alpha"] + agreement) * gradient


def _power_sign(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    agreement = _agreement(rates, at, gradient, row)
    at["var"][row] -= rates["lr"] * np.exp(rates["logbase"] * agreement) * gradient


def _keras_momentum(rates: _Rates, at: dict[str, Array], gradient: Array, row: Any) -> None:
    accum, step = at["accum"], rates["lr"] * gradient
    accum[row] = rates["momentum"] * accum[row] - step
    at["var"][row] += rates["momentum"] * accum[row] - step if rates.flag else accum[row]


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
    "AdagradV2": _Optimizer(_adagrad_v2, ("var", "accum"), "update_slots", ("accum",)),
    "AdaMax": _Optimizer(_ada_max, ("var", "m", "v"), positive=("v",), sparse=False),
    "AddSign": _Optimizer(_add_sign, ("var", "m"), sparse=False),
    "PowerSign": _Optimizer(_power_sign, ("var", "m"), sparse=False),
    "AdamWithAmsgrad": _Optimizer(
        _amsgrad,
        ("var", "m", "v", "vhat"),
        positive=("v", "vhat"),
        sparse=False,
        on_references=False,
    ),
    "KerasMomentum": _Optimizer(
        _keras_momentum,
        ("var", "accum"),
        "use_nesterov",
        dtypes=_COMPLEX_TOO,
        on_references=False,
    ),
}
# Steps that no optimizer of the package goes.
_WITHOUT_OPTIMIZER = (
    *("AdagradV2", "AdaMax", "AddSign", "PowerSign", "AdamWithAmsgrad", "KerasMomentum"),
)
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
        variable = variable_input(source, op, dtype, shape, 0)
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
    stored = [stored_of(case, i) for i in range(count)]
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


def _large_step(op: str) -> LargeCase:
    """One step of an op on handles."""

    def build(values: Values) -> Any:
        inputs: list[Any] = []
        variables: list[tf.Variable] = []
        for argument in registered_ops()[op].input_arg:
            if argument.name in _optimizer(op).variables:
                variables.append(values.variable(400, 300))
                inputs.append(variables[-1].handle)
            elif argument.name in _GRADIENTS:
                inputs.append(values.of(*((3000, 300) if "Sparse" in op else (400, 300))))
            elif argument.name == "indices":
                inputs.append(values.rows(3000, 60))
            else:
                inputs.append(tf.constant(0.25, values.dtype))
        with tf.control_dependencies([function_of(op)(*inputs)]):
            return [variable.read_value() for variable in variables]

    return LargeCase(build, FLOAT32_AND_64)


def _large(op: str) -> LargeCase | NotTested:
    if not op.startswith("Resource"):
        return AS_ON_HANDLES
    is_trained = op.rsplit("Apply", 1)[1] not in _WITHOUT_OPTIMIZER
    return LARGE_UPDATES if is_trained else _large_step(op)


def _define(prefix: str, kind: str, name: str) -> None:
    op = f"{prefix}{kind}{name}"
    define_tests(op, cases=_make_step, reference=_step, determinism=_large(op))


for _name, _defined in _OPTIMIZERS.items():
    for _prefix in ("", "Resource") if _defined.on_references else ("Resource",):
        for _kind in ("Apply", "SparseApply") if _defined.sparse else ("Apply",):
            _define(_prefix, _kind, _name)
