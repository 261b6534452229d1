"""Sparse tensors made of places: those that other tensors name, or of a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    DTYPE,
    NUMBER,
    TENSOR,
    TENSOR_ITSELF,
    TENSORS,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join
from millstream._impl.ops.sparse_layout import sparse_reorder
from millstream._impl.ops.sparse_math import sparse_argument
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue
from millstream._impl.values import dtypes


@public("sparse_merge", "sparse.merge")
@takes(sp_ids=TENSORS, sp_values=TENSOR_ITSELF, vocab_size=TENSOR)
def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Values at places that the values of other sparse tensors name.

    Parameters
    ----------
    sp_ids
        A `SparseTensor` of int32 or int64, or a list of several: the last numbers of the places.
    sp_values
        A `SparseTensor` of the same indices: the values.
    vocab_size
        The size of the new dimension, or a list of one for each of `sp_ids`.
    name
        Name of the result.
    already_sorted
        Whether the places are in row-major order, so that they need not be sorted.

    Returns
    -------
    SparseTensor
        The indices have the places in the stead of their last number.

    Examples
    --------
    >>> ids = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 0], tf.int64), [2, 1])
    >>> values = tf.SparseTensor([[0, 0], [1, 0]], [5.0, 6.0], [2, 1])
    >>> tf.sparse_merge(ids, values, 3).indices.eval().tolist()
    [[0, 2], [1, 0]]
    """
    several = isinstance(sp_ids, (list, tuple)) and not isinstance(sp_ids, SparseTensorValue)
    ids = [sparse_argument(one, "sp_ids") for one in (sp_ids if several else [sp_ids])]
    sizes = list(vocab_size) if several else [vocab_size]
    if len(sizes) != len(ids):
        raise ValueError(f"vocab_size: expected {len(ids)} sizes, got {len(sizes)}")
    values = sparse_argument(sp_values, "sp_values")
    with scopes.name_scope(name, "SparseMerge", [*ids, values]):
        columns: list[Any] = [ids[0].indices[:, :-1]]
        shape: list[Any] = [ids[0].dense_shape[:-1]]
        for one, size in zip(ids, sizes, strict=True):
            places = one.values
            if places.dtype != dtypes.int64:
                places = gen_ops.cast(places, dtypes.int64)
            columns.append(gen_ops.expand_dims(places, 1))
            whole = convert_to_tensor(size, name="vocab_size")
            shape.append(gen_ops.reshape(gen_ops.cast(whole, dtypes.int64), [1]))
        merged = SparseTensor(
            array_join.concat(columns, 1), values.values, array_join.concat(shape, 0)
        )
        return merged if already_sorted else sparse_reorder(merged)


@public("sparse_to_indicator", "sparse.to_indicator")
@takes(sp_input=TENSOR_ITSELF, vocab_size=TENSOR)
def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Booleans that are true at the places that values name.

    Parameters
    ----------
    sp_input
        A `SparseTensor` of int32 or int64.
    vocab_size
        The size of the last dimension of the result.
    name
        Name of the result.

    Examples
    --------
    >>> ids = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 0], tf.int64), [2, 1])
    >>> tf.sparse_to_indicator(ids, 3).eval().tolist()
    [[False, False, True], [True, False, False]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    with scopes.name_scope(name, "SparseToIndicator", [sparse]) as scope:
        trues = gen_ops.fill(gen_ops.shape(sparse.values), True)
        values = SparseTensor(sparse.indices, trues, sparse.dense_shape)
        merged = sparse_merge(sparse, values, vocab_size)
        # Several values may name one place.
        return gen_ops.sparse_to_dense(
            merged.indices, merged.dense_shape, merged.values, False, False, scope
        )


@public("sparse.from_dense")
@takes(tensor=TENSOR)
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a tensor that are not zero, as a sparse tensor.

    Parameters
    ----------
    tensor
        The tensor.
    name
        Name of the result.

    Examples
    --------
    >>> tf.sparse.from_dense([0, 5, 0]).indices.eval().tolist()
    [[1]]
    """
    with scopes.name_scope(name, "dense_to_sparse", [tensor]):
        dense = convert_to_tensor(tensor, name="tensor")
        indices = gen_ops.where(gen_ops.not_equal(dense, gen_ops.zeros_like(dense)))
        return SparseTensor(
            indices, gen_ops.gather_nd(dense, indices), gen_ops.shape(dense, dtypes.int64)
        )


@public("sparse.eye")
@takes(num_rows=NUMBER, num_columns=or_none(NUMBER), dtype=DTYPE)
def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """A sparse matrix of ones on its diagonal.

    Parameters
    ----------
    num_rows, num_columns
        Its size; by default it is square.
    dtype
        Type of the ones.
    name
        Name of the result.

    Examples
    --------
    >>> tf.sparse.eye(2, 3).indices.eval().tolist()
    [[0, 0], [1, 1]]
    """
    with scopes.name_scope(name, "eye", [num_rows]):
        rows = gen_ops.cast(convert_to_tensor(num_rows, name="num_rows"), dtypes.int64)
        columns = rows
        if num_columns is not None:
            columns = gen_ops.cast(convert_to_tensor(num_columns, name="num_columns"), dtypes.int64)
        count = gen_ops.minimum(rows, columns)
        places = gen_ops.range(np.int64(0), count, np.int64(1))
        one = convert_to_tensor(1, dtype, "one")
        return SparseTensor(
            array_join.stack([places, places], 1),
            gen_ops.fill(gen_ops.reshape(count, [1]), one),
            array_join.stack([rows, columns]),
        )
