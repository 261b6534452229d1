"""Linear operators of lower triangular matrices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import matmul_ops, reductions
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of lower triangular matrices.

    Parameters
    ----------
    tril
        The matrices; what is above their diagonals is not read.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 3.0]])
    >>> operator.to_dense().eval().tolist(), float(operator.determinant().eval())
    ([[2.0, 0.0], [1.0, 3.0]], 6.0)
    """

    @takes(tril=TENSOR, **checks.HINTS)
    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        is_square = checks.must_hold(
            "is_square",
            is_square,
            "Only square lower triangular operators supported at this time.",
        )
        with self._making(name, [tril]):
            given = checks.numbers(self._parameter(tril, "tril"), "tril", 2)
            below, above = (convert_to_tensor(count, dtypes.int64) for count in (-1, 0))
            self._tril = gen_ops.matrix_band_part(given, below, above)
            self._diagonal = gen_ops.matrix_diag_part(given)
        super().__init__(
            given.dtype,
            [given],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Any:
        return batches.shape_of(self._tril)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul_ops.matmul(self._tril, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return batches.solved(
            lambda a, b: gen_ops.matrix_triangular_solve(a, b, lower=True, adjoint=adjoint),
            self._tril,
            batches.adjoint_if(adjoint_arg, rhs),
        )

    def _determinant(self) -> Tensor:
        return reductions.reduce_prod(self._diagonal, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reductions.reduce_sum(batches.log_of_absolute(self._diagonal), -1)

    def _diag_part(self) -> Tensor:
        return self._diagonal

    def _to_dense(self) -> Tensor:
        return self._tril

    def _assert_non_singular(self) -> Operation:
        return checks.no_zeros(
            self._diagonal, "Singular operator:  Diagonal contained zero values."
        )
