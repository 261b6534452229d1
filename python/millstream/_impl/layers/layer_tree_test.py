"""What a layer has together with the layers in its attributes, and what all layers say of calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf


class Block(tf.layers.Layer):
    """Has layers in attributes, lists and dictionaries, a variable of its own, and a module."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.last = tf.layers.Dense(1, name="last", kernel_regularizer=tf.nn.l2_loss)
        self.norms = [tf.layers.BatchNormalization(name="norm")]
        self.more = {"drop": tf.layers.Dropout(name="drop")}
        self.scale = tf.Variable(2.0, name="scale")
        self.count = tf.Variable(0, trainable=False, name="count")
        self.part = tf.Module("part")

    def call(self, inputs: Any) -> Any:
        normal = self.norms[0](inputs * self.scale, training=True)
        return self.last(self.more["drop"](normal))


def _names(variables: Any) -> list[str]:
    return [variable.op.name.rpartition("/")[2] for variable in variables]


def test_the_variables_of_inner_layers_are_those_of_the_outer_one() -> None:
    with tf.Graph().as_default():
        block = Block(name="block")
        block(tf.ones([4, 3]))
        assert _names(block.trainable_weights) == ["scale", "kernel", "bias", "gamma", "beta"]
        assert _names(block.non_trainable_weights) == ["count", "moving_mean", "moving_variance"]
        assert block.count_params() == 1 + 3 + 1 + 3 + 3 + 1 + 3 + 3
        loss = tf.reduce_sum(block(tf.ones([4, 3])))
        gradients = tf.gradients(loss, block.trainable_weights)
        assert all(gradient is not None for gradient in gradients)


def test_losses_and_updates_of_inner_layers_are_those_of_the_outer_one() -> None:
    with tf.Graph().as_default():
        block = Block()
        x = tf.ones([4, 3])
        block(x)
        assert block.losses == block.last.losses
        assert len(block.losses) == 1
        assert block.updates == block.norms[0].updates
        assert len(block.updates) == 2
        assert block.get_losses_for(None) == block.losses
        assert block.get_updates_for(x) == block.updates


def test_an_inner_layer_that_is_not_trainable_keeps_its_variables_out() -> None:
    with tf.Graph().as_default():
        block = Block()
        block(tf.ones([4, 3]))
        block.last.trainable = False
        assert block.trainable
        assert _names(block.trainable_weights) == ["scale", "gamma", "beta"]
        assert _names(block.non_trainable_weights)[:3] == ["count", "kernel", "bias"]


def test_trainable_is_passed_on_to_inner_layers() -> None:
    with tf.Graph().as_default():
        block = Block()
        block(tf.ones([4, 3]))
        everything = set(block.weights)
        block.trainable = False
        assert not block.last.trainable
        assert not block.norms[0].trainable
        assert block.trainable_weights == []
        assert set(block.non_trainable_weights) == everything
        cell = tf.nn.rnn_cell.GRUCell(2)
        tower = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.DropoutWrapper(cell)])
        tower.trainable = False
        assert not cell.trainable


def test_submodules_are_the_layers_and_modules_in_attributes() -> None:
    with tf.Graph().as_default():
        block = Block()
        expected = (block.last, block.more["drop"], block.norms[0], block.part)
        assert block.submodules == expected
        outer: Any = tf.Module("outer")
        outer.block = block
        outer.scope = tf.get_variable_scope()
        assert outer.submodules == (block, *expected)
        cells = [tf.nn.rnn_cell.GRUCell(2) for _ in range(2)]
        tower = tf.nn.rnn_cell.MultiRNNCell(cells)
        assert tower.submodules == tuple(cells)
        assert tf.nn.rnn_cell.ResidualWrapper(tower).submodules == (tower, *cells)


def test_a_layer_that_knows_the_one_around_it_is_searched_once() -> None:
    with tf.Graph().as_default():
        block = Block()
        last: Any = block.last
        last.around = block
        block(tf.ones([4, 3]))
        assert len(block.weights) == 8
        assert block.last.submodules[0] is block


def test_inner_layers_have_their_values_read_and_set() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        block = Block()
        block(tf.ones([4, 3]))
        session.run(tf.global_variables_initializer())
        values = [np.full(value.shape, 3, value.dtype) for value in block.get_weights()]
        block.set_weights(values)
        assert session.run(block.last.bias).tolist() == [3.0]


@pytest.mark.parametrize(
    "layer", [lambda: tf.layers.Dense(2), lambda: tf.nn.rnn_cell.GRUCell(2)], ids=["dense", "gru"]
)
def test_no_layer_is_part_of_a_model_of_keras_or_has_masks_and_metrics(layer: Any) -> None:
    with tf.Graph().as_default():
        made = layer()
        for name in ("input_mask", "output_mask"):
            with pytest.raises(AttributeError, match=f"{name}: .* has never been called"):
                getattr(made, name)
        given = tf.ones([1, 2])
        is_cell = isinstance(made, tf.nn.rnn_cell.RNNCell)
        made(given, given) if is_cell else made(given)
        assert made.input_mask is None
        assert made.output_mask is None
        assert made.inbound_nodes == made.outbound_nodes == made.metrics == []
        assert made.trainable is True


def test_a_list_of_inputs_has_a_list_of_masks() -> None:
    with tf.Graph().as_default():
        layer = tf.layers.Layer()
        layer([tf.ones([1]), tf.ones([2])])
        assert layer.input_mask == [None, None]
