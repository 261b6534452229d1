"""Products of matrices agree with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

Array = np.ndarray[Any, np.dtype[Any]]


def _random(shape: list[int], is_complex: bool) -> Array:
    rng = np.random.RandomState(sum(shape))
    real: Array = rng.rand(*shape) - 0.5
    return real + 1j * rng.rand(*shape) if is_complex else real


def _applied(matrices: Array, transpose: bool, adjoint: bool) -> Array:
    swapped = np.swapaxes(matrices, -1, -2) if transpose or adjoint else matrices
    return np.conj(swapped) if adjoint else swapped


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("of_b", ["", "transpose", "adjoint"])
@pytest.mark.parametrize("of_a", ["", "transpose", "adjoint"])
@pytest.mark.parametrize(
    ("batch_a", "batch_b"), [([], []), ([2], [2]), ([2, 1], [3]), ([], [2]), ([2], [])]
)
def test_values_and_shapes_are_numpys(
    batch_a: list[int], batch_b: list[int], of_a: str, of_b: str, is_complex: bool, known: bool
) -> None:
    a = _random([*batch_a, *([3, 2] if of_a else [2, 3])], is_complex)
    b = _random([*batch_b, *([4, 3] if of_b else [3, 4])], is_complex)
    flags: dict[str, Any] = {}
    for operand, of_operand in (("a", of_a), ("b", of_b)):
        if of_operand:
            flags[f"{of_operand}_{operand}"] = True
    expected = np.matmul(
        _applied(a, of_a == "transpose", of_a == "adjoint"),
        _applied(b, of_b == "transpose", of_b == "adjoint"),
    )
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(a.dtype, a.shape if known else None)
        y = tf.placeholder(b.dtype, b.shape if known else None)
        product = tf.matmul(x, y, **flags)
        assert product.name == "MatMul:0"
        if known:
            assert product.shape.as_list() == list(expected.shape)
        found = session.run(product, {x: a, y: b})
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_matrices_use_the_plain_op() -> None:
    with tf.Graph().as_default():
        assert tf.matmul(tf.ones([2, 3]), tf.ones([3, 2])).op.type == "MatMul"
        assert tf.matmul(tf.ones([1, 2, 3]), tf.ones([3, 2])).op.type == "BatchMatMulV2"
        assert (tf.ones([4, 2, 3]) @ tf.ones([4, 3, 2])).op.type == "BatchMatMulV2"


def test_what_does_not_fit_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="transposed or adjoint"):
            tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), transpose_a=True, adjoint_a=True)
        with pytest.raises(ValueError, match="rank 2"):
            tf.matmul(tf.ones([2]), tf.ones([2, 2]))
        with pytest.raises(ValueError, match="broadcast"):
            tf.matmul(tf.ones([2, 2, 2]), tf.ones([3, 2, 2]))


@pytest.mark.parametrize("transpose", [False, True])
def test_float32_times_bfloat16_is_float32(transpose: bool) -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[5.0, 0.1], [7.0, 8.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        rounded = tf.cast(tf.constant(b, tf.float32), tf.bfloat16)
        for left, right in [(tf.constant(a), rounded), (rounded, tf.constant(a))]:
            product = tf.matmul(left, right, transpose_a=transpose, b_is_sparse=True)
            assert product.dtype is tf.float32
            x, y = session.run([tf.cast(left, tf.float32), tf.cast(right, tf.float32)])
            np.testing.assert_allclose(
                session.run(product), (x.T if transpose else x) @ y, rtol=1e-6
            )
        (gradient,) = tf.gradients(tf.matmul(rounded, tf.constant(a)), rounded)
        assert gradient.dtype is tf.bfloat16
        with pytest.raises(TypeError, match="one type"):
            tf.matmul(tf.constant(a), tf.constant(b))
