"""Activation functions, and the small parts of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
@pytest.mark.parametrize("axis", [2, -3, 100])
def test_a_dimension_that_is_not_there_is_an_op_error(function: Any, axis: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in the range \[-2, 2\)"):
        function(tf.ones([2, 3]), axis)


@pytest.mark.parametrize("argument", ["keep_prob", "rate"])
def test_dropout_takes_one_probability(argument: str) -> None:
    def dropped(value: Any) -> Any:
        return tf.nn.dropout(tf.ones([2]), **{argument: value})

    for wrong in ([0.0, 1.0], "a", np.array([0.5])):
        with pytest.raises(ValueError, match=f"{argument}: must be a floating point number"):
            dropped(wrong)
    for vector in (tf.constant([0.5]), tf.placeholder(tf.float32, [2])):
        with pytest.raises(ValueError, match=f"{argument}: expected a tensor of rank 0"):
            dropped(vector)
    for right in (0.5, np.array(0.5), tf.constant(0.5), tf.placeholder(tf.float32)):
        assert dropped(right).shape.as_list() == [2]
