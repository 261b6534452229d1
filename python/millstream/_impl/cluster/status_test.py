"""What the tasks of a cluster say of themselves."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.cluster.status import TaskStatus


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def _servers(count: int) -> list[Any]:
    cluster = tf.train.ClusterSpec({"worker": free_addresses(count)})
    return [tf.train.Server(cluster, "worker", i) for i in range(count)]


def _statuses(target: str) -> list[TaskStatus]:
    """What all tasks say, none of which is lost."""
    statuses = [task.status for task in tf.cluster.status(target)]
    assert None not in statuses
    return [status for status in statuses if status is not None]


def _name(task: int) -> str:
    return f"/job:worker/replica:0/task:{task}"


def test_steps_sessions_and_bytes_are_counted() -> None:
    servers = _servers(2)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1000])
        with tf.device("/job:worker/task:1"):
            y = x * 2.0
        with tf.Session(servers[0].target) as sess:
            for _ in range(3):
                sess.run(y, {x: [1.0] * 1000})
            tasks = tf.cluster.status(servers[1].target)
            first, second = _statuses(servers[1].target)
    assert [task.task for task in tasks] == [_name(0), _name(1)]
    assert all(task.error == "" for task in tasks)
    assert (first.led_steps, first.failed_led_steps, first.led_sessions) == (3, 0, 1)
    assert (second.steps, second.failed_steps, second.sessions, second.graphs) == (3, 0, 1, 1)
    assert second.traffic[_name(0)].received_bytes > 12_000
    assert second.traffic[_name(0)].sent_bytes > 12_000
    assert first.traffic[_name(1)].sent_bytes >= second.traffic[_name(0)].received_bytes
    assert int(first.incarnation, 16) > 0
    assert first.up_seconds > 0
    assert (first.lost, first.losses, first.running) == ((), 0, ())


def test_a_step_that_runs_says_for_whom_it_waits() -> None:
    servers = _servers(2)
    begun = threading.Event()

    def begin() -> int:
        begun.set()
        return 0

    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            element = tf.FIFOQueue(1, [tf.float32], shapes=[[]]).dequeue()
            begins = tf.py_func(begin, [], tf.int64)
        with tf.device("/job:worker/task:0"):
            y = element + 1.0
        sess = tf.Session(servers[0].target)

        def run() -> None:
            with pytest.raises(tf.errors.CancelledError):
                sess.run([y, begins])

        runner = threading.Thread(target=run)
        runner.start()
        begun.wait()
        here, there = _statuses(servers[0].target)
        (led,) = (step for step in here.running if step.is_led)
        assert [(wait.task, wait.tensor) for wait in led.waits] == [(_name(1), "")]
        assert led.step == 1
        assert [step.session for step in there.running] == [led.session]
        sess.close()
        runner.join()
        assert _statuses(servers[0].target)[0].running == ()


def test_a_target_where_nobody_answers_is_an_error() -> None:
    (address,) = free_addresses(1)
    with pytest.raises(tf.errors.UnavailableError):
        tf.cluster.status(f"grpc://{address}")
    with pytest.raises(tf.errors.NotFoundError):
        tf.cluster.status("local")


def test_a_task_that_does_not_run_has_an_error() -> None:
    here, there = free_addresses(2)
    server = tf.train.Server({"worker": [here, there]}, "worker", 0)
    first, second = tf.cluster.status(server.target)
    assert first.status is not None
    assert second.status is None
    assert second.address == there
    # By the network's library, where it is installed, or by the host alone.
    expected = f"no answer from {there}: .*refused", f"no server of this host is at {there}"
    assert any(re.fullmatch(one, second.error) for one in expected), second.error
