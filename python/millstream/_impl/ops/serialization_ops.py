"""Tensors and sparse tensors in strings, and back."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, TENSOR, TENSOR_ITSELF, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_math import sparse_argument
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes

serialize_tensor = public("serialize_tensor", "io.serialize_tensor")(gen_ops.serialize_tensor)
parse_tensor = public("parse_tensor", "io.parse_tensor")(gen_ops.parse_tensor)
decode_json_example = public("decode_json_example", "io.decode_json_example")(
    gen_ops.decode_json_example
)


@public("serialize_sparse", "io.serialize_sparse")
@takes(sp_input=TENSOR_ITSELF, out_type=DTYPE)
def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """A sparse tensor as three strings: its indices, its values and its shape.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    name
        Name of the result.
    out_type
        Type of the result: string.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 2]], [7.0], [1, 3])
    >>> tf.serialize_sparse(x).shape.as_list()
    [3]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    made: Tensor = gen_ops.serialize_sparse(
        sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name
    )
    return made


@public("serialize_many_sparse", "io.serialize_many_sparse")
@takes(sp_input=TENSOR_ITSELF, out_type=DTYPE)
def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Each row of a sparse tensor as three strings: its indices, its values and its shape.

    Parameters
    ----------
    sp_input
        A `SparseTensor` of at least two dimensions.
    name
        Name of the result.
    out_type
        Type of the result: string.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 2], [1, 0]], [7.0, 8.0], [2, 3])
    >>> rows = tf.serialize_many_sparse(x)
    >>> tf.deserialize_many_sparse(rows, tf.float32).indices.eval().tolist()
    [[0, 2], [1, 0]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    made: Tensor = gen_ops.serialize_many_sparse(
        sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name
    )
    return made


@public("deserialize_many_sparse", "io.deserialize_many_sparse")
@takes(serialized_sparse=TENSOR, dtype=DTYPE, rank=or_none(INTEGER))
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """One sparse tensor of a batch of them in strings.

    Parameters
    ----------
    serialized_sparse
        A matrix of strings, with three in each row, as of `serialize_many_sparse`.
    dtype
        Type of the values.
    rank
        How many dimensions the result has, if that is known.
    name
        Name of the results.

    Returns
    -------
    SparseTensor
        It has one more dimension than the sparse tensors, whose sizes are those of the largest.

    Examples
    --------
    >>> short, long = (tf.SparseTensor([[0]], [7], [size]) for size in (1, 4))
    >>> rows = tf.stack([tf.serialize_sparse(short), tf.serialize_sparse(long)])
    >>> tf.deserialize_many_sparse(rows, tf.int32, rank=2).dense_shape.eval().tolist()
    [2, 4]
    """
    strings = convert_to_tensor(serialized_sparse, dtypes.string, "serialized_sparse")
    indices, values, shape = gen_ops.deserialize_many_sparse(strings, dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
