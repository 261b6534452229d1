"""The block of a transformer's encoder in inference: its weights are constants of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 128
WIDTH = 256
HEADS = 4
INNER = 1024

# Name: the batch, and whether its GELU is by tanh or by erf.
ENCODERS = {
    "encoder_b1": (1, "tanh"),
    "encoder_b8": (8, "tanh"),
    "encoder_erf_b1": (1, "erf"),
    "encoder_erf_b8": (8, "erf"),
}


class _Block:
    """Adds the parts of the block to the default graph.

    Vaswani et al., "Attention Is All You Need", section 3, with the norms first.
    """

    def __init__(self, tf: Any, batch: int, gelu: str) -> None:
        self._tf = tf
        self._batch = batch
        self._gelu_way = gelu
        self._random = np.random.RandomState(7)

    def _constant(self, *shape: int, scale: float = 0.1, around: float = 0.0) -> Any:
        values = around + scale * self._random.randn(*shape)
        return self._tf.constant(values.astype(np.float32))

    def _dense(self, x: Any, inputs: int, outputs: int) -> Any:
        weights = self._constant(inputs, outputs, scale=inputs**-0.5)
        return self._tf.nn.bias_add(self._tf.matmul(x, weights), self._constant(outputs))

    def _norm(self, x: Any) -> Any:
        difference = x - self._tf.reduce_mean(x, -1, keepdims=True)
        variance = self._tf.reduce_mean(difference * difference, -1, keepdims=True)
        scaled = difference * self._tf.rsqrt(variance + 1e-5)
        return scaled * self._constant(WIDTH, around=1.0) + self._constant(WIDTH)

    def _gelu(self, x: Any) -> Any:
        if self._gelu_way == "erf":
            return 0.5 * x * (1.0 + self._tf.erf(x * math.sqrt(0.5)))
        cube = 0.044715 * (x * x * x)
        return 0.5 * x * (1.0 + self._tf.tanh(math.sqrt(2 / math.pi) * (x + cube)))

    def _attention(self, x: Any) -> Any:
        tf = self._tf

        def heads() -> Any:
            split = [self._batch, STEPS, HEADS, WIDTH // HEADS]
            return tf.transpose(tf.reshape(self._dense(x, WIDTH, WIDTH), split), [0, 2, 1, 3])

        queries, keys, values = heads(), heads(), heads()
        scores = tf.matmul(queries, keys, transpose_b=True) * (WIDTH // HEADS) ** -0.5
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), values), [0, 2, 1, 3])
        return tf.reshape(mixed, [self._batch * STEPS, WIDTH])

    def add(self, x: Any) -> Any:
        """Return what the block makes of x, [batch * steps, width]."""
        x = x + self._dense(self._attention(self._norm(x)), WIDTH, WIDTH)
        inner = self._gelu(self._dense(self._norm(x), WIDTH, INNER))
        return x + self._dense(inner, INNER, WIDTH)


def add_encoder(tf: Any, name: str) -> Callable[[Any], Callable[[], Any]]:
    """Add the block of that name; return how to make a step of it in a session."""
    batch, gelu = ENCODERS[name]
    shape = (batch * STEPS, WIDTH)
    x = tf.placeholder(tf.float32, shape)
    y = _Block(tf, batch, gelu).add(x)
    value = np.random.RandomState(11).randn(*shape).astype(np.float32)

    def make_step(active: Any) -> Callable[[], Any]:
        run = active.make_callable(y, feed_list=[x])
        return lambda: run(value)

    return make_step
