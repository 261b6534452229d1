"""Mean and variance, and what normalizes by them."""

from __future__ import annotations

import math
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, NUMBER, TENSOR, TEXT, one_of, or_none, takes
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.data_formats import image_format
from millstream._impl.ops import array_ops, reductions
from millstream._impl.values import dtypes


def _without(axes: Any, keep: bool, *tensors: Tensor) -> list[Tensor]:
    """Remove the dimensions of size 1 that a reduction left, or keep them."""
    if keep:
        return list(tensors)
    dims = [axes] if isinstance(axes, int) else list(axes)
    return [gen_ops.squeeze(tensor, dims) for tensor in tensors]


@public("nn.moments")
@takes(x=TENSOR, axes=INTEGERS)
def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance along dimensions.

    Parameters
    ----------
    x
        The tensor.
    axes
        The dimensions.
    shift
        Not used.
    name
        Name of the scope.
    keep_dims
        Old name of `keepdims`.
    keepdims
        Keep the dimensions with size 1.

    Returns
    -------
    tuple
        Mean and variance.

    Examples
    --------
    >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), [0])
    >>> float(mean.eval()), float(variance.eval())
    (2.0, 1.0)
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with scopes.name_scope(name, "moments", [x]):
        value = convert_to_tensor(x, name="x")
        if value.dtype == dtypes.float16:
            # Sums of many elements leave the range of the type.
            wide = moments(gen_ops.cast(value, dtypes.float32), axes, keepdims=keep)
            return gen_ops.cast(wide[0], value.dtype), gen_ops.cast(wide[1], value.dtype)
        mean = reductions.reduce_mean(value, axes, keepdims=True, name="mean")
        distance = gen_ops.squared_difference(value, gen_ops.stop_gradient(mean))
        variance = reductions.reduce_mean(distance, axes, keepdims=True, name="variance")
        mean, variance = _without(axes, keep, mean, variance)
        return mean, variance


@public("nn.weighted_moments")
@takes(x=TENSOR, axes=INTEGERS, frequency_weights=TENSOR)
def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance along dimensions, of elements that count as often as their weights say.

    Parameters
    ----------
    x, axes, name, keep_dims, keepdims
        As for `moments`.
    frequency_weights
        The weights, of a shape that broadcasts to that of `x`.

    Returns
    -------
    tuple
        Mean and variance.

    Examples
    --------
    >>> mean, variance = tf.nn.weighted_moments(tf.constant([1.0, 5.0]), [0], [3.0, 1.0])
    >>> float(mean.eval()), float(variance.eval())
    (2.0, 3.0)
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with scopes.name_scope(name, "weighted_moments", [x, frequency_weights]):
        value = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        wide = dtypes.float32 if value.dtype == dtypes.float16 else value.dtype
        values, weights = gen_ops.cast(value, wide), gen_ops.cast(weights, wide)

        def total(elements: Tensor) -> Tensor:
            return reductions.reduce_sum(elements, axes, keepdims=True)

        spread = weights + gen_ops.zeros_like(values)
        share = gen_ops.reciprocal(total(spread))
        mean = total(weights * values) * share
        variance = total(weights * gen_ops.squared_difference(values, mean)) * share
        mean, variance = _without(axes, keep, mean, variance)
        return gen_ops.cast(mean, value.dtype), gen_ops.cast(variance, value.dtype)


@public("nn.sufficient_statistics")
@takes(x=TENSOR, axes=INTEGERS, shift=or_none(TENSOR))
def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum and sum of squares along dimensions, from which `normalize_moments` starts.

    Parameters
    ----------
    x
        The tensor.
    axes
        The dimensions.
    shift
        Subtracted from each element before it is summed: near the mean, sums lose fewer digits.
    keep_dims
        Old name of `keepdims`.
    name
        Name of the scope.
    keepdims
        Keep the dimensions with size 1.

    Returns
    -------
    tuple
        The count of elements that go into one sum, a scalar of the dtype of `x`; the sums; the sums
        of squares; `shift` as a tensor, or None.

    Examples
    --------
    >>> count, total, squares, _ = tf.nn.sufficient_statistics(tf.constant([1.0, 3.0]), [0])
    >>> float(count.eval()), float(total.eval()), float(squares.eval())
    (2.0, 4.0, 10.0)
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    with scopes.name_scope(name, "sufficient_statistics", [x, shift]):
        value = convert_to_tensor(x, name="x")
        dims = sorted({axes} if isinstance(axes, int) else set(axes))
        sizes = (
            [value.shape[dim].value for dim in dims] if value.shape.ndims is not None else [None]
        )
        if None in sizes:
            along = array_ops.gather(gen_ops.shape(value), dims)
            count = reductions.reduce_prod(gen_ops.cast(along, value.dtype), name="count")
        else:
            count = constant(math.prod(sizes), value.dtype, name="count")
        if shift is None:
            elements, squares = value, gen_ops.square(value)
        else:
            shift = convert_to_tensor(shift, value.dtype, "shift")
            elements = gen_ops.sub(value, shift)
            squares = gen_ops.squared_difference(value, shift)
        total = reductions.reduce_sum(elements, dims, keepdims=keep, name="mean_ss")
        of_squares = reductions.reduce_sum(squares, dims, keepdims=keep, name="var_ss")
        return count, total, of_squares, shift


@public("nn.normalize_moments")
@takes(counts=TENSOR, mean_ss=TENSOR, variance_ss=TENSOR, shift=or_none(TENSOR))
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives.

    Parameters
    ----------
    counts, mean_ss, variance_ss, shift
        Count, sums, sums of squares, and what was subtracted from the elements, or None.
    name
        Name of the scope.

    Returns
    -------
    tuple
        Mean and variance.

    Examples
    --------
    >>> mean, variance = tf.nn.normalize_moments(2.0, 4.0, 10.0, None)
    >>> float(mean.eval()), float(variance.eval())
    (2.0, 1.0)
    """
    with scopes.name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = gen_ops.reciprocal(counts, "divisor")
        shifted = gen_ops.mul(mean_ss, divisor, "mean" if shift is None else "shifted_mean")
        mean = shifted if shift is None else gen_ops.add(shifted, shift, "mean")
        of_squares = gen_ops.mul(variance_ss, divisor)
        return mean, gen_ops.sub(of_squares, gen_ops.square(shifted), "variance")


@public("nn.batch_normalization")
@takes(
    x=TENSOR,
    mean=TENSOR,
    variance=TENSOR,
    offset=or_none(TENSOR),
    scale=or_none(TENSOR),
    variance_epsilon=NUMBER,
)
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    Ioffe, Szegedy: Batch normalization (2015).

    Parameters
    ----------
    x
        A tensor.
    mean, variance
        Its statistics, of shapes that broadcast.
    offset, scale
        Tensors, or None for 0 and 1.
    variance_epsilon
        A small number against division by zero.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, 0.5, None, 0.0).eval()
    array([-0.5,  1.5], dtype=float32)
    """
    with scopes.name_scope(name, "batchnorm", [x, mean, variance]):
        factor = gen_ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shifted = -mean * factor if offset is None else offset - mean * factor
        result: Tensor = x * factor + shifted
        return result


# What other devices need. The result does not depend on the device.
_LEAST_EPSILON = 1.001e-5


@public("nn.fused_batch_norm")
@takes(
    x=TENSOR,
    scale=TENSOR,
    offset=TENSOR,
    mean=or_none(TENSOR),
    variance=or_none(TENSOR),
    epsilon=NUMBER,
    data_format=TEXT,
)
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images shifted and scaled to mean 0 and variance 1 in each channel, then by what is given.

    One operation, `FusedBatchNormV3`. Ioffe, Szegedy: Batch normalization (2015).

    Parameters
    ----------
    x
        Images of the order of `data_format`, of float32, float16 or bfloat16.
    scale, offset
        A factor and a summand for each channel, of float32.
    mean, variance
        Those that are used, if `is_training` is False.
    epsilon
        Added to the variance; at least 1.001e-5 is.
    data_format
        "NHWC" or "NCHW".
    is_training
        Whether the statistics are those of `x`.
    name
        Name of the operation.

    Returns
    -------
    tuple
        The images; their mean; their variance, unbiased: of n elements, the sum of squares is
        divided by n - 1. When `is_training` is False, `mean` and `variance` as they were given.

    Raises
    ------
    ValueError
        `mean` and `variance` are given in training, or are missing otherwise.

    Examples
    --------
    >>> x = tf.constant([[[[1.0], [3.0]]]])
    >>> y, mean, variance = tf.nn.fused_batch_norm(x, [1.0], [0.0])
    >>> y.eval().ravel().round(2).tolist(), mean.eval().tolist(), variance.eval().tolist()
    ([-1.0, 1.0], [2.0], [2.0])
    """
    if bool(is_training) == (mean is not None or variance is not None):
        raise ValueError(
            "mean and variance: expected none in training, and both otherwise, got "
            f"is_training={is_training!r}, mean={mean!r}, variance={variance!r}"
        )
    images = convert_to_tensor(x, name="input")
    result = gen_ops.fused_batch_norm_v3(
        images,
        convert_to_tensor(scale, name="scale"),
        convert_to_tensor(offset, name="offset"),
        constant([]) if mean is None else mean,
        constant([]) if variance is None else variance,
        epsilon=max(float(epsilon), _LEAST_EPSILON),
        data_format=image_format(data_format),
        is_training=bool(is_training),
        name=name,
    )
    return result.y, result.batch_mean, result.batch_variance


@public("nn.batch_norm_with_global_normalization")
@takes(
    t=or_none(TENSOR),
    m=or_none(TENSOR),
    v=or_none(TENSOR),
    beta=TENSOR,
    gamma=or_none(TENSOR),
    variance_epsilon=NUMBER,
    input=or_none(TENSOR),
    mean=or_none(TENSOR),
    variance=or_none(TENSOR),
)
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,  # noqa: A002
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """An old form of `batch_normalization`.

    Parameters
    ----------
    t, m, v, beta, gamma, variance_epsilon, name
        `x`, `mean`, `variance`, `offset`, `scale`, `variance_epsilon` and `name` of that function.
    scale_after_normalization
        Whether `gamma` is used.
    input, mean, variance
        Other names of `t`, `m` and `v`.

    Examples
    --------
    >>> norm = tf.nn.batch_norm_with_global_normalization
    >>> norm([1.0, 3.0], 2.0, 1.0, 0.5, None, 0.0, False).eval()
    array([-0.5,  1.5], dtype=float32)
    """
    return batch_normalization(
        one_of(input, t, "input", "t"),
        one_of(mean, m, "mean", "m"),
        one_of(variance, v, "variance", "v"),
        beta,
        gamma if scale_after_normalization else None,
        variance_epsilon,
        name,
    )


lrn = public("nn.lrn", "nn.local_response_normalization")(gen_ops.lrn)


def correction(values: Tensor, axis: int) -> Any:
    """N / (n - 1) for the n elements that a feature along `axis` has; 1 for a single one."""
    sizes = values.shape.as_list()
    known = [size for i, size in enumerate(sizes) if i != axis and size is not None]
    if len(known) == len(sizes) - 1:
        count = math.prod(known)
        return count / max(count - 1, 1)
    of_feature = gen_ops.size(values) // gen_ops.shape(values)[axis]
    count = gen_ops.cast(of_feature, values.dtype)
    return count / gen_ops.maximum(count - 1.0, 1.0)
