"""Orthogonal factors, singular values and eigenvalues of matrices, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import check_ops, control_ops, matmul_ops, reductions
from millstream._impl.values import dtypes

qr = public("qr", "linalg.qr")(gen_ops.qr)
matrix_square_root = public("matrix_square_root", "linalg.sqrtm")(gen_ops.matrix_square_root)
logm = public("linalg.logm")(gen_ops.matrix_logarithm)


def _real(values: Tensor) -> Tensor:
    return gen_ops.real(values, values.dtype.real_dtype) if values.dtype.is_complex else values


@public("svd", "linalg.svd")
@takes(tensor=TENSOR)
def svd(
    tensor: Any,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """The singular values and vectors of matrices, ``u diag(s) v^H``.

    Parameters
    ----------
    tensor
        The matrices.
    full_matrices
        Whether `u` and `v` are square; else they have a column for each singular value.
    compute_uv
        Whether to compute the vectors.
    name
        Name of the result.

    Returns
    -------
    s, u, v
        The values, which descend, and the vectors as columns; the values alone without
        `compute_uv`.

    Examples
    --------
    >>> s, u, v = tf.svd([[0.0, 2.0], [3.0, 0.0]])
    >>> s.eval().tolist()
    [3.0, 2.0]
    """
    s, u, v = gen_ops.svd(tensor, bool(compute_uv), bool(full_matrices), name)
    return (_real(s), u, v) if compute_uv else _real(s)


@public("self_adjoint_eig", "linalg.eigh")
@takes(tensor=TENSOR)
def self_adjoint_eig(tensor: Any, name: str | None = None) -> Any:
    """The eigenvalues and eigenvectors of self-adjoint matrices, ``v diag(e) v^H``.

    Parameters
    ----------
    tensor
        The matrices, of which the lower triangles are read.
    name
        Name of the result.

    Returns
    -------
    e, v
        The values, which ascend, and the vectors as columns.

    Examples
    --------
    >>> e, v = tf.self_adjoint_eig([[2.0, 0.0], [0.0, 1.0]])
    >>> e.eval().tolist()
    [1.0, 2.0]
    """
    return gen_ops.self_adjoint_eig_v2(tensor, name=name)


@public("self_adjoint_eigvals", "linalg.eigvalsh")
@takes(tensor=TENSOR)
def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of self-adjoint matrices, which ascend.

    Parameters
    ----------
    tensor
        The matrices, of which the lower triangles are read.
    name
        Name of the result.

    Examples
    --------
    >>> tf.self_adjoint_eigvals([[2.0, 0.0], [0.0, 1.0]]).eval().tolist()
    [1.0, 2.0]
    """
    values: Tensor = gen_ops.self_adjoint_eig_v2(tensor, False, name)[0]
    return values


@public("matrix_solve_ls", "linalg.lstsq")
@takes(matrix=TENSOR, rhs=TENSOR, l2_regularizer=NUMBER)
def matrix_solve_ls(
    matrix: Any,
    rhs: Any,
    l2_regularizer: Any = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The solutions of systems of linear equations in the sense of least squares.

    Parameters
    ----------
    matrix
        The matrices.
    rhs
        The right-hand sides, matrices of as many rows.
    l2_regularizer
        What the sum of squares of the solution counts beside that of the error.
    fast
        Whether to solve the normal equations, for which the matrices need full rank. Else the
        solution with the least norm is computed by singular values, without `l2_regularizer`.
    name
        Name of the result.

    Examples
    --------
    >>> tf.matrix_solve_ls([[1.0], [1.0]], [[2.0], [4.0]], fast=False).eval().round(5).tolist()
    [[3.0]]
    """
    weight = convert_to_tensor(l2_regularizer, dtypes.float64, "l2_regularizer")
    return gen_ops.matrix_solve_ls(matrix, rhs, weight, bool(fast), name)


def _matrices(a: Any, validate_args: bool) -> Tensor:
    """Tensor `a`, which has to be matrices of floating-point numbers."""
    value = convert_to_tensor(a, name="a", preferred_dtype=dtypes.float32)
    if not value.dtype.is_floating:
        raise TypeError(f"a: Input `a` must have `float`-like `dtype` (saw {value.dtype.name}).")
    rank = value.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(f"a: Input `a` must have at least 2 dimensions (saw: {rank}).")
    if rank is None and validate_args:
        message = "Input `a` must have at least 2 dimensions."
        value = control_ops.with_dependencies(
            [check_ops.assert_rank_at_least(value, 2, message=message)], value
        )
    return value


def _larger_side(value: Tensor) -> Any:
    """The larger dimension of matrices: a number, or a scalar of their type."""
    sides = value.shape.as_list()[-2:] if value.shape.ndims is not None else [None]
    known = [side for side in sides if side is not None]
    if len(known) == 2:
        return float(max(known))
    size = reductions.reduce_max(gen_ops.shape(value)[-2:])
    return gen_ops.cast(size, value.dtype)


@public("linalg.matrix_rank")
@takes(a=TENSOR, tol=TENSOR)
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The ranks of matrices: how many singular values exceed a tolerance.

    Parameters
    ----------
    a
        The matrices.
    tol
        The tolerance; by default what rounding may leave of a singular value that is zero.
    validate_args
        Whether the step checks what is not known of the shape.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).eval()
    1
    """
    with scopes.name_scope(name, "matrix_rank", [a, tol]):
        value = _matrices(a, validate_args)
        values = svd(value, compute_uv=False)
        if tol is None:
            rounding = np.finfo(value.dtype.as_numpy_dtype).eps
            largest = reductions.reduce_max(values, -1, keepdims=True)
            tol = largest * rounding * _larger_side(value)
        return reductions.reduce_sum(gen_ops.cast(values > tol, dtypes.int32), -1)


@public("linalg.pinv")
@takes(a=TENSOR, rcond=TENSOR)
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverses of matrices, by Moore and Penrose.

    Parameters
    ----------
    a
        The matrices.
    rcond
        Singular values of at most `rcond` times the largest count as zero; by default ten times
        what rounding may leave.
    validate_args
        Whether the step checks what is not known of the shape.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.linalg.pinv([[2.0], [0.0]]).eval().tolist()
    [[0.5, 0.0]]
    """
    with scopes.name_scope(name, "pinv", [a, rcond]):
        value = _matrices(a, validate_args)
        if rcond is None:
            rcond = 10.0 * _larger_side(value) * np.finfo(value.dtype.as_numpy_dtype).eps
        limit = convert_to_tensor(rcond, value.dtype, "rcond")
        values, left, right = svd(value)
        cutoff = gen_ops.expand_dims(limit * reductions.reduce_max(values, -1), -1)
        infinite = gen_ops.zeros_like(values) + np.inf
        values = gen_ops.select(values > cutoff, values, infinite)
        scaled = right / gen_ops.expand_dims(values, -2)
        return matmul_ops.matmul(scaled, left, adjoint_b=True)
