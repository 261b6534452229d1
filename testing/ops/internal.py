"""Ops that no program names: passes and partitions put them into the graphs of steps."""

from __future__ import annotations

from typing import Any

import millstream as tf
from testing.ops.state import LARGE_UPDATES
from testing.ops.support.definitions import registered_ops
from testing.ops.support.determinism import FLOAT32, SIZE, LargeCase, Values
from testing.ops.support.registry import NotTested, Property, define_tests

_MADE_HERE = NotTested(
    "made by a pass, whose test compares every bit with the nodes that it replaces"
)


def _products(values: Values) -> Any:
    found = []
    for rows, inner, columns in [(64, 3000, 10), (128, 784, 100)]:
        biased = tf.nn.bias_add(
            tf.matmul(values.of(rows, inner), values.of(inner, columns)), values.of(columns)
        )
        found.append(tf.nn.relu(biased))
    return found


def _convolutions(values: Values) -> Any:
    image, kernel = values.of(32, 28, 28, 1), values.of(5, 5, 1, 16)
    convolved = tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")
    return tf.nn.relu(tf.nn.bias_add(convolved, values.of(16)))


def _relu_gradient(values: Values) -> Any:
    found = []
    for shape in ((30_000, 10), (100, 3000)):
        x, bias = values.of(*shape), values.of(shape[1])
        output = tf.nn.relu(tf.nn.bias_add(x, bias))
        found += tf.gradients(output, [x, bias], values.of(*shape))
    return found


def _product_update(values: Values) -> Any:
    """A dense layer's step on few examples, which is one operation."""
    weights = values.variable(784, 100)
    loss = tf.reduce_sum(tf.square(tf.matmul(values.of(8, 784), weights)))
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
        return weights.read_value()


def _chain(values: Values) -> Any:
    """Elementwise operations that become one kernel."""
    x, y = values.positive(SIZE), values.positive(SIZE)
    return tf.tanh(x * y + 1.0) / tf.square(tf.maximum(x, y)) - tf.exp(-x)


for _op, _build in {
    "_FusedConv2D": _convolutions,
    "_FusedElementwise": _chain,
    "_FusedMatMul": _products,
    "_MatMulApplyGradientDescent": _product_update,
    "_ReluGradBiasAddGrad": _relu_gradient,
}.items():
    define_tests(_op, reference=_MADE_HERE, determinism=LargeCase(_build, FLOAT32))

# What batch_updates makes of an optimizer's steps.
define_tests(
    sorted(op for op in registered_ops() if op.startswith("_MultiResource")),
    reference=_MADE_HERE,
    determinism=LARGE_UPDATES,
)
define_tests(
    ["_HostRecv", "_HostSend", "_Recv", "_Send"],
    reference=NotTested("waits for another part of its step"),
    exceptions={Property.NAMED_ARGUMENT: "the error is about the node itself"},
)
