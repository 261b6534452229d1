"""Workers join and leave while others train: processes whose steps the test begins one by one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

# A task of the cluster. A worker runs one step for each line that it reads.
_TASK = """
import os, sys
import millstream as tf
task = tf.cluster.from_environment()
task.start_server()
if task.is_ps:
    task.serve()
with tf.device(task.device_setter()):
    count = tf.get_variable("count", initializer=0.0, use_resource=True)
    add = count.assign_add(1.0)
own = f"/job:worker/task:{task.task_index}"
config = tf.ConfigProto(device_filters=["/job:ps", own])
with tf.Session(task.target, config=config) as sess:
    for _ in sys.stdin:
        print(sess.run(add), flush=True)
"""


class _Cluster:
    """A parameter server and workers, of which worker 0 is in this process."""

    def __init__(self) -> None:
        addresses = free_addresses(4)
        self.jobs = {"ps": addresses[:1], "worker": addresses[1:]}
        self.processes: list[subprocess.Popen[str]] = []
        self.start("ps", 0)
        self.server = tf.train.Server(self.jobs, "worker", 0)

    def start(self, job: str, index: int) -> subprocess.Popen[str]:
        """Start a task."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "TF_CONFIG": tf.cluster.Task(self.jobs, job, index).as_tf_config(),
        }
        process = subprocess.Popen(
            [sys.executable, "-c", _TASK],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Cluster]:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")
    made = _Cluster()
    yield made
    made.end()


def _step(worker: subprocess.Popen[str]) -> float:
    """What the worker's next step gives."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def test_workers_join_and_leave_while_another_trains(cluster: _Cluster) -> None:
    # Worker 2 never comes up. Each step adds 1, so a step that is lost or runs twice shows.
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            count = tf.get_variable("count", initializer=0.0, use_resource=True)
            add = count.assign_add(1.0)
        config: Any = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
        with tf.Session(cluster.server.target, config=config) as sess:
            sess.run(count.initializer)
            assert sess.run(add) == 1.0
            joined = cluster.start("worker", 1)
            assert _step(joined) == 2.0
            assert sess.run(add) == 3.0
            joined.kill()
            joined.wait()
            assert sess.run(add) == 4.0  # the same session, and no error
            again = cluster.start("worker", 1)
            assert _step(again) == 5.0
            assert sess.run(add) == 6.0
            output, _ = again.communicate()  # its input ends, so it leaves by itself
            assert (output, again.returncode) == ("", 0)
            assert sess.run(add) == 7.0
