"""Loops of scalars, and their gradients, that become one operation each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _run(fetches: Any, feeds: Any, disabled: tuple[str, ...] = ()) -> tuple[Any, list[str]]:
    """Return the values, and the ops of the nodes that a step runs."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=config) as session:
        values = session.run(fetches, feeds, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    return values, [label.split(" = ")[1].split("(")[0] for label in labels]


def _check(fetches: list[Any], feeds: Any, loops: int) -> None:
    """Check that so many operations take the place of all loops and lists, and no bit differs."""
    values, ops = _run(fetches, feeds)
    assert ops.count("_ScalarLoop") == loops
    assert not any(op == "_Loop" or op.startswith("TensorList") for op in ops)
    plain, plain_ops = _run(fetches, feeds, ("compile_loops", "vectorize_maps"))
    assert "_Loop" in plain_ops
    for actual, expected in zip(values, plain, strict=True):
        assert actual.tobytes() == expected.tobytes()


def _loop(body: Callable[[Any], Any], x: Any, limit: Any) -> Any:
    return tf.while_loop(lambda i, _: i < limit, lambda i, y: (i + 1, body(y)), [0, x])[1]


@pytest.mark.parametrize("iterations", [0, 1, 5, 20_000])
def test_the_number_of_iterations_may_be_fed(iterations: int) -> None:
    x, limit = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    last = _loop(lambda y: tf.tanh(y * 1.5) * y + 0.25, x, limit)
    feeds = {x: 0.5, limit: iterations}
    _check([last, *tf.gradients(last, x)], feeds, 2)


@pytest.mark.parametrize(
    "body",
    [
        lambda y: y * 0.999 + 0.001,
        lambda y: y * y - 0.125,
        lambda y: tf.maximum(y * 0.5, 0.25 - y),
        lambda y: tf.minimum(y, 0.25) + tf.abs(y) * 0.5,
        lambda y: tf.nn.relu(y - 0.1) / (1.0 + y * y),
        lambda y: tf.exp(-y) * tf.sigmoid(y),
    ],
)
def test_bodies(body: Callable[[Any], Any]) -> None:
    x = tf.placeholder(tf.float32, [])
    last = _loop(body, x, 7)
    for value in (-0.75, 0.25, 1.0):
        _check([last, *tf.gradients(last, x)], {x: value}, 2)


def test_doubles_and_what_all_iterations_read() -> None:
    x, factor = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
    last = _loop(lambda y: y * factor + y * y * 0.5, x, 9)
    _check([last, *tf.gradients(last, [x, factor])], {x: 0.3, factor: 0.7}, 2)


def test_the_gradient_may_be_of_a_gradient() -> None:
    x = tf.placeholder(tf.float32, [])
    last = _loop(lambda y: tf.tanh(y) * y + 0.5, x, 6)
    (first,) = tf.gradients(last, x)
    (second,) = tf.gradients(first, x)
    values, _ = _run([last, first, second], {x: 0.5})
    plain, _ = _run([last, first, second], {x: 0.5}, ("raise_loops",))
    np.testing.assert_allclose(values, plain, rtol=1e-5)


def test_a_list_is_made_where_the_loop_that_goes_back_stays() -> None:
    x = tf.placeholder(tf.float32, [])
    # Its gradient reads ones like y.
    last = _loop(lambda y: tf.pow(y, y) + 0.5, x, 4)
    fetches = [last, *tf.gradients(last, x)]
    values, ops = _run(fetches, {x: 0.5})
    plain, _ = _run(fetches, {x: 0.5}, ("compile_loops", "vectorize_maps"))
    for actual, expected in zip(values, plain, strict=True):
        assert actual.tobytes() == expected.tobytes()
    assert {"_ScalarLoop", "TensorListFromTensor", "_Loop"} <= set(ops)
