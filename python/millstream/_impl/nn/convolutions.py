"""Convolution of sequences, images and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    INTEGER,
    INTEGERS,
    PADDING,
    TENSOR,
    TEXT,
    one_of,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.data_formats import image_format, window_of


def explicit_padding(padding: Any) -> tuple[str, list[int] | tuple[int, ...]]:
    """Attributes `padding` and `explicit_paddings` of a word or a list of pairs."""
    if isinstance(padding, str):
        return padding, ()
    flat = [int(number) for pair in padding for number in pair]
    return "EXPLICIT", flat


@public("nn.conv1d")
@takes(
    value=TENSOR,
    filters=TENSOR,
    stride=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    input=TENSOR,
    dilations=INTEGERS,
)
def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,  # noqa: A002
    dilations: Any = None,
) -> Tensor:
    """Sequences convolved with filters, as images of height 1.

    Parameters
    ----------
    value
        Shape [batch, length, channels] (or in the order of `data_format`).
    filters
        Shape [length, input channels, output channels].
    stride
        Step of the window.
    padding
        "SAME" or "VALID".
    use_cudnn_on_gpu
        A hint.
    data_format
        "NWC" or "NCW"; channels are last by default.
    name
        Name of the result.
    input
        Another name of `value`.
    dilations
        Distance of the filter's elements.

    Raises
    ------
    ValueError
        The channels of sequences and filters differ, or another argument is not of this kind.

    Examples
    --------
    >>> sequences, filters = tf.ones([1, 8, 3]), tf.ones([2, 3, 4])
    >>> tf.nn.conv1d(sequences, filters, stride=2, padding="VALID").shape.as_list()
    [1, 4, 4]
    """
    value = one_of(value, input, "value", "input")
    order = image_format(data_format)
    first = order == "NCHW"
    with scopes.name_scope(name, "conv1d", [value, filters]) as scope:
        steps = window_of(stride, 1, first, "stride")
        distances = window_of(dilations, 1, first, "dilations")
        height = 2 if first else 1
        found = gen_ops.conv2d(
            gen_ops.expand_dims(value, height),
            gen_ops.expand_dims(filters, 0),
            [*steps[:height], 1, *steps[height:]],
            padding,
            use_cudnn_on_gpu is None or use_cudnn_on_gpu,
            (),
            order,
            [*distances[:height], 1, *distances[height:]],
            scope,
        )
        return gen_ops.squeeze(found, [height])


@public("nn.conv2d")
@takes(
    input=TENSOR,
    filter=TENSOR,
    strides=INTEGERS,
    padding=PADDING,
    data_format=TEXT,
    dilations=INTEGERS,
    filters=TENSOR,
)
def conv2d(
    input: Any,  # noqa: A002
    filter: Any = None,  # noqa: A002
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Images convolved with filters.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    filter
        Shape [height, width, input channels, output channels].
    strides
        Step of the window in each dimension.
    padding
        "SAME" or "VALID", or a list of pairs: zeros before and behind in each dimension.
    use_cudnn_on_gpu
        A hint.
    data_format
        "NHWC" or "NCHW".
    dilations
        Distance of the filter's elements in each dimension.
    name
        Name of the result.
    filters
        Another name of `filter`.

    Raises
    ------
    TypeError
        The dtypes differ, or the op does not take them.
    ValueError
        The channels of images and filters differ, or another argument is not of this kind.

    Examples
    --------
    >>> images, filters = tf.ones([1, 5, 5, 3]), tf.ones([3, 3, 3, 8])
    >>> tf.nn.conv2d(images, filters, strides=1, padding="VALID").shape.as_list()
    [1, 3, 3, 8]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    mode, explicit = explicit_padding(padding)
    first = data_format == "NCHW"
    return gen_ops.conv2d(
        input,
        filter,
        window_of(strides, 2, first, "strides"),
        mode,
        use_cudnn_on_gpu,
        explicit,
        data_format,
        window_of(dilations, 2, first, "dilations"),
        name,
    )


@public("nn.conv3d")
@takes(
    input=TENSOR,
    filter=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    dilations=INTEGERS,
    filters=TENSOR,
)
def conv3d(
    input: Any,  # noqa: A002
    filter: Any = None,  # noqa: A002
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Volumes convolved with filters.

    Parameters
    ----------
    input
        Shape [batch, depth, height, width, channels] (or in the order of `data_format`).
    filter
        Shape [depth, height, width, input channels, output channels].
    strides
        Step of the window in each dimension.
    padding
        "SAME" or "VALID".
    data_format
        "NDHWC" or "NCDHW".
    dilations
        Distance of the filter's elements in each dimension.
    name
        Name of the result.
    filters
        Another name of `filter`.

    Raises
    ------
    ValueError
        The channels of volumes and filters differ, or another argument is not of this kind.

    Examples
    --------
    >>> volumes, filters = tf.ones([1, 4, 5, 5, 3]), tf.ones([2, 3, 3, 3, 8])
    >>> tf.nn.conv3d(volumes, filters, [1, 1, 1, 1, 1], "VALID").shape.as_list()
    [1, 3, 3, 3, 8]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    first = data_format == "NCDHW"
    return gen_ops.conv3d(
        input,
        filter,
        window_of(strides, 3, first, "strides"),
        padding,
        data_format,
        window_of(dilations, 3, first, "dilations"),
        name,
    )


@public("nn.convolution")
@takes(
    input=TENSOR,
    filter=or_none(TENSOR),
    padding=TEXT,
    strides=INTEGERS,
    dilation_rate=INTEGERS,
    data_format=TEXT,
    filters=TENSOR,
    dilations=INTEGERS,
)
def convolution(
    input: Any,  # noqa: A002
    filter: Any,  # noqa: A002
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Sequences, images or volumes convolved with filters.

    Parameters
    ----------
    input
        Shape [batch, size..., channels], or [batch, channels, size...] when `data_format` starts
        with "NC"; there are one to three sizes.
    filter
        Shape [size..., input channels, output channels].
    padding
        "SAME" or "VALID".
    strides
        Step of the window for each size; 1 by default.
    dilation_rate
        Distance of the filter's elements for each size; 1 by default, and where a step is not 1.
    name
        Name of the result.
    data_format
        "NWC" or "NCW", "NHWC" or "NCHW", "NDHWC" or "NCDHW"; channels are last by default.
    filters, dilations
        Other names of `filter` and `dilation_rate`.

    Raises
    ------
    TypeError
        The dtypes differ, or the op does not take them.
    ValueError
        The ranks or channels of `input` and `filter` do not fit, or another argument is not of
        this kind.

    Examples
    --------
    >>> sequences, filters = tf.ones([1, 8, 3]), tf.ones([2, 3, 4])
    >>> tf.nn.convolution(sequences, filters, "VALID", dilation_rate=[3]).shape.as_list()
    [1, 5, 4]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    dilation_rate = one_of(dilation_rate, dilations, "dilation_rate", "dilations")
    first = image_format(data_format) == "NCHW"
    with scopes.name_scope(name, "convolution", [input, filter]) as scope:
        value = convert_to_tensor(input, name="input")
        window = convert_to_tensor(filter, name="filter")
        count = _spatial_rank(value, window)
        steps = _sizes(strides, count, "strides")
        distances = _sizes(dilation_rate, count, "dilation_rate")
        if max(steps) > 1 and max(distances) > 1:
            raise ValueError(f"strides: expected 1 with a dilation_rate, got {strides!r}")
        if count == 1:
            order = "NCW" if first else "NWC"
            return conv1d(value, window, steps, padding, None, order, scope, dilations=distances)
        if count == 2:
            order = "NCHW" if first else "NHWC"
            return conv2d(value, window, steps, padding, True, order, distances, scope)
        order = "NCDHW" if first else "NDHWC"
        return conv3d(value, window, steps, padding, order, distances, scope)


def _spatial_rank(value: Tensor, window: Tensor) -> int:
    """How many dimensions a convolution slides along: one to three."""
    rank = window.shape.ndims if value.shape.ndims is None else value.shape.ndims
    if rank is None:
        raise ValueError("input: its rank must be known, or that of the filter")
    if rank not in (3, 4, 5) or window.shape.ndims not in (rank, None):
        raise ValueError(
            f"input and filter: expected rank 3, 4 or 5 of both, got {value.shape} and "
            f"{window.shape}"
        )
    return rank - 2


def _sizes(value: Any, count: int, name: str) -> list[int]:
    """`count` positive numbers, of as many or of one for all; 1 by default."""
    items = [int(item) for item in np.ravel(1 if value is None else value)]
    if len(items) not in (1, count) or min(items) < 1:
        raise ValueError(f"{name}: expected {count} positive numbers, got {value!r}")
    return items if len(items) == count else items * count


@public("nn.atrous_conv2d")
@takes(value=TENSOR, filters=TENSOR, rate=INTEGER, padding=TEXT)
def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Images convolved with filters whose elements are `rate` pixels apart.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels].
    filters
        Shape [height, width, input channels, output channels].
    rate
        Distance of the filter's elements.
    padding
        "SAME" or "VALID".
    name
        Name of the result.

    Examples
    --------
    >>> images, filters = tf.ones([1, 9, 9, 3]), tf.ones([3, 3, 3, 8])
    >>> tf.nn.atrous_conv2d(images, filters, 2, "VALID").shape.as_list()
    [1, 5, 5, 8]
    """
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)
