"""Tasks of a cluster as actors of a local Ray."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

import python_environment

PINS = pathlib.Path("tools/requirements/ray.txt")

BEGIN = """
import json, os, sys
import ray
import millstream as tf
def tell(value):
    print("told:", json.dumps(value))
ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
"""

# Each worker adds what it is to a variable on the parameter server, and waits for the others.
TRAIN = """
def add(task):
    with tf.device(task.device_setter()):
        total = tf.Variable(0.0, use_resource=True, name="total")
    with tf.device("/job:ps/task:0"):
        done = tf.FIFOQueue(2, [tf.float32], shapes=[[]], shared_name="done")
    added = total.assign_add(float(10 ** task.task_index))
    put, take = done.enqueue(1.0), done.dequeue_many(2)
    with tf.train.MonitoredTrainingSession(task.target, task.is_chief) as session:
        session.run(added)
        session.run(put)
        if task.is_chief:
            session.run(take)
            return float(session.run(total))
    return task.task_index
tell(tf.cluster.ray.run(add, ps=1, workers=2))
"""

# The worker's process dies once; Ray starts it again.
RESTART = """
mark = sys.argv[1]
def fail_once(task):
    if not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), 9)
    with tf.Session(task.target) as session:
        return float(session.run(tf.constant(6.0) * 7.0))
tell(tf.cluster.ray.run(fail_once, restarts=1))
"""

# Each worker adds its part of the rows to a variable on the parameter server.
FEED = """
import ray.data
def add(task, shard):
    with tf.device(task.device_setter()):
        total = tf.Variable(0.0, use_resource=True, name="total")
    with tf.device("/job:ps/task:0"):
        done = tf.FIFOQueue(2, [tf.float32], shapes=[[]], shared_name="done")
    x = tf.placeholder(tf.float32, [None])
    added = total.assign_add(tf.reduce_sum(x))
    put, take = done.enqueue(1.0), done.dequeue_many(2)
    rows = []
    with tf.train.MonitoredTrainingSession(task.target, task.is_chief) as session:
        for feed in tf.cluster.ray.feeds(shard, {x: "id"}, batch_size=4):
            session.run(added, feed)
            rows.append(len(feed[x]))
        session.run(put)
        if task.is_chief:
            session.run(take)
            return rows, float(session.run(total))
    return rows
tell(tf.cluster.ray.run(add, ps=1, workers=2, dataset=ray.data.range(21)))
"""

# The worker's process dies after its first batch; in the next one it begins its rows again.
FEED_AGAIN = """
import ray.data
mark = sys.argv[1]
def fail_once(task, shard):
    x = tf.placeholder(tf.float32, [None])
    total, totals = tf.reduce_sum(x), []
    with tf.Session(task.target) as session:
        for feed in tf.cluster.ray.feeds(shard, {x: "id"}, batch_size=4):
            totals.append(float(session.run(total, feed)))
            if not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), 9)
    return totals
rows = ray.data.range(10, override_num_blocks=1)
tell(tf.cluster.ray.run(fail_once, restarts=1, dataset=rows))
"""

FAIL = """
def fail(task):
    raise ValueError("no data here")
try:
    tf.cluster.ray.run(fail, ps=1)
except ValueError as error:
    tell("no data here" in str(error))
states = [group["state"] for group in ray.util.placement_group_table().values()]
tell(states)
"""


@pytest.fixture(scope="module")
def python() -> str:
    return python_environment.PythonEnvironment(PINS, "ray").program("python")


def run(python: str, program: str, *arguments: str) -> list[object]:
    """What a program on a new Ray prints."""
    done = subprocess.run(
        [python, "-c", BEGIN + program, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                path for path in sys.path if path and "dist-packages" not in path
            ),
            "RAY_USAGE_STATS_ENABLED": "0",
            # Ray's sockets have long names.
            "RAY_TMPDIR": "/tmp",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Ray prints lines of its own.
    told = [line.partition("told: ") for line in done.stdout.splitlines()]
    return [json.loads(text) for begin, mark, text in told if mark and not begin]


def test_workers_share_what_the_parameter_server_keeps(python: str) -> None:
    assert run(python, TRAIN) == [[11.0, 1]]


def test_a_worker_that_died_is_started_again(python: str, tmp_path: pathlib.Path) -> None:
    assert run(python, RESTART, str(tmp_path / "mark")) == [[42.0]]


def test_workers_are_fed_with_all_rows_of_a_dataset(python: str) -> None:
    assert run(python, FEED) == [[[[4, 4, 2], 210.0], [4, 4, 3]]]


def test_a_worker_that_is_started_again_has_its_rows(python: str, tmp_path: pathlib.Path) -> None:
    assert run(python, FEED_AGAIN, str(tmp_path / "mark")) == [[[6.0, 22.0, 17.0]]]


def test_an_error_of_a_worker_ends_the_cluster(python: str) -> None:
    assert run(python, FAIL) == [True, ["REMOVED"]]
