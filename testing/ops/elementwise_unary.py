"""Functions of one tensor, element by element, and the ops that their gradients are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import large_pair, large_tensor
from testing.ops.support.gradient import (
    Check,
    of_one_tensor,
    of_value_and_gradient,
    positive,
    spread,
)
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

# ---- One tensor ----


def one_tensor(source: Source, op: Any) -> Case:
    """A tensor of any shape and type."""
    dtype = pick_type(source, op, "T")
    value = source.values(dtype, source.shape())
    return Case(op.name, [Input(dtype, value)], {"T": type_attr(dtype)})


def _floor(x: Array) -> Array:
    return np.floor(x)


def _round(x: Array) -> Array:
    """Integers become 0, as in the golden cases; `tf.round` does not pass them on."""
    return np.zeros_like(x) if x.dtype.kind in "iu" else np.rint(x)


def _relu(x: Array) -> Array:
    return np.where(x <= 0, x.dtype.type(0), x)


def _sign(x: Array) -> Array:
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, x / np.abs(x)).astype(x.dtype)
    return (
        np.where(np.isnan(x), x, np.sign(x)).astype(x.dtype) if x.dtype.kind == "f" else np.sign(x)
    )


def exact_unary(function: Callable[[Array], Array]) -> Callable[[Case], Outcome]:
    """For functions whose results need no rounding, or wrap."""

    def compute(case: Case) -> Outcome:
        x = numbers(case, 0)
        value = function(x)
        return [value.astype(x.dtype, copy=False)]

    return compute


def rounded_unary(function: Callable[[Array], Array], count: float) -> Callable[[Case], Outcome]:
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
        return [Near(near.value, near.bound, is_extreme(x, dtype))]

    return compute


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _like(case: Case, number: int) -> Array:
    x = case.array(0)
    if case.inputs[0].dtype == "string":
        return np.full(x.shape, b"", object)
    return np.full(x.shape, number, number_types.as_numbers(x, case.inputs[0].dtype).dtype)


def _real_part_of_conjugate_product(x: Any) -> Any:
    """Real part of conj(a * x) * b for constants a and b, which depends on the conjugation."""
    scaled = gen_ops.mul(gen_ops.cast(x, tf.complex128), np.complex128(0.5 + 2j))
    product = gen_ops.mul(gen_ops.conj(scaled), np.complex128(1.5 - 1j))
    return gen_ops.cast(product, tf.float64)


define_tests("Abs", cases=one_tensor, reference=exact_unary(np.abs))
define_tests("Neg", cases=one_tensor, reference=exact_unary(np.negative))
define_tests("Floor", cases=one_tensor, reference=exact_unary(_floor))
define_tests("Ceil", cases=one_tensor, reference=exact_unary(np.ceil))
define_tests("Rint", cases=one_tensor, reference=exact_unary(np.rint))
define_tests("Round", cases=one_tensor, reference=exact_unary(_round))
define_tests("Relu", cases=one_tensor, reference=exact_unary(_relu))
define_tests(
    "Conj",
    cases=one_tensor,
    reference=exact_unary(np.conj),
    gradient=[Check(_real_part_of_conjugate_product, (spread("x", 3, 2),))],
)
define_tests(
    "ZerosLike",
    cases=one_tensor,
    reference=lambda case: [_like(case, 0)],
    determinism=large_tensor,
)
define_tests("OnesLike", cases=one_tensor, reference=lambda case: [_like(case, 1)])
define_tests("Sign", cases=one_tensor, reference=rounded_unary(_sign, 2))
define_tests("Square", cases=one_tensor, reference=rounded_unary(np.square, 2))
define_tests(
    "Sqrt",
    cases=one_tensor,
    reference=rounded_unary(np.sqrt, 2),
    gradient=of_one_tensor(positive),
)
define_tests(
    "Rsqrt",
    cases=one_tensor,
    reference=rounded_unary(lambda x: 1 / np.sqrt(x), 3),
    gradient=of_one_tensor(positive),
)
define_tests(["Reciprocal", "Inv"], cases=one_tensor, reference=rounded_unary(lambda x: 1 / x, 2))
# The approximations of kernels/common/vector_math.h.
define_tests("Exp", cases=one_tensor, reference=rounded_unary(np.exp, 4))
define_tests(
    "Log", cases=one_tensor, reference=rounded_unary(np.log, 4), gradient=of_one_tensor(positive)
)
define_tests("Tanh", cases=one_tensor, reference=rounded_unary(np.tanh, 4))
define_tests("Sigmoid", cases=one_tensor, reference=rounded_unary(_sigmoid, 4))


# Klambauer et al. 2017.
_SCALE = np.longdouble("1.0507009873554804934193349852946")
_SCALE_ALPHA = _SCALE * np.longdouble("1.6732632423543772848170429916717")


def _softplus(x: Array) -> Array:
    return np.where(x > 0, x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x)))


def _elu(x: Array) -> Array:
    return np.where(x < 0, np.expm1(x), x)


def _selu(x: Array) -> Array:
    return np.where(x < 0, _SCALE_ALPHA * np.expm1(x), _SCALE * x)


def _relu6(x: Array) -> Array:
    positive = _relu(x)
    return np.where(positive > 6, positive.dtype.type(6), positive)


define_tests("Relu6", cases=one_tensor, reference=exact_unary(_relu6))
define_tests("Softplus", cases=one_tensor, reference=rounded_unary(_softplus, 6))
define_tests("Elu", cases=one_tensor, reference=rounded_unary(_elu, 8))
define_tests("Selu", cases=one_tensor, reference=rounded_unary(_selu, 10))
define_tests(
    "Softsign", cases=one_tensor, reference=rounded_unary(lambda x: x / (1 + np.abs(x)), 3)
)


def _bools(source: Source, op: Any) -> Case:
    return Case(op.name, [Input("bool", source.values("bool", source.shape()))])


define_tests("LogicalNot", cases=_bools, reference=lambda case: [~case.array(0)])


def _kind(function: Callable[[Array], Array]) -> Callable[[Case], Outcome]:
    return lambda case: [function(numbers(case, 0))]


define_tests("IsNan", cases=one_tensor, reference=_kind(np.isnan), determinism=large_tensor)
define_tests("IsInf", cases=one_tensor, reference=_kind(np.isinf), determinism=large_tensor)
define_tests("IsFinite", cases=one_tensor, reference=_kind(np.isfinite), determinism=large_tensor)


# ---- Gradients, of two tensors of one shape ----


def _same_shapes(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape()
    other = shape if source.chance(0.85) else source.small_shape()
    inputs = [Input(dtype, source.values(dtype, shape)), Input(dtype, source.values(dtype, other))]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


_CANCELS = ("TanhGrad", "SigmoidGrad", "EluGrad", "SeluGrad")


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
        if dtype in number_types.COMPLEX or case.op in _CANCELS:
            # A sum of the result and a constant cancels, and so do the parts of a product.
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


def _define_gradient(op: str, reference: Reference) -> None:
    """The tests of an op of a value, or a result, and the gradient by the result."""
    define_tests(
        op,
        cases=_same_shapes,
        reference=reference,
        gradient=of_value_and_gradient,
        determinism=large_pair,
    )


_define_gradient("ReluGrad", _relu_grad)
_define_gradient("SqrtGrad", _gradient(_unless_zero(lambda y, dy: dy * 0.5 / y), 3))
_define_gradient("RsqrtGrad", _gradient(_unless_zero(lambda y, dy: -0.5 * dy * y * y * y), 6))
for _name in ("ReciprocalGrad", "InvGrad"):
    _define_gradient(_name, _gradient(_unless_zero(lambda y, dy: -dy * y * y), 4))
_define_gradient("TanhGrad", _gradient(lambda y, dy: dy * (1 - y * y), 3))
_define_gradient("SigmoidGrad", _gradient(lambda y, dy: dy * y * (1 - y), 4))


def _relu6_grad(case: Case) -> Outcome:
    gradients, features = numbers(case, 0), numbers(case, 1)
    refuse_unless(gradients.shape == features.shape, "features")
    inside = (features > 0) & (features < 6)
    return [(gradients * inside.astype(gradients.dtype)).astype(gradients.dtype)]


def _selu_grad(gradient: Array, output: Array) -> Array:
    return gradient * np.where(output < 0, output + _SCALE_ALPHA, _SCALE)


_define_gradient("Relu6Grad", _relu6_grad)
_define_gradient("SoftplusGrad", _gradient(lambda g, x: g * _sigmoid(x), 8))
_define_gradient("EluGrad", _gradient(lambda g, y: g * np.where(y < 0, y + 1, 1), 3))
_define_gradient("SeluGrad", _gradient(_selu_grad, 4))
_define_gradient("SoftsignGrad", _gradient(lambda g, x: g / (1 + np.abs(x)) ** 2, 5))


# ---- Activations with an attribute ----


def _with_slope(make: MakeCase) -> MakeCase:
    def make_case(source: Source, op: Any) -> Case:
        case = make(source, op)
        case.attrs["alpha"] = attr_text(source.pick((0.2, 0.0, 1.5, -0.5)))
        return case

    return make_case


def _leaky(case: Case) -> Outcome:
    """Gradients, or features, where features are above 0, and alpha times them elsewhere."""
    gradients, features = numbers(case, 0), numbers(case, len(case.inputs) - 1)
    refuse_unless(gradients.shape == features.shape, "features")
    alpha = np.float64(np.float32(case.attr("alpha")))
    wide = longer(gradients)
    return [ulps(np.where(features > 0, wide, alpha * wide), case.inputs[0].dtype, 1)]


define_tests(
    "LeakyRelu",
    cases=_with_slope(one_tensor),
    reference=_leaky,
    gradient=of_one_tensor(),
    determinism=large_tensor,
)
define_tests(
    "LeakyReluGrad",
    cases=_with_slope(_same_shapes),
    reference=_leaky,
    gradient=of_value_and_gradient,
    determinism=large_pair,
)
