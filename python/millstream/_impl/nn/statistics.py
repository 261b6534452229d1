"""Mean and variance, and what normalizes by them."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, NUMBER, TENSOR, one_of, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import reductions


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
        mean = reductions.reduce_mean(value, axes, keepdims=True, name="mean")
        distance = gen_ops.squared_difference(value, gen_ops.stop_gradient(mean))
        variance = reductions.reduce_mean(distance, axes, keepdims=True, name="variance")
        if not keep:
            dims = [axes] if isinstance(axes, int) else list(axes)
            mean, variance = gen_ops.squeeze(mean, dims), gen_ops.squeeze(variance, dims)
        return mean, variance


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
