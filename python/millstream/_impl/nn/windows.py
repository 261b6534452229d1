"""Pooling of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGERS, TENSOR, TEXT, one_of, takes
from millstream._impl.graph.operation import Tensor


def _window(value: Any, data_format: str, name: str) -> list[int]:
    """One number for each dimension, of a number, a pair (height, width), or four."""
    items = list(value) if isinstance(value, (Sequence, np.ndarray)) else [value]
    if len(items) == 4:
        return [int(item) for item in items]
    if len(items) not in (1, 2):
        raise ValueError(f"{name}: expected 1, 2 or 4 numbers, got {value!r}")
    spatial = [int(item) for item in (items * 2)[:2]]
    return [1, 1, *spatial] if data_format == "NCHW" else [1, *spatial, 1]


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
