"""Linear operators that are products of others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.linear_operators.several import SeveralOperators
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorComposition")
class LinearOperatorComposition(SeveralOperators):
    """The operator of products of matrices, which are never multiplied with each other.

    Parameters
    ----------
    operators
        The operators, of one type; the last one is applied first.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. It is non-singular if all operators are.
    name
        Its name; by default those of the operators, joined with "_o_".

    Raises
    ------
    ValueError
        Dimensions of neighbours are known to differ.

    Examples
    --------
    >>> twice = tf.linalg.LinearOperatorDiag([2.0, 2.0])
    >>> other = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorComposition([twice, other]).matvec([1.0, 1.0]).eval().tolist()
    [6.0, 14.0]
    """

    @takes(operators=LIST, **checks.HINTS)
    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._hold(operators)
        for left, right in zip(self._operators[:-1], self._operators[1:], strict=True):
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(
                    f"operators: Dimensions {left.domain_dimension} and {right.range_dimension} "
                    f"are not compatible: {left!r} follows {right!r}"
                )
        super().__init__(
            self._operators[0].dtype,
            self._parents(),
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name or "_o_".join(operator.name for operator in self._operators),
            **checks.common_hints(
                self._operators, {"is_non_singular": is_non_singular}, "composition"
            ),
        )

    def _shape(self) -> TensorShape:
        rows, columns = self._operators[0].range_dimension, self._operators[-1].domain_dimension
        return self._known_batch().concatenate([rows, columns])

    def _shape_tensor(self) -> Any:
        sides = [self._operators[0]._rows(), self._operators[-1]._columns()]
        return batches.joined(self._batch_now(), sides)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result = batches.adjoint_if(adjoint_arg, x)
        for operator in self._operators if adjoint else reversed(self._operators):
            result = operator._matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not self._are_square():
            return super()._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        result = batches.adjoint_if(adjoint_arg, rhs)
        for operator in reversed(self._operators) if adjoint else self._operators:
            result = operator._solve(result, adjoint=adjoint)
        return result

    def _determinant(self) -> Tensor:
        if not self._are_square():
            return super()._determinant()
        found = [operator._determinant() for operator in self._operators]
        return functools.reduce(lambda one, other: one * other, found)

    def _log_abs_determinant(self) -> Tensor:
        if not self._are_square():
            return super()._log_abs_determinant()
        found = [operator._log_abs_determinant() for operator in self._operators]
        return functools.reduce(lambda one, other: one + other, found)

    def _assert_non_singular(self) -> Any:
        if not self._are_square():
            return super()._assert_non_singular()
        return checks.all_of([operator._assert_non_singular() for operator in self._operators])
