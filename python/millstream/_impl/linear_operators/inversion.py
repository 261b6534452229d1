"""The linear operators that are inverses of others."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import checks
from millstream._impl.linear_operators.adjoint import OPERATOR
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorInversion")
class LinearOperatorInversion(LinearOperator):
    """The operator of inverse matrices, whose products are solutions.

    Parameters
    ----------
    operator
        The operator of the matrices, which are not singular.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`; by default those of the operator.
    name
        Its name; by default that of the operator with "_inv".

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[0.0, 2.0], [4.0, 0.0]])
    >>> tf.linalg.LinearOperatorInversion(operator).matvec([2.0, 4.0]).eval().tolist()
    [1.0, 1.0]
    """

    @takes(operator=OPERATOR, **checks.HINTS)
    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_square is False or is_square is False:
            raise ValueError("is_square: operators with inverses are always square.")
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError("is_non_singular: operators with inverses are always non-singular.")
        self._operator = operator
        given = {
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        super().__init__(
            operator.dtype,
            operator.graph_parents,
            is_non_singular=True,
            is_square=True,
            name=name or operator.name + "_inv",
            **checks.same_hints(operator, given, "inverse"),
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator of which it is the inverse."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> Any:
        return self._operator._shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._operator._solvevec(x, adjoint=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self._operator._matvec(rhs, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return gen_ops.reciprocal(self._operator._determinant())

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator._log_abs_determinant()

    def _assert_non_singular(self) -> Operation:
        return self._operator._assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self._operator._assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self._operator._assert_self_adjoint()
