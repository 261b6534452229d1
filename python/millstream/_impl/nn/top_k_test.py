"""The largest elements of rows, and what they do in gradients."""

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


def test_values_and_places_have_names() -> None:
    found = tf.nn.top_k([[1.0, 3.0, 2.0]], 2, name="best")
    assert found._fields == ("values", "indices")
    assert found.values.op.name == "best"
    assert found.values.eval().tolist() == [[3.0, 2.0]]
    assert found.indices.eval().tolist() == [[1, 2]]


def test_the_number_may_be_fed() -> None:
    k = tf.placeholder(tf.int32, [])
    values = tf.math.top_k([1, 3, 2], k).values
    assert values.shape.as_list() == [None]
    assert values.eval({k: 2}).tolist() == [3, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least k columns"):
        values.eval({k: 4})


def test_too_many_are_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="input must have last dimension >= k = 4 but is 3"):
        tf.nn.top_k([1, 3, 2], 4)


def test_gradients_go_to_the_places_that_were_found() -> None:
    x = tf.placeholder(tf.float32)
    weights = tf.constant([[1.0, 10.0], [100.0, 1000.0]])
    gradient = tf.gradients(tf.nn.top_k(x, 2).values * weights, x)[0]
    found = gradient.eval({x: [[5.0, 7.0, 6.0], [3.0, 1.0, 2.0]]})
    np.testing.assert_array_equal(found, [[0, 1, 10], [100, 0, 1000]])


def test_classes_of_equal_predictions_are_in_or_out_together() -> None:
    predictions = [[0.1, 0.4, 0.4], [0.1, 0.4, 0.4]]
    assert tf.nn.in_top_k(predictions, [1, 2], 1).eval().tolist() == [True, True]
    assert tf.math.in_top_k(predictions, [0, 3], 2).eval().tolist() == [False, False]
