"""Linear operators of diagonal matrices."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import matrices, reductions
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """The operator of diagonal matrices.

    Parameters
    ----------
    diag
        The diagonals.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square, and real ones self-adjoint.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
    >>> operator.solvevec([2.0, 2.0]).eval().tolist()
    [1.0, 0.5]
    """

    @takes(diag=TENSOR, **checks.HINTS)
    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        is_square = checks.must_hold(
            "is_square", is_square, "Only square diagonal operators currently supported."
        )
        with self._making(name, [diag]):
            self._diag = checks.numbers(self._parameter(diag, "diag"), "diag", 1)
        if not self._diag.dtype.is_complex:
            is_self_adjoint = checks.must_hold(
                "is_self_adjoint",
                is_self_adjoint,
                "A real diagonal operator is always self adjoint.",
            )
        super().__init__(
            self._diag.dtype,
            [self._diag],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = batches.shape_of(self._diag)
        return batches.joined(shape, shape[-1:])

    def _factors(self, adjoint: bool) -> Tensor:
        return batches.conjugate(self._diag) if adjoint else self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return batches.column(self._factors(adjoint)) * batches.adjoint_if(adjoint_arg, x)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._factors(adjoint) * x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return batches.adjoint_if(adjoint_arg, rhs) / batches.column(self._factors(adjoint))

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return rhs / self._factors(adjoint)

    def _determinant(self) -> Tensor:
        return reductions.reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reductions.reduce_sum(batches.log_of_absolute(self._diag), -1)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _to_dense(self) -> Tensor:
        return matrices.matrix_diag(self._diag)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return batches.add_to_diagonal(x, self._diag)

    def _assert_non_singular(self) -> Operation:
        return checks.no_zeros(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        return checks.positive_real_parts(
            self._diag,
            "Diagonal operator had diagonal entries with non-positive real part, thus was not "
            "positive definite."
            if self._diag.dtype.is_complex
            else "Real diagonal operator had non-positive diagonal entries, thus was not positive "
            "definite.",
        )

    def _assert_self_adjoint(self) -> Operation:
        return checks.no_imaginary_parts(
            self._diag,
            "This diagonal operator contained non-zero imaginary values.  Thus it was not "
            "self-adjoint.",
        )
