"""Training steps of attention so large that its gradients are one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

BATCH, HEADS, POSITIONS, DEPTH = 8, 8, 512, 4
FUSED = "_AttentionGrad"


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _heads(x: Any) -> Any:
    return tf.transpose(tf.reshape(x, [BATCH, POSITIONS, HEADS, DEPTH]), [0, 2, 1, 3])


def _training() -> tuple[Any, list[Any]]:
    """Return a training step of attention over earlier positions, and its variables."""
    random = np.random.RandomState(5)
    x = tf.constant(random.uniform(-1, 1, (BATCH, POSITIONS, 8)).astype(np.float32))
    wanted = tf.constant(random.uniform(-1, 1, (BATCH, POSITIONS, HEADS * DEPTH)), tf.float32)
    mask = tf.constant(np.triu(np.full((POSITIONS, POSITIONS), -1e9, np.float32), 1))
    weights = [
        tf.Variable(random.uniform(-1, 1, (8, HEADS * DEPTH)).astype(np.float32)) for _ in "qkv"
    ]
    q, k, v = (_heads(tf.tensordot(x, w, 1)) for w in weights)
    scores = tf.matmul(q, k, transpose_b=True) * DEPTH**-0.5 + mask
    heads = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
    output = tf.reshape(heads, [BATCH, POSITIONS, HEADS * DEPTH])
    loss = tf.reduce_mean(tf.square(output - wanted))
    return tf.train.GradientDescentOptimizer(100.0).minimize(loss), weights


def _trained(step: Any, weights: list[Any], *disabled: str) -> tuple[list[Any], Counter[str]]:
    """Return what two steps add to the weights, and how many nodes of each op the last one ran."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        start = session.run(weights)
        session.run(step)
        session.run(step, options=options, run_metadata=metadata)
        updates = [x - y for x, y in zip(session.run(weights), start, strict=True)]
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    return updates, Counter(label.split(" = ")[1].split("(")[0] for label in labels)


def test_a_training_step_with_the_pass_learns_what_one_without_it_does() -> None:
    step, weights = _training()
    fused, ops = _trained(step, weights)
    plain, plain_ops = _trained(step, weights, "fuse_attention_grad")
    assert ops[FUSED] == 1
    assert ops["_SoftmaxGrad"] == 0
    assert plain_ops[FUSED] == 0
    assert plain_ops["_SoftmaxGrad"] == 1
    for actual, expected in zip(fused, plain, strict=True):
        # Sums of at most 512 terms are off by 512 units of the terms' sizes, which cancel to a sum
        # that is a sixteenth of these at least.
        bound = 16 * POSITIONS * np.finfo(np.float32).eps * np.max(np.abs(expected))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)
