"""Checks of all numbers of a graph."""

from __future__ import annotations

import numpy as np
import pytest

import millstream as tf


def test_the_first_tensor_that_is_not_finite_is_named() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        first = tf.sqrt(x, name="first")
        tf.cast(tf.reduce_sum(first, name="second"), tf.int32)
        check = tf.add_check_numerics_ops()
        assert check.type == "NoOp"
        session.run(check, {x: [1.0, 4.0]})
        for values, text in (([1.0, -1.0], r"first:0\b.*NaN"), ([np.inf, 1], r"x:0")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(check, {x: values})


def test_graphs_with_branches_are_refused() -> None:
    with tf.Graph().as_default():
        tf.cond(tf.placeholder(tf.bool, []), lambda: 1.0, lambda: 2.0)
        with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
            tf.add_check_numerics_ops()


def test_an_empty_graph_has_nothing_to_check() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.add_check_numerics_ops())
