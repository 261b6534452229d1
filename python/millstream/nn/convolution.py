"""Convolution and pooling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream.gen_ops as gen_ops
from millstream.arguments import one_of
from millstream.operation import Tensor


def _window(value: Any, data_format: str, name: str) -> list[int]:
    """One number for each dimension, of a number, a pair (height, width), or four."""
    items = list(value) if isinstance(value, Sequence) else [value]
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
    ValueError
        The channels of images and filters differ, or another argument is not of this kind.
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


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """The maximum of each window of images.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    ksize
        Size of the window in each dimension.
    strides
        Its step in each dimension.
    padding
        "SAME" or "VALID".
    data_format
        "NHWC" or "NCHW".
    name
        Name of the result.
    input
        Another name of `value`.
    """
    images = one_of(value, input, "value", "input")
    size = _window(ksize, data_format, "ksize")
    step = _window(strides, data_format, "strides")
    return gen_ops.max_pool(images, size, step, padding, data_format, name=name)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,  # noqa: A002
) -> Tensor:
    """The mean of each window of images; margins do not count.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    ksize
        Size of the window in each dimension.
    strides
        Its step in each dimension.
    padding
        "SAME" or "VALID".
    data_format
        "NHWC" or "NCHW".
    name
        Name of the result.
    input
        Another name of `value`.
    """
    images = one_of(value, input, "value", "input")
    size = _window(ksize, data_format, "ksize")
    step = _window(strides, data_format, "strides")
    return gen_ops.avg_pool(images, size, step, padding, data_format, name)


max_pool2d = max_pool
avg_pool2d = avg_pool
