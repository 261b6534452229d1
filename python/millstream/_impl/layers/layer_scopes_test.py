"""The scope of names of a layer, as a property."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf


class _Doubled(tf.layers.Layer):
    """A layer that enters its scope again while it is called."""

    def call(self, inputs: Any) -> Any:
        with self.name_scope:
            return tf.add(inputs, inputs, name="sum")


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_the_scope_is_that_of_the_calls() -> None:
    layer = tf.layers.Dense(2, name="dense")
    with tf.variable_scope("net"):
        output = layer(tf.zeros([1, 3]))
    assert output.op.name == "net/dense/BiasAdd"
    for name in ("net/dense/one", "net/dense/one_1"):
        with tf.name_scope("elsewhere"), layer.name_scope as scope:
            assert scope == "net/dense/"
            assert tf.constant(1, name="one").op.name == name


def test_a_call_may_enter_the_scope() -> None:
    layer = _Doubled(name="twice")
    assert layer(tf.zeros([3])).op.name == "twice/sum"
    with tf.name_scope("around"):
        assert layer(tf.zeros([3])).op.name == "twice/sum_1"


def test_before_the_first_call_the_scope_has_the_name_of_the_layer() -> None:
    layer = tf.layers.Flatten(name="flat")
    with tf.name_scope("outer"), layer.name_scope as scope:
        assert scope == "outer/flat/"


def test_cells_have_a_scope_as_well() -> None:
    cell = tf.nn.rnn_cell.GRUCell(2)
    cell(tf.zeros([1, 3]), tf.zeros([1, 2]))
    with cell.name_scope as scope:
        assert scope == "gru_cell/"
