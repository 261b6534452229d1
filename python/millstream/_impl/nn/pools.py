"""Pooling of sequences and volumes, of any of the kinds, and with the places of the largest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGER,
    INTEGERS,
    TENSOR,
    TEXT,
    one_of,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.data_formats import image_format, window_of
from millstream._impl.nn.space_to_batch import with_space_to_batch
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import as_dtype

_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
_OPS: dict[tuple[str, int], Callable[..., Tensor]] = {
    ("MAX", 2): gen_ops.max_pool,
    ("MAX", 3): gen_ops.max_pool3d,
    ("AVG", 2): gen_ops.avg_pool,
    ("AVG", 3): gen_ops.avg_pool3d,
}


def _check_format(data_format: Any, count: int) -> bool:
    """Whether the channels are first in a format of `count` sizes."""
    formats = _FORMATS[count]
    if data_format not in formats:
        raise ValueError(
            f"data_format: expected {formats[0]!r} or {formats[1]!r}, got {data_format!r}"
        )
    return bool(data_format == formats[1])


def _pooled(
    kind: str,
    value: Tensor,
    ksize: list[int],
    strides: list[int],
    padding: str,
    first: bool,
    name: str | None,
) -> Tensor:
    """Pooling of `value` with a window of as many numbers as it has dimensions."""
    count = len(ksize) - 2
    if count > 1:
        return _OPS[kind, count](value, ksize, strides, padding, _FORMATS[count][first], name=name)
    height = 2 if first else 1  # a sequence is an image of height 1
    image = gen_ops.expand_dims(value, height)
    size, step = ([*window[:height], 1, *window[height:]] for window in (ksize, strides))
    found = _OPS[kind, 2](image, size, step, padding, _FORMATS[2][first])
    return gen_ops.squeeze(found, [height], name)


def _pool_of(
    kind: str, count: int, public_name: str, summary: str, example: str
) -> Callable[..., Tensor]:
    usual = _FORMATS[count][0]

    @takes(input=TENSOR, ksize=INTEGERS, strides=INTEGERS, padding=TEXT, data_format=TEXT)
    def pool(
        input: Any,  # noqa: A002
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str = usual,
        name: str | None = None,
    ) -> Tensor:
        op = f"{kind.capitalize()}Pool{count}{'d' if count == 1 else 'D'}"
        with scopes.name_scope(name, op, [input]) as scope:
            first = _check_format(data_format, count)
            value = convert_to_tensor(input, name="input")
            size = window_of(ksize, count, first, "ksize")
            step = window_of(strides, count, first, "strides")
            return _pooled(kind, value, size, step, padding, first, scope)

    shape = "[batch, size, channels]" if count == 1 else "[batch, depth, height, width, channels]"
    pool.__doc__ = f"""{summary}

    Parameters
    ----------
    input
        Shape {shape} (or in the order of `data_format`).
    ksize
        Size of the window: one number, one for each size, or one for each dimension.
    strides
        Its step, likewise.
    padding
        "SAME" or "VALID".
    data_format
        "{_FORMATS[count][0]}" or "{_FORMATS[count][1]}".
    name
        Name of the result.

    Returns
    -------
    Tensor
        Of the dtype of `input`, one element for each place of the window.

    Raises
    ------
    TypeError
        The op does not take the dtype.
    ValueError
        The rank is not {count + 2}, or the window does not fit.

    Examples
    --------
    {example}
    """
    pool.__name__ = pool.__qualname__ = public_name
    return pool


max_pool1d = public("nn.max_pool1d")(
    _pool_of(
        "MAX",
        1,
        "max_pool1d",
        "The maximum of each window of sequences.",
        '>>> tf.nn.max_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "VALID").eval().tolist()\n'
        "    [[[3.0], [3.0]]]",
    )
)
avg_pool1d = public("nn.avg_pool1d")(
    _pool_of(
        "AVG",
        1,
        "avg_pool1d",
        "The mean of each window of sequences; margins do not count.",
        '>>> tf.nn.avg_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "VALID").eval().tolist()\n'
        "    [[[2.0], [2.5]]]",
    )
)
max_pool3d = public("nn.max_pool3d")(
    _pool_of(
        "MAX",
        3,
        "max_pool3d",
        "The maximum of each window of volumes.",
        '>>> tf.nn.max_pool3d(tf.ones([1, 4, 4, 4, 2]), 2, 2, "SAME").shape.as_list()\n'
        "    [1, 2, 2, 2, 2]",
    )
)
avg_pool3d = public("nn.avg_pool3d")(
    _pool_of(
        "AVG",
        3,
        "avg_pool3d",
        "The mean of each window of volumes; margins do not count.",
        '>>> tf.nn.avg_pool3d(tf.ones([1, 4, 4, 4, 2]), 2, 2, "SAME").shape.as_list()\n'
        "    [1, 2, 2, 2, 2]",
    )
)


def _spatial_rank(value: Tensor, argument: str) -> int:
    """How many sizes there are between batch and channels."""
    rank = value.shape.ndims
    if rank is None:
        raise ValueError(f"{argument}: Rank of input must be known")
    if rank not in (3, 4, 5):
        raise ValueError(f"{argument}: expected rank 3, 4 or 5, got the shape {value.shape}")
    return rank - 2


def _pool_of_any_rank(kind: str, public_name: str, summary: str) -> Callable[..., Tensor]:
    @takes(input=TENSOR, ksize=INTEGERS, strides=INTEGERS, padding=TEXT, data_format=or_none(TEXT))
    def pool(
        input: Any,  # noqa: A002
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        value = convert_to_tensor(input, name="input")
        count = _spatial_rank(value, "input")
        first = image_format(data_format) == "NCHW"
        size = window_of(ksize, count, first, "ksize")
        step = window_of(strides, count, first, "strides")
        return _pooled(kind, value, size, step, padding, first, name)

    pool.__doc__ = f"""{summary}

    Parameters
    ----------
    input
        Shape [batch, size..., channels] with one to three sizes, or [batch, channels, size...].
    ksize
        Size of the window: one number, one for each size, or one for each dimension.
    strides
        Its step, likewise.
    padding
        "SAME" or "VALID".
    data_format
        Starts with "NC" if the channels are first; None if they are last.
    name
        Name of the result.

    Raises
    ------
    ValueError
        The rank is not known or not 3, 4 or 5, or the window does not fit.

    Examples
    --------
    >>> tf.nn.{public_name}(tf.ones([1, 4, 4, 2]), 2, 2, "VALID").shape.as_list()
    [1, 2, 2, 2]
    """
    pool.__name__ = pool.__qualname__ = public_name
    return pool


max_pool_v2 = public("nn.max_pool_v2")(
    _pool_of_any_rank(
        "MAX", "max_pool_v2", "The maximum of each window of sequences, images or volumes."
    )
)
avg_pool_v2 = public("nn.avg_pool_v2")(
    _pool_of_any_rank(
        "AVG", "avg_pool_v2", "The mean of each window of sequences, images or volumes."
    )
)


def _numbers(value: Any, count: int, name: str) -> list[int]:
    """`count` positive numbers, of as many or of one for all; 1 by default."""
    items = [int(item) for item in np.ravel(1 if value is None else value)]
    if len(items) not in (1, count) or min(items) < 1:
        raise ValueError(f"{name}: expected {count} positive numbers, got {value!r}")
    return items if len(items) == count else items * count


@public("nn.pool")
@takes(
    input=TENSOR,
    window_shape=INTEGERS,
    pooling_type=TEXT,
    padding=TEXT,
    dilation_rate=INTEGERS,
    strides=INTEGERS,
    data_format=or_none(TEXT),
    dilations=INTEGERS,
)
def pool(
    input: Any,  # noqa: A002
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Pooling of sequences, images or volumes.

    Parameters
    ----------
    input
        Shape [batch, size..., channels] with one to three sizes, or [batch, channels, size...] when
        `data_format` starts with "NC".
    window_shape
        A number for each size.
    pooling_type
        "MAX" or "AVG".
    padding
        "SAME" or "VALID". With a dilation, "SAME" pads by zeros, which count as elements.
    dilation_rate
        Distance of the window's elements for each size; 1 by default.
    strides
        Step of the window for each size; 1 by default.
    name
        Name of the result.
    data_format
        "NWC" or "NCW", "NHWC" or "NCHW", "NDHWC" or "NCDHW"; channels are last by default.
    dilations
        Another name of `dilation_rate`.

    Raises
    ------
    ValueError
        The rank is not known or not 3, 4 or 5, the window does not fit, or neither a dilation nor
        a stride is 1.

    Examples
    --------
    >>> images = tf.ones([1, 4, 6, 2])
    >>> tf.nn.pool(images, [2, 3], "MAX", "VALID", strides=[2, 3]).shape.as_list()
    [1, 2, 2, 2]
    """
    dilation_rate = one_of(dilation_rate, dilations, "dilation_rate", "dilations")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f'pooling_type: expected "MAX" or "AVG", got {pooling_type!r}')
    with scopes.name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        value = convert_to_tensor(input, name="input")
        count = _spatial_rank(value, "input")
        distances = _numbers(dilation_rate, count, "dilation_rate")
        window = _numbers(window_shape, count, "window_shape")
        steps = _numbers(strides, count, "strides")
        if max(distances) > 1 and max(steps) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        first = image_format(data_format) == "NCHW"
        sizes = window_of(window, count, first, "ksize")
        steps = window_of(steps, count, first, "strides")
        if max(distances) == 1:
            return _pooled(pooling_type, value, sizes, steps, padding, first, scope)

        def dense(parts: Tensor, _: int, dense_padding: str) -> Tensor:
            return _pooled(pooling_type, parts, sizes, steps, dense_padding, first, None)

        result: Tensor = with_space_to_batch(
            value, distances, padding, dense, window, data_format="NC" if first else None
        )
        return gen_ops.identity(result, scope)


@public("nn.max_pool_with_argmax")
@takes(
    input=TENSOR,
    ksize=INTEGERS,
    strides=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    Targmax=or_none(DTYPE),
    output_dtype=or_none(DTYPE),
)
def max_pool_with_argmax(
    input: Any,  # noqa: A002
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,  # noqa: N803
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """The maximum of each window of images, and where it is.

    Parameters
    ----------
    input
        Shape [batch, height, width, channels].
    ksize
        Size of the window in each dimension; one number or two are height and width.
    strides
        Its step in each dimension, likewise.
    padding
        "SAME" or "VALID".
    data_format
        "NHWC".
    Targmax
        Type of the places: tf.int64, the default, or tf.int32.
    name
        Name of the operation.
    output_dtype
        Another name of `Targmax`.
    include_batch_in_index
        Whether places count over all images of the batch.

    Returns
    -------
    output, argmax : Tensor
        The maxima, and the places of their first occurrences: element (y, x, c) of an image is at
        (y * width + x) * channels + c.

    Raises
    ------
    ValueError
        `data_format` is another one, the rank is not 4, or the window does not fit.

    Examples
    --------
    >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.max_pool_with_argmax(image, 2, 2, "VALID").argmax.eval().ravel().tolist()
    [5, 7, 13, 15]
    """
    if data_format != "NHWC":
        raise ValueError(f'data_format: expected "NHWC", got {data_format!r}')
    index = one_of(Targmax, output_dtype, "Targmax", "output_dtype")
    return gen_ops.max_pool_with_argmax(
        input,
        window_of(ksize, 2, False, "ksize"),
        window_of(strides, 2, False, "strides"),
        padding,
        Targmax=dtypes.int64 if index is None else as_dtype(index),
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


def _fractional(op: Callable[..., Any], public_name: str, summary: str) -> Callable[..., Any]:
    @takes(value=TENSOR, seed=INTEGER, seed2=INTEGER)
    def pool(
        value: Any,
        pooling_ratio: Any,
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
        name: str | None = None,
    ) -> Any:
        return op(
            value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, name=name
        )

    pool.__doc__ = f"""{summary}

    Parameters
    ----------
    value
        Shape [batch, height, width, channels].
    pooling_ratio
        Four numbers by which the sizes are divided; the first and the last must be 1.
    pseudo_random
        Whether all cells follow from one random number a dimension.
    overlapping
        Whether each cell has the first row and column of the next ones too.
    deterministic
        Whether the cells are the same in every step.
    seed, seed2
        What the cells are drawn from if `deterministic`; otherwise 0.
    name
        Name of the operation.

    Returns
    -------
    output, row_pooling_sequence, col_pooling_sequence : Tensor
        The pooled images, and where the cells begin.

    Raises
    ------
    ValueError
        The ratio is below 1, or seeds are given without `deterministic`.

    Examples
    --------
    >>> pooled = tf.nn.{public_name}(tf.ones([1, 6, 9, 2]), [1.0, 1.5, 1.5, 1.0])
    >>> pooled.output.shape.as_list()
    [1, 4, 6, 2]
    """
    pool.__name__ = pool.__qualname__ = public_name
    return pool


fractional_max_pool = public("nn.fractional_max_pool")(
    _fractional(
        gen_ops.fractional_max_pool,
        "fractional_max_pool",
        "The maximum of each cell of images that are divided at random, by Graham (2014).",
    )
)
fractional_avg_pool = public("nn.fractional_avg_pool")(
    _fractional(
        gen_ops.fractional_avg_pool,
        "fractional_avg_pool",
        "The mean of each cell of images that are divided at random, by Graham (2014).",
    )
)
