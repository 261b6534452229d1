"""Dilation and erosion of grayscale images."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, TENSOR, TEXT, one_of, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor


@public("nn.dilation2d")
@takes(
    input=TENSOR,
    filter=TENSOR,
    strides=INTEGERS,
    rates=INTEGERS,
    padding=TEXT,
    filters=TENSOR,
    dilations=INTEGERS,
)
def dilation2d(
    input: Any,  # noqa: A002
    filter: Any = None,  # noqa: A002
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The largest sum of pixel and filter in each window of images.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels].
    filter
        Shape [height, width, channels]; each channel has a filter of its own.
    strides
        Step of the window in each dimension, 1 for batch and channels.
    rates
        Distance of the filter's elements in each dimension, likewise.
    padding
        "SAME" or "VALID".
    name
        Name of the result.
    filters, dilations
        Other names of `filter` and `rates`.

    Examples
    --------
    >>> image = tf.reshape([0.0, 5.0, 1.0, 0.0], [1, 1, 4, 1])
    >>> flat = tf.zeros([1, 3, 1])
    >>> tf.nn.dilation2d(image, flat, [1] * 4, [1] * 4, "SAME").eval().ravel().tolist()
    [5.0, 5.0, 5.0, 1.0]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    rates = one_of(rates, dilations, "rates", "dilations")
    return gen_ops.dilation2d(input, filter, strides, rates, padding, name)


@public("nn.erosion2d")
@takes(value=TENSOR, kernel=TENSOR, strides=INTEGERS, rates=INTEGERS, padding=TEXT)
def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The smallest difference of pixel and filter in each window of images.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels].
    kernel
        Shape [height, width, channels].
    strides, rates, padding
        As for `dilation2d`.
    name
        Name of the result.

    Examples
    --------
    >>> image = tf.reshape([4.0, 5.0, 1.0, 7.0], [1, 1, 4, 1])
    >>> flat = tf.zeros([1, 3, 1])
    >>> tf.nn.erosion2d(image, flat, [1] * 4, [1] * 4, "SAME").eval().ravel().tolist()
    [4.0, 1.0, 1.0, 1.0]
    """
    with scopes.name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = convert_to_tensor(kernel, name="kernel")[::-1, ::-1]
        opposite = gen_ops.neg(value)
        return gen_ops.neg(gen_ops.dilation2d(opposite, turned, strides, rates, padding), scope)
