"""What the networks are built of: weights from a seed, and layers over them.

Everything takes the module of the API as ``tf``, Millstream or ``tensorflow.compat.v1``: one
program builds the same graph with both. Images are NHWC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_EPSILON = 1e-3


class Parts:
    """Layers of a network whose weights come from one seed, in the order of the calls.

    Parameters
    ----------
    tf
        The module of the API.
    seed
        Of the weights.
    """

    def __init__(self, tf: Any, seed: int = 7) -> None:
        self.tf = tf
        self._random = np.random.RandomState(seed)

    def weights(self, *shape: int, scale: float | None = None) -> Any:
        """A variable of normally distributed numbers, by default fit for a layer with relu."""
        inputs = int(np.prod(shape[:-1])) or 1
        deviation = (2.0 / inputs) ** 0.5 if scale is None else scale
        values = self._random.randn(*shape) * deviation
        return self.tf.Variable(values.astype(np.float32))

    def positive(self, count: int) -> Any:
        """A variable of numbers near 1."""
        values = 1 + 0.1 * np.abs(self._random.randn(count))
        return self.tf.Variable(values.astype(np.float32))

    def dense(self, x: Any, count: int, scale: float | None = None) -> Any:
        """A product with a matrix, and a bias."""
        weights = self.weights(int(x.shape[-1]), count, scale=scale)
        return self.tf.matmul(x, weights) + self.weights(count, scale=0.1)

    def normalized(self, x: Any) -> Any:
        """Batch normalization by known statistics."""
        channels = int(x.shape[-1])
        return self.tf.nn.fused_batch_norm(
            x,
            self.positive(channels),
            self.weights(channels, scale=0.1),
            mean=self.weights(channels, scale=0.1),
            variance=self.positive(channels),
            epsilon=_EPSILON,
            is_training=False,
        )[0]

    def conv(
        self,
        x: Any,
        channels: int,
        size: int | tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
    ) -> Any:
        """A convolution without a bias, and batch normalization."""
        height, width = (size, size) if isinstance(size, int) else size
        weights = self.weights(height, width, int(x.shape[-1]), channels)
        y = self.tf.nn.conv2d(x, weights, strides=[1, stride, stride, 1], padding=padding)
        return self.normalized(y)

    def conv_relu(
        self,
        x: Any,
        channels: int,
        size: int | tuple[int, int],
        stride: int = 1,
        padding: str = "SAME",
    ) -> Any:
        """As `conv`, and relu."""
        return self.tf.nn.relu(self.conv(x, channels, size, stride, padding))

    def separable(self, x: Any, channels: int, stride: int = 1) -> Any:
        """A depthwise 3 x 3 and a 1 x 1 convolution, each normalized and with relu6."""
        inputs = int(x.shape[-1])
        weights = self.weights(3, 3, inputs, 1, scale=(2 / 9) ** 0.5)
        y = self.tf.nn.depthwise_conv2d(x, weights, [1, stride, stride, 1], "SAME")
        y = self.tf.nn.relu6(self.normalized(y))
        return self.tf.nn.relu6(self.conv(y, channels, 1))

    def max_pool(self, x: Any, size: int, stride: int, padding: str = "VALID") -> Any:
        """The greatest value of each window."""
        return self.tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)

    def average_pool(self, x: Any, size: int) -> Any:
        """The mean of each window, as many windows as elements."""
        return self.tf.nn.avg_pool(x, [1, size, size, 1], [1, 1, 1, 1], "SAME")

    def classes(self, x: Any, count: int) -> Any:
        """Probabilities of classes from the mean of an image."""
        mean = self.tf.reduce_mean(x, [1, 2])
        return self.tf.nn.softmax(self.dense(mean, count))

    def layer_norm(self, x: Any) -> Any:
        """Normalization over the last dimension, as programs write it."""
        tf, size = self.tf, int(x.shape[-1])
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        scaled = (x - mean) * tf.rsqrt(variance + 1e-12)
        return scaled * self.positive(size) + self.weights(size, scale=0.1)

    def concat(self, parts: Sequence[Any]) -> Any:
        """Images with the channels of all."""
        return self.tf.concat(list(parts), axis=3)
