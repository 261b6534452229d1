"""Replicas that train together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

_CONFIG = tf.ConfigProto(device_count={"CPU": 3})
_ROWS = np.random.RandomState(0).randn(12, 4).astype(np.float32)
_KINDS = ("kernel", "bias")
_TARGETS = (_ROWS @ np.array([[1.0], [-2.0], [0.5], [3.0]])).astype(np.float32)


def _loss(x: Any, y: Any) -> Any:
    hidden = tf.layers.dense(x, 5, tf.nn.tanh)
    return tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - y))


def _mirrored(
    devices: list[str], make_optimizer: Callable[[], Any], step: Any = None
) -> tuple[Any, Any, list[Any]]:
    """The replicas, their training step and their losses."""
    mirrored = tf.cluster.Mirrored(devices)
    count = len(devices)
    losses = mirrored.build(_loss, tf.split(_ROWS, count), tf.split(_TARGETS, count))
    return mirrored, mirrored.minimize(make_optimizer, losses, global_step=step), losses


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.05),
        lambda: tf.train.AdamOptimizer(0.01),
        lambda: tf.train.MomentumOptimizer(0.02, 0.9),
    ],
)
def test_replicas_stay_equal_in_all_bits_and_learn(make_optimizer: Callable[[], Any]) -> None:
    with tf.Graph().as_default(), tf.Session(config=_CONFIG) as session:
        step = tf.train.get_or_create_global_step()
        mirrored, train, losses = _mirrored([f"/cpu:{i}" for i in range(3)], make_optimizer, step)
        session.run(tf.global_variables_initializer())
        before = sum(session.run(losses))
        for _ in range(30):
            session.run(train)
        values = session.run([mirrored.variables(i) for i in range(3)])
        assert len(values[0]) == 4
        for first, *others in zip(*values, strict=True):
            for other in others:
                assert first.tobytes() == other.tobytes()
        assert sum(session.run(losses)) < 0.8 * before
        assert session.run(step) == 30


def test_two_replicas_do_what_one_does_with_both_batches() -> None:
    results: list[list[Any]] = []
    starts: list[list[Any]] = []
    for count in (1, 2):
        with tf.Graph().as_default(), tf.Session(config=_CONFIG) as session:
            devices = [f"/cpu:{i}" for i in range(count)]
            mirrored, train, _ = _mirrored(devices, lambda: tf.train.GradientDescentOptimizer(0.05))
            session.run(tf.global_variables_initializer())
            starts.append(session.run(mirrored.variables()))
            for replica in range(count):
                variables = mirrored.variables(replica)
                for variable, value in zip(variables, starts[0], strict=True):
                    variable.load(value, session)
            for _ in range(5):
                session.run(train)
            results.append(session.run(mirrored.variables()))
    # The mean of two means rounds otherwise than one mean of all.
    for one, two in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_names_and_checkpoints_are_those_of_the_first_replica() -> None:
    with tf.Graph().as_default():
        mirrored, _, _ = _mirrored(
            ["/cpu:0", "/cpu:1"], lambda: tf.train.GradientDescentOptimizer(0.1)
        )
        names = [variable.op.name for variable in mirrored.variables()]
        assert names == [f"{layer}/{kind}" for layer in ("dense", "dense_1") for kind in _KINDS]
        assert [v.op.name for v in mirrored.variables(1)] == [f"replica_1/{name}" for name in names]
        assert {v.device for v in mirrored.variables(1)} == {"/device:CPU:1"}


def test_large_gradients_travel_alone_and_small_ones_together() -> None:
    with tf.Graph().as_default() as graph:
        pairs = [
            (tf.ones([200, 100]), "large"),
            (tf.ones([3]), "small"),
            (None, "none"),
            (tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2])), "rows"),
            (tf.ones([], tf.float64), "other type"),
        ]
        reduced = tf.cluster.all_reduce_gradients(pairs, 1)
        ops = [op for op in graph.get_operations() if op.type == "CollectiveReduce"]
        assert [op.inputs[0].shape.as_list() for op in ops] == [[200, 100], [9], []]
        assert [name for _, name in reduced] == [name for _, name in pairs]
        assert reduced[2][0] is None
        with tf.Session() as session:
            values = session.run([gradient for gradient, _ in reduced if gradient is not None])
        assert values[2].tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
        assert [value.shape for value in values] == [(200, 100), (3,), (3, 2), ()]


@pytest.mark.parametrize("width", [3, 300])
def test_workers_with_graphs_of_their_own_train_together(width: int) -> None:
    cluster = tf.train.ClusterSpec({"worker": free_addresses(2)})
    servers = [tf.train.Server(cluster, "worker", i) for i in range(2)]
    found: list[Any] = [None, None]

    def work(task: int) -> None:
        graph = tf.Graph()
        with graph.as_default(), tf.device(f"/job:worker/task:{task}"):
            x = tf.constant(np.full([2, width], task + 1.0, np.float32))
            w = tf.get_variable("w", [width, width], initializer=tf.random_normal_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
            share = tf.cluster.broadcast_variables([w], task == 0, 2)
            optimizer = tf.train.GradientDescentOptimizer(0.01)
            gradients = tf.cluster.all_reduce_gradients(optimizer.compute_gradients(loss), 2)
            train = optimizer.apply_gradients(gradients)
            init = w.initializer
        with graph.as_default(), tf.Session(servers[task].target) as session:
            session.run(init)
            session.run(share)
            for _ in range(3):
                session.run(train)
            found[task] = session.run(w)

    threads = [threading.Thread(target=work, args=(task,)) for task in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is not None
    assert found[0].tobytes() == found[1].tobytes()


def _other_variables(x: Any) -> Any:
    name = "a" if x == 0 else "b"
    return tf.get_variable(name, [1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.cluster.Mirrored([]), "expected different devices"),
        (lambda: tf.cluster.Mirrored(["/cpu:0", "/cpu:0"]), "expected different devices"),
        (
            lambda: tf.cluster.Mirrored(["/cpu:0", "/cpu:1"]).build(_loss, [1.0], [1.0]),
            "expected 2 values of parameter 0, got 1",
        ),
        (
            lambda: tf.cluster.Mirrored(["/cpu:0"]).build(lambda: tf.Variable(1.0)),
            "must be made by tf.get_variable",
        ),
        (
            lambda: tf.cluster.Mirrored(["/cpu:0", "/cpu:1"]).build(_other_variables, [0, 1]),
            "replica 1 makes the variable 'b'",
        ),
        (
            lambda: tf.cluster.Mirrored(["/cpu:0"]).minimize(
                lambda: tf.train.GradientDescentOptimizer(0.1), []
            ),
            "expected 1 losses, got 0",
        ),
        (
            lambda: tf.cluster.broadcast_variables(
                [tf.Variable(1.0, validate_shape=False)], True, 2
            ),
            "has no known shape",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make()


def test_a_large_gradient_travels_alone_whatever_its_position() -> None:
    # Types are equal to their numbers: float32 is 1, float64 is 2.
    with tf.Graph().as_default(), tf.Session() as session:
        small = [tf.constant([1.0, 2.0]), tf.constant([3.0])]
        large = [tf.ones([20_000], tf.float64), tf.ones([20_000])]
        pairs = [(small[0], None), (large[0], None), (large[1], None), (small[1], None)]
        found = tf.cluster.all_reduce_gradients(pairs, group_size=1)
        reduces = [op for op in session.graph.get_operations() if op.type == "CollectiveReduce"]
        assert [op.inputs[0].shape.as_list() for op in reduces] == [[3], [20_000], [20_000]]
        for (gradient, _), (expected, _) in zip(found, pairs, strict=True):
            np.testing.assert_array_equal(*session.run([gradient, expected]))
