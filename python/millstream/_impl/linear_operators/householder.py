"""Linear operators of reflections."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import control_ops, math_ops, matmul_ops, reductions
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """The operator of reflections ``1 - 2 v v^H / (v^H v)`` at the planes orthogonal to vectors v.

    It is its own adjoint and its own inverse. Its determinant is -1.

    Parameters
    ----------
    reflection_axis
        The vectors, of any length but zero.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        True, but it is not positive definite.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorHouseholder([0.0, 2.0])
    >>> operator.matvec([3.0, 4.0]).eval().tolist()
    [3.0, -4.0]
    """

    @takes(reflection_axis=TENSOR, **checks.HINTS)
    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        hints = (
            ("is_self_adjoint", is_self_adjoint, "A Householder operator is always self adjoint."),
            ("is_square", is_square, "A Householder operator is always square."),
            ("is_non_singular", is_non_singular, "A Householder operator is always non-singular."),
        )
        for hint in hints:
            checks.must_hold(*hint)
        checks.must_not_hold(
            "is_positive_definite",
            is_positive_definite,
            "A Householder operator is always non-positive definite.",
        )
        with self._making(name, [reflection_axis]):
            given = self._parameter(reflection_axis, "reflection_axis")
            self._axis = checks.numbers(given, "reflection_axis", 1)
        super().__init__(given.dtype, [given], True, True, False, True, name)

    @property
    def reflection_axis(self) -> Tensor:
        """The vectors."""
        return self._axis

    def _shape(self) -> TensorShape:
        return self._axis.shape.concatenate(self._axis.shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = batches.shape_of(self._axis)
        return batches.joined(shape, shape[-1:])

    def _unit(self) -> Tensor:
        """The vectors with length 1."""
        squares = gen_ops.square(math_ops.abs(self._axis))
        length = gen_ops.sqrt(reductions.reduce_sum(squares, -1, keepdims=True))
        return self._axis / batches.converted(length, self.dtype)

    def _two(self) -> Tensor:
        return convert_to_tensor(2, self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # The same for the adjoint.
        matrix = batches.adjoint_if(adjoint_arg, x)
        axis = batches.column(self._unit())
        lengths = matmul_ops.matmul(axis, matrix, adjoint_a=True)
        return matrix - self._two() * axis * lengths

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return batches.filled(self._batch(), -1, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return batches.filled(self._batch(), 0, self.dtype)

    def _trace(self) -> Tensor:
        # One eigenvalue is -1, all others are 1.
        size = batches.count_as(self._rows(), self.dtype)
        return batches.filled(self._batch(), 1, self.dtype) * (size - self._two())

    def _diag_part(self) -> Tensor:
        squares = gen_ops.square(math_ops.abs(self._unit()))
        return convert_to_tensor(1, self.dtype) - self._two() * batches.converted(
            squares, self.dtype
        )

    def _to_dense(self) -> Tensor:
        axis = batches.column(self._unit())
        square = matmul_ops.matmul(axis, axis, adjoint_b=True)
        ones = gen_ops.ones_like(self._axis)
        return batches.add_to_diagonal(-self._two() * square, ones)

    def _assert_non_singular(self) -> Operation:
        return control_ops.no_op("assert_non_singular")

    def _assert_self_adjoint(self) -> Operation:
        return control_ops.no_op("assert_self_adjoint")
