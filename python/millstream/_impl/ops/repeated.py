"""Repeated elements."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, matrices
from millstream._impl.values import dtypes


@public("repeat")
@takes(input=TENSOR, repeats=TENSOR, axis=INTEGER)
def repeat(
    input: Any,  # noqa: A002
    repeats: Any,
    axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor whose elements, or slices, are repeated.

    Parameters
    ----------
    input
        The tensor.
    repeats
        How often: a number, or one for each element along the axis.
    axis
        The dimension, by default the only one of the flattened tensor.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.repeat([3, 4], [2, 1]).eval().tolist()
    [3, 3, 4]
    """
    with scopes.name_scope(name, "Repeat", [input, repeats]):
        values = convert_to_tensor(input, name="input")
        if axis is None:
            values, axis = gen_ops.reshape(values, [-1]), 0
        counts = gen_ops.cast(convert_to_tensor(repeats, name="repeats"), dtypes.int32)
        rank = counts.shape.ndims
        if rank is not None and rank > 1:
            raise ValueError(f"repeats: expected a number or a vector, got {counts!r}")
        size = gen_ops.shape(values)[axis]
        counts = gen_ops.broadcast_to(counts, gen_ops.expand_dims(size, 0))
        places = gen_ops.where(matrices.sequence_mask(counts))[:, 0]
        result = array_ops.gather(values, places, axis=axis)
        if values.shape.ndims is not None:
            dims = values.shape.as_list()
            dims[axis] = _repeated_size(dims[axis], constant_value(counts))
            result.set_shape(dims)
        return result


def _repeated_size(size: int | None, counts: Any) -> int | None:
    """The size of a dimension afterwards, if that is known. Of `counts` it is the value."""
    return None if size is None or counts is None else int(counts.sum())
