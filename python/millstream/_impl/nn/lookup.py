"""Rows of tables by number."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    NUMBER,
    TENSOR,
    TENSOR_ITSELF,
    TENSORS,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import (
    array_creation,
    array_join,
    array_ops,
    clipping,
    math_ops,
    reductions,
)
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables.partitioned_variable import PartitionedVariable


@public("nn.embedding_lookup")
@takes(params=TENSORS, ids=TENSOR, partition_strategy=TEXT, max_norm=NUMBER)
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Rows of a table, which may be in several parts.

    Parameters
    ----------
    params
        The table: a tensor or variable of shape [rows, ...], or a list of its parts, which differ
        in the number of rows by one at most, the greater ones first; or a variable that was made
        with a partitioner.
    ids
        Which rows, of any shape.
    partition_strategy
        How the rows of n parts are numbered: "mod" if row i is row i // n of part i % n; "div" if
        each part has a range of rows.
    name
        Name of the result.
    validate_indices
        Not used: numbers are always checked.
    max_norm
        The greatest Euclidean norm of a row; longer ones are scaled down.

    Returns
    -------
    Tensor
        The shape of `ids` and that of a row.

    Raises
    ------
    ValueError
        There is no part, the strategy is unknown, or the shapes of the parts do not fit.
    InvalidArgumentError
        In a step, for a number of no row.

    Examples
    --------
    >>> tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 1]).eval().tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    >>> parts = [tf.constant([[0.0], [2.0]]), tf.constant([[1.0]])]
    >>> tf.nn.embedding_lookup(parts, [2, 1]).eval().tolist()
    [[2.0], [1.0]]
    """
    tables = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not tables:
        raise ValueError("params: expected a table, got an empty list")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy!r}")
    with scopes.name_scope(name, "embedding_lookup", [*tables, ids]) as scope:
        tables = [
            table if isinstance(table, TensorLike) else convert_to_tensor(table) for table in tables
        ]
        numbers = convert_to_tensor(ids, name="ids")
        if len(tables) == 1 and max_norm is None:
            return array_ops.gather(tables[0], numbers, name=scope)
        if len(tables) > 1:
            found = _from_parts(tables, numbers, partition_strategy)
        else:
            found = array_ops.gather(tables[0], numbers)
        if max_norm is not None:
            found = _clipped(found, numbers, max_norm)
        return gen_ops.identity(found, scope)


def _from_parts(tables: list[Any], ids: Tensor, strategy: str) -> Tensor:
    """The rows of a table in parts: looked up in each part, then put in the order of `ids`."""
    count = len(tables)
    row_shape = _row_shape(tables)
    flat = gen_ops.reshape(ids, [-1])
    place = _place_mod if strategy == "mod" else _place_div
    part, row = place(tables, flat)
    part = gen_ops.cast(part, dtypes.int32)
    positions = math_ops.range(gen_ops.size(flat))
    rows_of = gen_ops.dynamic_partition(row, part, count)
    positions_of = gen_ops.dynamic_partition(positions, part, count)
    looked_up = [array_ops.gather(*pair) for pair in zip(tables, rows_of, strict=True)]
    rows = gen_ops.dynamic_stitch(positions_of, looked_up)
    known = row_shape.as_list() if row_shape.is_fully_defined() else None
    tail = gen_ops.shape(looked_up[0])[1:] if known is None else known
    shape = gen_ops.concat_v2([gen_ops.shape(ids), convert_to_tensor(tail, dtypes.int32)], 0)
    result = gen_ops.reshape(rows, shape)
    result.set_shape(ids.shape.concatenate(row_shape))
    return result


def _row_shape(tables: list[Any]) -> TensorShape:
    """The static shape of a row, from all parts; ValueError when they differ."""
    shape = TensorShape(None)
    for index, table in enumerate(tables):
        own = as_shape(table.shape)[1:]
        if not shape.is_compatible_with(own):
            raise ValueError(f"params: expected parts with rows {shape}, got {own} in part {index}")
        shape = shape.merge_with(own)
    return shape


def _place_mod(tables: list[Any], ids: Tensor) -> tuple[Tensor, Tensor]:
    """Part and row of each number, where numbers go round the parts."""
    count = len(tables)
    return ids % count, ids // count


def _place_div(tables: list[Any], ids: Tensor) -> tuple[Tensor, Tensor]:
    """Part and row of each number, where each part has a range of numbers.

    Of r rows in n parts, the first r % n parts have r // n + 1 rows, the others r // n.
    """
    count = len(tables)
    sizes = [as_shape(table.shape)[0].value for table in tables]
    if None in sizes:
        dims = [gen_ops.shape(convert_to_tensor(table))[0] for table in tables]
        total: Any = gen_ops.cast(gen_ops.add_n(dims), ids.dtype)
        least, greater = total // count, total % count
        divisor = gen_ops.maximum(least, gen_ops.ones_like(least))
    else:
        least, greater = divmod(sum(sizes), count)
        divisor = max(least, 1)
    part = gen_ops.maximum(ids // (least + 1), (ids - greater) // divisor)
    in_greater = gen_ops.less(part, convert_to_tensor(greater, ids.dtype))
    row = array_ops.where(in_greater, ids % (least + 1), (ids - greater) % divisor)
    return part, row


def _clipped(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    """Rows scaled down to a norm; a row has the dimensions after those of `ids`."""
    if ids.shape.ndims is not None and rows.shape.ndims is not None:
        axes: Any = list(range(ids.shape.ndims, rows.shape.ndims))
    else:
        axes = math_ops.range(gen_ops.rank(ids), gen_ops.rank(rows))
    return clipping.clip_by_norm(rows, max_norm, axes)


@public("nn.embedding_lookup_sparse")
@takes(
    params=TENSORS,
    sp_ids=TENSOR_ITSELF,
    sp_weights=or_none(TENSOR_ITSELF),
    partition_strategy=TEXT,
    combiner=or_none(TEXT),
    max_norm=NUMBER,
)
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """For each row of numbers, the rows of a table combined to one.

    Parameters
    ----------
    params, partition_strategy, max_norm
        See `nn.embedding_lookup`.
    sp_ids
        A sparse matrix of numbers of rows. Each of its rows may have any number of them.
    sp_weights
        What each counts, a sparse matrix with the same places; None for 1.
    name
        Name of the result.
    combiner
        "sum"; "mean", the sum divided by that of the weights; or "sqrtn", the sum divided by the
        square root of that of the squared weights. By default "mean".

    Returns
    -------
    Tensor
        A row for each row of `sp_ids` up to the last that has numbers; 0 for one that has none.

    Raises
    ------
    TypeError
        `sp_ids` or `sp_weights` is not sparse.
    ValueError
        The combiner is unknown.

    Examples
    --------
    >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, 1], tf.int64), [2, 2])
    >>> table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum").eval().tolist()
    [[4.0, 6.0], [3.0, 4.0]]
    """
    how = "mean" if combiner is None else combiner
    if how not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {sp_ids!r}")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {sp_weights!r}")
    with scopes.name_scope(name, "embedding_lookup_sparse", [sp_ids.values]) as scope:
        # A row that is wanted several times is looked up once.
        ids, places = gen_ops.unique(sp_ids.values)
        table = embedding_lookup(params, ids, partition_strategy, max_norm=max_norm)
        rows = array_ops.gather(table, places)
        if sp_weights is None:
            weights = array_creation.ones_like(sp_ids.values, dtype=rows.dtype)
        else:
            weights = math_ops.cast(sp_weights.values, rows.dtype)
            rows = rows * _for_rows(weights, rows)
        segments = sp_ids.indices[:, 0]
        last = array_join.concat([convert_to_tensor([-1], segments.dtype), segments], 0)
        count = reductions.reduce_max(last) + 1
        sums = gen_ops.unsorted_segment_sum(rows, segments, count)
        if how == "sum":
            return gen_ops.identity(sums, scope)
        parts = weights if how == "mean" else weights * weights
        total = gen_ops.unsorted_segment_sum(parts, segments, count)
        return _quotients(sums, total if how == "mean" else gen_ops.sqrt(total), scope)


def _for_rows(vector: Tensor, rows: Tensor) -> Tensor:
    """A number for each row, in a shape that broadcasts with the rows."""
    ones = array_creation.ones_like(gen_ops.shape(rows)[1:])
    shape = array_join.concat([gen_ops.shape(vector), ones], 0)
    result: Tensor = gen_ops.reshape(vector, shape)
    if rows.shape.ndims is not None:
        result.set_shape([None] + [1] * (rows.shape.ndims - 1))
    return result


def _quotients(rows: Tensor, divisors: Tensor, name: str) -> Tensor:
    """Rows divided by a number for each; 0 where that is 0."""
    is_zero = gen_ops.equal(divisors, array_creation.zeros_like(divisors))
    safe = array_ops.where(is_zero, array_creation.ones_like(divisors), divisors)
    kept = math_ops.cast(gen_ops.logical_not(is_zero), rows.dtype)
    quotients = rows / _for_rows(safe, rows)
    return gen_ops.mul(quotients, _for_rows(kept, rows), name=name)
