"""Lengths of vectors and norms of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, NORM, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, binary_ops, reductions

_MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
_VECTOR_NORMS = ["euclidean", 1, 2, np.inf]
_AXES = "'axis' must be None, an integer, or a tuple of 2 unique integers"


def _checked_axis(ord: Any, axis: Any) -> tuple[int, ...] | None:  # noqa: A002
    """The dimensions, of matrices or of vectors; ValueError for others and for a wrong norm."""
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        first, second = axis
        whole = all(isinstance(each, (int, np.integer)) for each in axis)
        if not whole or first == second:
            raise ValueError(f"{_AXES}, got {axis}")
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {_MATRIX_NORMS}, got {ord}")
        return int(first), int(second)
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise ValueError(f"{_AXES}, got {axis!r}")
    if ord not in _VECTOR_NORMS and (isinstance(ord, str) or not np.isreal(ord) or ord <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return None if axis is None else (int(axis),)


def _spectral(value: Tensor, axis: tuple[int, ...]) -> Tensor:
    """The largest singular values of matrices, with both dimensions kept."""
    rank = value.shape.ndims
    if rank is None:
        raise ValueError("tensor: expected a known rank, for 'ord' 2 of matrices")
    matrix = [each % rank for each in axis]
    order = [each for each in range(rank) if each not in matrix] + matrix
    turned = array_ops.transpose(value, order)
    values = gen_ops.abs(gen_ops.svd(turned, compute_uv=False)[0])
    largest = gen_ops.expand_dims(reductions.reduce_max(values, -1, keepdims=True), -1)
    return array_ops.transpose(largest, [order.index(each) for each in range(rank)])


def _kept(value: Tensor, ord: Any, axis: tuple[int, ...] | None) -> Tensor:  # noqa: A002
    """The norm, with the dimensions kept."""
    of_matrices = axis is not None and len(axis) == 2
    if ord in ("euclidean", "fro", 2):
        if of_matrices and ord == 2:
            assert axis is not None
            return _spectral(value, axis)
        other = gen_ops.conj(value) if value.dtype.is_complex else value
        return gen_ops.sqrt(reductions.reduce_sum(value * other, axis, keepdims=True))
    size = gen_ops.abs(value)
    first = None if axis is None else axis[0]
    last = None if axis is None else axis[-1]
    if ord == 1:
        total = reductions.reduce_sum(size, first, keepdims=True)
        return reductions.reduce_max(total, last, keepdims=True) if of_matrices else total
    if ord == np.inf:
        if of_matrices:
            size = reductions.reduce_sum(size, last, keepdims=True)
        return reductions.reduce_max(size, first, keepdims=True)
    total = reductions.reduce_sum(binary_ops.pow(size, ord), axis, keepdims=True)
    return binary_ops.pow(total, 1.0 / ord)


@public("norm", "linalg.norm")
@takes(tensor=TENSOR, ord=NORM, axis=INTEGERS)
def norm(
    tensor: Any,
    ord: Any = "euclidean",  # noqa: A002
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The lengths of vectors, or the norms of matrices.

    Parameters
    ----------
    tensor
        The tensor.
    ord
        Of vectors: "euclidean" or 2, 1, infinity, or any positive number p for the p-norm. Of
        matrices: "euclidean" or "fro" for the Frobenius norm, 1 for the largest sum of a column,
        infinity for that of a row, or 2 for the largest singular value.
    axis
        The dimension of vectors, or a pair of those of matrices; by default all elements are one
        vector.
    keepdims
        Keep the dimensions with size 1.
    name
        Name of the result.
    keep_dims
        Old name of `keepdims`.

    Examples
    --------
    >>> float(tf.norm([3.0, 4.0]).eval())
    5.0
    >>> tf.norm([[1.0, -2.0], [3.0, 4.0]], ord=1, axis=[0, 1]).eval()
    6.0
    """
    keep = bool(keepdims if keep_dims is None else keep_dims)
    axes = _checked_axis(ord, axis)
    with scopes.name_scope(name, "norm", [tensor]):
        result = _kept(convert_to_tensor(tensor, name="tensor"), ord, axes)
        return result if keep else gen_ops.squeeze(result, list(axes or []))


@public("linalg.normalize")
@takes(tensor=TENSOR, ord=NORM, axis=INTEGERS)
def normalize(
    tensor: Any,
    ord: Any = "euclidean",  # noqa: A002
    axis: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """A tensor divided by a norm of it, and the norm.

    Parameters
    ----------
    tensor
        The tensor.
    ord, axis
        Which norm, see `norm`.
    name
        Name of the scope.

    Examples
    --------
    >>> unit, length = tf.linalg.normalize(tf.constant([3.0, 4.0], tf.float64))
    >>> unit.eval().round(5).tolist(), length.eval().tolist()
    ([0.6, 0.8], [5.0])
    """
    with scopes.name_scope(name, "normalize", [tensor]):
        value = convert_to_tensor(tensor, name="tensor")
        length = norm(value, ord, axis, keepdims=True)
        length = gen_ops.cast(length, value.dtype) if length.dtype != value.dtype else length
        return value / length, length
