"""Small networks in inference: their weights are constants of the graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

MLP = (784, 256, 128, 10)
LSTM_STEPS = 32
LSTM_UNITS = 256  # and inputs
IMAGE = (28, 28, 192)  # of an inception module

# Name: the network, and the batch.
NETWORKS = {
    "mlp_inference_b1": ("mlp", 1),
    "mlp_inference_b4": ("mlp", 4),
    "mlp_inference_b32": ("mlp", 32),
    "lstm_inference_b1": ("lstm", 1),
    "lstm_inference_b8": ("lstm", 8),
    "inception_inference_b1": ("inception", 1),
}


class _Weights:
    """Makes constants of the default graph."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._random = np.random.RandomState(7)

    def __call__(self, *shape: int, scale: float = 0.1) -> Any:
        return self._tf.constant((scale * self._random.randn(*shape)).astype(np.float32))


def _mlp(tf: Any, x: Any) -> Any:
    weights = _Weights(tf)
    for inputs, outputs in itertools.pairwise(MLP):
        x = tf.nn.bias_add(
            tf.matmul(x, weights(inputs, outputs, scale=inputs**-0.5)), weights(outputs)
        )
        x = tf.nn.relu(x) if outputs != MLP[-1] else x
    return x


def _lstm(tf: Any, x: Any) -> Any:
    """Return the last output of an LSTM that is unrolled, with the gates i, j, f and o."""
    weights = _Weights(tf)
    matrix, bias = weights(2 * LSTM_UNITS, 4 * LSTM_UNITS, scale=0.05), weights(4 * LSTM_UNITS)
    c = h = tf.zeros([x.shape[0], LSTM_UNITS])
    for inputs in tf.unstack(x, LSTM_STEPS, 1):
        i, j, f, o = tf.split(tf.matmul(tf.concat([inputs, h], 1), matrix) + bias, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    return h


def _inception(tf: Any, x: Any) -> Any:
    """Return the first inception module of GoogLeNet (Szegedy et al., 2014), module 3a."""
    weights = _Weights(tf)

    def convolved(image: Any, side: int, inputs: int, outputs: int) -> Any:
        kernel = weights(side, side, inputs, outputs, scale=(side * side * inputs) ** -0.5)
        sums = tf.nn.conv2d(image, kernel, strides=[1, 1, 1, 1], padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(sums, weights(outputs)))

    depth = IMAGE[-1]
    pooled = tf.nn.max_pool(x, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME")
    branches = [
        convolved(x, 1, depth, 64),
        convolved(convolved(x, 1, depth, 96), 3, 96, 128),
        convolved(convolved(x, 1, depth, 16), 5, 16, 32),
        convolved(pooled, 1, depth, 32),
    ]
    return tf.tanh(tf.concat(branches, 3))


# The function that adds a network, and the shape of an example.
_BUILT: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "mlp": (_mlp, MLP[:1]),
    "lstm": (_lstm, (LSTM_STEPS, LSTM_UNITS)),
    "inception": (_inception, IMAGE),
}


def add_network(tf: Any, name: str) -> Callable[[Any], Callable[[], Any]]:
    """Add the network of that name; return how to make a step of it in a session."""
    network, batch = NETWORKS[name]
    build, example = _BUILT[network]
    shape = (batch, *example)
    x = tf.placeholder(tf.float32, shape)
    y = build(tf, x)
    value = np.random.RandomState(11).rand(*shape).astype(np.float32)

    def make_step(active: Any) -> Callable[[], Any]:
        run = active.make_callable(y, feed_list=[x])
        return lambda: run(value)

    return make_step
