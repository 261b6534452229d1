"""Reversed tensors and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


def _run(fetch: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetch)


def test_reverse_takes_axes_from_both_ends() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    assert (_run(tf.reverse(x, [0, -1])) == x[::-1, :, ::-1]).all()
    assert (_run(tf.manip.reverse(x, [1])) == x[:, ::-1]).all()
    assert tf.reverse_v2 is tf.reverse


def test_reverse_is_a_node_of_its_op() -> None:
    assert tf.reverse([1, 2], [0], name="turned").op.type == "ReverseV2"


def test_reverse_refuses_an_axis_that_is_named_twice() -> None:
    with pytest.raises(ValueError, match="axis 0 specified more than once"):
        tf.reverse([[1]], [0, -2])


def test_reverse_sequence_keeps_what_is_past_the_length() -> None:
    x = np.arange(12).reshape(4, 3)
    turned = tf.reverse_sequence(x, [1, 3, 4], seq_axis=0, batch_axis=1)
    expected = x.copy()
    for column, length in enumerate([1, 3, 4]):
        expected[:length, column] = x[:length, column][::-1]
    assert (_run(turned) == expected).all()
    old = tf.reverse_sequence(x, [1, 3, 4], seq_dim=0, batch_dim=1)
    assert (_run(old) == expected).all()


def test_reverse_sequence_needs_an_axis_and_not_two() -> None:
    with pytest.raises(ValueError, match="seq_axis"):
        tf.reverse_sequence([[1]], [1])
    with pytest.raises(ValueError, match="give seq_axis only"):
        tf.reverse_sequence([[1]], [1], seq_axis=1, seq_dim=1)


def test_gradients_go_back_to_where_the_elements_were() -> None:
    x = tf.constant([[1.0, 2.0, 3.0]])
    weights = tf.constant([[1.0, 10.0, 100.0]])
    turned = tf.reverse_sequence(x, [2], seq_axis=1)
    assert _run(tf.gradients(turned * weights, x)[0]).tolist() == [[10.0, 1.0, 100.0]]
    assert _run(tf.gradients(tf.reverse(x, [1]) * weights, x)[0]).tolist() == [[100.0, 10.0, 1.0]]
