"""Each kind of linear operator computes what its dense matrices give in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream as tf

linalg = tf.linalg

# Bounds of errors. Rounding grows with the condition of the random matrices, which is below 1e4.
_BOUNDS = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-3}


class Maker:
    """Makes the elements of operators.

    Parameters
    ----------
    dtype
        Type of the elements, a name.
    batch
        The shape of the batch.
    is_known
        Whether shapes are known when the graph is built.
    """

    def __init__(self, dtype: str, batch: tuple[int, ...], is_known: bool) -> None:
        self._random = np.random.RandomState(5)
        self._is_known = is_known
        self.dtype = np.dtype(dtype)
        self.batch = batch

    def numbers(self, *shape: int, batched: bool = True) -> Any:
        """Random numbers, with a batch or without."""
        whole = (*self.batch, *shape) if batched else shape
        found = self._random.randn(*whole)
        if self.dtype.kind == "c":
            found = found + 1j * self._random.randn(*whole)
        return np.asarray(found, self.dtype)

    def given(self, array: Any) -> Any:
        """The array as an operator gets it."""
        if self._is_known:
            return tf.constant(array)
        return tf.placeholder_with_default(array, [None] * array.ndim)

    def batch_shape(self) -> Any:
        """The shape of the batch as an operator gets it."""
        if self._is_known:
            return list(self.batch)
        return tf.placeholder_with_default(np.array(self.batch, np.int32), [len(self.batch)])

    def size(self, value: int) -> Any:
        """A size as an operator gets it."""
        if self._is_known:
            return value
        return tf.placeholder_with_default(np.int32(value), [])


Made = tuple[Any, Any]


def adjoint(matrix: Any) -> Any:
    """The conjugates of transposed matrices."""
    return np.conj(np.swapaxes(matrix, -1, -2))


def positive_definite(make: Maker, size: int) -> Any:
    """Random matrices that are self-adjoint and positive definite."""
    root = make.numbers(size, size)
    return root @ adjoint(root) + np.eye(size, dtype=make.dtype)


def diagonals(values: Any) -> Any:
    """The diagonal matrices of vectors."""
    return values[..., np.newaxis] * np.eye(values.shape[-1], dtype=values.dtype)


def full(make: Maker) -> Made:
    matrix = make.numbers(3, 3)
    return linalg.LinearOperatorFullMatrix(make.given(matrix), is_non_singular=True), matrix


def full_positive_definite(make: Maker) -> Made:
    matrix = positive_definite(make, 3)
    operator = linalg.LinearOperatorFullMatrix(
        make.given(matrix), is_self_adjoint=True, is_positive_definite=True
    )
    return operator, matrix


def wide(make: Maker) -> Made:
    matrix = make.numbers(2, 3)
    return linalg.LinearOperatorFullMatrix(make.given(matrix)), matrix


def diag(make: Maker) -> Made:
    values = make.numbers(3)
    return linalg.LinearOperatorDiag(make.given(values)), diagonals(values)


def lower_triangular(make: Maker) -> Made:
    matrix = make.numbers(3, 3) + 2 * np.eye(3, dtype=make.dtype)
    return linalg.LinearOperatorLowerTriangular(make.given(matrix)), np.tril(matrix)


def identity(make: Maker) -> Made:
    operator = linalg.LinearOperatorIdentity(
        make.size(3), make.batch_shape(), make.dtype, assert_proper_shapes=True
    )
    return operator, np.broadcast_to(np.eye(3, dtype=make.dtype), (*make.batch, 3, 3))


def scaled_identity(make: Maker) -> Made:
    factor = np.asarray(make.numbers())
    operator = linalg.LinearOperatorScaledIdentity(make.size(3), make.given(factor))
    return operator, factor[..., np.newaxis, np.newaxis] * np.eye(3, dtype=make.dtype)


def zeros(make: Maker) -> Made:
    operator = linalg.LinearOperatorZeros(
        make.size(2), make.size(3), make.batch_shape(), make.dtype,
        is_square=False, is_self_adjoint=False,
    )  # fmt: skip
    return operator, np.zeros((*make.batch, 2, 3), make.dtype)


def adjoint_of_full(make: Maker) -> Made:
    matrix = make.numbers(2, 3)
    inner = linalg.LinearOperatorFullMatrix(make.given(matrix))
    return linalg.LinearOperatorAdjoint(inner), adjoint(matrix)


def inversion(make: Maker) -> Made:
    matrix = make.numbers(3, 3) + 3 * np.eye(3, dtype=make.dtype)
    inner = linalg.LinearOperatorFullMatrix(make.given(matrix))
    return linalg.LinearOperatorInversion(inner), np.linalg.inv(matrix)


def composition(make: Maker) -> Made:
    one, dense = lower_triangular(make)
    values = make.numbers(3, batched=False)
    other = linalg.LinearOperatorDiag(make.given(values))
    return linalg.LinearOperatorComposition([one, other]), dense @ np.diag(values)


def composition_of_thin_ones(make: Maker) -> Made:
    left, right = make.numbers(2, 3), make.numbers(3, 2)
    operators = [linalg.LinearOperatorFullMatrix(make.given(one)) for one in (left, right)]
    return linalg.LinearOperatorComposition(operators, is_square=True), left @ right


def block_diag(make: Maker) -> Made:
    one = make.numbers(2, 2)
    values = make.numbers(2, batched=False)
    operators = [
        linalg.LinearOperatorFullMatrix(make.given(one), is_square=True),
        linalg.LinearOperatorDiag(make.given(values)),
    ]
    dense = np.zeros((*make.batch, 4, 4), make.dtype)
    dense[..., :2, :2] = one
    dense[..., 2:, 2:] = np.diag(values)
    return linalg.LinearOperatorBlockDiag(operators), dense


def kronecker_matrix(one: Any, other: Any) -> Any:
    """The Kronecker products of matrices."""
    every = np.einsum("...ij,...kl->...ikjl", one, other)
    rows, columns = (one.shape[-i] * other.shape[-i] for i in (2, 1))
    return every.reshape(*every.shape[:-4], rows, columns)


def kronecker(make: Maker) -> Made:
    one, values = make.numbers(2, 2), make.numbers(3, batched=False)
    triangle = np.tril(make.numbers(2, 2)) + 2 * np.eye(2, dtype=make.dtype)
    operators = [
        linalg.LinearOperatorFullMatrix(make.given(one), is_square=True),
        linalg.LinearOperatorDiag(make.given(values)),
        linalg.LinearOperatorLowerTriangular(make.given(triangle)),
    ]
    dense = kronecker_matrix(kronecker_matrix(one, np.diag(values)), triangle)
    return linalg.LinearOperatorKronecker(operators), dense


def kronecker_of_wide_ones(make: Maker) -> Made:
    one, other = make.numbers(1, 2), make.numbers(3, 2, batched=False)
    operators = [linalg.LinearOperatorFullMatrix(make.given(each)) for each in (one, other)]
    return linalg.LinearOperatorKronecker(operators), kronecker_matrix(one, other)


def low_rank_update(make: Maker) -> Made:
    values, u, v = make.numbers(4), make.numbers(4, 2), make.numbers(4, 2, batched=False)
    update = make.numbers(2)
    base = linalg.LinearOperatorDiag(make.given(values))
    operator = linalg.LinearOperatorLowRankUpdate(
        base, make.given(u), make.given(update), make.given(v)
    )
    return operator, diagonals(values) + (u * update[..., np.newaxis, :]) @ adjoint(v)


def low_rank_update_without_diagonal(make: Maker) -> Made:
    values, u, v = make.numbers(3), make.numbers(3, 1), make.numbers(3, 1)
    base = linalg.LinearOperatorDiag(make.given(values))
    operator = linalg.LinearOperatorLowRankUpdate(base, make.given(u), v=make.given(v))
    return operator, diagonals(values) + u @ adjoint(v)


def low_rank_update_positive_definite(make: Maker) -> Made:
    values = (1 + np.abs(make.numbers(4))).astype(make.dtype)
    update = (1 + np.abs(make.numbers(2))).astype(make.dtype)
    u = make.numbers(4, 2)
    base = linalg.LinearOperatorDiag(
        make.given(values), is_self_adjoint=True, is_positive_definite=True
    )
    operator = linalg.LinearOperatorLowRankUpdate(
        base, make.given(u), make.given(update), is_diag_update_positive=True
    )
    return operator, diagonals(values) + (u * update[..., np.newaxis, :]) @ adjoint(u)


def householder(make: Maker) -> Made:
    axis = make.numbers(3)
    unit = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    square = unit[..., np.newaxis] * np.conj(unit[..., np.newaxis, :])
    return linalg.LinearOperatorHouseholder(make.given(axis)), np.eye(3) - 2 * square


def toeplitz(make: Maker) -> Made:
    col, row = make.numbers(4), make.numbers(4, batched=False)
    dense = np.zeros((*make.batch, 4, 4), make.dtype)
    for i in range(4):
        for j in range(4):
            dense[..., i, j] = col[..., i - j] if i >= j else row[..., j - i]
    return linalg.LinearOperatorToeplitz(make.given(col), make.given(row)), dense


def circulant_matrix(kernel: Any, depth: int) -> Any:
    """The matrices whose first columns are these kernels, by the definition."""
    block = kernel.shape[-depth:]
    places = list(np.ndindex(*block))
    dense = np.zeros((*kernel.shape[:-depth], len(places), len(places)), kernel.dtype)
    for i, to in enumerate(places):
        for j, of in enumerate(places):
            moved = tuple((a - b) % n for a, b, n in zip(to, of, block, strict=True))
            dense[..., i, j] = kernel[(..., *moved)]
    return dense


def circulant(block: tuple[int, ...]) -> Callable[[Maker], Made]:
    """The maker of an operator whose kernels have a shape."""
    kinds = (
        linalg.LinearOperatorCirculant,
        linalg.LinearOperatorCirculant2D,
        linalg.LinearOperatorCirculant3D,
    )

    def make_one(make: Maker) -> Made:
        depth = len(block)
        kernel = make.numbers(*block)
        spectrum = np.fft.fftn(kernel, axes=list(range(-depth, 0)))
        complex_type = np.result_type(make.dtype, np.complex64)
        given = make.given(spectrum.astype(complex_type))
        operator = kinds[depth - 1](given, input_output_dtype=make.dtype)
        return operator, circulant_matrix(kernel, depth)

    return make_one


_KINDS: dict[str, Callable[[Maker], Made]] = {
    "full": full,
    "full_positive_definite": full_positive_definite,
    "wide": wide,
    "diag": diag,
    "lower_triangular": lower_triangular,
    "identity": identity,
    "scaled_identity": scaled_identity,
    "zeros": zeros,
    "adjoint": adjoint_of_full,
    "inversion": inversion,
    "composition": composition,
    "composition_of_thin_ones": composition_of_thin_ones,
    "block_diag": block_diag,
    "kronecker": kronecker,
    "kronecker_of_wide_ones": kronecker_of_wide_ones,
    "low_rank_update": low_rank_update,
    "low_rank_update_without_diagonal": low_rank_update_without_diagonal,
    "low_rank_update_positive_definite": low_rank_update_positive_definite,
    "householder": householder,
    "toeplitz": toeplitz,
    "circulant": circulant((3,)),
    "circulant_2d": circulant((2, 3)),
    "circulant_3d": circulant((2, 3, 2)),
}
_IS_SINGULAR = {"zeros"}

Pairs = dict[str, tuple[Any, Any]]


def shapes(operator: Any, dense: Any) -> Pairs:
    """What is known of shapes in a step, with what is expected."""
    return {
        "shape": (operator.shape_tensor(), dense.shape),
        "batch_shape": (operator.batch_shape_tensor(), dense.shape[:-2]),
        "tensor_rank": (operator.tensor_rank_tensor(), dense.ndim),
        "range_dimension": (operator.range_dimension_tensor(), dense.shape[-2]),
        "domain_dimension": (operator.domain_dimension_tensor(), dense.shape[-1]),
    }


def elements(operator: Any, dense: Any, make: Maker) -> Pairs:
    """What elements give."""
    other = make.numbers(*dense.shape[-2:], batched=False)
    diagonal = np.diagonal(dense, axis1=-2, axis2=-1)
    return {
        "to_dense": (operator.to_dense(), dense),
        "diag_part": (operator.diag_part(), diagonal),
        "trace": (operator.trace(), diagonal.sum(-1)),
        "add_to_tensor": (operator.add_to_tensor(make.given(other)), dense + other),
        "adjoint": (operator.adjoint().to_dense(), adjoint(dense)),
        "H": (operator.H.trace(), np.conj(diagonal.sum(-1))),
    }


def products(operator: Any, dense: Any, make: Maker) -> Pairs:
    """Products with matrices and vectors, those with and without the batch."""
    found: Pairs = {}
    for is_adjoint in (False, True):
        matrix = adjoint(dense) if is_adjoint else dense
        size = matrix.shape[-1]
        for batched in (False, True):
            x = make.numbers(size, 2, batched=batched)
            vector = make.numbers(size, batched=batched)
            label = f"adjoint={is_adjoint} batched={batched}"
            found[f"matmul {label}"] = (
                operator.matmul(make.given(x), adjoint=is_adjoint), matrix @ x
            )  # fmt: skip
            found[f"matmul of adjoint {label}"] = (
                operator.matmul(make.given(adjoint(x)), is_adjoint, adjoint_arg=True), matrix @ x
            )  # fmt: skip
            found[f"matvec {label}"] = (
                operator.matvec(make.given(vector), adjoint=is_adjoint),
                (matrix @ vector[..., np.newaxis])[..., 0],
            )
    return found


def solutions(operator: Any, dense: Any, make: Maker) -> Pairs:
    """Determinants, solutions, inverses of square matrices."""
    sign, logarithm = np.linalg.slogdet(dense)
    found: Pairs = {
        "determinant": (operator.determinant(), sign * np.exp(logarithm)),
        "log_abs_determinant": (operator.log_abs_determinant(), logarithm),
        "inverse": (operator.inverse().to_dense(), np.linalg.inv(dense)),
        "inverse of inverse": (operator.inverse().inverse().to_dense(), dense),
        "log of inverse": (operator.inverse().log_abs_determinant(), -logarithm),
    }
    size = dense.shape[-1]
    for is_adjoint in (False, True):
        inverse = np.linalg.inv(adjoint(dense) if is_adjoint else dense)
        for batched in (False, True):
            x = make.numbers(size, 2, batched=batched)
            vector = make.numbers(size, batched=batched)
            label = f"adjoint={is_adjoint} batched={batched}"
            found[f"solve {label}"] = (
                operator.solve(make.given(x), adjoint=is_adjoint), inverse @ x
            )  # fmt: skip
            found[f"solve of adjoint {label}"] = (
                operator.solve(make.given(adjoint(x)), is_adjoint, adjoint_arg=True), inverse @ x
            )  # fmt: skip
            found[f"solvevec {label}"] = (
                operator.solvevec(make.given(vector), adjoint=is_adjoint),
                (inverse @ vector[..., np.newaxis])[..., 0],
            )
    return found


@pytest.mark.parametrize(
    ("dtype", "batch", "is_known"),
    [
        ("float64", (), True),
        ("float64", (2,), False),
        ("complex128", (2,), True),
        ("complex128", (), False),
        ("float32", (2,), True),
    ],
)
@pytest.mark.parametrize("kind", _KINDS)
def test_results_are_those_of_the_dense_matrices(
    kind: str, dtype: str, batch: tuple[int, ...], is_known: bool
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        make = Maker(dtype, batch, is_known)
        operator, dense = _KINDS[kind](make)
        assert operator.shape.is_compatible_with(dense.shape)
        assert operator.shape.is_fully_defined() or not is_known
        assert operator.dtype == tf.as_dtype(dtype)
        pairs = shapes(operator, dense) | elements(operator, dense, make)
        pairs |= products(operator, dense, make)
        if dense.shape[-1] == dense.shape[-2] and kind not in _IS_SINGULAR:
            pairs |= solutions(operator, dense, make)
        values = session.run({label: tensor for label, (tensor, _) in pairs.items()})
        bound = _BOUNDS[dtype]
        for label, (tensor, expected) in pairs.items():
            scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
            np.testing.assert_allclose(
                values[label], expected, rtol=bound, atol=bound * scale, err_msg=label
            )
            assert tensor.shape.is_compatible_with(np.shape(expected)), label


@pytest.mark.parametrize("kind", ["diag", "full_positive_definite", "kronecker", "toeplitz"])
def test_shapes_may_be_known_in_steps_alone(kind: str) -> None:
    class Unknown(Maker):
        def given(self, array: Any) -> Any:
            return tf.placeholder_with_default(array, None)

    with tf.Graph().as_default(), tf.Session() as session:
        make = Unknown("float64", (2,), False)
        operator, dense = _KINDS[kind](make)
        assert operator.tensor_rank is None
        x = make.numbers(dense.shape[-1], 1)
        pairs = shapes(operator, dense) | {"to_dense": (operator.to_dense(), dense)}
        pairs["matmul"] = (operator.matmul(make.given(x)), dense @ x)
        pairs["solve"] = (operator.solve(make.given(x)), np.linalg.solve(dense, x))
        values = session.run({label: tensor for label, (tensor, _) in pairs.items()})
        for label, (_, expected) in pairs.items():
            np.testing.assert_allclose(values[label], expected, rtol=1e-9, err_msg=label)
