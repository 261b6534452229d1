"""The linear operator of zeros."""

from __future__ import annotations

import math
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, FLAG, NUMBER, SHAPE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.sizes import BatchShape, Size, SizedOperator
from millstream._impl.ops import control_ops, math_ops
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorZeros")
class LinearOperatorZeros(SizedOperator):
    """The operator of matrices of zeros.

    Parameters
    ----------
    num_rows
        The number of rows, an integer or a scalar tensor.
    num_columns
        The number of columns, by default that of the rows.
    batch_shape
        The shape of the batch, by default none.
    dtype
        Type of the elements, by default float32.
    is_non_singular, is_positive_definite
        False.
    is_self_adjoint, is_square
        True; False both where there are other numbers of columns than of rows.
    assert_proper_shapes
        Whether steps check what is not known of the shapes of arguments.
    name
        Its name.

    Examples
    --------
    >>> operator = tf.linalg.LinearOperatorZeros(
    ...     num_rows=2, num_columns=3, is_square=False, is_self_adjoint=False
    ... )
    >>> operator.matvec([1.0, 2.0, 3.0]).eval().tolist()
    [0.0, 0.0]
    """

    @takes(
        num_rows=NUMBER,
        num_columns=NUMBER,
        batch_shape=SHAPE,
        dtype=DTYPE,
        assert_proper_shapes=FLAG,
        **checks.HINTS,
    )
    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        checks.must_not_hold(
            "is_non_singular", is_non_singular, "A zero operator is always singular."
        )
        checks.must_not_hold(
            "is_positive_definite",
            is_positive_definite,
            "A zero operator is always not positive-definite.",
        )
        if is_square:
            checks.must_hold(
                "is_self_adjoint", is_self_adjoint, "A zero operator is always self adjoint."
            )
        self._checks_shapes = assert_proper_shapes
        with self._making(name, [num_rows, num_columns, batch_shape]):
            self._row_count = Size(num_rows, "num_rows", assert_proper_shapes)
            self._column_count = self._row_count
            if num_columns is not None:
                self._column_count = Size(num_columns, "num_columns", assert_proper_shapes)
            self._given_batch = BatchShape(batch_shape, assert_proper_shapes)
        rows, columns = self._row_count.known, self._column_count.known
        if is_square and None not in (rows, columns) and rows != columns:
            raise ValueError(
                "is_square: LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({rows}) != num_columns({columns})"
            )
        super().__init__(
            dtypes.float32 if dtype is None else dtype,
            [],
            False,
            is_self_adjoint,
            False,
            is_square,
            name,
        )

    def _shape(self) -> TensorShape:
        return self._given_batch.static.concatenate(
            [self._row_count.known, self._column_count.known]
        )

    def _shape_tensor(self) -> Any:
        sides = [self._row_count.value, self._column_count.value]
        return batches.joined(self._given_batch.value, sides)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix = batches.adjoint_if(adjoint_arg, x)
        rows, columns = self._row_count.value, self._column_count.value
        if adjoint:
            rows, columns = columns, rows
        shape = batches.shape_of(self._checked(matrix, columns))
        batch = batches.broadcast_shape(self._batch(), shape[:-2])
        return batches.filled(batches.joined(batch, [rows], shape[-1:]), 0, self.dtype)

    def _determinant(self) -> Tensor:
        return batches.filled(self._batch(), 0, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return batches.filled(self._batch(), -math.inf, self.dtype)

    def _trace(self) -> Tensor:
        return batches.filled(self._batch(), 0, self.dtype)

    def _diag_part(self) -> Tensor:
        rows, columns = self._row_count.value, self._column_count.value
        if isinstance(rows, int) and isinstance(columns, int):
            shorter: Any = min(rows, columns)
        else:
            shorter = math_ops.minimum(rows, columns)
        return batches.filled(batches.joined(self._batch(), [shorter]), 0, self.dtype)

    def _to_dense(self) -> Tensor:
        sides = [self._row_count.value, self._column_count.value]
        return batches.filled(batches.joined(self._batch(), sides), 0, self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """The matrices of a tensor, in the shape of the operator.

        Parameters
        ----------
        mat
            A tensor of the operator's type, of a shape that broadcasts with the operator's.
        name
            Name of the scope.
        """
        return self._sum_with(mat, "mat", name)

    def _assert_non_singular(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise errors.InvalidArgumentError(
            None, None, "Zero operators are always non-positive definite."
        )

    def _assert_self_adjoint(self) -> Operation:
        return control_ops.no_op("assert_self_adjoint")
