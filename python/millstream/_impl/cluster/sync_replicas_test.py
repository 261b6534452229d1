"""Synchronous training with a backup worker: what the slower one gives is dropped, and counted."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

_STEPS = 3


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


class _Worker:
    """One of two workers, of whose gradients each step takes the first."""

    def __init__(self, cluster: tf.train.ClusterSpec, server: Any, index: int) -> None:
        setter = tf.train.replica_device_setter(
            cluster=cluster, worker_device=f"/job:worker/task:{index}"
        )
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(setter):
            w = tf.get_variable("w", initializer=[1.0, 2.0])
            table = tf.get_variable("table", initializer=[[1.0], [2.0], [3.0]])
            self.step = tf.train.get_or_create_global_step()
            rows = tf.reduce_sum(tf.gather(table, [2, 0]))
            self.optimizer = tf.train.SyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(0.5), 1, total_num_replicas=2
            )
            self.train = self.optimizer.minimize(tf.reduce_sum(w) + rows, global_step=self.step)
            self.counts = self.optimizer.gradient_counts()
            self.initializer = tf.global_variables_initializer()
        self.session = tf.Session(server.target, self.graph)


def test_gradients_of_the_slower_worker_are_dropped_and_counted() -> None:
    addresses = free_addresses(3)
    cluster = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    ps = tf.train.Server(cluster, "ps", 0)
    servers = [tf.train.Server(cluster, "worker", task) for task in range(2)]
    fast, slow = (_Worker(cluster, server, task) for task, server in enumerate(servers))
    fast.session.run(fast.initializer)
    fast.session.run(fast.optimizer.chief_init_op)
    for worker in (fast, slow):
        worker.session.run(worker.optimizer.local_step_init_op)
    coordinator = tf.train.Coordinator()
    runner = fast.optimizer.get_chief_queue_runner()
    threads = runner.create_threads(fast.session, coord=coordinator, daemon=True, start=True)
    for _ in range(_STEPS):
        # A step ends with its token, so the mean of the fast worker's gradient has been taken.
        fast.session.run(fast.train)
        slow.session.run(slow.train)
    # Each worker reads the counts of both.
    for worker in (fast, slow):
        found = worker.session.run(worker.counts)
        assert found == {"w:0": (_STEPS, _STEPS), "table:0": (_STEPS, _STEPS)}
        assert found["w:0"].dropped == _STEPS
        assert worker.session.run(worker.step) == _STEPS
    statuses = {task.task: task.status for task in tf.cluster.status(servers[1].target)}
    of_ps = statuses["/job:ps/replica:0/task:0"]
    assert of_ps is not None
    assert [(one.name, one.applied, one.dropped) for one in of_ps.accumulators] == [
        ("table:0/grad_accum", _STEPS, _STEPS),
        ("w:0/grad_accum", _STEPS, _STEPS),
    ]
    text = urllib.request.urlopen(f"{tf.cluster.serve_metrics(ps)}/metrics").read().decode()
    name = "millstream_stale_gradients_dropped_total"
    assert f'{name}{{accumulator="w:0/grad_accum"}} {_STEPS}\n' in text
    coordinator.request_stop()
    fast.session.close()
    slow.session.close()
    coordinator.join(threads)


def test_each_worker_has_a_step_of_its_own() -> None:
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "c:1"]})
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")
    with tf.Graph().as_default(), tf.device(setter):
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 2)
        optimizer.minimize(tf.reduce_sum(w), global_step=step)
        (local_step,) = tf.local_variables()
        counts = optimizer.gradient_counts()
    assert local_step.device == "/job:worker/task:1"
    assert step.device == "/job:ps/task:0"
    assert counts["w:0"].dropped.device == "/job:ps/task:0"


def test_counts_are_those_of_a_built_optimizer() -> None:
    with tf.Graph().as_default():
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 1)
        with pytest.raises(ValueError, match="should be called after apply_gradients"):
            optimizer.gradient_counts()
