"""Dilated windows by way of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, INTEGERS, TENSOR, TEXT, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, blocks
from millstream._impl.values import dtypes


@public("nn.with_space_to_batch")
@takes(
    input=TENSOR,
    dilation_rate=TENSOR,
    padding=TEXT,
    op=FUNCTION,
    filter_shape=TENSOR,
    spatial_dims=INTEGERS,
    data_format=TEXT,
)
def with_space_to_batch(
    input: Any,  # noqa: A002
    dilation_rate: Any,
    padding: str,
    op: Callable[..., Any],
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Any:
    """Windows whose elements are apart, by an op whose windows are dense.

    Elements at the distance of a window's become neighbours in an entry of the batch.

    Parameters
    ----------
    input
        A batch.
    dilation_rate
        Distance of the window's elements in each spatial dimension.
    padding
        "SAME" or "VALID".
    op
        A function of (input, number of spatial dimensions, padding).
    filter_shape
        The sizes of the windows; needed for "SAME".
    spatial_dims
        The spatial dimensions, ascending; those after the batch, or after the channels, by
        default.
    data_format
        Starts with "NC" where the channels are the second dimension.

    Raises
    ------
    ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> x = tf.reshape(tf.range(6.0), [1, 6, 1])
    >>> def sums(x, count, padding):
    ...     return tf.nn.convolution(x, tf.ones([2, 1, 1]), padding)
    >>> tf.nn.with_space_to_batch(x, [2], "VALID", sums).eval().ravel().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    value = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, dtypes.int32, "dilation_rate")
    count = rate.shape.with_rank(1).as_list()[0]
    if count is None:
        raise ValueError("dilation_rate: expected a vector of known length")
    known = constant_value(rate)
    if known is not None and np.any(known < 1):
        raise ValueError(f"dilation_rate: expected positive numbers, got {dilation_rate!r}")
    dimensions = _dimensions(spatial_dims, count, data_format)
    if known is not None and np.all(known == 1):
        return op(value, count, padding)
    base = _base_paddings(padding, filter_shape, known, rate, count)
    value.shape.with_rank_at_least(dimensions[-1] + 1)
    static = [value.shape.as_list()[i] if value.shape.ndims else None for i in dimensions]
    sizes: Any = static
    if None in static:
        whole = array_ops.shape(value)
        sizes = array_join.stack([whole[i] for i in dimensions])
    paddings, crops = blocks.required_space_to_batch_paddings(sizes, rate, base)
    rate = _for_all(rate, 1, dimensions)
    dense = op(
        gen_ops.space_to_batch_nd(value, rate, _for_all(paddings, 0, dimensions)), count, "VALID"
    )
    return gen_ops.batch_to_space_nd(dense, rate, _for_all(crops, 0, dimensions))


def _dimensions(given: Any, count: int, data_format: str | None) -> list[int]:
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    chosen = range(first, first + count) if given is None else np.ravel(given)
    dimensions = [int(i) for i in chosen]
    if len(dimensions) != count or not dimensions:
        raise ValueError(f"spatial_dims: expected {count or 'some'} dimensions, got {given!r}")
    if dimensions != sorted(set(dimensions)) or dimensions[0] < 1:
        raise ValueError(f"spatial_dims: expected ascending positive numbers, got {given!r}")
    return dimensions


def _base_paddings(padding: str, filter_shape: Any, known: Any, rate: Tensor, count: int) -> Any:
    """Pairs of what the op would pad if its windows had gaps."""
    if padding == "VALID":
        return np.zeros((count, 2), np.int32)
    if padding != "SAME":
        raise ValueError(f"padding: expected 'SAME' or 'VALID', got {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape: expected the sizes of the windows with padding 'SAME'")
    window: Any = convert_to_tensor(filter_shape, dtypes.int32, "filter_shape")
    static, distance = constant_value(window), known
    if static is None or distance is None:
        static, distance = window, rate
    more = (static[:count] - 1) * distance
    before = more // 2
    if isinstance(more, Tensor):
        return array_join.stack([before, more - before], axis=1)
    return np.stack([before, more - before], axis=1)


def _for_all(entries: Any, neutral: int, dimensions: list[int]) -> Any:
    """Entries for all dimensions after the batch, up to the last one: `neutral` for the others."""
    if dimensions == list(range(1, len(dimensions) + 1)):
        return entries
    shape = entries.shape.as_list()[1:]
    items = {i: entries[at] for at, i in enumerate(dimensions)}
    other = np.full(shape, neutral, np.int32)
    return array_join.stack([items.get(i, other) for i in range(1, dimensions[-1] + 1)])
