"""Linear operators that hold their matrices."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import matmul_ops
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """The operator of given matrices.

    Parameters
    ----------
    matrix
        The matrices.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> operator.matvec([1.0, 1.0]).eval().tolist()
    [3.0, 7.0]
    """

    @takes(matrix=TENSOR, **checks.HINTS)
    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with self._making(name, [matrix]):
            self._matrix = checks.numbers(self._parameter(matrix, "matrix"), "matrix", 2)
        super().__init__(
            self._matrix.dtype,
            [self._matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Any:
        return batches.shape_of(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul_ops.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Tensor:
        return self._matrix
