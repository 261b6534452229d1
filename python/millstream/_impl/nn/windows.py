"""Convolution of images and sequences, and pooling of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, PADDING, TENSOR, TEXT, one_of, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.data_formats import image_format


def _window(value: Any, data_format: str, name: str) -> list[int]:
    """One number for each dimension, of a number, a pair (height, width), or four."""
    items = list(value) if isinstance(value, (Sequence, np.ndarray)) else [value]
    if len(items) == 4:
        return [int(item) for item in items]
    if len(items) not in (1, 2):
        raise ValueError(f"{name}: expected 1, 2 or 4 numbers, got {value!r}")
    spatial = [int(item) for item in (items * 2)[:2]]
    return [1, 1, *spatial] if data_format == "NCHW" else [1, *spatial, 1]


def _padding(padding: Any) -> tuple[str, list[int] | tuple[int, ...]]:
    if isinstance(padding, str):
        return padding, ()
    flat = [int(number) for pair in padding for number in pair]
    return "EXPLICIT", flat


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
    mode, explicit = _padding(padding)
    return gen_ops.conv2d(
        input,
        filter,
        _window(1 if strides is None else strides, data_format, "strides"),
        mode,
        use_cudnn_on_gpu,
        explicit,
        data_format,
        _window(dilations, data_format, "dilations"),
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
    """Sequences or images convolved with filters.

    Parameters
    ----------
    input
        Shape [batch, size..., channels], or [batch, channels, size...] when `data_format` starts
        with "NC"; there are one or two sizes.
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
        "NWC" or "NCW", "NHWC" or "NCHW"; channels are last by default.
    filters, dilations
        Other names of `filter` and `dilation_rate`.

    Raises
    ------
    TypeError
        The dtypes differ, or the op does not take them.
    ValueError
        The ranks or channels of `input` and `filter` do not fit, or another argument is not of
        this kind.
    NotImplementedError
        There are three sizes.

    Examples
    --------
    >>> sequences, filters = tf.ones([1, 8, 3]), tf.ones([2, 3, 4])
    >>> tf.nn.convolution(sequences, filters, "VALID", dilation_rate=[3]).shape.as_list()
    [1, 5, 4]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    dilation_rate = one_of(dilation_rate, dilations, "dilation_rate", "dilations")
    order = image_format(data_format)
    with scopes.name_scope(name, "convolution", [input, filter]) as scope:
        value = convert_to_tensor(input, name="input")
        window = convert_to_tensor(filter, name="filter")
        count = _spatial_rank(value, window)
        steps = _sizes(strides, count, "strides")
        distances = _sizes(dilation_rate, count, "dilation_rate")
        if max(steps) > 1 and max(distances) > 1:
            raise ValueError(f"strides: expected 1 with a dilation_rate, got {strides!r}")
        height = 2 if order == "NCHW" else 1
        if count == 1:  # images of height 1
            steps, distances = [1, *steps], [1, *distances]
            value, window = gen_ops.expand_dims(value, height), gen_ops.expand_dims(window, 0)
        found = gen_ops.conv2d(
            value,
            window,
            _window(steps, order, "strides"),
            padding,
            True,
            (),
            order,
            _window(distances, order, "dilation_rate"),
            scope if count == 2 else None,
        )
        return found if count == 2 else gen_ops.squeeze(found, [height], scope)


def _spatial_rank(value: Tensor, window: Tensor) -> int:
    """How many dimensions a convolution slides along: one or two."""
    rank = window.shape.ndims if value.shape.ndims is None else value.shape.ndims
    if rank is None:
        raise ValueError("input: its rank must be known, or that of the filter")
    if rank == 5:
        raise NotImplementedError("input: convolution of three sizes is not implemented yet")
    if rank not in (3, 4) or window.shape.ndims not in (rank, None):
        raise ValueError(
            f"input and filter: expected rank 3 or 4 of both, got {value.shape} and {window.shape}"
        )
    return rank - 2


def _sizes(value: Any, count: int, name: str) -> list[int]:
    """`count` positive numbers, of as many or of one for all; 1 by default."""
    items = [int(item) for item in np.ravel(1 if value is None else value)]
    if len(items) not in (1, count) or min(items) < 1:
        raise ValueError(f"{name}: expected {count} positive numbers, got {value!r}")
    return items if len(items) == count else items * count


def _pooling(
    op: Callable[..., Tensor], public_name: str, summary: str, outcome: str
) -> Callable[..., Tensor]:
    @takes(
        value=TENSOR, ksize=INTEGERS, strides=INTEGERS, padding=TEXT, data_format=TEXT, input=TENSOR
    )
    def pool(
        value: Any,
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str = "NHWC",
        name: str | None = None,
        input: Any = None,  # noqa: A002
    ) -> Tensor:
        images = one_of(value, input, "value", "input")
        size = _window(ksize, data_format, "ksize")
        step = _window(strides, data_format, "strides")
        return op(images, size, step, padding, data_format, name=name)

    pool.__doc__ = f"""{summary}

    Parameters
    ----------
    value
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    ksize
        Size of the window in each dimension; one number or two are height and width.
    strides
        Its step in each dimension, likewise.
    padding
        "SAME" or "VALID".
    data_format
        "NHWC" or "NCHW".
    name
        Name of the result.
    input
        Another name of `value`.

    Returns
    -------
    Tensor
        Of the dtype of `value`, one element for each place of the window.

    Raises
    ------
    TypeError
        The op does not take the dtype.
    ValueError
        The rank is not 4, or the window does not fit.

    Examples
    --------
    >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.{public_name}(image, 2, 2, "VALID").eval().reshape([2, 2])
    {outcome}
    """
    pool.__name__ = pool.__qualname__ = public_name
    return pool


max_pool = public("nn.max_pool")(
    _pooling(
        gen_ops.max_pool,
        "max_pool",
        "The maximum of each window of images.",
        "array([[ 5.,  7.],\n           [13., 15.]], dtype=float32)",
    )
)
avg_pool = public("nn.avg_pool")(
    _pooling(
        gen_ops.avg_pool,
        "avg_pool",
        "The mean of each window of images; margins do not count.",
        "array([[ 2.5,  4.5],\n           [10.5, 12.5]], dtype=float32)",
    )
)


@public("nn.max_pool2d")
@takes(input=TENSOR, ksize=INTEGERS, strides=INTEGERS, padding=TEXT, data_format=TEXT)
def max_pool2d(
    input: Any,  # noqa: A002
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The maximum of each window of images; `max_pool` with another first name.

    Parameters
    ----------
    input, ksize, strides, padding, data_format, name
        As for `max_pool`.

    Examples
    --------
    >>> tf.nn.max_pool2d(input=tf.ones([1, 4, 4, 1]), ksize=2, strides=2, padding="SAME").shape
    TensorShape([Dimension(1), Dimension(2), Dimension(2), Dimension(1)])
    """
    return max_pool(input, ksize, strides, padding, data_format, name)


avg_pool2d = public("nn.avg_pool2d")(avg_pool)
