"""Functions of two tensors that broadcast, element by element: arithmetic, comparisons, logic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import (
    FLOAT32,
    LargeCase,
    Values,
    large_broadcast,
    large_pair,
)
from testing.ops.support.gradient import ChecksOfOp, of_broadcast_tensors, positive
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    MakeCase,
    Near,
    Outcome,
    Reference,
    is_extreme,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
    ulps,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _define_binary(
    op: str,
    reference: Reference,
    gradient: ChecksOfOp | None = None,
    cases: MakeCase | None = None,
    determinism: LargeCase | None = None,
) -> None:
    """The tests of an op of two tensors of one type."""
    define_tests(
        op,
        cases=cases or two_tensors,
        reference=reference,
        gradient=gradient,
        determinism=determinism or large_broadcast,
    )


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
        odd = is_extreme(x, dtype) | is_extreme(y, dtype)
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


def _whole_quotient(
    of_integers: Callable[[Any, Any], Any], of_reals: Callable[[Array], Array]
) -> Callable[[Case], Outcome]:
    """The quotient is rounded before it is made whole: either neighbour of a tie is right."""

    def compute(case: Case) -> Outcome:
        x, y = broadcast(case)
        dtype = case.inputs[0].dtype
        if x.dtype.kind in "iu":
            return _binary(of_integers, np.divide, 2, needs=_not_zero)(case)
        exact = longer(x) / longer(y)
        slack = np.abs(exact) * number_types.epsilon(dtype) + number_types.smallest_normal(dtype)
        low, high = of_reals(exact - slack), of_reals(exact + slack)
        bound = np.where(np.isfinite(exact) & (low != high), 1 + slack, slack)
        return [Near(of_reals(exact), bound)]

    return compute


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
    odd = is_extreme(x, dtype) | is_extreme(y, dtype) | (x == 0) | ~np.isfinite(value)
    return [Near(value, near.bound * (4 + 4 * np.where(np.isfinite(exponent), exponent, 1)), odd)]


_of_distinct = of_broadcast_tensors(with_itself=False)
_of_positive = of_broadcast_tensors(positive, with_itself=False)

_define_binary("Add", _add_strings, of_broadcast_tensors())
_define_binary("AddV2", _binary(operator.add, np.add, 1), of_broadcast_tensors())
_define_binary("Sub", _binary(operator.sub, np.subtract, 1), of_broadcast_tensors())
_define_binary("Mul", _binary(operator.mul, np.multiply, 1), of_broadcast_tensors())
_define_binary(
    "SquaredDifference",
    _binary(lambda x, y: (x - y) ** 2, _conjugate_square, 4),
    of_broadcast_tensors(),
)
_define_binary("Div", _binary(_truncated, np.divide, 1, needs=_not_zero), of_broadcast_tensors())
_define_binary("RealDiv", _binary(None, np.divide, 1), of_broadcast_tensors())
_define_binary("FloorDiv", _whole_quotient(operator.floordiv, np.floor))
_define_binary("FloorMod", _floor_mod, _of_distinct)
_define_binary("Maximum", _extremum(np.maximum), of_broadcast_tensors())
_define_binary("Minimum", _extremum(np.minimum), of_broadcast_tensors())
_define_binary("Pow", _pow, _of_positive)


# ---- Truncated division, products and quotients with a zero, angles, neighbours ----


def _where_not(zero: Array, value: Array) -> Array:
    return np.where(zero == 0, 0, value)


def _next_after(case: Case) -> Outcome:
    x, y = broadcast(case)
    return [np.nextafter(x, y)]


def _numbers_to_divide(source: Source, op: Any) -> Case:
    """Two tensors; integers are mostly divided by others than 0."""
    case = two_tensors(source, op)
    divisors = case.inputs[1].value
    if divisors is not None and "int" in case.inputs[1].dtype and source.chance(0.7):
        case.inputs[1].value = np.where(divisors == 0, divisors.dtype.type(1), divisors)
    return case


def _large_quotients(values: Values) -> Any:
    dividends = tf.cast(1000.0 * values.of(600, 500), tf.int32)
    divisors = tf.cast(10.0 * values.positive(500), tf.int32) + 1
    return [
        gen_ops.truncate_div(dividends, divisors),
        gen_ops.truncate_div(divisors, dividends[:1] * 2 + 1),
        gen_ops.truncate_div(100.0 * values.of(600, 500), values.positive(500)),
    ]


_truncate_mod = _binary(lambda x, y: x - y * _truncated(x, y), np.fmod, 1, needs=_not_zero)

_define_binary(
    "TruncateDiv",
    _whole_quotient(_truncated, np.trunc),
    cases=_numbers_to_divide,
    determinism=LargeCase(_large_quotients, FLOAT32),
)
_define_binary("TruncateMod", _truncate_mod, _of_distinct)
_define_binary("Mod", _truncate_mod, _of_distinct)
_define_binary(
    "DivNoNan", _binary(None, lambda x, y: _where_not(y, x / y), 1), of_broadcast_tensors()
)
_define_binary(
    "MulNoNan", _binary(None, lambda x, y: _where_not(y, x * y), 1), of_broadcast_tensors()
)
_define_binary("Xdivy", _binary(None, lambda x, y: _where_not(x, x / y), 1), of_broadcast_tensors())
_define_binary("Xlogy", _binary(None, lambda x, y: _where_not(x, x * np.log(y)), 5), _of_distinct)
_define_binary("Atan2", _binary(None, np.arctan2, 2), of_broadcast_tensors())
_define_binary("NextAfter", _next_after, of_broadcast_tensors())


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


_define_binary("Equal", _equality(True))
_define_binary("NotEqual", _equality(False))
_define_binary("Less", _comparison(np.less))
_define_binary("LessEqual", _comparison(np.less_equal))
_define_binary("Greater", _comparison(np.greater))
_define_binary("GreaterEqual", _comparison(np.greater_equal))
define_tests("LogicalAnd", cases=two_tensors, reference=_comparison(np.logical_and))
define_tests("LogicalOr", cases=two_tensors, reference=_comparison(np.logical_or))


def _two_of_one_shape(source: Source, op: Any) -> Case:
    """Two tensors, often of small numbers, of which some are equal or near."""
    dtype = pick_type(source, op, "T")
    shape = source.small_shape()
    other = shape if source.chance(0.85) else source.small_shape()
    inputs = [Input(dtype, source.values(dtype, size)) for size in (shape, other)]
    tolerance = attr_text(source.pick((1e-5, 0.5, 2.0)))
    return Case(op.name, inputs, {"T": type_attr(dtype), "tolerance": tolerance})


def _approximate_equal(case: Case) -> Outcome:
    x, y = numbers(case, 0), numbers(case, 1)
    refuse_unless(x.shape == y.shape, "y")
    if x.dtype.kind in "iu":
        x, y = x.astype(object), y.astype(object)
    elif x.dtype == np.float16:
        x, y = x.astype(np.float32), y.astype(np.float32)
    near = np.abs(x - y) <= np.float32(case.attr("tolerance"))
    return [np.asarray(near).astype(bool)]


define_tests(
    "ApproximateEqual",
    cases=_two_of_one_shape,
    reference=_approximate_equal,
    determinism=large_pair,
)
