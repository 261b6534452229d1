"""Convolution of each channel alone, and convolutions made of such."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, TENSOR, TEXT, one_of, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.data_formats import image_format, window_of

depthwise_conv2d_native = public("nn.depthwise_conv2d_native")(gen_ops.depthwise_conv2d_native)
depthwise_conv2d_native_backprop_input = public(
    "nn.depthwise_conv2d_native_backprop_input", "nn.depthwise_conv2d_backprop_input"
)(gen_ops.depthwise_conv2d_native_backprop_input)
depthwise_conv2d_native_backprop_filter = public(
    "nn.depthwise_conv2d_native_backprop_filter", "nn.depthwise_conv2d_backprop_filter"
)(gen_ops.depthwise_conv2d_native_backprop_filter)


def _depthwise(
    value: Tensor,
    window: Tensor,
    strides: Any,
    padding: str,
    rate: Any,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    order = image_format(data_format)
    first = order == "NCHW"
    steps = window_of(strides, 2, first, "strides")
    distances = window_of(rate, 2, first, "rate")
    if max(distances) > 1 and max(steps) > 1:
        raise ValueError(f"strides: expected 1 with a rate, got {strides!r}")
    return gen_ops.depthwise_conv2d_native(value, window, steps, padding, order, distances, name)


@public("nn.depthwise_conv2d")
@takes(
    input=TENSOR,
    filter=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    rate=INTEGERS,
    data_format=TEXT,
    dilations=INTEGERS,
)
def depthwise_conv2d(
    input: Any,  # noqa: A002
    filter: Any,  # noqa: A002
    strides: Any,
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Images, each channel convolved with filters of its own.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    filter
        Shape [height, width, channels, multiplier]. Output channel c * multiplier + m is channel c
        convolved with filter[:, :, c, m].
    strides
        Step of the window in each dimension; those of height and width are equal.
    padding
        "SAME" or "VALID".
    rate
        Distance of the filter's elements in height and width; 1 by default, and where a step is
        not 1.
    name
        Name of the result.
    data_format
        "NHWC" or "NCHW"; channels are last by default.
    dilations
        Another name of `rate`.

    Raises
    ------
    ValueError
        The channels of images and filters differ, or another argument is not of this kind.

    Examples
    --------
    >>> images, filters = tf.ones([1, 5, 5, 3]), tf.ones([3, 3, 3, 2])
    >>> tf.nn.depthwise_conv2d(images, filters, [1, 1, 1, 1], "VALID").shape.as_list()
    [1, 3, 3, 6]
    """
    rate = one_of(rate, dilations, "rate", "dilations")
    with scopes.name_scope(name, "depthwise", [input, filter]) as scope:
        value = convert_to_tensor(input, name="tensor_in")
        window = convert_to_tensor(filter, value.dtype, name="filter_in")
        return _depthwise(value, window, strides, padding, rate, data_format, scope)


@public("nn.separable_conv2d")
@takes(
    input=TENSOR,
    depthwise_filter=TENSOR,
    pointwise_filter=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    rate=INTEGERS,
    data_format=TEXT,
    dilations=INTEGERS,
)
def separable_conv2d(
    input: Any,  # noqa: A002
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A depthwise convolution, and then one of all channels of each pixel.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    depthwise_filter
        Shape [height, width, channels, multiplier], as for `depthwise_conv2d`.
    pointwise_filter
        Shape [1, 1, channels * multiplier, output channels].
    strides, padding, rate
        Of the depthwise convolution.
    name
        Name of the result.
    data_format
        "NHWC" or "NCHW"; channels are last by default.
    dilations
        Another name of `rate`.

    Raises
    ------
    ValueError
        The filters do not fit the images or each other.

    Examples
    --------
    >>> images, each, mixed = tf.ones([1, 5, 5, 3]), tf.ones([3, 3, 3, 2]), tf.ones([1, 1, 6, 4])
    >>> tf.nn.separable_conv2d(images, each, mixed, [1, 1, 1, 1], "SAME").shape.as_list()
    [1, 5, 5, 4]
    """
    rate = one_of(rate, dilations, "rate", "dilations")
    with scopes.name_scope(
        name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]
    ) as scope:
        value = convert_to_tensor(input, name="tensor_in")
        window = convert_to_tensor(depthwise_filter, value.dtype, "depthwise_filter")
        mixing = convert_to_tensor(pointwise_filter, value.dtype, "pointwise_filter")
        mixing.shape.with_rank(4)[:2].assert_is_compatible_with([1, 1])
        found = _depthwise(value, window, strides, padding, rate, data_format, "depthwise")
        order = image_format(data_format)
        ones = [1, 1, 1, 1]
        return gen_ops.conv2d(found, mixing, ones, "VALID", True, (), order, ones, scope)
