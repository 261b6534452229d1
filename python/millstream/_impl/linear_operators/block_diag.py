"""Linear operators whose matrices have others as blocks of their diagonals."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.linear_operators.several import SeveralOperators
from millstream._impl.ops import array_join
from millstream._impl.values.tensor_shape import Dimension, TensorShape


@public("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(SeveralOperators):
    """The operator of matrices that are zero but in square blocks along the diagonal.

    Parameters
    ----------
    operators
        The operators of the blocks, of one type.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. What is true of all blocks is true of it.
    name
        Its name; by default those of the operators, joined with "_ds_".

    Raises
    ------
    ValueError
        A block is not known to be square.

    Examples
    --------
    >>> blocks = [tf.linalg.LinearOperatorDiag([2.0]), tf.linalg.LinearOperatorDiag([3.0])]
    >>> tf.linalg.LinearOperatorBlockDiag(blocks).to_dense().eval().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """

    @takes(operators=LIST, **checks.HINTS)
    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._hold(operators)
        if not self._are_square():
            raise ValueError(
                "operators: Can only represent a block diagonal of square operators, got "
                f"{self._operators}"
            )
        is_square = checks.must_hold("is_square", is_square, "Its blocks are square.")
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        super().__init__(
            self._operators[0].dtype,
            self._parents(),
            is_square=is_square,
            name=name or "_ds_".join(operator.name for operator in self._operators),
            **checks.common_hints(self._operators, given, "direct sum"),
        )

    def _shape(self) -> TensorShape:
        size = Dimension(0)
        for operator in self._operators:
            size = size + operator.range_dimension
        return self._known_batch().concatenate([size, size])

    def _sizes(self) -> list[Any]:
        return [operator._rows() for operator in self._operators]

    def _shape_tensor(self) -> Any:
        size = functools.reduce(lambda one, other: one + other, self._sizes())
        return batches.joined(self._batch_now(), [size, size])

    def _by_blocks(self, function: Any, matrix: Tensor) -> Tensor:
        """Rows that ``function(operator, rows)`` gives for the rows of each block."""
        sizes = batches.vector(self._sizes())
        parts = gen_ops.split_v(matrix, sizes, -2, num_split=len(self._operators))
        found = [
            function(operator, part) for operator, part in zip(self._operators, parts, strict=True)
        ]
        return array_join.concat(batches.broadcast_together(found), -2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(
            lambda operator, rows: operator._matmul(rows, adjoint=adjoint),
            batches.adjoint_if(adjoint_arg, x),
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(
            lambda operator, rows: operator._solve(rows, adjoint=adjoint),
            batches.adjoint_if(adjoint_arg, rhs),
        )

    def _determinant(self) -> Tensor:
        found = [operator._determinant() for operator in self._operators]
        return functools.reduce(lambda one, other: one * other, found)

    def _log_abs_determinant(self) -> Tensor:
        found = [operator._log_abs_determinant() for operator in self._operators]
        return functools.reduce(lambda one, other: one + other, found)

    def _diag_part(self) -> Tensor:
        found = [operator._diag_part() for operator in self._operators]
        return array_join.concat(batches.broadcast_together(found, 1), -1)

    def _trace(self) -> Tensor:
        found = [operator._trace() for operator in self._operators]
        return functools.reduce(lambda one, other: one + other, found)

    def _to_dense(self) -> Tensor:
        blocks = batches.broadcast_together([one._to_dense() for one in self._operators])
        rows = []
        before: Any = 0
        total = functools.reduce(lambda one, other: one + other, self._sizes())
        for block, size in zip(blocks, self._sizes(), strict=True):
            rows.append(_in_columns(block, before, total - before - size))
            before = before + size
        dense = array_join.concat(rows, -2)
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Operation:
        return checks.all_of([operator._assert_non_singular() for operator in self._operators])

    def _assert_positive_definite(self) -> Operation:
        found = [operator._assert_positive_definite() for operator in self._operators]
        return checks.all_of(found)

    def _assert_self_adjoint(self) -> Operation:
        return checks.all_of([operator._assert_self_adjoint() for operator in self._operators])


def _in_columns(block: Tensor, before: Any, behind: Any) -> Tensor:
    """Matrices with columns of zeros before them and behind them."""
    shape = batches.shape_of(block)
    zeros = [
        batches.filled(batches.joined(shape[:-1], [count]), 0, block.dtype)
        for count in (before, behind)
    ]
    return array_join.concat([zeros[0], block, zeros[1]], -1)
