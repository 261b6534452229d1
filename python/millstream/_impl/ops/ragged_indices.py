"""Parts of ragged tensors at places within rows."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, check_ops, math_ops
from millstream._impl.ops.ragged_broadcast import checked_rows
from millstream._impl.ops.ragged_reductions import with_ragged_rank
from millstream._impl.ops.ragged_rows import RaggedRows
from millstream._impl.ops.ragged_slicing import gather_rows
from millstream._impl.ops.ragged_tensor import RaggedTensor


def _within_rows(ragged: Any, rows: Tensor, columns: Tensor) -> Tensor:
    """Places in the values of a ragged tensor, by the numbers of rows and places in these.

    A step fails where there is no such place.
    """
    starts = gen_ops.gather_v2(ragged.row_starts(), rows, 0)
    ends = gen_ops.gather_v2(ragged.row_limits(), rows, 0)
    columns = math_ops.cast(columns, starts.dtype)
    places = starts + columns
    message = "indices: an index is not within its row"
    checks = [
        check_ops.assert_non_negative(columns, message=message),
        check_ops.assert_less(places, ends, message=message),
    ]
    with scopes.control_dependencies(checks):
        return gen_ops.identity(places)


# ---- gather_nd ----


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """What `tf.gather_nd` gives where one argument is ragged or both are.

    Raises
    ------
    ValueError
        There are batch dimensions; or it is not known how long the index vectors are, which must
        have one length.
    """
    if batch_dims:
        raise ValueError(f"batch_dims: expected 0 with ragged tensors, got {batch_dims}")
    with scopes.name_scope(name, "RaggedGatherNd", [params, indices]):
        if not isinstance(params, RaggedRows):
            params = convert_to_tensor(params, name="params")
        if isinstance(indices, RaggedRows):
            flat = indices.flat_values
            if flat.shape.ndims == 1:
                raise ValueError("indices: The innermost dimension of indices may not be ragged")
            return indices.with_flat_values(_at_vectors(params, flat))
        return _at_vectors(params, convert_to_tensor(indices, name="indices"))


def _at_vectors(params: Any, indices: Tensor) -> Any:
    rank = indices.shape.ndims
    size = None if not rank else indices.shape[-1].value
    if rank is None or not size:
        raise ValueError(
            f"indices: expected vectors of a known length of 1 or more, got {indices!r}"
        )
    columns = [indices[..., k] for k in range(size)]
    if rank == 1:
        return _at(params, [gen_ops.expand_dims(column, 0) for column in columns])[0]
    shape = gen_ops.shape(columns[0])
    found = _at(params, [gen_ops.reshape(column, [-1]) for column in columns])
    return found if rank == 2 else _in_shape(found, shape, rank - 1)


def _at(params: Any, columns: list[Tensor]) -> Any:
    """The parts at vectors, whose elements k are a column."""
    while len(columns) > 1 and isinstance(params, RaggedRows):
        first = _within_rows(params, columns[0], columns[1])
        params, columns = params.values, [first, *columns[2:]]
    if len(columns) == 1:
        return gather_rows(params, columns[0])
    dtype = columns[0].dtype
    alike = [math_ops.cast(column, dtype) for column in columns]
    return gen_ops.gather_nd(params, array_join.stack(alike, 1))


def _in_shape(rows: Any, shape: Tensor, rank: int) -> Any:
    """Rows in the dimensions of a shape of that rank, in place of one."""
    if not isinstance(rows, RaggedRows):
        inner = gen_ops.shape(rows)[1:]
        return gen_ops.reshape(rows, array_join.concat([shape, inner], 0))
    sizes = math_ops.cast(shape, rows.row_splits.dtype)
    for axis in range(rank - 1, 0, -1):
        count = gen_ops.prod(sizes[:axis], [0])
        rows = rows._like(rows, math_ops.range(count + 1, dtype=count.dtype) * sizes[axis])
    return rows


# ---- batch_gather ----


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """What `tf.batch_gather` gives where one argument is ragged or both are.

    Raises
    ------
    ValueError
        The rank of `indices` is not known or 0, or that of `params` is less.
    """
    with scopes.name_scope(name, "RaggedBatchGather", [params, indices]):
        if not isinstance(params, RaggedRows):
            params = convert_to_tensor(params, name="params")
        if not isinstance(indices, RaggedRows):
            indices = convert_to_tensor(indices, name="indices")
        return _in_batches(params, indices)


def _in_batches(params: Any, indices: Any) -> Any:
    rank, params_rank = indices.shape.ndims, params.shape.ndims
    if not rank:
        raise ValueError("indices: its rank must be known, and 1 or more")
    if rank == 1:
        return array_ops.gather(params, indices)
    if params_rank is not None and params_rank < rank:
        raise ValueError(f"params: expected rank {rank} or more, that of indices, got {params!r}")
    outer = with_ragged_rank(RaggedTensor, params, 1)
    rows = with_ragged_rank(RaggedTensor, indices, 1)
    if rank > 2:
        return rows.with_values(_in_batches(*checked_rows(outer, rows)))
    check = check_ops.assert_equal(
        math_ops.cast(outer.nrows(), rows.row_splits.dtype),
        rows.nrows(),
        message="indices: expected as many rows as params has",
    )
    with scopes.control_dependencies([check]):
        places = _within_rows(outer, rows.value_rowids(), rows.values)
    return rows.with_values(gather_rows(outer.values, places))
