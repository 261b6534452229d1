"""Arithmetic on tensors, element by element."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import (
    DTYPE,
    LIST,
    SHAPE,
    TENSOR,
    TENSORS,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import operators
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.sparse_tensor import SparseTensor, or_sparse
from millstream._impl.values import dtypes, values

add = public("add", "math.add")(gen_ops.add)
subtract = public("subtract", "math.subtract")(gen_ops.sub)
multiply = public("multiply", "math.multiply")(gen_ops.mul)
realdiv = public("realdiv")(gen_ops.real_div)
floormod = public("floormod", "math.floormod")(gen_ops.floor_mod)
mod = public("mod", "math.mod")(gen_ops.floor_mod)
maximum = public("maximum", "math.maximum")(gen_ops.maximum)
minimum = public("minimum", "math.minimum")(gen_ops.minimum)
squared_difference = public("squared_difference", "math.squared_difference")(
    gen_ops.squared_difference
)
div_no_nan = public("div_no_nan", "math.divide_no_nan")(gen_ops.div_no_nan)
multiply_no_nan = public("math.multiply_no_nan")(gen_ops.mul_no_nan)
xdivy = public("math.xdivy")(gen_ops.xdivy)
xlogy = public("math.xlogy")(gen_ops.xlogy)
atan2 = public("atan2", "math.atan2")(gen_ops.atan2)
truncatediv = public("truncatediv")(gen_ops.truncate_div)
truncatemod = public("truncatemod")(gen_ops.truncate_mod)
nextafter = public("math.nextafter")(gen_ops.next_after)
floor = public("floor", "math.floor")(gen_ops.floor)
ceil = public("ceil", "math.ceil")(gen_ops.ceil)
rint = public("rint", "math.rint")(gen_ops.rint)
sin = public("sin", "math.sin")(gen_ops.sin)
cos = public("cos", "math.cos")(gen_ops.cos)
tan = public("tan", "math.tan")(gen_ops.tan)
asin = public("asin", "math.asin")(gen_ops.asin)
acos = public("acos", "math.acos")(gen_ops.acos)
atan = public("atan", "math.atan")(gen_ops.atan)
sinh = public("sinh", "math.sinh")(gen_ops.sinh)
cosh = public("cosh", "math.cosh")(gen_ops.cosh)
asinh = public("asinh", "math.asinh")(gen_ops.asinh)
acosh = public("acosh", "math.acosh")(gen_ops.acosh)
atanh = public("atanh", "math.atanh")(gen_ops.atanh)
log1p = public("log1p", "math.log1p")(gen_ops.log1p)
expm1 = public("expm1", "math.expm1")(gen_ops.expm1)
erf = public("erf", "math.erf")(or_sparse(gen_ops.erf))
erfc = public("erfc", "math.erfc")(gen_ops.erfc)
lgamma = public("lgamma", "math.lgamma")(gen_ops.lgamma)
digamma = public("digamma", "math.digamma")(gen_ops.digamma)
polygamma = public("polygamma", "math.polygamma")(gen_ops.polygamma)
zeta = public("zeta", "math.zeta")(gen_ops.zeta)
igamma = public("igamma", "math.igamma")(gen_ops.igamma)
igammac = public("igammac", "math.igammac")(gen_ops.igammac)
betainc = public("betainc", "math.betainc")(gen_ops.betainc)
bessel_i0e = public("math.bessel_i0e")(or_sparse(gen_ops.bessel_i0e))
bessel_i1e = public("math.bessel_i1e")(or_sparse(gen_ops.bessel_i1e))
is_nan = public("is_nan", "debugging.is_nan", "math.is_nan")(gen_ops.is_nan)
is_inf = public("is_inf", "debugging.is_inf", "math.is_inf")(gen_ops.is_inf)
is_finite = public("is_finite", "debugging.is_finite", "math.is_finite")(gen_ops.is_finite)
negative = public("negative", "math.negative")(or_sparse(gen_ops.neg))
sign = public("sign", "math.sign")(or_sparse(gen_ops.sign))
square = public("square", "math.square")(or_sparse(gen_ops.square))
sqrt = public("sqrt", "math.sqrt")(or_sparse(gen_ops.sqrt))
rsqrt = public("rsqrt", "math.rsqrt")(gen_ops.rsqrt)
reciprocal = public("reciprocal", "math.reciprocal")(gen_ops.reciprocal)
exp = public("exp", "math.exp")(gen_ops.exp)
log = public("log", "math.log")(gen_ops.log)
tanh = public("tanh", "math.tanh", "nn.tanh")(or_sparse(gen_ops.tanh))
sigmoid = public("sigmoid", "math.sigmoid", "nn.sigmoid")(gen_ops.sigmoid)
less = public("less", "math.less")(gen_ops.less)
less_equal = public("less_equal", "math.less_equal")(gen_ops.less_equal)
greater = public("greater", "math.greater")(gen_ops.greater)
greater_equal = public("greater_equal", "math.greater_equal")(gen_ops.greater_equal)
logical_and = public("logical_and", "math.logical_and")(gen_ops.logical_and)
logical_or = public("logical_or", "math.logical_or")(gen_ops.logical_or)
logical_not = public("logical_not", "math.logical_not")(gen_ops.logical_not)
logical_xor = public("logical_xor", "math.logical_xor")(operators.logical_xor)

# The papers' and first releases' names.
sub = public("sub")(subtract)
mul = public("mul")(multiply)
neg = public("neg")(negative)
inv = public("inv")(gen_ops.inv)


@public("abs", "math.abs")
@takes(x=TENSOR)
@or_sparse
def abs(x: Any, name: str | None = None) -> Tensor:  # noqa: A001  (the public name)
    """Absolute value.

    Parameters
    ----------
    x
        A tensor of real or complex numbers, which may be sparse.
    name
        Name of the result.

    Examples
    --------
    >>> tf.abs([-1.5, 2.0]).eval()
    array([1.5, 2. ], dtype=float32)
    """
    return operators.absolute(x, name)


@public("round", "math.round")
@takes(x=TENSOR)
@for_ragged("elements")
def round(x: Any, name: str | None = None) -> Tensor:  # noqa: A001  (the public name)
    """A tensor's elements rounded to whole numbers, halves to the even one.

    Parameters
    ----------
    x
        A tensor of numbers; integers are returned as they are.
    name
        Name of the result.

    Examples
    --------
    >>> tf.round([0.5, 1.5, -1.7]).eval()
    array([ 0.,  2., -2.], dtype=float32)
    """
    value = convert_to_tensor(x, name="x")
    return value if value.dtype.is_integer else gen_ops.round(value, name)


@public("cast", "dtypes.cast")
@takes(x=TENSOR, dtype=DTYPE)
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """A tensor's elements as another type.

    Parameters
    ----------
    x
        A tensor; or slices or a sparse tensor, whose values are cast.
    dtype
        The type; floating-point numbers lose their fraction when it is an integer.
    name
        Name of the result.

    Examples
    --------
    >>> tf.cast([1.9, -1.9], tf.int32).eval()
    array([ 1, -1], dtype=int32)
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, TensorLike) and x.is_tensor and x.dtype.base_dtype == wanted:
        return x
    with scopes.name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, IndexedSlices):
            values = gen_ops.cast(x.values, wanted, name=scope)
            return IndexedSlices(values, x.indices, x.dense_shape)
        if isinstance(x, SparseTensor):
            values = gen_ops.cast(x.values, wanted, name=scope)
            return SparseTensor(x.indices, values, x.dense_shape)
        if hasattr(x, "with_flat_values"):
            return x.with_flat_values(cast(x.flat_values, wanted))
        value = convert_to_tensor(x, name="x")
        if value.dtype.base_dtype == wanted:
            return value
        return gen_ops.cast(value, wanted, name=scope)


@public("saturate_cast", "dtypes.saturate_cast")
@takes(value=TENSOR, dtype=DTYPE)
@for_ragged("elements")
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """A tensor's elements as another type, those out of its range at its limits.

    Parameters
    ----------
    value
        The tensor.
    dtype
        The type.
    name
        Name of the result.

    Examples
    --------
    >>> tf.saturate_cast([300, -5], tf.uint8).eval()
    array([255,   0], dtype=uint8)
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    with scopes.name_scope(name, "saturate_cast", [value]) as scope:
        tensor = convert_to_tensor(value, name="value")
        own = tensor.dtype.base_dtype
        if own.min < wanted.min:
            tensor = gen_ops.maximum(tensor, convert_to_tensor(wanted.min, own))
        if own.max > wanted.max:
            tensor = gen_ops.minimum(tensor, convert_to_tensor(wanted.max, own))
        return cast(tensor, wanted, scope)


def _caster(default_name: str, dtype: dtypes.DType) -> Any:
    @takes(x=TENSOR)
    def to_dtype(x: Any, name: str | None = default_name) -> Any:
        return cast(x, dtype, name)

    public_name = f"to_{default_name[2:].lower()}"
    to_dtype.__doc__ = f"""The elements of `x` as {dtype.name}, see `cast`.

    Parameters
    ----------
    x
        A tensor or slices.
    name
        Name of the result.

    Raises
    ------
    TypeError
        There is no such conversion.

    Examples
    --------
    >>> tf.{public_name}(2.75).dtype.name
    '{dtype.name}'
    """
    to_dtype.__name__ = to_dtype.__qualname__ = public_name
    return to_dtype


to_float = public("to_float")(_caster("ToFloat", dtypes.float32))
to_double = public("to_double")(_caster("ToDouble", dtypes.float64))
to_int32 = public("to_int32")(_caster("ToInt32", dtypes.int32))
to_int64 = public("to_int64")(_caster("ToInt64", dtypes.int64))
to_bfloat16 = public("to_bfloat16")(_caster("ToBFloat16", dtypes.bfloat16))
to_complex64 = public("to_complex64")(_caster("ToComplex64", dtypes.complex64))
to_complex128 = public("to_complex128")(_caster("ToComplex128", dtypes.complex128))


@public("add_n", "math.add_n")
@takes(inputs=TENSORS)
@for_ragged("broadcast", in_lists=True)
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape.

    Parameters
    ----------
    inputs
        The tensors, which may be ragged; slices are made whole.
    name
        Name of the result.

    Raises
    ------
    ValueError
        There are none.

    Examples
    --------
    >>> tf.add_n([[1, 2], [3, 4], [5, 6]]).eval()
    array([ 9, 12], dtype=int32)
    """
    if isinstance(inputs, TensorLike):
        inputs = [inputs]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs: expected a list of at least one tensor")
    tensors = [convert_to_tensor(item) for item in inputs]
    if len(tensors) == 1:
        return gen_ops.identity(tensors[0], name) if name else tensors[0]
    return gen_ops.add_n(tensors, name)


@public("accumulate_n", "math.accumulate_n")
@takes(inputs=TENSORS, shape=SHAPE, tensor_dtype=DTYPE)
def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """The sum of tensors of one shape.

    Parameters
    ----------
    inputs
        The tensors.
    shape, tensor_dtype
        What they are expected to be.
    name
        Name of the result.

    Examples
    --------
    >>> tf.accumulate_n([[1, 2], [3, 4]]).eval()
    array([4, 6], dtype=int32)
    """
    total = add_n(list(inputs), name)
    total.shape.assert_is_compatible_with(shape)
    return total


@public("scalar_mul", "math.scalar_mul")
@takes(scalar=TENSOR, x=TENSOR)
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a tensor, or times the values of slices.

    Parameters
    ----------
    scalar
        A tensor of rank 0, or a number.
    x
        A tensor or slices.
    name
        Name of the result.

    Examples
    --------
    >>> tf.scalar_mul(2.0, tf.constant([1.0, 2.0])).eval()
    array([2., 4.], dtype=float32)
    """
    factor = convert_to_tensor(scalar, x.dtype.base_dtype, "scalar")
    if factor.shape.ndims not in (None, 0):
        raise ValueError(f"scalar: expected rank 0, got the shape {factor.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(gen_ops.mul(factor, x.values, name), x.indices, x.dense_shape)
    return gen_ops.mul(factor, x, name)


@public("range")
@takes(start=TENSOR, limit=TENSOR, delta=TENSOR, dtype=DTYPE)
def range(  # noqa: A001  (the public name)
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Tensor:
    """Numbers from a start to a limit, which is left out.

    Parameters
    ----------
    start
        The first number; with no `limit`, the limit of a range from 0.
    limit
        Where to stop.
    delta
        The distance of neighbours.
    dtype
        Type of the elements, by default that of the widest argument.
    name
        Name of the result.

    Examples
    --------
    >>> tf.range(2, 10, 3).eval()
    array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    with scopes.name_scope(name, "range", [start, limit, delta]) as scope:
        if dtype is None:
            given = [
                convert_to_tensor(value).dtype
                for value in (start, limit, delta)
                if isinstance(value, TensorLike)
            ]
            given += [
                _dtype_of_number(value, part)
                for value, part in ((start, "start"), (limit, "limit"), (delta, "delta"))
                if not isinstance(value, TensorLike)
            ]
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            wanted = max_dtype(given, order)
        else:
            wanted = dtypes.as_dtype(dtype)
        bounds = [
            cast(value, wanted)
            if isinstance(value, TensorLike)
            else convert_to_tensor(value, wanted, part)
            for value, part in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        return gen_ops.range(bounds[0], bounds[1], bounds[2], scope)


def _dtype_of_number(value: Any, name: str) -> dtypes.DType:
    array = values.to_array(value, name=name)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return dtypes.as_dtype(array.dtype)


def max_dtype(given: Sequence[dtypes.DType], order: Sequence[dtypes.DType]) -> dtypes.DType:
    """The dtype of `given` that is last in `order`; those not in it come first."""
    return builtins.max(given, key=lambda dtype: order.index(dtype) if dtype in order else -1)


@public("clip_by_value")
@takes(t=TENSOR, clip_value_min=TENSOR, clip_value_max=TENSOR)
@for_ragged("elements")
def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """A tensor's elements, those beyond two limits at the limit.

    Parameters
    ----------
    t
        The tensor.
    clip_value_min, clip_value_max
        The limits: scalars, or tensors of its shape.
    name
        Name of the result.

    Examples
    --------
    >>> tf.clip_by_value([-5, 1, 5], 0, 3).eval()
    array([0, 1, 3], dtype=int32)
    """
    with scopes.name_scope(name, "clip_by_value", [t]) as scope:
        value = convert_to_tensor(t, name="t")
        lower = gen_ops.minimum(value, clip_value_max)
        value.shape.merge_with(lower.shape)
        result = gen_ops.maximum(lower, clip_value_min, scope)
        value.shape.merge_with(result.shape)
        return result


@public("math.polyval")
@takes(coeffs=LIST, x=TENSOR)
def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The value of a polynomial at each element, by Horner's method.

    Parameters
    ----------
    coeffs
        The coefficients, numbers or tensors, that of the highest power first.
    x
        Where to evaluate it.
    name
        Name of the scope.

    Raises
    ------
    ValueError
        The list has a tensor of another dtype.

    Examples
    --------
    >>> tf.math.polyval([1.0, 0.0, -2.0], [3.0, 4.0]).eval().tolist()
    [7.0, 14.0]
    """
    with scopes.name_scope(name, "polyval", [x, *coeffs]):
        point = convert_to_tensor(x, name="x")
        if not coeffs:
            return gen_ops.zeros_like(point)
        terms = [convert_to_tensor(each, point.dtype, "coeffs") for each in coeffs]
        value = terms[0]
        for term in terms[1:]:
            value = term + value * point
        return value
