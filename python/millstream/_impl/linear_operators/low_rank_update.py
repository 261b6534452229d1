"""Linear operators plus products of thin matrices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FLAG, TENSOR, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.linear_operators import batches, checks
from millstream._impl.linear_operators.adjoint import OPERATOR
from millstream._impl.linear_operators.diag import LinearOperatorDiag
from millstream._impl.linear_operators.identity import LinearOperatorIdentity
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import matmul_ops, reductions
from millstream._impl.values.tensor_shape import TensorShape


@public("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """The operator ``L + U D V^H``, where U and V have few columns.

    Solutions and determinants are those of L, corrected by matrices with as many rows as U has
    columns (the identity of Woodbury and the matrix determinant lemma).

    Parameters
    ----------
    base_operator
        The operator L.
    u
        The matrices U.
    diag_update
        The diagonals D, by default ones.
    v
        The matrices V, by default U.
    is_diag_update_positive
        Whether D is known to be positive.
    is_non_singular, is_self_adjoint, is_positive_definite, is_square
        Hints, see `tf.linalg.LinearOperator`. They are true if L is self-adjoint and positive
        definite, D positive, and V is U.
    name
        Its name.

    Raises
    ------
    ValueError
        A hint contradicts this, or shapes do not fit.

    Examples
    --------
    >>> base = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> operator = tf.linalg.LinearOperatorLowRankUpdate(base, u=[[1.0], [1.0]])
    >>> operator.to_dense().eval().tolist(), float(operator.determinant().eval())
    ([[2.0, 1.0], [1.0, 3.0]], 5.0)
    """

    @takes(
        base_operator=OPERATOR,
        u=TENSOR,
        diag_update=or_none(TENSOR),
        v=or_none(TENSOR),
        is_diag_update_positive=or_none(FLAG),
        **checks.HINTS,
    )
    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        dtype = base_operator.dtype
        if diag_update is None:
            is_diag_update_positive = checks.must_hold(
                "is_diag_update_positive",
                is_diag_update_positive,
                "Default diagonal is the identity, which is positive.",
            )
        with self._making(name, [u, diag_update, v]):
            self._u = checks.numbers(self._parameter(u, "u", dtype), "u", 2)
            self._v = self._u
            if v is not None:
                self._v = checks.numbers(self._parameter(v, "v", dtype), "v", 2)
            self._diag_update: Tensor | None = None
            if diag_update is not None:
                given = self._parameter(diag_update, "diag_update", dtype)
                self._diag_update = checks.numbers(given, "diag_update", 1)
        self._base = base_operator
        self._is_diag_positive = is_diag_update_positive
        # Whether it and the corrections of its solutions have factors of Cholesky.
        self._is_spd = base_operator._has_cholesky() and bool(is_diag_update_positive) and v is None
        if self._is_spd:
            sentence = "it follows from those of the base operator and the update."
            is_non_singular = checks.must_hold("is_non_singular", is_non_singular, sentence)
            is_self_adjoint = checks.must_hold("is_self_adjoint", is_self_adjoint, sentence)
            is_positive_definite = checks.must_hold(
                "is_positive_definite", is_positive_definite, sentence
            )
            is_square = checks.must_hold("is_square", is_square, sentence)
        parents = [self._u, self._v, self._diag_update]
        super().__init__(
            dtype,
            [*base_operator.graph_parents, *(one for one in parents if one is not None)],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
        self._check_shapes()
        self._diag_operator = self._make_diag_operator()

    def _check_shapes(self) -> None:
        """Raise ValueError when shapes are known not to fit."""
        base, ranks = self._base, [self._u.shape[-1], self._v.shape[-1]]
        if self._diag_update is not None:
            ranks.append(self._diag_update.shape[-1])
        if not all(ranks[0].is_compatible_with(rank) for rank in ranks[1:]):
            raise ValueError(
                "u, diag_update and v: expected one number of columns, got the shapes "
                f"{self._u.shape} of u and {self._v.shape} of v, and {ranks[-1]} of the last one"
            )
        pairs = (("u", self._u, base.range_dimension), ("v", self._v, base.domain_dimension))
        for argument, tensor, size in pairs:
            if not size.is_compatible_with(tensor.shape[-2]):
                raise ValueError(
                    f"{argument}: expected {size} rows for {base!r}, got the shape {tensor.shape}"
                )

    def _make_diag_operator(self) -> LinearOperator:
        with self._scope("diag_operator"):
            if self._diag_update is not None:
                return LinearOperatorDiag(
                    self._diag_update, is_positive_definite=self._is_diag_positive
                )
            rank = self._u.shape[-1].value
            size = batches.shape_of(self._u)[-1] if rank is None else rank
            return LinearOperatorIdentity(size, dtype=self.dtype)

    # ---- What it is made of ----

    @property
    def base_operator(self) -> LinearOperator:
        """The operator L."""
        return self._base

    @property
    def u(self) -> Tensor:
        """The matrices U."""
        return self._u

    @property
    def v(self) -> Tensor:
        """The matrices V."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonals D; None if they are ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator of the diagonals D."""
        return self._diag_operator

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is known to be positive."""
        return self._is_diag_positive

    # ---- Shape ----

    def _shape(self) -> TensorShape:
        shapes = [self._base.batch_shape, self._u.shape[:-2], self._v.shape[:-2]]
        if self._diag_update is not None:
            shapes.append(self._diag_update.shape[:-1])
        batch = batches.known_broadcast(shapes, "base_operator, u, v and diag_update")
        own = self._base
        rows = own.range_dimension.merge_with(self._u.shape[-2])
        return batch.concatenate([rows, own.domain_dimension.merge_with(self._v.shape[-2])])

    def _shape_tensor(self) -> Any:
        batch = self._base._batch()
        for tensor in (self._u, self._v):
            batch = batches.broadcast_shape(batch, batches.shape_of(tensor)[:-2])
        if self._diag_update is not None:
            batch = batches.broadcast_shape(batch, batches.shape_of(self._diag_update)[:-1])
        return batches.joined(batch, [self._base._rows(), self._base._columns()])

    # ---- Products ----

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix = batches.adjoint_if(adjoint_arg, x)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = self._scaled(matmul_ops.matmul(right, matrix, adjoint_a=True), adjoint)
        return self._base._matmul(matrix, adjoint=adjoint) + matmul_ops.matmul(left, inner)

    def _scaled(self, rows: Tensor, adjoint: bool) -> Tensor:
        """The product of D with a matrix."""
        if self._diag_update is None:
            return rows
        return self._diag_operator._matmul(rows, adjoint=adjoint)

    # ---- Solutions and determinants ----

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # With A = L + U D V^H and y = L^-1 b:
        #     A^-1 b = y - L^-1 U C^-1 D V^H y,    C = 1 + D V^H L^-1 U
        # (Woodbury, Inverting modified matrices, 1950). C has an inverse where A and L have,
        # and so does D where C is divided by it, which makes it self-adjoint if L is.
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base._solve(batches.adjoint_if(adjoint_arg, rhs), adjoint=adjoint)
        solved_left = self._base._solve(left, adjoint=adjoint)
        inner = matmul_ops.matmul(right, first, adjoint_a=True)
        if self._is_spd:
            correction = batches.solved(
                _solve_by_factor, gen_ops.cholesky(self._divided_capacitance(solved_left)), inner
            )
        else:
            capacitance = self._capacitance(solved_left, right, adjoint)
            correction = batches.solved(
                gen_ops.matrix_solve, capacitance, self._scaled(inner, adjoint)
            )
        return first - matmul_ops.matmul(solved_left, correction)

    def _capacitance(self, solved_left: Tensor, right: Tensor, adjoint: bool) -> Tensor:
        """The matrix 1 + D V^H L^-1 U."""
        product = self._scaled(matmul_ops.matmul(right, solved_left, adjoint_a=True), adjoint)
        ones = gen_ops.ones_like(gen_ops.matrix_diag_part(product))
        return batches.add_to_diagonal(product, ones)

    def _divided_capacitance(self, solved_left: Tensor) -> Tensor:
        """The matrix D^-1 + U^H L^-1 U, which is positive definite."""
        product = matmul_ops.matmul(self._u, solved_left, adjoint_a=True)
        if self._diag_update is None:
            inverse = gen_ops.ones_like(gen_ops.matrix_diag_part(product))
        else:
            inverse = gen_ops.reciprocal(self._diag_update)
        return batches.add_to_diagonal(product, inverse)

    # det A = det(1 + D V^H L^-1 U) det L

    def _determinant(self) -> Tensor:
        if self._is_spd:
            return gen_ops.exp(self._log_abs_determinant())
        capacitance = self._capacitance(self._base._solve(self._u), self._v, False)
        return gen_ops.matrix_determinant(capacitance) * self._base._determinant()

    def _log_abs_determinant(self) -> Tensor:
        solved_u = self._base._solve(self._u)
        own = self._base._log_abs_determinant()
        if not self._is_spd:
            capacitance = self._capacitance(solved_u, self._v, False)
            found: Tensor = gen_ops.log_matrix_determinant(capacitance)[1]
            return found + own
        factor = gen_ops.cholesky(self._divided_capacitance(solved_u))
        logarithms = gen_ops.log(gen_ops.matrix_diag_part(factor))
        own = own + 2 * reductions.reduce_sum(logarithms, -1)
        if self._diag_update is None:
            return own
        return own + self._diag_operator._log_abs_determinant()

    # ---- Elements ----

    def _diag_part(self) -> Tensor:
        left = self._u
        if self._diag_update is not None:
            left = left * batches.row(self._diag_update)
        update = reductions.reduce_sum(left * batches.conjugate(self._v), -1)
        return self._base._diag_part() + update

    def _to_dense(self) -> Tensor:
        left = self._u
        if self._diag_update is not None:
            left = left * batches.row(self._diag_update)
        return self._base._to_dense() + matmul_ops.matmul(left, self._v, adjoint_b=True)


def _solve_by_factor(factor: Tensor, right: Tensor) -> Tensor:
    half = gen_ops.matrix_triangular_solve(factor, right)
    return gen_ops.matrix_triangular_solve(factor, half, adjoint=True)
