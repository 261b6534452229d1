"""Elements chosen by a mask."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import INTEGER, TENSOR, takes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor


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
        # Not -1, which stands for no size if another dimension is empty.
        rows = gen_ops.prod(sizes[first:end], 0, keep_dims=True)
        joined = gen_ops.concat_v2([sizes[:first], rows, sizes[end:]], 0)
        flat = gen_ops.reshape(values, joined)
        if shape.ndims is not None:
            count = shape[first:end].num_elements()
            flat.set_shape(shape[:first].concatenate([count]).concatenate(shape[end:]))
        places = gen_ops.squeeze(gen_ops.where(gen_ops.reshape(chosen, [-1])), [1])
        return gen_ops.gather_v2(flat, places, first)
