"""Loops that become their iterations: recurrent networks, and their gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

STEPS, BATCH, INPUTS, UNITS = 5, 2, 3, 4


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _session(*disabled: str) -> tf.Session:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session


def _ops_of(session: tf.Session, fetches: Any) -> Counter[str]:
    """Return how many nodes of each op a step runs."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    return Counter(label.split(" = ")[1].split("(")[0] for label in labels)


def _network(steps: int = STEPS) -> list[Any]:
    """Return the loss of a recurrent network, and its gradients."""
    random = np.random.RandomState(3)
    x = tf.Variable(random.randn(steps, BATCH, INPUTS).astype(np.float32))
    weights = tf.Variable(random.randn(INPUTS + UNITS, UNITS).astype(np.float32))
    inputs = tf.TensorArray(tf.float32, steps).unstack(x)

    def body(t: Any, state: Any, outputs: Any) -> tuple[Any, ...]:
        state = tf.tanh(tf.matmul(tf.concat([inputs.read(t), state], 1), weights))
        return t + 1, state, outputs.write(t, state)

    start = [0, tf.zeros([BATCH, UNITS]), tf.TensorArray(tf.float32, steps)]
    outputs = tf.while_loop(lambda t, *_: t < steps, body, start)[2].stack()
    loss = tf.reduce_sum(outputs * outputs)
    return [loss, *tf.gradients(loss, [x, weights])]


def test_a_network_and_its_gradient_become_iterations() -> None:
    fetches = _network()
    with _session("raise_loops") as plain, _session() as session:
        for actual, expected in zip(session.run(fetches), plain.run(fetches), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        ops = _ops_of(session, fetches)
    assert not ops.keys() & {"_Loop", "TensorListPushBack", "TensorListPopBack"}
    assert ops["Tanh"] == STEPS


def test_switches_keep_loops() -> None:
    fetches = _network()
    with _session("unroll_loops") as session:
        ops = _ops_of(session, fetches)
    assert ops["_Loop"] == 2
    assert ops["TensorListPopBack"] > 0


def test_loops_of_many_iterations_stay() -> None:
    fetches = _network(65)
    with _session() as session:
        assert _ops_of(session, fetches)["_Loop"] == 2


def test_second_order_gradients_are_the_same() -> None:
    _, gradient, _ = _network()
    x = tf.trainable_variables()[0]
    second = tf.gradients(tf.reduce_sum(gradient * gradient), [x])
    with _session("raise_loops") as plain, _session() as session:
        np.testing.assert_allclose(session.run(second), plain.run(second), rtol=1e-4, atol=1e-4)


def test_dynamic_rnn_becomes_iterations() -> None:
    tf.set_random_seed(1)
    x = tf.Variable(np.random.RandomState(5).randn(BATCH, STEPS, INPUTS).astype(np.float32))
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), x, dtype=tf.float32)
    fetches = [outputs, state, *tf.gradients(outputs, tf.trainable_variables())]
    with _session("raise_loops") as plain, _session() as session:
        for actual, expected in zip(session.run(fetches), plain.run(fetches), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
