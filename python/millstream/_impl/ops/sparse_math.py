"""Arithmetic on sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    INTEGERS,
    NUMBER,
    TENSOR,
    TENSOR_ITSELF,
    one_of,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue


def sparse_argument(value: Any, argument: str) -> SparseTensor:
    """The sparse tensor that an argument has to be.

    Raises
    ------
    TypeError
        It is none, nor the value of one.
    """
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        return SparseTensor.from_value(value)
    raise TypeError(f"{argument}: Input must be a SparseTensor, got {value!r}")


@public("sparse_add", "sparse.add")
@takes(a=TENSOR, b=TENSOR, threshold=or_none(NUMBER), thresh=or_none(NUMBER))
def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors, one of which at least is sparse.

    Parameters
    ----------
    a, b
        Tensors of one shape and type. Elements of sparse ones are in row-major order.
    threshold
        The least size of a sum of two elements that the sum of sparse tensors keeps; by default 0.
    thresh
        Old name of `threshold`.

    Returns
    -------
    SparseTensor or Tensor
        Sparse if both are.

    Raises
    ------
    TypeError
        Neither is sparse.

    Examples
    --------
    >>> x = tf.SparseTensor([[0], [2]], [1.0, 2.0], [3])
    >>> tf.sparse_add(x, x).values.eval().tolist()
    [2.0, 4.0]
    >>> tf.sparse_add(x, [1.0, 1.0, 1.0]).eval().tolist()
    [2.0, 1.0, 3.0]
    """
    sparse = (SparseTensor, SparseTensorValue)
    if not isinstance(a, sparse) and not isinstance(b, sparse):
        raise TypeError(f"a and b: At least one input should be SparseTensor, got {a!r} and {b!r}")
    if not (isinstance(a, sparse) and isinstance(b, sparse)):
        if isinstance(b, sparse):
            a, b = b, a
        first = sparse_argument(a, "a")
        dense = convert_to_tensor(b, first.dtype, "b")
        return gen_ops.sparse_tensor_dense_add(
            first.indices, first.values, first.dense_shape, dense
        )
    first, second = sparse_argument(a, "a"), sparse_argument(b, "b")
    least = one_of(threshold, thresh, "threshold", "thresh")
    limit = convert_to_tensor(
        0 if least is None else least, first.dtype.real_dtype.base_dtype, "thresh"
    )
    return SparseTensor(
        *gen_ops.sparse_add(
            *(first.indices, first.values, first.dense_shape),
            *(second.indices, second.values, second.dense_shape),
            limit,
        )
    )


@public("sparse_tensor_dense_matmul", "sparse.matmul", "sparse.sparse_dense_matmul")
@takes(sp_a=TENSOR_ITSELF, b=TENSOR)
def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one.

    Parameters
    ----------
    sp_a
        A `SparseTensor` of two dimensions, whose elements may be in any order.
    b
        A matrix.
    adjoint_a, adjoint_b
        Whether the matrix is replaced by its adjoint first.
    name
        Name of the result.

    Examples
    --------
    >>> a = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    >>> tf.sparse_tensor_dense_matmul(a, [[1.0], [3.0]]).eval().tolist()
    [[6.0], [0.0]]
    """
    a = sparse_argument(sp_a, "sp_a")
    dense = convert_to_tensor(b, a.dtype, "b")
    return gen_ops.sparse_tensor_dense_mat_mul(
        a.indices, a.values, a.dense_shape, dense, bool(adjoint_a), bool(adjoint_b), name
    )


def _reduced(
    function: Any, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> Any:
    sparse = sparse_argument(sp_input, "sp_input")
    axes = one_of(axis, reduction_axes, "axis", "reduction_axes")
    keep = one_of(keepdims, keep_dims, "keepdims", "keep_dims")
    if axes is None:
        rank = sparse.shape.ndims
        if rank is not None:
            axes = np.arange(rank, dtype=np.int32)
        else:
            axes = gen_ops.range(0, gen_ops.size(sparse.dense_shape), 1)
    return function(sparse.indices, sparse.values, sparse.dense_shape, axes, bool(keep))


@public("sparse_reduce_sum", "sparse.reduce_sum")
@takes(sp_input=TENSOR_ITSELF, axis=or_none(INTEGERS), reduction_axes=or_none(INTEGERS))
def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sums of the elements of a sparse tensor along some dimensions.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    axis
        The dimensions; by default all.
    keepdims
        Keep them, with size 1.
    reduction_axes
        Old name of `axis`.
    keep_dims
        Old name of `keepdims`.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [2, 3])
    >>> tf.sparse_reduce_sum(x, 1).eval().tolist(), tf.sparse_reduce_sum(x).eval()
    ([3, 0], 3)
    """
    found: Tensor = _reduced(
        gen_ops.sparse_reduce_sum, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return found


@public("sparse_reduce_max", "sparse.reduce_max")
@takes(sp_input=TENSOR_ITSELF, axis=or_none(INTEGERS), reduction_axes=or_none(INTEGERS))
def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest of the elements that a sparse tensor has along some dimensions.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    axis
        The dimensions; by default all.
    keepdims
        Keep them, with size 1.
    reduction_axes
        Old name of `axis`.
    keep_dims
        Old name of `keepdims`.

    Returns
    -------
    Tensor
        0 where there is no element.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [-1, -2], [2, 3])
    >>> tf.sparse_reduce_max(x, 1).eval().tolist()
    [-1, 0]
    """
    found: Tensor = _reduced(
        gen_ops.sparse_reduce_max, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return found


@public("sparse_reduce_sum_sparse", "sparse.reduce_sum_sparse")
@takes(sp_input=TENSOR_ITSELF, axis=or_none(INTEGERS), reduction_axes=or_none(INTEGERS))
def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """As `sparse_reduce_sum`, with a sparse result.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    axis
        The dimensions; by default all.
    keepdims
        Keep them, with size 1.
    reduction_axes
        Old name of `axis`.
    keep_dims
        Old name of `keepdims`.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [2, 3])
    >>> tf.sparse_reduce_sum_sparse(x, 1).indices.eval().tolist()
    [[0]]
    """
    function = gen_ops.sparse_reduce_sum_sparse
    return SparseTensor(*_reduced(function, sp_input, axis, keepdims, reduction_axes, keep_dims))


@public("sparse_reduce_max_sparse", "sparse.reduce_max_sparse")
@takes(sp_input=TENSOR_ITSELF, axis=or_none(INTEGERS), reduction_axes=or_none(INTEGERS))
def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """As `sparse_reduce_max`, with a sparse result.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    axis
        The dimensions; by default all.
    keepdims
        Keep them, with size 1.
    reduction_axes
        Old name of `axis`.
    keep_dims
        Old name of `keepdims`.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [2, 3])
    >>> tf.sparse_reduce_max_sparse(x, 1).values.eval().tolist()
    [2]
    """
    function = gen_ops.sparse_reduce_max_sparse
    return SparseTensor(*_reduced(function, sp_input, axis, keepdims, reduction_axes, keep_dims))


@public("sparse_softmax", "sparse.softmax")
@takes(sp_input=TENSOR_ITSELF)
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax over the elements that each row of the last dimension has.

    Parameters
    ----------
    sp_input
        A `SparseTensor` of two dimensions or more, of float32 or float64, in row-major order.
    name
        Name of the values.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 0], [0, 2]], [1.0, 1.0], [1, 3])
    >>> tf.sparse_softmax(x).values.eval().tolist()
    [0.5, 0.5]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    values = gen_ops.sparse_softmax(sparse.indices, sparse.values, sparse.dense_shape, name)
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


def _extremum(function: Any, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    a, b = sparse_argument(sp_a, "sp_a"), sparse_argument(sp_b, "sp_b")
    indices, values = function(
        *(a.indices, a.values, a.dense_shape), *(b.indices, b.values, b.dense_shape), name
    )
    return SparseTensor(indices, values, a.dense_shape)


@public("sparse_maximum", "sparse.maximum")
@takes(sp_a=TENSOR_ITSELF, sp_b=TENSOR_ITSELF)
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger elements of two sparse tensors; what one lacks is 0.

    Parameters
    ----------
    sp_a, sp_b
        Sparse tensors of one shape and type, in row-major order.
    name
        Name of the result.

    Examples
    --------
    >>> a = tf.SparseTensor([[0], [1]], [-1, 2], [3])
    >>> b = tf.SparseTensor([[1]], [1], [3])
    >>> tf.sparse_maximum(a, b).values.eval().tolist()
    [0, 2]
    """
    return _extremum(gen_ops.sparse_sparse_maximum, sp_a, sp_b, name)


@public("sparse_minimum", "sparse.minimum")
@takes(sp_a=TENSOR_ITSELF, sp_b=TENSOR_ITSELF)
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller elements of two sparse tensors; what one lacks is 0.

    Parameters
    ----------
    sp_a, sp_b
        Sparse tensors of one shape and type, in row-major order.
    name
        Name of the result.

    Examples
    --------
    >>> a = tf.SparseTensor([[0], [1]], [-1, 2], [3])
    >>> b = tf.SparseTensor([[1]], [1], [3])
    >>> tf.sparse_minimum(a, b).values.eval().tolist()
    [-1, 1]
    """
    return _extremum(gen_ops.sparse_sparse_minimum, sp_a, sp_b, name)
