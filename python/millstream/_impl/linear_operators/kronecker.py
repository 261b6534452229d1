"""Linear operators that are Kronecker products of others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.linear_operators.several import SeveralOperators
from millstream._impl.ops import matrices
from millstream._impl.values.tensor_shape import Dimension, TensorShape


@public("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(SeveralOperators):
    """The operator of Kronecker products of matrices.

    That of two consists of blocks: the second matrix times each element of the first one.

    Parameters
    ----------
    operators
        The operators, of one type.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. What is true of all operators is true of it.
    name
        Its name; by default those of the operators, joined with "_x_".

    Examples
    --------
    >>> left = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]])
    >>> right = tf.linalg.LinearOperatorDiag([1.0, 3.0])
    >>> tf.linalg.LinearOperatorKronecker([left, right]).to_dense().eval().tolist()
    [[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 6.0]]
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
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_square": is_square,
        }
        if all(operator.is_self_adjoint for operator in self._operators):
            # Its eigenvalues are the products of theirs, which are real.
            given["is_positive_definite"] = is_positive_definite
        found = checks.common_hints(self._operators, given, "Kronecker product")
        super().__init__(
            self._operators[0].dtype,
            self._parents(),
            name=name or "_x_".join(operator.name for operator in self._operators),
            **{"is_positive_definite": is_positive_definite, **found},
        )

    # ---- Shape ----

    def _shape(self) -> TensorShape:
        rows, columns = Dimension(1), Dimension(1)
        for operator in self._operators:
            rows = rows * operator.range_dimension
            columns = columns * operator.domain_dimension
        return self._known_batch().concatenate([rows, columns])

    def _shape_tensor(self) -> Any:
        rows = batches.product([operator._rows() for operator in self._operators])
        columns = batches.product([operator._columns() for operator in self._operators])
        return batches.joined(self._batch_now(), [rows, columns])

    # ---- Products and solutions ----

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_factors(
            lambda operator, rows: operator._matmul(rows, adjoint=adjoint),
            batches.adjoint_if(adjoint_arg, x),
            adjoint,
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not self._are_square():
            return super()._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return self._by_factors(
            lambda operator, rows: operator._solve(rows, adjoint=adjoint),
            batches.adjoint_if(adjoint_arg, rhs),
            adjoint,
        )

    def _by_factors(
        self, function: Callable[[Any, Tensor], Tensor], x: Tensor, adjoint: bool
    ) -> Tensor:
        """What the product of the operators makes of matrices `x`.

        The rows of `x` are numbered by an index of each operator. Operator i changes index i alone:
        ``function(operator, rows)`` is applied with this index as that of the rows, and all others
        as that of the columns. The index then goes behind all others, so that the next one is
        first; in the end the index of the columns of `x` is.
        """
        columns = batches.shape_of(x)[-1:]
        taken = [one._rows() if adjoint else one._columns() for one in self._operators]
        given = [one._columns() if adjoint else one._rows() for one in self._operators]
        values = x
        for i, operator in enumerate(self._operators):
            others = batches.product(
                batches.joined(batches.vector([*taken[i + 1 :], *given[:i]]), columns)
            )
            batch = batches.shape_of(values)[:-2]
            values = gen_ops.reshape(values, batches.joined(batch, [taken[i], others]))
            values = matrices.matrix_transpose(function(operator, values))
        batch = batches.shape_of(values)[:-2]
        rows = batches.product(given)
        result = gen_ops.reshape(values, batches.joined(batch, columns, [rows]))
        return matrices.matrix_transpose(result)

    # ---- Determinants and elements ----

    def _determinant(self) -> Tensor:
        if not self._are_square():
            return super()._determinant()
        found = [
            gen_ops.pow(operator._determinant(), count)
            for operator, count in zip(self._operators, self._repeats(), strict=True)
        ]
        return functools.reduce(lambda one, other: one * other, found)

    def _log_abs_determinant(self) -> Tensor:
        if not self._are_square():
            return super()._log_abs_determinant()
        found = [
            operator._log_abs_determinant() * count
            for operator, count in zip(self._operators, self._repeats(), strict=True)
        ]
        return functools.reduce(lambda one, other: one + other, found)

    def _repeats(self) -> list[Tensor]:
        """How often the eigenvalues of each operator occur: the rows of all others."""
        sizes = [operator._rows() for operator in self._operators]
        counts = [batches.product([*sizes[:i], *sizes[i + 1 :]]) for i in range(len(sizes))]
        return [batches.count_as(count, self.dtype) for count in counts]

    def _diag_part(self) -> Tensor:
        if not self._are_square():
            return super()._diag_part()

        def outer(one: Tensor, other: Tensor) -> Tensor:
            every = batches.column(one) * batches.row(other)
            shape = batches.shape_of(every)
            return gen_ops.reshape(every, batches.joined(shape[:-2], [batches.product(shape[-2:])]))

        return functools.reduce(outer, [operator._diag_part() for operator in self._operators])

    def _trace(self) -> Tensor:
        if not self._are_square():
            return super()._trace()
        found = [operator._trace() for operator in self._operators]
        return functools.reduce(lambda one, other: one * other, found)

    def _to_dense(self) -> Tensor:
        dense = functools.reduce(_kronecker, [operator._to_dense() for operator in self._operators])
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Operation:
        if not self._are_square():
            return super()._assert_non_singular()
        return checks.all_of([operator._assert_non_singular() for operator in self._operators])


def _kronecker(one: Tensor, other: Tensor) -> Tensor:
    """The Kronecker products of matrices."""
    # Indices: row of one, row of the other, column of one, column of the other.
    left = gen_ops.expand_dims(gen_ops.expand_dims(one, -1), -3)
    right = gen_ops.expand_dims(gen_ops.expand_dims(other, -2), -4)
    every = left * right
    shape = batches.shape_of(every)
    sides = [batches.product(shape[-4:-2]), batches.product(shape[-2:])]
    return gen_ops.reshape(every, batches.joined(shape[:-4], sides))
