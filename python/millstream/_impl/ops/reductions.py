"""Sums, means, maxima and their like along dimensions of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGERS, NUMBER, TENSOR, one_of, takes
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_creation
from millstream._impl.values import dtypes


def _axes(tensor: Tensor, axis: Any) -> Any:
    """The dimensions to reduce: those given, else all."""
    if axis is not None:
        return axis
    known = tensor.shape.ndims
    if known is not None:
        return constant(np.arange(known, dtype=np.int32))
    return gen_ops.range(0, gen_ops.rank(tensor), 1)


def _reduction(
    op: Callable[..., Tensor],
    public_name: str,
    what: str,
    example: str,
    outcome: str,
    dtype: dtypes.DType | None = None,
) -> Callable[..., Tensor]:
    @takes(input_tensor=TENSOR, axis=INTEGERS, reduction_indices=INTEGERS)
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
        keep = one_of(keepdims, keep_dims, "keepdims", "keep_dims")
        of_ragged = getattr(input_tensor, "_reduced", None)
        if of_ragged is not None:
            return of_ragged(public_name, axis, bool(keep), name)
        of_any_type = dtype is None or isinstance(input_tensor, TensorLike)
        tensor = convert_to_tensor(input_tensor, None if of_any_type else dtype)
        result = op(tensor, _axes(tensor, axis), bool(keep), name)
        if axis is None and not keep and result.shape.ndims is None:
            result.set_shape([])
        return result

    reduce.__doc__ = f"""{what} along dimensions.

    Parameters
    ----------
    input_tensor
        The tensor, which may be ragged.
    axis
        The dimensions, one or a list; negative counts from the end; by default all.
    keepdims
        Keep them with size 1; not of a ragged tensor.
    name
        Name of the result.
    reduction_indices, keep_dims
        Old names of `axis` and `keepdims`.

    Returns
    -------
    Tensor
        Of the tensor's dtype, without the dimensions.

    Raises
    ------
    TypeError
        The op does not take the dtype.
    ValueError
        There is no such dimension.

    Examples
    --------
    >>> tf.{public_name}({example}, axis=1).eval().tolist()
    {outcome}
    """
    reduce.__name__ = reduce.__qualname__ = public_name
    return reduce


_NUMBERS = "[[1.0, 2.0], [3.0, 4.0]]"
_TRUTHS = "[[True, False], [True, True]]"

reduce_sum = public("reduce_sum", "math.reduce_sum")(
    _reduction(gen_ops.sum, "reduce_sum", "Sum", _NUMBERS, "[3.0, 7.0]")
)


@public("math.reduce_euclidean_norm")
@takes(input_tensor=TENSOR, axis=INTEGERS)
def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The root of the sum of squares along dimensions.

    Parameters
    ----------
    input_tensor
        The tensor. Of complex numbers the absolute values count.
    axis
        The dimensions, by default all.
    keepdims
        Keep them, with size 1.
    name
        Name of the result.

    Examples
    --------
    >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).eval().tolist()
    [5.0, 10.0]
    """
    tensor = convert_to_tensor(input_tensor, name="input_tensor")
    return gen_ops.euclidean_norm(tensor, _axes(tensor, axis), bool(keepdims), name)


reduce_mean = public("reduce_mean", "math.reduce_mean")(
    _reduction(gen_ops.mean, "reduce_mean", "Mean", _NUMBERS, "[1.5, 3.5]")
)
reduce_prod = public("reduce_prod", "math.reduce_prod")(
    _reduction(gen_ops.prod, "reduce_prod", "Product", _NUMBERS, "[2.0, 12.0]")
)
reduce_max = public("reduce_max", "math.reduce_max")(
    _reduction(gen_ops.max, "reduce_max", "Maximum", _NUMBERS, "[2.0, 4.0]")
)
reduce_min = public("reduce_min", "math.reduce_min")(
    _reduction(gen_ops.min, "reduce_min", "Minimum", _NUMBERS, "[1.0, 3.0]")
)
reduce_all = public("reduce_all", "math.reduce_all")(
    _reduction(
        gen_ops.all,
        "reduce_all",
        "Whether all elements are true",
        _TRUTHS,
        "[False, True]",
        dtypes.bool,
    )
)
reduce_any = public("reduce_any", "math.reduce_any")(
    _reduction(
        gen_ops.any,
        "reduce_any",
        "Whether any element is true",
        _TRUTHS,
        "[True, True]",
        dtypes.bool,
    )
)


@public("reduce_logsumexp", "math.reduce_logsumexp")
@takes(input_tensor=TENSOR, axis=INTEGERS, reduction_indices=INTEGERS)
def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` along dimensions, without overflow.

    Parameters
    ----------
    input_tensor
        The tensor.
    axis
        The dimensions, by default all.
    keepdims
        Keep them with size 1.
    name
        Name of the result.
    reduction_indices, keep_dims
        Old names of `axis` and `keepdims`.

    Examples
    --------
    >>> float(tf.reduce_logsumexp([1000.0, 1000.0]).eval().round(3))
    1000.6929931640625
    """
    axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with scopes.name_scope(name, "ReduceLogSumExp", [input_tensor]):
        tensor = convert_to_tensor(input_tensor)
        greatest = reduce_max(tensor, axis, keepdims=True)
        # An infinite maximum shifts nothing: infinity minus itself is no number.
        finite = gen_ops.equal(greatest - greatest, convert_to_tensor(0, tensor.dtype))
        shift = gen_ops.select(finite, greatest, gen_ops.zeros_like(greatest))
        greatest = gen_ops.stop_gradient(shift)
        total = reduce_sum(gen_ops.exp(tensor - greatest), axis, keepdims=keep)
        if not keep:
            greatest = gen_ops.reshape(greatest, gen_ops.shape(total))
        return gen_ops.log(total) + greatest


def _spread(public_name: str, what: str, outcome: str, is_root: bool) -> Callable[..., Tensor]:
    @takes(input_tensor=TENSOR, axis=INTEGERS)
    def spread(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Tensor:
        with scopes.name_scope(name, public_name, [input_tensor]):
            tensor = convert_to_tensor(input_tensor)
            if not tensor.dtype.is_floating:
                raise TypeError(
                    f"input_tensor: expected floating-point numbers, got {tensor.dtype.name}"
                )
            distance = tensor - reduce_mean(tensor, axis, keepdims=True)
            variance = reduce_mean(gen_ops.square(distance), axis, keepdims=keepdims)
            return gen_ops.sqrt(variance) if is_root else variance

    spread.__doc__ = f"""{what} of the elements along dimensions: that of a whole population.

    Parameters
    ----------
    input_tensor
        A tensor of floating-point numbers.
    axis
        The dimensions, one or a list; negative counts from the end; by default all.
    keepdims
        Keep them with size 1.
    name
        Name of the scope.

    Raises
    ------
    TypeError
        The elements are no floating-point numbers.

    Examples
    --------
    >>> tf.math.{public_name}([[1.0, 3.0], [2.0, 8.0]], axis=1).eval().tolist()
    {outcome}
    """
    spread.__name__ = spread.__qualname__ = public_name
    return spread


reduce_variance = public("math.reduce_variance")(
    _spread("reduce_variance", "Variance", "[1.0, 9.0]", is_root=False)
)
reduce_std = public("math.reduce_std")(
    _spread("reduce_std", "Standard deviation", "[1.0, 3.0]", is_root=True)
)


@public("count_nonzero", "math.count_nonzero")
@takes(input_tensor=TENSOR, axis=INTEGERS, dtype=DTYPE, reduction_indices=INTEGERS, input=TENSOR)
def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """The number of elements that differ from zero (False, the empty string), along dimensions.

    Parameters
    ----------
    input_tensor
        The tensor.
    axis
        The dimensions, by default all.
    keepdims
        Keep them with size 1.
    dtype
        Type of the result.
    name
        Name of the result.
    reduction_indices, keep_dims, input
        Other names of `axis`, `keepdims` and `input_tensor`.

    Examples
    --------
    >>> tf.count_nonzero([[0, 1], [2, 3]], axis=1).eval()
    array([1, 2])
    """
    axis = one_of(axis, reduction_indices, "axis", "reduction_indices")
    keepdims = one_of(keepdims, keep_dims, "keepdims", "keep_dims")
    input_tensor = one_of(input_tensor, input, "input_tensor", "input")
    if input_tensor is None:
        raise ValueError("input_tensor: expected a tensor")
    with scopes.name_scope(name, "count_nonzero", [input_tensor]):
        tensor = convert_to_tensor(input_tensor)
        differs = gen_ops.not_equal(tensor, array_creation.zeros([], tensor.dtype))
        return reduce_sum(gen_ops.cast(differs, dtypes.as_dtype(dtype)), axis, keepdims=keepdims)


def _extremum(
    op: Callable[..., Tensor], public_name: str, which: str, outcome: str
) -> Callable[..., Tensor]:
    @takes(input=TENSOR, axis=NUMBER, dimension=NUMBER, output_type=DTYPE)
    def extremum(
        input: Any,  # noqa: A002
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = dtypes.int64,
    ) -> Tensor:
        axis = one_of(axis, dimension, "axis", "dimension")
        return op(input, 0 if axis is None else axis, output_type, name)

    extremum.__doc__ = f"""The index of the {which} element along a dimension; the first of equals.

    Parameters
    ----------
    input
        The tensor.
    axis
        The dimension, by default the first.
    name
        Name of the result.
    dimension
        Old name of `axis`.
    output_type
        int32 or int64.

    Returns
    -------
    Tensor
        Of `output_type`, without the dimension.

    Raises
    ------
    TypeError
        The elements have no order, or `output_type` is no integer type.
    ValueError
        There is no such dimension.

    Examples
    --------
    >>> tf.{public_name}([[1, 5, 2], [7, 0, 3]], axis=1).eval()
    {outcome}
    """
    extremum.__name__ = extremum.__qualname__ = public_name
    return extremum


argmax = public("argmax", "math.argmax")(
    _extremum(gen_ops.arg_max, "argmax", "greatest", "array([1, 0])")
)
argmin = public("argmin", "math.argmin")(
    _extremum(gen_ops.arg_min, "argmin", "least", "array([0, 1])")
)


def _old_extremum(op: Callable[..., Tensor], public_name: str, new: str) -> Callable[..., Tensor]:
    @takes(input=TENSOR, dimension=NUMBER, output_type=DTYPE)
    def extremum(
        input: Any,  # noqa: A002
        dimension: Any,
        output_type: Any = dtypes.int64,
        name: str | None = None,
    ) -> Tensor:
        return op(input, dimension, output_type, name)

    extremum.__doc__ = f"""An old name of `{new}`, with its parameters in another order.

    Parameters
    ----------
    input, dimension, output_type, name
        As for `{new}`.

    Examples
    --------
    >>> tf.{public_name}([4, 4], 0).eval().tolist()
    0
    """
    extremum.__name__ = extremum.__qualname__ = public_name
    return extremum


arg_max = public("arg_max")(_old_extremum(gen_ops.arg_max, "arg_max", "argmax"))
arg_min = public("arg_min")(_old_extremum(gen_ops.arg_min, "arg_min", "argmin"))


@public("cumsum", "math.cumsum")
@takes(x=TENSOR, axis=NUMBER)
def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The sums of all elements up to each one along a dimension.

    Parameters
    ----------
    x
        A tensor of numbers.
    axis
        The dimension.
    exclusive
        Leave the element itself out, so that the first sum is 0.
    reverse
        Begin at the end.
    name
        Name of the result.

    Examples
    --------
    >>> tf.cumsum([1, 2, 4]).eval()
    array([1, 3, 7], dtype=int32)
    >>> tf.cumsum([1, 2, 4], exclusive=True, reverse=True).eval()
    array([6, 4, 0], dtype=int32)
    """
    with scopes.name_scope(name, "Cumsum", [x]) as scope:
        return gen_ops.cumsum(x, axis, bool(exclusive), bool(reverse), scope)


@public("cumprod", "math.cumprod")
@takes(x=TENSOR, axis=NUMBER)
def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The products of all elements up to each one along a dimension.

    Parameters
    ----------
    x
        A tensor of numbers.
    axis
        The dimension.
    exclusive
        Leave the element itself out, so that the first product is 1.
    reverse
        Begin at the end.
    name
        Name of the result.

    Examples
    --------
    >>> tf.cumprod([2, 3, 4]).eval()
    array([ 2,  6, 24], dtype=int32)
    """
    with scopes.name_scope(name, "Cumprod", [x]) as scope:
        return gen_ops.cumprod(x, axis, bool(exclusive), bool(reverse), scope)


@public("math.cumulative_logsumexp")
@takes(x=TENSOR, axis=NUMBER)
def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Logarithms of the sums of exp of all elements up to each one along a dimension.

    Parameters
    ----------
    x
        A tensor of float16, float32 or float64.
    axis
        The dimension.
    exclusive
        Leave the element itself out. The first result is then the least finite number.
    reverse
        Begin at the end.
    name
        Name of the result.

    Examples
    --------
    >>> tf.math.cumulative_logsumexp([0.0, 0.0]).eval()
    array([0.       , 0.6931472], dtype=float32)
    """
    with scopes.name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        return gen_ops.cumulative_logsumexp(x, axis, bool(exclusive), bool(reverse), scope)
