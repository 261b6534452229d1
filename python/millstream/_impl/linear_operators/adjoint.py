"""The linear operators that are adjoints of others."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import Kind, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.values.tensor_shape import TensorShape

OPERATOR = Kind("a linear operator", lambda value: isinstance(value, LinearOperator))


@public("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(LinearOperator):
    """The operator of the conjugates of transposed matrices.

    Parameters
    ----------
    operator
        The operator of the matrices.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`; by default those of the operator.
    name
        Its name; by default that of the operator with "_adjoint".

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorAdjoint(operator).to_dense().eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
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
        self._operator = operator
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        super().__init__(
            operator.dtype,
            operator.graph_parents,
            name=name or operator.name + "_adjoint",
            **checks.same_hints(operator, given, "adjoint"),
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator of which it is the adjoint."""
        return self._operator

    def _shape(self) -> TensorShape:
        shape = self._operator.shape
        if shape.ndims is None:
            return shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        own = self._operator
        return batches.joined(own._batch(), [own._columns(), own._rows()])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self._operator._matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self._operator._solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        return batches.conjugate(self._operator._determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator._log_abs_determinant()

    def _diag_part(self) -> Tensor:
        return batches.conjugate(self._operator._diag_part())

    def _trace(self) -> Tensor:
        return batches.conjugate(self._operator._trace())

    def _to_dense(self) -> Tensor:
        return batches.adjoint(self._operator._to_dense())

    def _assert_non_singular(self) -> Operation:
        return self._operator._assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self._operator._assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self._operator._assert_self_adjoint()
