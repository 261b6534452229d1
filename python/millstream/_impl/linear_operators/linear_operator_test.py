"""Hints, errors, checks and algorithms of linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

linalg = tf.linalg
MATRIX = [[4.0, 1.0], [1.0, 3.0]]
NO_OPERATOR: Any = 1.0


def full(matrix: Any = MATRIX, **hints: Any) -> Any:
    """An operator of matrices."""
    return linalg.LinearOperatorFullMatrix(matrix, **hints)


def positive_definite() -> Any:
    """An operator that is known to have a factor of Cholesky."""
    return full(is_self_adjoint=True, is_positive_definite=True)


# ---- Hints ----


def test_hints_follow_from_each_other() -> None:
    operator = full(is_positive_definite=True)
    assert operator.is_non_singular
    assert operator.is_square
    assert full(is_self_adjoint=True).is_square
    assert full().is_square  # by its shape
    assert full(np.ones([2, 3])).is_square is False
    assert linalg.LinearOperatorDiag([1.0]).is_self_adjoint
    assert linalg.LinearOperatorDiag([1j]).is_self_adjoint is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: full(is_positive_definite=True, is_non_singular=False),
            "A positive definite matrix is always non-singular",
        ),
        (
            lambda: full(is_non_singular=True, is_square=False),
            "A non-singular matrix is always square",
        ),
        (
            lambda: full(is_self_adjoint=True, is_square=False),
            "A self-adjoint matrix is always square",
        ),
        (lambda: full(is_square=False).is_square, "is_square: the hint is False"),
        (lambda: full([1.0]), "Argument matrix must have at least 2 dimensions"),
        (
            lambda: linalg.LinearOperatorDiag([1.0], is_self_adjoint=False),
            "A real diagonal operator is always self adjoint",
        ),
        (
            lambda: linalg.LinearOperatorIdentity(2, is_non_singular=False),
            "An identity operator is always non-singular",
        ),
        (lambda: linalg.LinearOperatorIdentity(-1), "num_rows must be non-negative"),
        (lambda: linalg.LinearOperatorIdentity(tf.constant([2])), "num_rows must be a 0-D Tensor"),
        (
            lambda: linalg.LinearOperatorIdentity(2, batch_shape=[[1]]),
            "batch_shape must be a 1-D Tensor",
        ),
        (
            lambda: linalg.LinearOperatorZeros(2, is_non_singular=True),
            "A zero operator is always singular",
        ),
        (lambda: linalg.LinearOperatorZeros(2, 3), "is_square=True, but got"),
        (
            lambda: linalg.LinearOperatorHouseholder([1.0], is_positive_definite=True),
            "A Householder operator is always non-positive definite",
        ),
        (
            lambda: linalg.LinearOperatorCirculant([1.0], is_self_adjoint=False),
            "A real spectrum always corresponds to a self-adjoint operator",
        ),
        (
            lambda: linalg.LinearOperatorAdjoint(full(is_non_singular=True), is_non_singular=False),
            "An operator is non-singular if and only if its adjoint is",
        ),
        (
            lambda: linalg.LinearOperatorInversion(full(is_non_singular=False)),
            "operators with inverses are always non-singular",
        ),
        (
            lambda: linalg.LinearOperatorComposition(
                [positive_definite(), positive_definite()], is_non_singular=False
            ),
            "The composition of non-singular operators is always non-singular",
        ),
        (
            lambda: linalg.LinearOperatorComposition([full(), full([[1.0]])]),
            "Dimensions 2 and 1 are not compatible",
        ),
        (lambda: linalg.LinearOperatorComposition([]), "Expected a non-empty list of operators"),
        (
            lambda: linalg.LinearOperatorBlockDiag([full([[1.0, 2.0]])]),
            "Can only represent a block diagonal of square",
        ),
        (
            lambda: linalg.LinearOperatorKronecker(
                [linalg.LinearOperatorDiag([1.0])], is_self_adjoint=False
            ),
            "The Kronecker product of self-adjoint operators",
        ),
        (
            lambda: linalg.LinearOperatorLowRankUpdate(
                positive_definite(), [[1.0], [1.0]], is_self_adjoint=False
            ),
            "is_self_adjoint: it follows",
        ),
        (
            lambda: linalg.LinearOperatorLowRankUpdate(
                full(), [[1.0], [1.0]], is_diag_update_positive=False
            ),
            "Default diagonal is the identity, which is positive",
        ),
        (
            lambda: linalg.LinearOperatorLowRankUpdate(full(), [[1.0]]),
            "u: expected 2 rows",
        ),
        (
            lambda: linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0]),
            "col and row with mismatched dimensions",
        ),
        (
            lambda: (
                linalg.LinearOperatorComposition([full([MATRIX] * 2), full([MATRIX] * 3)]).shape
            ),
            r"operators: the batches \(2,\), \(3,\) do not broadcast",
        ),
        (lambda: linalg.LinearOperator(tf.float32, [1.0]), "Graph parent item 0 is not a Tensor"),
    ],
)
def test_what_cannot_be_true_is_an_error(make: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: full([[1, 2]]), "Argument matrix must have dtype in"),
        (lambda: linalg.LinearOperatorIdentity(2.5), "num_rows must be integer type"),
        (lambda: full().matmul(np.ones([2, 1], np.complex64)), "Expected argument to have dtype"),
        (
            lambda: linalg.LinearOperatorComposition([full(), full(np.ones([2, 2]))]),
            "Expected all operators to have the same dtype",
        ),
        (lambda: full().matmul(full(np.ones([2, 2]))), "Expected operators of one dtype"),
        (lambda: linalg.LinearOperatorBlockDiag([NO_OPERATOR]), "expected linear operators"),
    ],
)
def test_wrong_types_are_an_error(make: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=message):
        make()


def test_arguments_whose_sizes_do_not_fit_are_an_error() -> None:
    with tf.Graph().as_default():
        operator = full(np.ones([2, 3], np.float32))
        with pytest.raises(ValueError, match="x: Dimensions 3 and 2 are not compatible"):
            operator.matmul([[1.0], [2.0]])
        with pytest.raises(ValueError, match="x: Dimensions 2 and 3 are not compatible"):
            operator.matvec([1.0, 2.0, 3.0], adjoint=True)
        with pytest.raises(ValueError, match="x: expected a rank of at least 2"):
            operator.matmul([1.0])
        with pytest.raises(ValueError, match="Operators are incompatible"):
            operator.matmul(full())
        with pytest.raises(ValueError, match="rhs: Dimensions 2 and 1 are not compatible"):
            full().solvevec([1.0])


def test_what_singular_or_wide_operators_do_not_have_is_an_error() -> None:
    with tf.Graph().as_default():
        wide, singular = full(np.ones([2, 3], np.float32)), full(is_non_singular=False)
        with pytest.raises(NotImplementedError, match="expected to be singular"):
            singular.solve(MATRIX)
        with pytest.raises(NotImplementedError, match="expected to not be square"):
            wide.solvevec([1.0, 2.0])
        for method in (wide.determinant, wide.log_abs_determinant):
            with pytest.raises(NotImplementedError, match="Determinant not implemented"):
                method()
        with pytest.raises(ValueError, match="represents a singular matrix"):
            singular.inverse()
        with pytest.raises(ValueError, match="represents a non square matrix"):
            wide.inverse()
        with pytest.raises(ValueError, match="Not a positive definite self adjoint matrix"):
            full().cholesky()


# ---- Names and variables ----


def test_names_tell_what_an_operator_is_made_of() -> None:
    with tf.Graph().as_default():
        one, other = full(name="a"), full(name="b")
        assert linalg.LinearOperatorComposition([one, other]).name == "a_o_b"
        assert linalg.LinearOperatorBlockDiag([one, other]).name == "a_ds_b"
        assert linalg.LinearOperatorKronecker([one, other]).name == "a_x_b"
        assert one.adjoint().name == "a_adjoint"
        assert one.inverse().name == "a_inv"
        assert one.determinant().op.name.endswith("/det/MatrixDeterminant")
        assert repr(one) == "<tf.linalg.LinearOperatorFullMatrix 'a' shape=(2, 2) dtype=float32>"


def test_variables_are_read_in_each_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        diagonal = tf.Variable([1.0, 2.0])
        operator = linalg.LinearOperatorDiag(diagonal)
        both = linalg.LinearOperatorComposition([operator, operator])
        assert operator.variables == (diagonal,)
        assert both.trainable_variables == (diagonal,)
        assert both.submodules == (operator,)
        product = both.matvec([1.0, 1.0])
        session.run(diagonal.initializer)
        assert session.run(product).tolist() == [1.0, 4.0]
        session.run(diagonal.assign([3.0, 4.0]))
        assert session.run(product).tolist() == [9.0, 16.0]


# ---- A class of a program ----


class Swap(linalg.LinearOperator):
    """Exchanges two elements."""

    def __init__(self, **hints: Any) -> None:
        super().__init__(tf.float64, **hints)

    def _shape(self) -> Any:
        return tf.TensorShape([2, 2])

    def _shape_tensor(self) -> Any:
        return tf.constant([2, 2])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.reverse(tf.linalg.adjoint(x) if adjoint_arg else x, [-2])


def test_a_class_that_multiplies_has_all_methods() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = Swap()
        found = session.run(
            {
                "dense": operator.to_dense(),
                "determinant": operator.determinant(),
                "solve": operator.solvevec([1.0, 2.0]),
                "trace": operator.trace(),
                "sum": operator.add_to_tensor(np.ones([2, 2])),
                "product": operator.matmul(operator).to_dense(),
                "operator": (operator @ linalg.LinearOperatorDiag(np.array([1.0, 2.0]))).trace(),
            }
        )
        assert found["dense"].tolist() == [[0, 1], [1, 0]]
        assert found["determinant"] == -1
        assert found["solve"].tolist() == [2, 1]
        assert found["trace"] == 0
        assert found["sum"].tolist() == [[1, 2], [2, 1]]
        assert found["product"].tolist() == [[1, 0], [0, 1]]
        assert found["operator"] == 0
        session.run([operator.assert_non_singular(), operator.assert_self_adjoint()])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(operator.assert_positive_definite())


# ---- Checks ----

_FINE = {
    "non_singular": (
        lambda: full(),
        lambda: positive_definite(),
        lambda: linalg.LinearOperatorDiag([1.0, -2.0]),
        lambda: linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [5.0, 2.0]]),
        lambda: linalg.LinearOperatorIdentity(2),
        lambda: linalg.LinearOperatorScaledIdentity(2, -3.0),
        lambda: linalg.LinearOperatorCirculant([1.0, -2.0]),
        lambda: linalg.LinearOperatorHouseholder([1.0, 1.0]),
        lambda: linalg.LinearOperatorToeplitz([2.0, 1.0], [2.0, 0.0]),
        lambda: linalg.LinearOperatorComposition([full(), full()]),
        lambda: linalg.LinearOperatorKronecker([full(), full()]),
        lambda: linalg.LinearOperatorBlockDiag([full(), full()]),
        lambda: full().inverse(),
        lambda: linalg.LinearOperatorAdjoint(full()),
    ),
    "positive_definite": (
        lambda: full(),
        lambda: full([[1.0, 1.0], [-1.0, 1.0]]),
        lambda: linalg.LinearOperatorDiag([1.0, 2.0]),
        lambda: linalg.LinearOperatorDiag([1.0 + 5j]),
        lambda: linalg.LinearOperatorIdentity(2),
        lambda: linalg.LinearOperatorScaledIdentity(2, 3.0),
        lambda: linalg.LinearOperatorCirculant([1.0, 2.0]),
        lambda: linalg.LinearOperatorBlockDiag([full(), full()]),
    ),
    "self_adjoint": (
        lambda: full(),
        lambda: full([[1.0, 1j], [-1j, 1.0]]),
        lambda: linalg.LinearOperatorDiag([1.0, -2.0]),
        lambda: linalg.LinearOperatorIdentity(2),
        lambda: linalg.LinearOperatorScaledIdentity(2, 3.0),
        lambda: linalg.LinearOperatorZeros(2),
        lambda: linalg.LinearOperatorCirculant([1.0, 2.0]),
        lambda: linalg.LinearOperatorHouseholder([1.0, 1.0]),
    ),
}
_WRONG = {
    "non_singular": (
        lambda: full([[1.0, 2.0], [2.0, 4.0]]),
        lambda: full([[0.0]]),
        lambda: linalg.LinearOperatorDiag([1.0, 0.0]),
        lambda: linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [5.0, 0.0]]),
        lambda: linalg.LinearOperatorScaledIdentity(2, 0.0),
        lambda: linalg.LinearOperatorZeros(2),
        lambda: linalg.LinearOperatorCirculant([1.0, 0.0]),
        lambda: linalg.LinearOperatorBlockDiag([full(), full([[0.0]])]),
        lambda: linalg.LinearOperatorKronecker([full(), full([[0.0]])]),
    ),
    "positive_definite": (
        lambda: full([[1.0, 2.0], [2.0, 1.0]]),
        lambda: full([[1.0, 2.0], [2.0, 1.0]], is_self_adjoint=True),
        lambda: linalg.LinearOperatorDiag([1.0, -2.0]),
        lambda: linalg.LinearOperatorDiag([-1.0 + 5j]),
        lambda: linalg.LinearOperatorScaledIdentity(2, -3.0),
        lambda: linalg.LinearOperatorZeros(2),
        lambda: linalg.LinearOperatorCirculant([1.0, -2.0]),
        lambda: linalg.LinearOperatorHouseholder([1.0, 1.0]),
    ),
    "self_adjoint": (
        lambda: full([[1.0, 2.0], [3.0, 4.0]]),
        lambda: full([[1.0, 1j], [1j, 1.0]]),
        lambda: linalg.LinearOperatorDiag([1.0 + 1j]),
        lambda: linalg.LinearOperatorScaledIdentity(2, 1j),
        lambda: linalg.LinearOperatorCirculant([1.0, 2j]),
        lambda: linalg.LinearOperatorToeplitz([2.0, 1.0], [2.0, 0.0]),
    ),
}


@pytest.mark.parametrize(
    ("check", "make"), [(check, make) for check, rows in _FINE.items() for make in rows]
)
def test_checks_let_pass_what_is_true(check: str, make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(getattr(make(), f"assert_{check}")())


@pytest.mark.parametrize(
    ("check", "make"), [(check, make) for check, rows in _WRONG.items() for make in rows]
)
def test_checks_find_what_is_wrong(check: str, make: Any) -> None:
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError),
    ):
        session.run(getattr(make(), f"assert_{check}")())


def test_the_spectrum_of_real_matrices_is_hermitian() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        spectrum = np.fft.fft([1.0, 2.0, 5.0])
        real = linalg.LinearOperatorCirculant(spectrum, tf.float64)
        session.run(real.assert_hermitian_spectrum())
        kernel = session.run(real.convolution_kernel())
        np.testing.assert_allclose(kernel, [1.0, 2.0, 5.0], rtol=1e-12)
        assert real.block_depth == 1
        assert session.run(real.block_shape_tensor()).tolist() == [3]
        other = linalg.LinearOperatorCirculant([1.0, 2.0, 3.0 + 0j])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Spectrum was not Hermitian"):
            session.run(other.assert_hermitian_spectrum())


def test_identities_check_sizes_in_steps_where_they_are_told_to() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        size = tf.placeholder_with_default(np.int32(3), [])
        operator = linalg.LinearOperatorIdentity(size, assert_proper_shapes=True)
        product = operator.matmul([[1.0], [2.0]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dimensions are not compatible"):
            session.run(product)
        assert session.run(product, {size: 2}).tolist() == [[1.0], [2.0]]


# ---- Algorithms and gradients ----


def types_of(graph: Any) -> set[str]:
    """The types of the operations of a graph."""
    return {operation.type for operation in graph.get_operations()}


def test_hints_choose_the_algorithm() -> None:
    with tf.Graph().as_default() as graph:
        positive_definite().solve(MATRIX)
        positive_definite().log_abs_determinant()
        assert "Cholesky" in types_of(graph)
        assert not {"MatrixSolve", "LogMatrixDeterminant"} & types_of(graph)
    with tf.Graph().as_default() as graph:
        base = linalg.LinearOperatorDiag([1.0, 2.0, 3.0], is_positive_definite=True)
        update = linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0], [1.0]])
        update.solvevec([1.0, 1.0, 1.0])
        (factor,) = [one for one in graph.get_operations() if one.type == "Cholesky"]
        assert factor.outputs[0].shape.as_list() == [1, 1]
        assert "MatrixSolve" not in types_of(graph)


def test_one_matrix_is_factored_once_for_a_batch_of_right_hand_sides() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        right = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
        found = full().solve(right)
        (solve,) = [one for one in graph.get_operations() if one.type == "MatrixSolve"]
        assert solve.inputs[0].shape.as_list() == [2, 2]
        expected = np.linalg.solve(np.array(MATRIX), right)
        np.testing.assert_allclose(session.run(found), expected, rtol=1e-5, atol=1e-6)


_GRADIENTS: dict[str, tuple[Any, list[int]]] = {
    "diag": (lambda x: linalg.LinearOperatorDiag(x).solvevec(np.ones(3)), [3]),
    "triangle": (
        lambda x: linalg.LinearOperatorLowerTriangular(x).log_abs_determinant(),
        [3, 3],
    ),
    "householder": (lambda x: linalg.LinearOperatorHouseholder(x).matvec(np.ones(3)), [3]),
    "toeplitz": (lambda x: linalg.LinearOperatorToeplitz(x, x).matvec(np.arange(3.0)), [3]),
    "kronecker": (
        lambda x: linalg.LinearOperatorKronecker(
            [linalg.LinearOperatorFullMatrix(x), linalg.LinearOperatorFullMatrix(x + 1.0)]
        ).matvec(np.arange(4.0)),
        [2, 2],
    ),
    "low_rank_update": (
        lambda x: linalg.LinearOperatorLowRankUpdate(
            linalg.LinearOperatorIdentity(3, dtype=tf.float64), x
        ).log_abs_determinant(),
        [3, 2],
    ),
    "scaled_identity": (
        lambda x: linalg.LinearOperatorScaledIdentity(3, x).determinant(),
        [2],
    ),
}


@pytest.mark.parametrize("name", _GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    function, shape = _GRADIENTS[name]
    start = 1.0 + np.random.RandomState(3).rand(*shape)
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant(start)
        y = function(x)
        error = tf.test.compute_gradient_error(
            x, shape, y, y.shape.as_list(), x_init_value=start, delta=1e-6
        )
    # Central differences in float64 leave about delta^2 and 1e-16 / delta.
    assert error < 1e-7
