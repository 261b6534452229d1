"""Quantization in whole graphs: levels as arrays, gradients, and training with fake levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops


def _evaluate(tensors: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors, feeds)


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32])
def test_levels_are_fed_and_fetched_as_structured_arrays(dtype: tf.DType) -> None:
    with tf.Graph().as_default():
        levels = tf.placeholder(dtype, [3])
        fed = np.array([0, 1, 100]).astype(dtype.as_numpy_dtype)
        numbers = tf.quantization.dequantize(levels, 0.0, 1.0, mode="SCALED")
        got, again = _evaluate([levels, numbers], {levels: fed})
    assert got.dtype == np.dtype(dtype.as_numpy_dtype)
    assert got.dtype.names == (dtype.name,)
    assert got[dtype.name].tolist() == [0, 1, 100]
    assert again[0] == 0
    assert again[1] > 0


def test_numbers_become_levels_and_numbers_again() -> None:
    with tf.Graph().as_default():
        x = np.linspace(-1, 2, 101, dtype=np.float32)
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            levels, low, high = tf.quantize(x, -1.0, 2.0, tf.quint8, mode=mode)
            numbers = _evaluate(tf.dequantize(levels, low, high, mode=mode))
            wanted = np.maximum(x, 0) if mode == "SCALED" else x
            np.testing.assert_allclose(numbers, wanted, atol=1.5 / 255 + 1e-6)


def test_a_product_of_levels_is_near_that_of_numbers() -> None:
    with tf.Graph().as_default():
        random = np.random.RandomState(1)
        a, b = (random.uniform(-1, 1, (7, 7)).astype(np.float32) for _ in range(2))
        levels = [tf.quantize(x, -1.0, 1.0, tf.quint8, mode="MIN_FIRST") for x in (a, b)]
        sums = gen_ops.quantized_mat_mul(levels[0][0], levels[1][0], *levels[0][1:], *levels[1][1:])
        numbers = _evaluate(tf.dequantize(*sums, mode="MIN_FIRST"))
    np.testing.assert_allclose(numbers, a @ b, atol=0.05)


def test_a_range_is_trained_with_its_numbers() -> None:
    with tf.Graph().as_default():
        x = tf.constant([-3.0, -0.5, 0.5, 3.0])
        low, high = tf.Variable(-1.0), tf.Variable(1.0)
        y = tf.fake_quant_with_min_max_vars(x, low, high)
        got = _evaluate(tf.gradients(y, [x, low, high], [tf.constant([1.0, 2.0, 4.0, 8.0])]))
    dx, dlow, dhigh = got
    assert dx.tolist() == [0, 2, 4, 0]
    assert (dlow, dhigh) == (1, 8)


def test_the_gradient_of_a_gradient_is_that_of_what_is_in_the_range() -> None:
    with tf.Graph().as_default():
        x, dy = tf.constant([[-3.0, 0.5], [0.25, 3.0]]), tf.constant([[1.0, 2.0], [4.0, 8.0]])
        y = tf.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -1.0], [1.0, 1.0])
        (dx,) = tf.gradients(y, x, dy)
        (second,) = tf.gradients(dx, dy, tf.constant([[1.0, 10.0], [100.0, 1000.0]]))
        assert _evaluate(second).tolist() == [[0, 10], [100, 0]]


def test_rounding_to_levels_passes_gradients() -> None:
    with tf.Graph().as_default():
        x = tf.constant([0.1, 5.0])
        y = tf.quantization.quantize_and_dequantize(x, 0.0, 1.0, range_given=True)
        got = _evaluate(tf.gradients(y, x, tf.constant([2.0, 3.0]))[0])
    assert got.tolist() == [2, 3]


def test_wrong_levels_are_refused_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="num_bits must be between 2 and 16"):
            tf.fake_quant_with_min_max_args([1.0], num_bits=17)
        with pytest.raises(ValueError, match="min has to be smaller than max"):
            tf.fake_quant_with_min_max_args([1.0], min=2, max=1)
        with pytest.raises(ValueError, match="Round mode 'HALF_TO_EVEN' only supported"):
            tf.quantize([1.0], 0.0, 1.0, tf.quint8, round_mode="HALF_TO_EVEN")
