"""Slices that index vectors name: taken from tensors, and changed in copies of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import INTEGER, TENSOR, TENSORS, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops


@public("gather_nd", "manip.gather_nd")
@takes(params=TENSOR, indices=TENSORS, batch_dims=INTEGER)
@for_ragged("gather_nd")
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The slices of a tensor that index vectors name.

    Parameters
    ----------
    params
        The tensor, which may be ragged; or a variable, of which only those slices are read.
    indices
        The vectors, along the last dimension: n numbers name a place along each of the first n
        dimensions (after `batch_dims`) of `params`.
    name
        Name of the result.
    batch_dims
        How many leading dimensions `params` and `indices` share.

    Raises
    ------
    ValueError
        The vectors are longer than `params` has dimensions, or `batch_dims` is not below the rank
        of both, as far as known.
    InvalidArgumentError
        In the step: an index is outside.

    Examples
    --------
    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).eval()
    array([2, 3], dtype=int32)
    >>> tf.gather_nd([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).eval()
    array([2, 3], dtype=int32)
    """
    if batch_dims:
        return _gather_nd_in_batches(params, indices, batch_dims, name)
    slices = getattr(params, "gather_nd", None)
    if slices is not None:
        found: Tensor = slices(indices, name=name)
        return found
    return gen_ops.gather_nd(params, indices, name=name)


def _gather_nd_in_batches(params: Any, indices: Any, batch_dims: int, name: str | None) -> Tensor:
    """The batch dimensions become one, whose numbers stand before the vectors."""
    with get_default_graph().name_scope(name or "GatherNd"):
        params = convert_to_tensor(params, name="params")
        indices = convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("indices: with batch_dims its rank must be known")
        known = params.shape.ndims
        if not 0 < batch_dims < rank or (known is not None and batch_dims >= known):
            raise ValueError(
                f"batch_dims: expected a number below the ranks of indices, {rank}, and of params, "
                f"{'unknown' if known is None else known}, got {batch_dims}"
            )
        shape = gen_ops.shape(params)
        batch = shape[:batch_dims]
        merged = gen_ops.reshape(params, _joined([[-1], shape[batch_dims:]]))
        vectors = gen_ops.reshape(indices, _joined([[-1], gen_ops.shape(indices)[batch_dims:]]))
        numbers = gen_ops.range(0, gen_ops.shape(merged)[0], 1)
        ones = [1] * (rank - batch_dims)
        column = gen_ops.reshape(gen_ops.cast(numbers, indices.dtype), [-1, *ones])
        first = gen_ops.zeros_like(vectors[..., :1]) + column
        found = gen_ops.gather_nd(merged, array_join.concat([first, vectors], -1))
        return gen_ops.reshape(found, _joined([batch, gen_ops.shape(found)[1:]]))


def _joined(vectors: list[Any]) -> Tensor:
    return array_join.concat(vectors, 0)


@public("batch_gather")
@takes(params=TENSOR, indices=TENSORS)
@for_ragged("batch_gather")
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """The parts of a tensor at given indices of the last dimension of `indices`, batch by batch.

    Parameters
    ----------
    params
        The tensor, which may be ragged, as may `indices`.
    indices
        The indices; all dimensions but the last one are those of `params`.
    name
        Name of the result.

    Raises
    ------
    ValueError
        The rank of `indices` is not known.

    Examples
    --------
    >>> tf.batch_gather([[1, 2, 3], [4, 5, 6]], [[2, 0], [1, 1]]).eval().tolist()
    [[3, 1], [5, 5]]
    """
    with get_default_graph().name_scope(name or "BatchGather"):
        indices = convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("indices: its rank must be known")
        return array_ops.gather(params, indices, axis=rank - 1, batch_dims=rank - 1)


@public("scatter_nd", "manip.scatter_nd")
@takes(indices=TENSORS, updates=TENSOR, shape=TENSORS)
def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape, to whose slices updates are added.

    Parameters
    ----------
    indices
        Index vectors along the last dimension, as for `gather_nd`.
    updates
        A slice for each of them; those of one slice add up.
    shape
        Shape of the result, of the dtype of `indices`.
    name
        Name of the result.

    Raises
    ------
    ValueError
        `updates` has not the shape of those slices, as far as known.
    InvalidArgumentError
        In the step: an index is outside.

    Examples
    --------
    >>> tf.scatter_nd([[1], [3], [1]], [10, 20, 30], [5]).eval()
    array([ 0, 40,  0, 20,  0], dtype=int32)
    """
    return gen_ops.scatter_nd(indices, updates, shape, name)


def _of_tensor(
    op: Callable[..., Tensor], public_name: str, what: str, outcome: str
) -> Callable[..., Tensor]:
    @takes(tensor=TENSOR, indices=TENSORS, updates=TENSOR)
    def changed(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return op(tensor, indices, updates, name)

    changed.__doc__ = f"""A tensor, {what} its slices that index vectors name.

    Parameters
    ----------
    tensor
        The tensor.
    indices
        Index vectors along the last dimension, as for `gather_nd`.
    updates
        A slice for each of them. They count in their order.
    name
        Name of the result.

    Raises
    ------
    ValueError
        `updates` has not the shape of those slices, as far as known.
    InvalidArgumentError
        In the step: an index is outside.

    Examples
    --------
    >>> tf.{public_name}([1, 2, 3], [[2], [0]], [10, 20]).eval()
    {outcome}
    """
    changed.__name__ = changed.__qualname__ = public_name
    return changed


tensor_scatter_nd_update = public("tensor_scatter_nd_update", "tensor_scatter_update")(
    _of_tensor(
        gen_ops.tensor_scatter_update,
        "tensor_scatter_nd_update",
        "with updates in the place of",
        "array([20,  2, 10], dtype=int32)",
    )
)
tensor_scatter_nd_add = public("tensor_scatter_nd_add", "tensor_scatter_add")(
    _of_tensor(
        gen_ops.tensor_scatter_add,
        "tensor_scatter_nd_add",
        "with updates added to",
        "array([21,  2, 13], dtype=int32)",
    )
)
tensor_scatter_nd_sub = public("tensor_scatter_nd_sub", "tensor_scatter_sub")(
    _of_tensor(
        gen_ops.tensor_scatter_sub,
        "tensor_scatter_nd_sub",
        "with updates subtracted from",
        "array([-19,   2,  -7], dtype=int32)",
    )
)
