"""Train a small network to fit a curve: with ACME devices where they have kernels, and on the CPU.

python3 train.py [build/libacme.so]    by default the plugin of the package acme-plugin
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np

import millstream as tf

STEPS = 500


def train(device: str | None, swish: Callable[[tf.Tensor], tf.Tensor]) -> tuple[np.ndarray, str]:
    """Train; return the loss of each step, and the device of each node as text."""
    random = np.random.default_rng(1)
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(-1, 1)
    with tf.Graph().as_default(), tf.device(device):
        w1 = tf.Variable(random.normal(0, 2, [1, 16]).astype(np.float32))
        b1 = tf.Variable(random.normal(0, 1, [16]).astype(np.float32))
        w2 = tf.Variable(random.normal(0, 0.3, [16, 1]).astype(np.float32))
        b2 = tf.Variable(np.zeros([1], np.float32))
        hidden = swish(tf.nn.bias_add(tf.matmul(x, w1), b1))
        y = tf.nn.bias_add(tf.matmul(hidden, w2), b2)
        loss = tf.reduce_mean(tf.square(y - np.sin(3 * x)))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(STEPS)]
            return np.array(losses), session.explain_placement([loss, step])


def load() -> ModuleType:
    """Load the plugin by its path or from its package; return the module of its ops."""
    if len(sys.argv) > 1:
        return tf.plugins.load_plugin(sys.argv[1])
    import acme_plugin

    return tf.plugins.load_plugin(acme_plugin.path())


def main() -> None:
    """Train on ACME and on the CPU, and print both."""
    acme = load()
    losses, placement = train(None, acme.acme_swish)
    expected, _ = train("/cpu:0", lambda x: x * tf.sigmoid(x))
    lines = [line for line in placement.splitlines() if "/device:ACME:0" in line]
    print(f"{len(lines)} nodes ran on ACME")
    print(f"loss on ACME: {losses[0]:.4f}, after {STEPS} steps {losses[-1]:.4f}")
    print(f"on the CPU:   {expected[0]:.4f}, after {STEPS} steps {expected[-1]:.4f}")
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


if __name__ == "__main__":
    main()
