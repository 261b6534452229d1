"""Functions of one and two tensors, element by element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from testing.properties import number_types
from testing.properties.case import Case, Input, attr_text
from testing.properties.number_types import Array
from testing.properties.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refer,
    refuse_unless,
    type_attr,
    ulps,
)
from testing.properties.source import Source

# ---- One tensor ----


def one_tensor(source: Source, op: Any) -> Case:
    """A tensor of any shape and type."""
    dtype = pick_type(source, op, "T")
    value = source.values(dtype, source.shape())
    return Case(op.name, [Input(dtype, value)], {"T": type_attr(dtype)})


def _floor(x: Array) -> Array:
    return np.floor(x)


def _relu(x: Array) -> Array:
    return np.where(x <= 0, x.dtype.type(0), x)


def _sign(x: Array) -> Array:
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, x / np.abs(x)).astype(x.dtype)
    return (
        np.where(np.isnan(x), x, np.sign(x)).astype(x.dtype) if x.dtype.kind == "f" else np.sign(x)
    )


def _exact_unary(function: Callable[[Array], Array]) -> Callable[[Case], Outcome]:
    """For functions whose results need no rounding, or wrap."""

    def compute(case: Case) -> Outcome:
        x = numbers(case, 0)
        value = function(x)
        return [value.astype(x.dtype, copy=False)]

    return compute


def _rounded_unary(function: Callable[[Array], Array], count: float) -> Callable[[Case], Outcome]:
    """For functions that are computed to so many units in the last place.

    What complex functions give for infinities and near overflow is no two libraries' agreement.
    """

    def compute(case: Case) -> Outcome:
        x, dtype = numbers(case, 0), case.inputs[0].dtype
        if x.dtype.kind in "iub":
            return [function(x).astype(x.dtype, copy=False)]
        near = ulps(function(longer(x)), dtype, count)
        if dtype not in number_types.COMPLEX:
            return [near]
        return [Near(near.value, near.bound, _extreme(x, dtype))]

    return compute


def _extreme(x: Array, dtype: str) -> Array:
    """Where a complex number is not finite, or its square overflows or underflows."""
    largest = np.maximum(np.abs(x.real), np.abs(x.imag))
    smallest = np.minimum(np.abs(x.real), np.abs(x.imag))
    limit = np.sqrt(number_types.largest(dtype)) / 4
    tiny = np.sqrt(number_types.smallest_normal(dtype)) * 4
    odd = (largest > 40) | ((smallest < tiny) & (smallest > 0))
    return np.asarray(~np.isfinite(x) | (largest > limit) | (largest < tiny) | odd)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


refer(["Abs"], one_tensor, _exact_unary(np.abs))
refer(["Neg"], one_tensor, _exact_unary(np.negative))
refer(["Floor"], one_tensor, _exact_unary(_floor))
refer(["Relu"], one_tensor, _exact_unary(_relu))
refer(["Conj"], one_tensor, _exact_unary(np.conj))
refer(["ZerosLike"], one_tensor, lambda case: [_like(case, 0)])
refer(["OnesLike"], one_tensor, lambda case: [_like(case, 1)])
refer(["Sign"], one_tensor, _rounded_unary(_sign, 2))
refer(["Square"], one_tensor, _rounded_unary(np.square, 2))
refer(["Sqrt"], one_tensor, _rounded_unary(np.sqrt, 2))
refer(["Rsqrt"], one_tensor, _rounded_unary(lambda x: 1 / np.sqrt(x), 3))
refer(["Reciprocal", "Inv"], one_tensor, _rounded_unary(lambda x: 1 / x, 2))
# The approximations of kernels/common/vector_math.h.
refer(["Exp"], one_tensor, _rounded_unary(np.exp, 4))
refer(["Log"], one_tensor, _rounded_unary(np.log, 4))
refer(["Tanh"], one_tensor, _rounded_unary(np.tanh, 4))
refer(["Sigmoid"], one_tensor, _rounded_unary(_sigmoid, 4))


def _like(case: Case, number: int) -> Array:
    x = case.array(0)
    if case.inputs[0].dtype == "string":
        return np.full(x.shape, b"", object)
    return np.full(x.shape, number, number_types.as_numbers(x, case.inputs[0].dtype).dtype)


# ---- Two tensors that broadcast ----


def two_tensors(source: Source, op: Any) -> Case:
    """Two tensors that broadcast, but for some; at times the same one twice."""
    types = [attr.name for attr in op.attr]
    dtype = pick_type(source, op, "T") if "T" in types else "bool"
    shape_x, shape_y = source.broadcast_pair()
    inputs = [Input(dtype, source.values(dtype, shape_x))]
    if source.chance(0.1):
        inputs.append(Input(dtype, None, "", 0))
    else:
        inputs.append(Input(dtype, source.values(dtype, shape_y)))
    case = Case(op.name, inputs)
    if "T" in types:
        case.attrs["T"] = type_attr(dtype)
    if "incompatible_shape_error" in types:
        strict = source.chance(0.7)
        case.attrs["incompatible_shape_error"] = attr_text(strict)
        case.values["strict"] = strict
    return case


def broadcast(case: Case) -> tuple[Array, Array]:
    """Both inputs in the shape that they have together."""
    x, y = numbers(case, 0), numbers(case, 1)
    refuse_unless(_together(x.shape, y.shape) is not None, "y")
    x, y = np.broadcast_arrays(x, y)
    return x, y


def _together(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(x, y)
    except ValueError:
        return None


def _wrapped(function: Callable[[Any, Any], Any], x: Array, y: Array) -> Array:
    """The function of whole numbers, in Python's integers, wrapped to the type."""
    bits = 8 * x.dtype.itemsize
    signed = x.dtype.kind == "i"
    result = np.empty(x.shape, x.dtype)
    for place in np.ndindex(x.shape):
        number = function(int(x[place]), int(y[place])) & ((1 << bits) - 1)
        result[place] = number - (1 << bits) if signed and number >> (bits - 1) else number
    return result


def _binary(
    of_integers: Callable[[Any, Any], Any] | None,
    of_reals: Callable[[Array, Array], Array],
    count: float,
    *,
    needs: Callable[[Array], Array] | None = None,
) -> Callable[[Case], Outcome]:
    """An operation of integers that wraps, and of reals to `count` units in the last place.

    needs: what each integer y must fulfil.
    """

    def compute(case: Case) -> Outcome:
        x, y = broadcast(case)
        dtype = case.inputs[0].dtype
        if x.dtype.kind in "iu" and of_integers is not None:
            refuse_unless(needs is None or needs(y).all(), "y")
            return [_wrapped(of_integers, x, y)]
        value = np.asarray(of_reals(longer(x), longer(y)))
        near = ulps(value, dtype, count)
        if dtype not in number_types.COMPLEX:
            return [near]
        scale = np.abs(x.astype(np.complex128)) + np.abs(y.astype(np.complex128))
        bound = near.bound + np.where(np.isfinite(scale), scale, 0) * number_types.epsilon(dtype)
        odd = _extreme(x, dtype) | _extreme(y, dtype)
        return [Near(value, bound, odd)]

    return compute


def _truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _not_zero(y: Array) -> Array:
    return np.asarray(y != 0)


def _add_strings(case: Case) -> Outcome:
    if case.inputs[0].dtype != "string":
        return _binary(operator.add, np.add, 2)(case)
    x, y = broadcast(case)
    joined = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        joined[place] = x[place] + y[place]
    return [joined]


def _conjugate_square(x: Array, y: Array) -> Array:
    return np.asarray(np.conj(x - y) * (x - y))


def _floor_div(case: Case) -> Outcome:
    """The quotient is rounded before its floor is taken, so either neighbour of a tie is right."""
    x, y = broadcast(case)
    dtype = case.inputs[0].dtype
    if x.dtype.kind in "iu":
        return _binary(operator.floordiv, np.divide, 2, needs=_not_zero)(case)
    exact = longer(x) / longer(y)
    slack = np.abs(exact) * number_types.epsilon(dtype) + number_types.smallest_normal(dtype)
    low, high = np.floor(exact - slack), np.floor(exact + slack)
    bound = np.where(np.isfinite(exact) & (low != high), 1 + slack, slack)
    return [Near(np.floor(exact), bound)]


def _floor_mod(case: Case) -> Outcome:
    x, y = broadcast(case)
    dtype = case.inputs[0].dtype
    if x.dtype.kind in "iu":
        return _binary(operator.mod, np.mod, 2, needs=_not_zero)(case)
    wide_x, wide_y = longer(x), longer(y)
    remainder = np.fmod(wide_x, wide_y)
    other = (remainder != 0) & ((wide_y < 0) != (remainder < 0))
    value = np.where(other, remainder + wide_y, remainder)
    return [ulps(value, dtype, 2)]


def _extremum(function: Callable[[Array, Array], Array]) -> Callable[[Case], Outcome]:
    """A NaN counts; which of two zeros comes is not said here."""

    def compute(case: Case) -> Outcome:
        x, y = broadcast(case)
        value = function(x, y)
        return [value if x.dtype.kind in "iu" else Near(value, 0.0)]

    return compute


def _pow(case: Case) -> Outcome:
    x, y = broadcast(case)
    dtype = case.inputs[0].dtype
    if x.dtype.kind in "iu":
        refuse_unless((y >= 0).all(), "y")
        bits = 8 * x.dtype.itemsize
        return [_wrapped(lambda a, b: pow(a, b, 1 << bits), x, y)]
    value = np.asarray(longer(x) ** longer(y))
    near = ulps(value, dtype, 2)
    if dtype not in number_types.COMPLEX:
        return [near]
    # exp(y log(x)): the error of the exponent grows with it.
    exponent = np.abs(y) * (np.abs(np.log(np.abs(longer(x)))) + np.pi) + 1
    odd = _extreme(x, dtype) | _extreme(y, dtype) | (x == 0) | ~np.isfinite(value)
    return [Near(value, near.bound * (4 + 4 * np.where(np.isfinite(exponent), exponent, 1)), odd)]


refer("Add", two_tensors, _add_strings)
refer("AddV2", two_tensors, _binary(operator.add, np.add, 1))
refer("Sub", two_tensors, _binary(operator.sub, np.subtract, 1))
refer("Mul", two_tensors, _binary(operator.mul, np.multiply, 1))
refer("SquaredDifference", two_tensors, _binary(lambda x, y: (x - y) ** 2, _conjugate_square, 4))
refer("Div", two_tensors, _binary(_truncated, np.divide, 1, needs=_not_zero))
refer("RealDiv", two_tensors, _binary(None, np.divide, 1))
refer("FloorDiv", two_tensors, _floor_div)
refer("FloorMod", two_tensors, _floor_mod)
refer("Maximum", two_tensors, _extremum(np.maximum))
refer("Minimum", two_tensors, _extremum(np.minimum))
refer("Pow", two_tensors, _pow)


# ---- Comparisons and logic ----


def _comparison(function: Callable[[Array, Array], Array]) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        x, y = broadcast(case)
        return [np.asarray(function(x, y)).astype(bool)]

    return compute


def _equality(is_equal: bool) -> Callable[[Case], Outcome]:
    """Without incompatible_shape_error, shapes that do not fit are one answer."""

    def compute(case: Case) -> Outcome:
        x, y = numbers(case, 0), numbers(case, 1)
        if not case.values["strict"] and _together(x.shape, y.shape) is None:
            return [np.asarray(not is_equal)]
        x, y = broadcast(case)
        equal = np.asarray(x == y).astype(bool)
        return [equal if is_equal else ~equal]

    return compute


refer("Equal", two_tensors, _equality(True))
refer("NotEqual", two_tensors, _equality(False))
refer("Less", two_tensors, _comparison(np.less))
refer("LessEqual", two_tensors, _comparison(np.less_equal))
refer("Greater", two_tensors, _comparison(np.greater))
refer("GreaterEqual", two_tensors, _comparison(np.greater_equal))
refer("LogicalAnd", two_tensors, _comparison(np.logical_and))
refer("LogicalOr", two_tensors, _comparison(np.logical_or))


def _bools(source: Source, op: Any) -> Case:
    return Case(op.name, [Input("bool", source.values("bool", source.shape()))])


refer("LogicalNot", _bools, lambda case: [~case.array(0)])


# ---- Gradients, of two tensors of one shape ----


def _same_shapes(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape()
    other = shape if source.chance(0.85) else source.small_shape()
    inputs = [Input(dtype, source.values(dtype, shape)), Input(dtype, source.values(dtype, other))]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _gradient(function: Callable[[Array, Array], Array], count: float) -> Callable[[Case], Outcome]:
    """A gradient from y and dy.

    Where the steps of it overflow or are no numbers, they need not come in the reference's order.
    """

    def compute(case: Case) -> Outcome:
        x, y = numbers(case, 0), numbers(case, 1)
        refuse_unless(x.shape == y.shape, "dy")
        dtype = case.inputs[0].dtype
        if x.dtype.kind in "iu":
            return [function(x, y).astype(x.dtype)]
        value = np.asarray(function(longer(x), longer(y)))
        near = ulps(value, dtype, count)
        large, tiny = number_types.largest(dtype) ** 0.2, number_types.smallest_normal(dtype) ** 0.2
        odd = np.zeros(x.shape, bool)
        for part in (x.real, x.imag, y.real, y.imag):
            size = np.abs(part)
            odd |= ~(size < large) | ((size < tiny) & (size > 0))
        bound = near.bound
        if dtype in number_types.COMPLEX or case.op in ("TanhGrad", "SigmoidGrad"):
            # 1 - y or 1 - y * y cancels, and so do the parts of a product.
            scale = (1 + np.abs(longer(x))) ** 3 * (1 + np.abs(longer(y))) ** 3
            bound = bound + np.where(odd, 0, scale.real) * number_types.epsilon(dtype)
        return [Near(value, bound, odd)]

    return compute


def _unless_zero(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda y, dy: np.where(dy == 0, 0, function(np.conj(y), dy))


def _relu_grad(case: Case) -> Outcome:
    gradients, features = numbers(case, 0), numbers(case, 1)
    refuse_unless(gradients.shape == features.shape, "features")
    return [(gradients * (features > 0).astype(gradients.dtype)).astype(gradients.dtype)]


refer("ReluGrad", _same_shapes, _relu_grad)
refer("SqrtGrad", _same_shapes, _gradient(_unless_zero(lambda y, dy: dy * 0.5 / y), 3))
refer("RsqrtGrad", _same_shapes, _gradient(_unless_zero(lambda y, dy: -0.5 * dy * y * y * y), 6))
for _name in ("ReciprocalGrad", "InvGrad"):
    refer(_name, _same_shapes, _gradient(_unless_zero(lambda y, dy: -dy * y * y), 4))
refer("TanhGrad", _same_shapes, _gradient(lambda y, dy: dy * (1 - y * y), 3))
refer("SigmoidGrad", _same_shapes, _gradient(lambda y, dy: dy * y * (1 - y), 4))
