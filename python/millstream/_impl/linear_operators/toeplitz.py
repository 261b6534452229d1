"""Linear operators of matrices with one element along each diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import array_join, math_ops, matrices
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """The operator of Toeplitz matrices, which have one element along each diagonal.

    Products are convolutions, computed by Fourier transforms.

    Parameters
    ----------
    col
        The first columns.
    row
        The first rows; their first elements are not read.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorToeplitz(col=[1.0, 2.0, 3.0], row=[1.0, 4.0, 5.0])
    >>> operator.to_dense().eval().tolist()
    [[1.0, 4.0, 5.0], [2.0, 1.0, 4.0], [3.0, 2.0, 1.0]]
    """

    @takes(col=TENSOR, row=TENSOR, **checks.HINTS)
    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        is_square = checks.must_hold(
            "is_square", is_square, "Only square Toeplitz operators currently supported."
        )
        with self._making(name, [row, col]):
            self._row = checks.numbers(self._parameter(row, "row"), "row", 1)
            self._col = checks.numbers(self._parameter(col, "col"), "col", 1)
        if self._row.dtype != self._col.dtype:
            raise TypeError(
                "col and row must have one dtype, got "
                f"{self._col.dtype.name} and {self._row.dtype.name}"
            )
        if not self._col.shape[-1].is_compatible_with(self._row.shape[-1]):
            raise ValueError(
                "Expected square matrices, got col and row with mismatched dimensions: "
                f"{self._col.shape} and {self._row.shape}"
            )
        super().__init__(
            self._row.dtype,
            [self._row, self._col],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        row, col = self._row.shape, self._col.shape
        size = row[-1].merge_with(col[-1])
        batch = batches.known_broadcast([col[:-1], row[:-1]], "col and row")
        return batch.concatenate([size, size])

    def _shape_tensor(self) -> Any:
        row, col = batches.shape_of(self._row), batches.shape_of(self._col)
        batch = batches.broadcast_shape(row[:-1], col[:-1])
        return batches.joined(batch, row[-1:], row[-1:])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # The matrix is the corner of a circulant one, of which the first column is that of the
        # matrix, then the first row backwards. Zeros between them change nothing of the corner.
        below, above = self._halves(adjoint)
        size = self._rows()
        total = _length_of_transform(size)
        zeros = batches.joined(batches.shape_of(below)[:-1], [total - 2 * size + 1])
        circle = array_join.concat([below, batches.filled(zeros, 0, self.dtype), above], -1)
        rows = batches.conjugate(x) if adjoint_arg else matrices.matrix_transpose(x)
        behind = batches.joined(batches.shape_of(rows)[:-1], [total - size])
        rows = array_join.concat([rows, batches.filled(behind, 0, self.dtype)], -1)
        spectrum = batches.row(gen_ops.fft(batches.complex_of(circle)))
        found = gen_ops.ifft(spectrum * gen_ops.fft(batches.complex_of(rows)))
        result = batches.converted(found[..., :size], self.dtype)
        return matrices.matrix_transpose(result)

    def _halves(self, adjoint: bool) -> tuple[Tensor, Tensor]:
        """The first column, and the rest of the first row backwards, in one batch."""
        col, row = batches.broadcast_together([self._col, self._row], 1)
        if adjoint:
            first = col[..., :1]
            col, row = array_join.concat([first, row[..., 1:]], -1), col
            col, row = batches.conjugate(col), batches.conjugate(row)
        return col, gen_ops.reverse_v2(row[..., 1:], [-1])

    def _first(self) -> Tensor:
        """The elements of the main diagonals, as vectors of one element."""
        col = batches.broadcast_together([self._col, self._row], 1)[0]
        return col[..., :1]

    def _diag_part(self) -> Tensor:
        return self._first() * gen_ops.ones_like(self._col)

    def _trace(self) -> Tensor:
        size = batches.count_as(self._rows(), self.dtype)
        return gen_ops.squeeze(self._first(), [-1]) * size

    def _to_dense(self) -> Tensor:
        below, above = self._halves(False)
        diagonals = array_join.concat([above, below], -1)
        size = self._rows()
        if isinstance(size, int):
            numbers: Any = np.arange(size, dtype=np.int32)
            places: Any = numbers[:, np.newaxis] - numbers + (size - 1)
        else:
            numbers = math_ops.range(size)
            places = batches.column(numbers) - numbers + (size - 1)
        dense = gen_ops.gather_v2(diagonals, places, -1)
        dense.set_shape(self.shape)
        return dense


def _length_of_transform(size: Any) -> Any:
    """How many elements are transformed: at least ``2 size - 1``, a power of 2 if it is known."""
    if isinstance(size, int):
        return 1 << max(2 * size - 2, 0).bit_length()
    return 2 * size - 1
