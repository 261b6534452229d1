"""Layers as data, and what layers are given by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


LAYERS: list[Callable[[], Any]] = [
    lambda: tf.layers.Dense(3, "relu", kernel_initializer=tf.random_normal_initializer(0.0, 0.1)),
    lambda: tf.layers.Dense(3, tf.nn.softmax, False, "he_normal", kernel_regularizer="l2"),
    lambda: tf.layers.Conv1D(2, 3, padding="same", dilation_rate=2, trainable=False),
    lambda: tf.layers.Conv2D(2, [3, 5], 2, activation=tf.nn.leaky_relu, name="conv"),
    lambda: tf.layers.Conv3D(2, 3, bias_initializer="ones", dtype=tf.float64),
    lambda: tf.layers.Conv2DTranspose(2, 3, 2, data_format="channels_first"),
    lambda: tf.layers.Conv3DTranspose(2, 3, kernel_initializer="orthogonal"),
    lambda: tf.layers.SeparableConv1D(2, 3, depth_multiplier=2),
    lambda: tf.layers.SeparableConv2D(2, 3, depthwise_regularizer="l1", activation="elu"),
    lambda: tf.layers.MaxPooling1D(2, 2),
    lambda: tf.layers.MaxPooling2D([2, 3], [1, 2], "same"),
    lambda: tf.layers.MaxPooling3D(2, 2),
    lambda: tf.layers.AveragePooling2D(2, 2, data_format="channels_first"),
    lambda: tf.layers.Dropout(0.3, [1, None], 7),
    lambda: tf.layers.Flatten("channels_first"),
    lambda: tf.layers.BatchNormalization(1, 0.9, 1e-5, scale=False, beta_initializer="ones"),
    lambda: tf.nn.rnn_cell.BasicRNNCell(3, "linear"),
    lambda: tf.nn.rnn_cell.GRUCell(3, tf.nn.relu, kernel_initializer="glorot_normal"),
    lambda: tf.nn.rnn_cell.BasicLSTMCell(3, 0.5, activation="sigmoid", name="cell"),
    lambda: tf.nn.rnn_cell.LSTMCell(3, True, 5.0, num_proj=2, initializer="zeros"),
]


@pytest.mark.parametrize("make", LAYERS)
def test_a_layer_is_made_again_from_its_description(make: Callable[[], Any]) -> None:
    layer = make()
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert type(again) is type(layer)
    assert again.get_config() == config
    assert again.name == layer.name
    assert again.trainable == layer.trainable


def test_descriptions_are_those_of_programs() -> None:
    config = tf.layers.Conv2D(4, 3, activation=tf.nn.relu, kernel_regularizer="l2").get_config()
    assert config == {
        "name": "conv2d_1",
        "trainable": True,
        "dtype": None,
        "filters": 4,
        "kernel_size": (3, 3),
        "strides": (1, 1),
        "padding": "valid",
        "data_format": "channels_last",
        "dilation_rate": (1, 1),
        "activation": "relu",
        "use_bias": True,
        "kernel_initializer": None,
        "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
        "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}},
        "bias_regularizer": None,
        "activity_regularizer": None,
        "kernel_constraint": None,
        "bias_constraint": None,
    }


def test_a_layer_of_the_program_describes_itself() -> None:
    class Plain(tf.layers.Layer):
        pass

    class Scaled(tf.layers.Layer):
        def __init__(self, factor: float, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.factor = factor

    assert Plain(name="p").get_config() == {"name": "p", "trainable": True, "dtype": None}
    with pytest.raises(NotImplementedError, match="must override `get_config`"):
        Scaled(2.0).get_config()


@pytest.mark.parametrize(
    "name",
    [
        *("elu", "exponential", "hard_sigmoid", "linear", "relu", "relu6", "selu", "sigmoid"),
        *("softmax", "softplus", "softsign", "tanh", "leaky_relu", "swish"),
    ],
)
def test_activations_have_names(name: str, session: tf.Session) -> None:
    x = np.array([[-3.0, -0.5, 0.0, 2.0]], np.float32)
    one = tf.layers.dense(x, 4, name, kernel_initializer=tf.constant_initializer(np.eye(4)))
    functions = {
        "exponential": tf.exp,
        "hard_sigmoid": lambda x: tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0),
        "linear": tf.identity,
    }
    other = functions.get(name) or getattr(tf.nn, name)
    session.run(tf.global_variables_initializer())
    ours, expected = session.run([one, other(tf.constant(x))])
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("zeros", 0.0, 0.0),
        ("ones", 1.0, 1.0),
        ("uniform", -0.05, 0.05),
        ("random_uniform", -0.05, 0.05),
        ("truncated_normal", -0.1, 0.1),
        ("glorot_uniform", -0.11, 0.11),
        ("he_uniform", -0.15, 0.15),
        ("lecun_uniform", -0.11, 0.11),
        ({"class_name": "RandomUniform", "config": {"minval": 2.0, "maxval": 3.0}}, 2.0, 3.0),
    ],
)
def test_initializers_have_names(name: Any, low: float, high: float, session: tf.Session) -> None:
    layer = tf.layers.Dense(300, kernel_initializer=name)
    layer(tf.ones([1, 300]))
    session.run(tf.global_variables_initializer())
    kernel = session.run(layer.kernel)
    assert low <= kernel.min() <= low + 0.02
    assert high - 0.02 <= kernel.max() <= high


def test_regularizers_have_names(session: tf.Session) -> None:
    kernel = tf.constant_initializer(2.0)
    for name, loss in (("l1", 0.01 * 4), ("l2", 0.01 * 8), ("l1_l2", 0.01 * 12)):
        layer = tf.layers.Dense(2, kernel_initializer=kernel, kernel_regularizer=name)
        layer(tf.ones([1, 1]))
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(layer.losses), [loss], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"activation": "rleu"}, "activation: Unknown activation function:rleu"),
        ({"kernel_initializer": "he"}, "kernel_initializer: Unknown initializer: he"),
        ({"bias_regularizer": "l3"}, "bias_regularizer: Unknown regularizer: l3"),
    ],
)
def test_unknown_names_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.layers.Dense(2, **arguments)


def test_objects_without_a_description_are_refused() -> None:
    class Halved:
        def __call__(self, x: Any) -> Any:
            return x * 0.5

    with pytest.raises(ValueError, match="activation: Cannot serialize"):
        tf.layers.Dense(2, Halved()).get_config()


def test_a_layer_of_the_program_has_weights_of_named_initializers(session: tf.Session) -> None:
    class Scaled(tf.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_weight("factor", [], initializer="ones", regularizer="l2")
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    layer = Scaled()
    y = layer(tf.constant([1.0, 2.0]))
    session.run(tf.global_variables_initializer())
    assert session.run(y).tolist() == [1.0, 2.0]
    np.testing.assert_allclose(session.run(layer.losses), [0.01])


def test_a_layer_remembers_its_calls() -> None:
    layer = tf.layers.Dense(4, name="d")
    with pytest.raises(AttributeError, match="'d' has never been called"):
        _ = layer.output
    with pytest.raises(RuntimeError, match="'d' has never been called"):
        layer.get_output_at(0)
    x = tf.ones([2, 3])
    y = layer(x)
    assert layer.input is x
    assert layer.output is y
    layer(x + 1.0)
    assert (layer.input_shape, layer.output_shape) == ((2, 3), (2, 4))
    other = tf.placeholder(tf.float32, [None, 3])
    z = layer(other)
    with pytest.raises(AttributeError, match="was called 3 times"):
        _ = layer.input
    with pytest.raises(AttributeError, match="input_shape: the layer 'd' was called 3 times"):
        _ = layer.input_shape
    assert layer.get_input_at(2) is other
    assert layer.get_output_at(2) is z
    assert layer.get_input_shape_at(2) == (None, 3)
    assert layer.get_output_shape_at(2) == (None, 4)
    with pytest.raises(ValueError, match=r"node_index: expected one in \[0, 3\)"):
        layer.get_output_at(3)


def test_losses_and_updates_are_found_by_what_they_depend_on() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    other = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.BatchNormalization(gamma_regularizer="l2")
    layer(x * 2.0, training=True)
    assert layer.get_updates_for(x) == layer.updates
    assert len(layer.updates) == 2
    assert layer.get_updates_for(other) == []
    assert layer.get_updates_for([other, x]) == layer.updates
    assert layer.get_updates_for(None) == []
    assert layer.get_losses_for(None) == layer.losses
    layer.add_loss(lambda: tf.reduce_sum(x), inputs=x)
    layer.add_update([lambda: tf.no_op(), None])
    assert len(layer.get_losses_for(x)) == 1
    assert [update.type for update in layer.get_updates_for(None)] == ["NoOp"]


def test_a_layer_has_no_masks() -> None:
    layer = tf.layers.Dense(2)
    assert layer.compute_mask(tf.ones([1, 2])) is None
    assert layer.dynamic is False
    with pytest.raises(TypeError, match="does not support masking"):
        layer.compute_mask(tf.ones([1, 2]), tf.ones([1]))
