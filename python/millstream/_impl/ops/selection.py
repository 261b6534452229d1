"""Elements chosen by a mask, and repeated elements."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import INTEGER, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, matrices
from millstream._impl.values import dtypes


@public("boolean_mask")
@takes(tensor=TENSOR, mask=TENSOR, axis=INTEGER)
@for_ragged("boolean_mask")
def boolean_mask(
    tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: Any = None
) -> Tensor:
    """The elements, or slices, of a tensor where a mask is true.

    Parameters
    ----------
    tensor
        The tensor, which may be ragged.
    mask
        Booleans, of a known rank of at least 1, in the shape of dimensions of the tensor.
    name
        Name of the scope.
    axis
        The first dimension that the mask is of, by default 0.

    Examples
    --------
    >>> tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]).eval().tolist()
    [[1, 2], [5, 6]]
    """
    with scopes.name_scope(name, "boolean_mask", [tensor, mask]):
        values = convert_to_tensor(tensor, name="tensor")
        chosen = convert_to_tensor(mask, name="mask")
        rank = chosen.shape.ndims
        if rank is None:
            raise ValueError(
                "mask: Number of mask dimensions must be specified, even if some dimensions are "
                "None.  E.g. shape=[None] is ok, but shape=None is not."
            )
        if rank == 0:
            raise ValueError("mask: mask cannot be scalar.")
        first = 0 if axis is None else constant_value(axis)
        if first is None:
            raise ValueError(f"axis: expected a constant, got {axis!r}")
        first = int(first)
        shape = values.shape
        if first < 0 and shape.ndims is not None:
            first += shape.ndims
        end = first + rank
        if shape.ndims is not None:
            shape[first:end].assert_is_compatible_with(chosen.shape)
        sizes = gen_ops.shape(values)
        joined = gen_ops.concat_v2([sizes[:first], [-1], sizes[end:]], 0)
        flat = gen_ops.reshape(values, joined)
        if shape.ndims is not None:
            count = shape[first:end].num_elements()
            flat.set_shape(shape[:first].concatenate([count]).concatenate(shape[end:]))
        places = gen_ops.squeeze(gen_ops.where(gen_ops.reshape(chosen, [-1])), [1])
        return array_ops.gather(flat, places, axis=first)


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
