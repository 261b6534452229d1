"""Functions of matrices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, TENSOR, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import matmul_ops, matrices
from millstream._impl.values import dtypes

matrix_inverse = public("matrix_inverse", "linalg.inv")(gen_ops.matrix_inverse)
matrix_determinant = public("matrix_determinant", "linalg.det")(gen_ops.matrix_determinant)
cross = public("cross", "linalg.cross")(gen_ops.cross)
sparse_matmul = public("sparse_matmul")(gen_ops.sparse_mat_mul)
slogdet = public("linalg.slogdet")(gen_ops.log_matrix_determinant)
cholesky = public("cholesky", "linalg.cholesky")(gen_ops.cholesky)
matrix_solve = public("matrix_solve", "linalg.solve")(gen_ops.matrix_solve)
matrix_triangular_solve = public("matrix_triangular_solve", "linalg.triangular_solve")(
    gen_ops.matrix_triangular_solve
)


@public("cholesky_solve", "linalg.cholesky_solve")
@takes(chol=TENSOR, rhs=TENSOR)
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The solutions of systems of linear equations whose matrices are factored.

    Parameters
    ----------
    chol
        What `cholesky` gives for the matrices.
    rhs
        The right-hand sides, matrices of as many rows.
    name
        Name of the result.

    Examples
    --------
    >>> factor = tf.cholesky([[4.0, 0.0], [0.0, 1.0]])
    >>> tf.cholesky_solve(factor, [[4.0], [3.0]]).eval().tolist()
    [[1.0], [3.0]]
    """
    with scopes.name_scope(name, "cholesky_solve", [chol, rhs]) as scope:
        factor = convert_to_tensor(chol, name="chol")
        half = gen_ops.matrix_triangular_solve(factor, rhs)
        return gen_ops.matrix_triangular_solve(factor, half, adjoint=True, name=scope)


@public("linalg.lu")
@takes(input=TENSOR, output_idx_type=DTYPE)
def lu(
    input: Any,  # noqa: A002
    output_idx_type: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """The triangular factors of square matrices whose rows are exchanged.

    Parameters
    ----------
    input
        The matrices.
    output_idx_type
        Type of the numbers of rows: int32 or int64.
    name
        Name of the result.

    Returns
    -------
    lu, p
        The upper factor with the lower one below its diagonal; and for each row of their product
        which row of the matrix it is.

    Examples
    --------
    >>> factors, rows = tf.linalg.lu([[0.0, 2.0], [4.0, 1.0]])
    >>> factors.eval().tolist(), rows.eval().tolist()
    ([[4.0, 1.0], [0.0, 2.0]], [1, 0])
    """
    return gen_ops.lu(input, output_idx_type, name)


@public("trace", "linalg.trace")
@takes(x=TENSOR)
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices.

    Parameters
    ----------
    x
        The matrices.
    name
        Name of the result.

    Examples
    --------
    >>> tf.trace([[1, 2], [3, 4]]).eval()
    5
    """
    with scopes.name_scope(name, "Trace", [x]) as scope:
        return gen_ops.sum(gen_ops.matrix_diag_part(x), [-1], name=scope)


@public("linalg.adjoint")
@takes(matrix=TENSOR)
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugates of transposed matrices.

    Parameters
    ----------
    matrix
        The matrices.
    name
        Name of the result.

    Examples
    --------
    >>> tf.linalg.adjoint([[1, 2], [3, 4]]).eval().tolist()
    [[1, 3], [2, 4]]
    """
    return matrices.matrix_transpose(matrix, name or "adjoint", conjugate=True)


@public("linalg.logdet")
@takes(matrix=TENSOR)
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of positive definite matrices.

    Parameters
    ----------
    matrix
        The matrices, each its own adjoint.
    name
        Name of the result.

    Examples
    --------
    >>> tf.linalg.logdet([[4.0, 0.0], [0.0, 0.25]]).eval()
    0.0
    """
    with scopes.name_scope(name, "logdet", [matrix]):
        diagonal = gen_ops.matrix_diag_part(gen_ops.cholesky(matrix))
        if diagonal.dtype.is_complex:
            diagonal = gen_ops.real(diagonal, diagonal.dtype.real_dtype)
        return 2.0 * gen_ops.sum(gen_ops.log(diagonal), [-1])


@public("linalg.matvec")
@takes(a=TENSOR, b=TENSOR)
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The products of matrices and vectors.

    Parameters
    ----------
    a
        The matrices.
    b
        The vectors, whose other dimensions are those of `a`.
    transpose_a, adjoint_a
        Whether `a` is transposed, or conjugated too, first.
    a_is_sparse, b_is_sparse
        A hint that many elements are zero.
    name
        Name of the result.

    Examples
    --------
    >>> tf.linalg.matvec([[1, 2], [3, 4]], [1, 1]).eval().tolist()
    [3, 7]
    """
    with scopes.name_scope(name, "MatVec", [a, b]) as scope:
        matrix = convert_to_tensor(a, name="a")
        columns = gen_ops.expand_dims(convert_to_tensor(b, matrix.dtype, "b"), -1)
        product = matmul_ops.matmul(
            matrix,
            columns,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return gen_ops.squeeze(product, [-1], scope)


def _bands(diagonals: Any, diagonals_format: str) -> Tensor:
    """The diagonals above, on and below the main one as rows."""
    if diagonals_format == "compact":
        return convert_to_tensor(diagonals, name="diagonals")
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise ValueError("diagonals: Expected diagonals to be a sequence of length 3")
        rows = [convert_to_tensor(row, name="diagonals") for row in diagonals]
        return gen_ops.concat_v2([gen_ops.expand_dims(row, -2) for row in rows], -2)
    if diagonals_format == "matrix":
        matrix = convert_to_tensor(diagonals, name="diagonals")
        # Rows begin where the diagonals do: the one below has a place before it.
        found = gen_ops.matrix_diag_part_v2(matrix, [-1, 1], gen_ops.cast(0, matrix.dtype))
        above, main, below = (found[..., i : i + 1, :] for i in range(3))
        return gen_ops.concat_v2([above, main, gen_ops.roll(below, 1, -1)], -2)
    raise ValueError(f"diagonals_format: Unrecognized diagonals_format: {diagonals_format}")


@public("linalg.tridiagonal_solve")
@takes(diagonals=TENSOR, rhs=TENSOR, diagonals_format=TEXT)
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """The solutions of systems of linear equations with tridiagonal matrices.

    Parameters
    ----------
    diagonals
        The diagonals above, on and below the main one.
    rhs
        The right-hand sides: vectors, or matrices.
    diagonals_format
        "compact" if they are rows of one length, where the last element of the first row and the
        first of the third are not read; "sequence" for a list of them; "matrix" for the matrices.
    transpose_rhs, conjugate_rhs
        Whether right-hand sides are transposed, or conjugated, first.
    name
        Name of the result.
    partial_pivoting
        Whether rows are exchanged.

    Examples
    --------
    >>> bands = [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]
    >>> tf.linalg.tridiagonal_solve(bands, [2.0, 8.0]).eval().tolist()
    [1.0, 2.0]
    """
    with scopes.name_scope(name, "tridiagonal_solve", [rhs]):
        bands = _bands(diagonals, diagonals_format)
        right = convert_to_tensor(rhs, bands.dtype, "rhs")
        is_vector = right.shape.ndims is not None and right.shape.ndims + 1 == bands.shape.ndims
        if is_vector:
            if conjugate_rhs:
                right = gen_ops.conj(right) if right.dtype.is_complex else right
            solution = gen_ops.tridiagonal_solve(
                bands, gen_ops.expand_dims(right, -1), bool(partial_pivoting)
            )
            return gen_ops.squeeze(solution, [-1])
        if transpose_rhs:
            right = matrices.matrix_transpose(right, conjugate=conjugate_rhs)
        elif conjugate_rhs and right.dtype.is_complex:
            right = gen_ops.conj(right)
        return gen_ops.tridiagonal_solve(bands, right, bool(partial_pivoting))


@public("linalg.tridiagonal_matmul")
@takes(diagonals=TENSOR, rhs=TENSOR, diagonals_format=TEXT)
def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The products of tridiagonal matrices and matrices.

    Parameters
    ----------
    diagonals
        The diagonals above, on and below the main one.
    rhs
        The matrices.
    diagonals_format
        See `tridiagonal_solve`.
    name
        Name of the result.

    Examples
    --------
    >>> tf.linalg.tridiagonal_matmul([[1.0, 0.0], [2.0, 4.0], [0.0, 0.0]], [[1.0], [1.0]]).eval()
    array([[3.],
           [4.]], dtype=float32)
    """
    with scopes.name_scope(name, "tridiagonal_matmul", [rhs]):
        bands = _bands(diagonals, diagonals_format)
        above, main, below = (gen_ops.squeeze(bands[..., i : i + 1, :], [-2]) for i in range(3))
        above, main, below = (gen_ops.expand_dims(row, -2) for row in (above, main, below))
        return gen_ops.tridiagonal_mat_mul(above, main, below, rhs)
