"""Functions that are computed a second time for their gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _block(x: Any) -> Any:
    with tf.variable_scope("block"):
        w = tf.get_variable("w", [3, 3], initializer=tf.orthogonal_initializer(seed=1))
        return tf.nn.relu(tf.matmul(x, w)) * tf.reduce_sum(w)


def test_gradients_are_those_of_the_function(session: tf.Session) -> None:
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = tf.recompute_grad(_block)(x)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        plain = _block(x)
    (w,) = tf.trainable_variables()
    again = tf.gradients(tf.square(y), [x, w])
    known = tf.gradients(tf.square(plain), [x, w])
    session.run(tf.global_variables_initializer())
    for ours, expected in zip(*session.run([again, known]), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_the_second_time_waits_for_the_gradient() -> None:
    x = tf.ones([2, 3])
    y = tf.recompute_grad(_block)(x)
    before = {op.name for op in tf.get_default_graph().get_operations()}
    dy = tf.ones([2, 3], name="dy")
    tf.gradients(y, x, grad_ys=dy)
    new = [op for op in tf.get_default_graph().get_operations() if op.name not in before]
    products = [op for op in new if op.type == "MatMul" and "Relu" in _takers(op)]
    assert len(products) == 1
    (copy,) = [tensor.op for tensor in products[0].inputs if tensor.op.type == "Identity"]
    assert copy.control_inputs


def _takers(operation: tf.Operation) -> set[str]:
    return {taker.type for output in operation.outputs for taker in output.consumers()}


def test_several_results_and_keywords(session: tf.Session) -> None:
    def both(x: Any, factor: float = 1.0) -> Any:
        return x * x * factor, {"sum": tf.reduce_sum(x)}

    x = tf.constant([1.0, 2.0])
    squares, rest = tf.recompute_grad(both)(x, factor=3.0)
    assert session.run(tf.gradients(squares, x))[0].tolist() == [6.0, 12.0]
    total = tf.gradients([squares, rest["sum"]], x)
    assert session.run(total)[0].tolist() == [7.0, 13.0]


def test_other_values_than_functions_are_refused() -> None:
    with pytest.raises(TypeError, match="f: expected a function"):
        tf.recompute_grad(3)  # type: ignore[arg-type]
