"""Second derivatives of functions whose derivatives are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_of_a_quadratic_form(session: tf.Session) -> None:
    matrix = np.random.RandomState(3).normal(size=(4, 4))
    x = tf.constant([[1.0, 2.0, 3.0, 4.0]], tf.float64)
    form = tf.reduce_sum(tf.matmul(x, tf.constant(matrix)) * x)
    found = tf.hessians(form, x)[0]
    assert found.shape.as_list() == [1, 4, 1, 4]
    np.testing.assert_allclose(session.run(found)[0, :, 0], matrix + matrix.T, rtol=1e-12)


def test_of_several_tensors_and_variables(session: tf.Session) -> None:
    x, y = tf.Variable([1.0, 2.0]), tf.constant(3.0)
    found = tf.hessians([tf.reduce_sum(x * x * x), y * y * x[0]], [x, y])
    session.run(tf.global_variables_initializer())
    by_x, by_y = session.run(found)
    np.testing.assert_allclose(by_x, [[6.0, 0.0], [0.0, 12.0]])
    np.testing.assert_allclose(by_y, 2.0)


def test_of_gathered_rows(session: tf.Session) -> None:
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.gather(table, [1, 1])
    found = tf.hessians(tf.reduce_sum(rows * rows * rows), table)[0]
    session.run(tf.global_variables_initializer())
    matrix = session.run(found).reshape(4, 4)
    np.testing.assert_allclose(matrix, np.diag([0.0, 0.0, 2 * 6 * 3.0, 2 * 6 * 4.0]))


def test_of_linear_functions_and_of_nothing(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(session.run(tf.hessians(x * 2.0, x)[0]), np.zeros([2, 2]))
    empty = tf.zeros([0, 3])
    assert session.run(tf.hessians(tf.reduce_sum(empty * empty), empty)[0]).shape == (0, 3, 0, 3)


def test_what_cannot_be_differentiated_is_refused() -> None:
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match="expected a tensor of a known shape"):
        tf.hessians(tf.reduce_sum(x * x), x)
    other = tf.constant([1.0])
    with pytest.raises(ValueError, match="is None"):
        tf.hessians(tf.constant([2.0]) * 1.0, other)
