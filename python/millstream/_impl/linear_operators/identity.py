"""The linear operator of identity matrices."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, FLAG, NUMBER, SHAPE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.sizes import BatchShape, Size, SizedOperator
from millstream._impl.ops import control_ops
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(SizedOperator):
    """The operator of identity matrices.

    Parameters
    ----------
    num_rows
        The number of rows, an integer or a scalar tensor.
    batch_shape
        The shape of the batch, by default none.
    dtype
        Type of the elements, by default float32.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        True.
    assert_proper_shapes
        Whether steps check what is not known of the shapes of arguments.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorIdentity(num_rows=2)
    >>> operator.add_to_tensor([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[2.0, 2.0], [3.0, 5.0]]
    """

    @takes(
        num_rows=NUMBER, batch_shape=SHAPE, dtype=DTYPE, assert_proper_shapes=FLAG, **checks.HINTS
    )
    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        hints = (
            ("is_self_adjoint", is_self_adjoint, "An identity operator is always self adjoint."),
            ("is_non_singular", is_non_singular, "An identity operator is always non-singular."),
            (
                "is_positive_definite",
                is_positive_definite,
                "An identity operator is always positive-definite.",
            ),
            ("is_square", is_square, "An identity operator is always square."),
        )
        for hint in hints:
            checks.must_hold(*hint)
        self._checks_shapes = assert_proper_shapes
        with self._making(name, [num_rows, batch_shape]):
            self._size = Size(num_rows, "num_rows", assert_proper_shapes)
            self._given_batch = BatchShape(batch_shape, assert_proper_shapes)
        super().__init__(
            dtypes.float32 if dtype is None else dtype, [], True, True, True, True, name
        )

    def _shape(self) -> TensorShape:
        size = self._size.known
        return self._given_batch.static.concatenate([size, size])

    def _shape_tensor(self) -> Any:
        size = self._size.value
        return batches.joined(self._given_batch.value, [size, size])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix = batches.adjoint_if(adjoint_arg, x)
        return self._broadcast(self._checked(matrix, self._size.value))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return batches.filled(self._batch(), 1, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return batches.filled(self._batch(), 0, self.dtype)

    def _diag_part(self) -> Tensor:
        return batches.filled(batches.joined(self._batch(), [self._size.value]), 1, self.dtype)

    def _trace(self) -> Tensor:
        return self._determinant() * batches.count_as(self._size.value, self.dtype)

    def _to_dense(self) -> Tensor:
        return batches.eye(self._size.value, self._batch(), self.dtype)

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
        return control_ops.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        return control_ops.no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Operation:
        return control_ops.no_op("assert_self_adjoint")
