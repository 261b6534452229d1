"""Rows of tables by sparse numbers, some of which may be missing or no numbers of rows."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    INTEGER,
    NUMBER,
    TENSOR_ITSELF,
    TENSORS,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.lookup import embedding_lookup_sparse
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops, reductions
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


@public("nn.safe_embedding_lookup_sparse")
@takes(
    embedding_weights=TENSORS,
    sparse_ids=TENSOR_ITSELF,
    sparse_weights=or_none(TENSOR_ITSELF),
    combiner=or_none(TEXT),
    default_id=or_none(INTEGER),
    partition_strategy=TEXT,
    max_norm=NUMBER,
)
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """For each row of numbers, the rows of a table combined to one; numbers may be missing.

    Negative numbers are left out, and so are numbers that do not count: those with a weight that
    is not above 0, unless `combiner` is "sum".

    Parameters
    ----------
    embedding_weights, partition_strategy, max_norm
        The table, see `nn.embedding_lookup`.
    sparse_ids
        A sparse tensor of numbers of rows, of shape [..., n]. Its last dimension may have any
        number of them.
    sparse_weights
        What each counts, a sparse tensor with the same places; None for 1.
    combiner
        "sum", "mean" or "sqrtn", see `nn.embedding_lookup_sparse`.
    default_id
        The number for a row of numbers that has none; None for a result of zeros.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The shape of `sparse_ids` without its last dimension, and that of a row.

    Raises
    ------
    TypeError
        `sparse_ids` or `sparse_weights` is not sparse.
    ValueError
        There is no table, or the combiner is unknown.

    Examples
    --------
    >>> ids = tf.SparseTensor([[0, 0], [2, 0]], tf.constant([1, -1], tf.int64), [3, 2])
    >>> table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.nn.safe_embedding_lookup_sparse(table, ids).eval().tolist()
    [[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    """
    if embedding_weights is None or (
        isinstance(embedding_weights, (list, tuple)) and not embedding_weights
    ):
        raise ValueError(f"Missing embedding_weights {embedding_weights!r}.")
    for key, value in (("sparse_ids", sparse_ids), ("sparse_weights", sparse_weights)):
        if value is not None and not isinstance(value, SparseTensor):
            raise TypeError(f"{key} must be SparseTensor, got {value!r}")
    with scopes.name_scope(name, "embedding_lookup", [sparse_ids.values]) as scope:
        outer = sparse_ids.dense_shape[:-1]
        rows = _row_numbers(sparse_ids.indices[:, :-1], outer)
        weights = None if sparse_weights is None else sparse_weights.values
        ids, rows, weights = _valid(sparse_ids.values, rows, weights, combiner)
        count = reductions.reduce_prod(outer)
        seen = gen_ops.unsorted_segment_sum(array_creation.ones_like(rows), rows, count)
        is_empty = gen_ops.equal(seen, array_creation.zeros_like(seen))
        empty = _where_true(is_empty, math_ops.range(count))
        ids = _with(ids, empty, default_id or 0)
        rows = array_join.concat([rows, empty], 0)
        places = array_join.stack([rows, array_creation.zeros_like(rows)], 1)
        shape = array_join.stack([count, convert_to_tensor(1, dtypes.int64)])
        found = embedding_lookup_sparse(
            embedding_weights,
            SparseTensor(places, ids, shape),
            None if weights is None else SparseTensor(places, _with(weights, empty, 1), shape),
            partition_strategy,
            combiner=combiner,
            max_norm=max_norm,
        )
        if default_id is None:
            found = array_ops.where(is_empty, array_creation.zeros_like(found), found)
        inner = gen_ops.shape(found)[1:]
        sizes = array_join.concat([math_ops.cast(outer, dtypes.int32), inner], 0)
        result: Tensor = gen_ops.reshape(found, sizes, scope)
        if outer.shape.is_fully_defined() and found.shape.ndims is not None:
            unknown = TensorShape([None] * int(outer.shape.as_list()[0]))
            result.set_shape(unknown.concatenate(found.shape[1:]))
        return result


def _row_numbers(indices: Tensor, shape: Tensor) -> Tensor:
    """The places of elements in flat order."""
    strides = reductions.cumprod(shape, exclusive=True, reverse=True)
    return reductions.reduce_sum(indices * strides, 1)


def _valid(ids: Tensor, rows: Tensor, weights: Any, combiner: str | None) -> tuple[Any, Any, Any]:
    """Those of the numbers, with their rows and weights, that are looked up."""
    is_valid = gen_ops.greater_equal(ids, array_creation.zeros_like(ids))
    if weights is not None and combiner != "sum":
        counts = gen_ops.greater(weights, array_creation.zeros_like(weights))
        is_valid = gen_ops.logical_and(is_valid, counts)
    kept = None if weights is None else _where_true(is_valid, weights)
    return _where_true(is_valid, ids), _where_true(is_valid, rows), kept


def _where_true(condition: Tensor, values: Tensor) -> Tensor:
    """The elements of a vector where a condition holds."""
    parts = gen_ops.dynamic_partition(values, math_ops.cast(condition, dtypes.int32), 2)
    chosen: Tensor = parts[1]
    return chosen


def _with(values: Tensor, places: Tensor, value: Any) -> Tensor:
    """A vector, and a value for each of several places behind it."""
    more = gen_ops.fill(gen_ops.shape(places), convert_to_tensor(value, values.dtype))
    return array_join.concat([values, more], 0)
