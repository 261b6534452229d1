"""Linear operators of multiples of identity matrices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FLAG, NUMBER, TENSOR, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.sizes import Size, SizedOperator
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(SizedOperator):
    """The operator of multiples of identity matrices.

    Parameters
    ----------
    num_rows
        The number of rows, an integer or a scalar tensor.
    multiplier
        The factors, whose shape is that of the batch.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. The matrices are square, and real ones self-adjoint.
    assert_proper_shapes
        Whether steps check what is not known of the shapes of arguments.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorScaledIdentity(num_rows=2, multiplier=3.0)
    >>> operator.to_dense().eval().tolist(), float(operator.determinant().eval())
    ([[3.0, 0.0], [0.0, 3.0]], 9.0)
    """

    @takes(num_rows=NUMBER, multiplier=TENSOR, assert_proper_shapes=FLAG, **checks.HINTS)
    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        checks.must_hold("is_square", is_square, "A ScaledIdentity operator is always square.")
        self._checks_shapes = assert_proper_shapes
        with self._making(name, [num_rows, multiplier]):
            factor = self._parameter(multiplier, "multiplier")
            self._multiplier = checks.numbers(factor, "multiplier", 0)
            self._size = Size(num_rows, "num_rows", assert_proper_shapes)
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = checks.must_hold(
                "is_self_adjoint",
                is_self_adjoint,
                "A real diagonal operator is always self adjoint.",
            )
        super().__init__(
            self._multiplier.dtype,
            [self._multiplier],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def multiplier(self) -> Tensor:
        """The factors."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        size = self._size.known
        return self._multiplier.shape.concatenate([size, size])

    def _shape_tensor(self) -> Any:
        size = self._size.value
        return batches.joined(batches.shape_of(self._multiplier), [size, size])

    def _factor(self, adjoint: bool) -> Tensor:
        """The factors in the shape of matrices."""
        factor = batches.conjugate(self._multiplier) if adjoint else self._multiplier
        return batches.column(batches.column(factor))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix = self._checked(batches.adjoint_if(adjoint_arg, x), self._size.value)
        return self._factor(adjoint) * matrix

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix = self._checked(batches.adjoint_if(adjoint_arg, rhs), self._size.value)
        return matrix / self._factor(adjoint)

    def _count(self) -> Tensor:
        return batches.count_as(self._size.value, self.dtype)

    def _determinant(self) -> Tensor:
        return gen_ops.pow(self._multiplier, self._count())

    def _log_abs_determinant(self) -> Tensor:
        return self._count() * batches.log_of_absolute(self._multiplier)

    def _diag_part(self) -> Tensor:
        ones = batches.filled(batches.vector([self._size.value]), 1, self.dtype)
        return batches.column(self._multiplier) * ones

    def _trace(self) -> Tensor:
        return self._count() * self._multiplier

    def _to_dense(self) -> Tensor:
        return self._factor(False) * batches.eye(self._size.value, batches.vector([]), self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """The sums of the matrices and those of a tensor.

        Parameters
        ----------
        mat
            A tensor of the operator's type, of a shape that broadcasts with the operator's.
        name
            Name of the scope.
        """
        return self._sum_with(mat, "mat", name)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return batches.add_to_diagonal(x, self._diag_part())

    def _assert_non_singular(self) -> Operation:
        return checks.no_zeros(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        return checks.positive_real_parts(
            self._multiplier, "LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self) -> Operation:
        return checks.no_imaginary_parts(self._multiplier, "LinearOperator was not self-adjoint")
