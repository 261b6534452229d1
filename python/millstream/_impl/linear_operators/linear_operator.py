"""Linear operators, whose kinds compute with the structure of their matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.linear_operators import batches
from millstream._impl.linear_operators.operator_base import OperatorBase
from millstream._impl.ops import check_ops, matrix_factors, reductions
from millstream._impl.values.tensor_shape import Dimension

# The module of the rules for several operators, which imports this one and enters itself here.
_ALGEBRA: list[Any] = []


def use_algebra(algebra: Any) -> None:
    """Let operators use these rules of adjoints, inverses, factors and products; for `algebra`."""
    _ALGEBRA[:] = [algebra]


@public("linalg.LinearOperator")
class LinearOperator(OperatorBase):
    """A matrix, or a batch of them, that is not held as one but known by its structure.

    The kinds, such as `tf.linalg.LinearOperatorDiag`, compute products, solutions and determinants
    by what is known of their structure. Hints say more of the matrix, which chooses the algorithm:
    a self-adjoint and positive definite one is solved by its factor of Cholesky. Hints are not
    checked, but by the methods that begin with ``assert_``.

    A class of a new kind defines ``_shape()``, ``_shape_tensor()`` and ``_matmul(x, adjoint,
    adjoint_arg)``. All other methods follow, some of them by the dense matrix. A class replaces a
    method by defining the one with an underscore, which has no argument `name`.

    Parameters
    ----------
    dtype
        Type of the elements.
    graph_parents
        The tensors that it is made of.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints: True or False, or None if it is not known.
    name
        Its name; by default that of the class.

    Raises
    ------
    ValueError
        Hints contradict each other.

    Examples
    --------
    >>> class Doubling(tf.linalg.LinearOperator):
    ...     def _shape(self):
    ...         return tf.TensorShape([2, 2])
    ...     def _shape_tensor(self):
    ...         return [2, 2]
    ...     def _matmul(self, x, adjoint=False, adjoint_arg=False):
    ...         return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)
    ...
    >>> double = Doubling(tf.float32)
    >>> double.matvec([1.0, 3.0]).eval().tolist(), float(double.determinant().eval())
    ([2.0, 6.0], 4.0)
    """

    # ---- Products ----

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """The product with matrices, or with another operator.

        Parameters
        ----------
        x
            A tensor of the operator's type, of matrices with `domain_dimension` rows; or an
            operator.
        adjoint
            Whether the operator's adjoint is taken.
        adjoint_arg
            Whether that of `x` is.
        name
            Name of the scope.

        Returns
        -------
        Tensor or LinearOperator
            An operator for an operator.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            _check_sizes(left.domain_dimension, right.range_dimension)
            with self._scope(name):
                return _ALGEBRA[0].product_of(left, right)
        with self._scope(name, [x]):
            tensor = self._argument(x, "x", 2)
            own = self.range_dimension if adjoint else self.domain_dimension
            self._check_dimension("x", own, tensor, -1 if adjoint_arg else -2)
            return self._matmul(tensor, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The products with vectors.

        Parameters
        ----------
        x
            A tensor of the operator's type, of vectors with `domain_dimension` elements.
        adjoint
            Whether the operator's adjoint is taken.
        name
            Name of the scope.
        """
        with self._scope(name, [x]):
            tensor = self._argument(x, "x", 1)
            own = self.range_dimension if adjoint else self.domain_dimension
            self._check_dimension("x", own, tensor, -1)
            return self._matvec(tensor, adjoint=adjoint)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return gen_ops.squeeze(self._matmul(batches.column(x), adjoint=adjoint), [-1])

    # ---- Solutions ----

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The solutions X of ``A X = rhs``.

        Parameters
        ----------
        rhs
            A tensor of the operator's type, of matrices with `range_dimension` rows; or an
            operator.
        adjoint
            Whether the operator's adjoint is taken.
        adjoint_arg
            Whether that of `rhs` is.
        name
            Name of the scope.

        Returns
        -------
        Tensor or LinearOperator
            An operator for an operator.

        Raises
        ------
        NotImplementedError
            The operator is known to be singular or not square.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            _check_sizes(left.range_dimension, right.range_dimension)
            with self._scope(name):
                return _ALGEBRA[0].solution_of(left, right)
        with self._scope(name, [rhs]):
            tensor = self._argument(rhs, "rhs", 2)
            own = self.domain_dimension if adjoint else self.range_dimension
            self._check_dimension("rhs", own, tensor, -1 if adjoint_arg else -2)
            return self._solve(tensor, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = batches.adjoint_if(adjoint_arg, rhs)
        matrix = self._to_dense()
        if not self._has_cholesky():
            return batches.solved(
                lambda a, b: gen_ops.matrix_solve(a, b, adjoint=adjoint), matrix, right
            )

        # The matrix is its own adjoint.
        def by_factor(factor: Tensor, columns: Tensor) -> Tensor:
            half = gen_ops.matrix_triangular_solve(factor, columns)
            return gen_ops.matrix_triangular_solve(factor, half, adjoint=True)

        return batches.solved(by_factor, gen_ops.cholesky(matrix), right)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The solutions x of ``A x = rhs``.

        Parameters
        ----------
        rhs
            A tensor of the operator's type, of vectors with `range_dimension` elements.
        adjoint
            Whether the operator's adjoint is taken.
        name
            Name of the scope.

        Raises
        ------
        NotImplementedError
            The operator is known to be singular or not square.
        """
        self._check_solvable()
        with self._scope(name, [rhs]):
            tensor = self._argument(rhs, "rhs", 1)
            own = self.domain_dimension if adjoint else self.range_dimension
            self._check_dimension("rhs", own, tensor, -1)
            return self._solvevec(tensor, adjoint=adjoint)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return gen_ops.squeeze(self._solve(batches.column(rhs), adjoint=adjoint), [-1])

    def _check_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )

    # ---- Determinants ----

    def determinant(self, name: str = "det") -> Tensor:
        """The determinants, in the shape of the batch.

        Parameters
        ----------
        name
            Name of the scope.

        Raises
        ------
        NotImplementedError
            The operator is known not to be square.
        """
        self._check_square()
        with self._scope(name):
            return self._determinant()

    def _determinant(self) -> Tensor:
        if self._has_cholesky():
            return gen_ops.exp(self._log_abs_determinant())
        return gen_ops.matrix_determinant(self._to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithms of the absolute values of the determinants, in the operator's type.

        Parameters
        ----------
        name
            Name of the scope.

        Raises
        ------
        NotImplementedError
            The operator is known not to be square.
        """
        self._check_square()
        with self._scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Tensor:
        matrix = self._to_dense()
        if self._has_cholesky():
            diagonal = gen_ops.matrix_diag_part(gen_ops.cholesky(matrix))
            return 2 * reductions.reduce_sum(gen_ops.log(diagonal), -1)
        found: Tensor = gen_ops.log_matrix_determinant(matrix)[1]
        return found

    def _check_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    # ---- Elements ----

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._to_dense()

    def _to_dense(self) -> Tensor:
        dense = self._matmul(batches.eye(self._columns(), self._batch(), self.dtype))
        dense.set_shape(self.shape)
        return dense

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals of the matrices.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._diag_part()

    def _diag_part(self) -> Tensor:
        return gen_ops.matrix_diag_part(self._to_dense())

    def trace(self, name: str = "trace") -> Tensor:
        """The sums of the diagonals.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._trace()

    def _trace(self) -> Tensor:
        return reductions.reduce_sum(self._diag_part(), -1)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The sums of the matrices and those of a tensor.

        Parameters
        ----------
        x
            A tensor of the operator's type, of a shape that broadcasts with the operator's.
        name
            Name of the scope.
        """
        return self._sum_with(x, "x", name)

    def _sum_with(self, value: Any, argument: str, name: str) -> Tensor:
        with self._scope(name, [value]):
            return self._add_to_tensor(self._argument(value, argument, 0))

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._to_dense() + x

    # ---- Other operators ----

    @property
    def H(self) -> LinearOperator:  # noqa: N802  (the public name)
        """The adjoint operator."""
        return self.adjoint()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the conjugates of transposed matrices.

        Parameters
        ----------
        name
            Name of the scope.
        """
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            found: LinearOperator = _ALGEBRA[0].adjoint_of(self)
            return found

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse matrices.

        Parameters
        ----------
        name
            Name of the scope.

        Raises
        ------
        ValueError
            The operator is known to be singular or not square.
        """
        if self.is_square is False:
            raise ValueError(
                "Cannot take the Inverse: This operator represents a non square matrix."
            )
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._scope(name):
            found: LinearOperator = _ALGEBRA[0].inverse_of(self)
            return found

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangular factors L, of which ``L L^H`` is this operator.

        Parameters
        ----------
        name
            Name of the scope.

        Raises
        ------
        ValueError
            The operator is not known to be self-adjoint and positive definite.
        """
        if not self._has_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._scope(name):
            found: LinearOperator = _ALGEBRA[0].cholesky_of(self)
            return found

    # ---- Checks ----

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that fails where a matrix has no inverse, up to rounding.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        if self._has_cholesky():
            return self._assert_positive_definite()
        values = matrix_factors.svd(self._to_dense(), compute_uv=False)
        rows = batches.count_as(self._rows(), values.dtype)
        columns = batches.count_as(self._columns(), values.dtype)
        size = gen_ops.maximum(gen_ops.maximum(rows, columns), 100.0)
        rounding = size * np.finfo(self.dtype.as_numpy_dtype).eps
        least, largest = reductions.reduce_min(values, -1), reductions.reduce_max(values, -1)
        return check_ops.assert_less(
            rounding * largest, least, message="Singular matrix up to precision epsilon."
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that fails unless the real part of ``x^H A x`` is positive for all x.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        matrix = self._to_dense()
        if not self.is_self_adjoint:
            # The rest of the matrix adds an imaginary number.
            matrix = (matrix + batches.adjoint(matrix)) / convert_to_tensor(2, matrix.dtype)
        diagonal = batches.real_part(gen_ops.matrix_diag_part(gen_ops.cholesky(matrix)))
        return check_ops.assert_positive(diagonal, message="Matrix was not positive definite.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that fails unless the matrices are their own adjoints.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Operation:
        matrix = self._to_dense()
        return check_ops.assert_equal(
            matrix, batches.adjoint(matrix), message="Matrix was not equal to its adjoint."
        )


def _check_sizes(own: Dimension, other: Dimension) -> None:
    if not own.is_compatible_with(other):
        raise ValueError(
            f"Operators are incompatible. Expected `x` to have dimension {own} but got {other}."
        )
