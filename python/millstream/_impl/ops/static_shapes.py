"""Functions on static shapes and their dimensions."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, SHAPE, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.values.tensor_shape import Dimension, TensorShape, as_shape


@public("dimension_value", "compat.dimension_value")
@takes(dimension=or_none(INTEGER))
def dimension_value(dimension: Any) -> int | None:
    """The size of a dimension, whether it is a `Dimension` or a number.

    Parameters
    ----------
    dimension
        A `Dimension`, a number or None.

    Examples
    --------
    >>> tf.dimension_value(tf.TensorShape([3])[0])
    3
    """
    return Dimension(dimension).value


@public("dimension_at_index", "compat.dimension_at_index")
@takes(shape=SHAPE, index=INTEGER)
def dimension_at_index(shape: Any, index: int) -> Dimension:
    """A dimension of a shape, unknown where the rank is.

    Parameters
    ----------
    shape
        A shape.
    index
        Which one; negative counts from the end.

    Raises
    ------
    IndexError
        The shape has no such dimension.

    Examples
    --------
    >>> tf.dimension_at_index(tf.TensorShape([3, None]), 1)
    Dimension(None)
    """
    found: Dimension = as_shape(shape)[index]
    return found


@public("broadcast_dynamic_shape")
@takes(shape_x=SHAPE, shape_y=SHAPE)
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that two shapes broadcast to, all of them tensors.

    Parameters
    ----------
    shape_x, shape_y
        The shapes: vectors of int32 or int64.

    Examples
    --------
    >>> tf.broadcast_dynamic_shape([2, 1], [3]).eval()
    array([2, 3], dtype=int32)
    """
    return gen_ops.broadcast_args(shape_x, shape_y)


@public("broadcast_static_shape")
@takes(shape_x=SHAPE, shape_y=SHAPE)
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to, as far as known.

    Parameters
    ----------
    shape_x, shape_y
        The shapes.

    Raises
    ------
    ValueError
        They do not broadcast.

    Examples
    --------
    >>> tf.broadcast_static_shape(tf.TensorShape([3, 1]), tf.TensorShape([2])).as_list()
    [3, 2]
    """
    one, other = as_shape(shape_x, "shape_x"), as_shape(shape_y, "shape_y")
    if one.ndims is None or other.ndims is None:
        return TensorShape(None)
    rank = max(one.ndims, other.ndims)
    pairs = zip(
        [1] * (rank - one.ndims) + one.as_list(),
        [1] * (rank - other.ndims) + other.as_list(),
        strict=True,
    )
    sizes = [_broadcast_size(a, b) for a, b in pairs]
    if any(size == -1 for size in sizes):
        raise ValueError(f"shape_x and shape_y: {one} and {other} do not broadcast")
    return TensorShape(sizes)


def _broadcast_size(one: int | None, other: int | None) -> int | None:
    """The size that two sizes broadcast to, None when it is not known, -1 when they do not."""
    if one == other or other == 1:
        return one
    if one == 1:
        return other
    if one is None or other is None:
        return other if one is None else one  # the known one is greater than 1, and wins
    return -1
