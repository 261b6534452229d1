"""Clusters whose tasks are hosts of a network that is slow, loses packets, and is cut."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen

import pytest

from testing.cluster import chaos_round
from testing.cluster.hosts import Host, Hosts, reason_against

_REASON = reason_against()
pytestmark = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))

_PATIENCE = 150.0  # seconds; a guard against hangs, ten times what a test takes
_PORT = 2222
_TASKS = ["ps:0", "worker:0", "worker:1"]


class Cluster:
    """One parameter server and two workers, each on a host of its own."""

    def __init__(self, hosts: list[Host], module: str, arguments: list[str]) -> None:
        self.lines: queue.Queue[tuple[str, str]] = queue.Queue()
        self.log: list[str] = []
        self._hosts = dict(zip(_TASKS, hosts, strict=True))
        self._command = [sys.executable, "-m", module, *arguments]
        self._processes: dict[str, Popen[str]] = {}
        for name in _TASKS:
            self.start(name)

    def start(self, name: str) -> None:
        """Start a task, perhaps once more."""
        addresses = [f"{host.address}:{_PORT}" for host in self._hosts.values()]
        cluster = {"ps": addresses[:1], "worker": addresses[1:]}
        job, _, index = name.partition(":")
        config = {"cluster": cluster, "task": {"type": job, "index": int(index)}}
        process = self._hosts[name].start(
            self._command,
            env={
                **os.environ,
                "TF_CONFIG": json.dumps(config),
                "MILLSTREAM_CLUSTER_INSECURE": "1",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            stdout=PIPE,
            stderr=STDOUT,
        )
        assert process.stdout is not None
        self._processes[name] = process
        threading.Thread(target=self._read, args=(name, process.stdout), daemon=True).start()

    def kill(self, name: str) -> None:
        """Kill a task, and return when it has ended."""
        self._processes[name].kill()
        self._processes[name].wait()

    def _read(self, task: str, lines: Iterator[str]) -> None:
        for line in lines:
            self.lines.put((task, line.rstrip()))

    def wait_for(self, what: Callable[[str, str], bool], count: int = 1) -> list[str]:
        """The next lines, until `count` of them are what is waited for."""
        found: list[str] = []
        while len(found) < count:
            try:
                task, line = self.lines.get(timeout=_PATIENCE)
            except queue.Empty:
                raise AssertionError("\n".join(["no more lines after", *self.log[-40:]])) from None
            self.log.append(f"{task}| {line}")
            if what(task, line):
                found.append(line)
        return found

    def wait_for_steps(self, task: str, count: int) -> None:
        """Until the task has done so many steps more."""
        self.wait_for(lambda one, line: one == task and line.startswith("step"), count)

    def wait_for_error(self, task: str) -> str:
        """The task's next error."""
        (line,) = self.wait_for(lambda one, line: one == task and line.startswith("error"))
        return line


@pytest.fixture(name="hosts")
def _hosts() -> Iterator[list[Host]]:
    with Hosts(len(_TASKS)) as hosts:
        yield hosts


def _counting(hosts: list[Host], *arguments: str) -> Cluster:
    cluster = Cluster(hosts, "testing.cluster.counting_task", list(arguments))
    for task in ("worker:0", "worker:1"):
        cluster.wait_for_steps(task, 3)
    return cluster


def _wait_for_bytes(host: Host, count: int) -> None:
    """Until the host's cable has let so many bytes more pass."""
    enough = host.cable.passed + count
    end = time.monotonic() + _PATIENCE
    while host.cable.passed < enough:
        assert time.monotonic() < end, f"{host.cable.passed} bytes passed of {enough}"
        time.sleep(0.01)


def _last_count(cluster: Cluster) -> int:
    steps = [line for line in cluster.log if "| step " in line]
    return int(steps[-1].rpartition(" ")[2])


def test_a_training_over_a_bad_network_comes_to_the_right_loss(
    hosts: list[Host], tmp_path: Path
) -> None:
    for host in hosts:
        host.cable.delay = 0.001
        host.cable.jitter = 0.002
        host.cable.loss = 0.005
    steps = chaos_round.STEPS
    cluster = Cluster(hosts, chaos_round.MODULE, [f"--folder={tmp_path}", f"--steps={steps}"])
    (line,) = cluster.wait_for(lambda _, line: line.startswith("done"))
    _, step, loss = line.split()
    assert int(step) >= steps
    assert float(loss) < chaos_round.MOST_LOSS


def test_a_worker_that_is_cut_off_fails_and_comes_back_and_the_other_goes_on(
    hosts: list[Host],
) -> None:
    cluster = _counting(hosts)
    hosts[2].cable.is_connected = False
    assert "/job:ps/replica:0/task:0" in cluster.wait_for_error("worker:1")
    cluster.wait_for_steps("worker:0", 20)
    count = _last_count(cluster)
    hosts[2].cable.is_connected = True
    cluster.wait_for_steps("worker:1", 3)
    assert _last_count(cluster) > count
    assert not [line for line in cluster.log if line.startswith("worker:0| error")]


def test_steps_end_when_their_server_is_cut_off_and_go_on_when_it_is_back(
    hosts: list[Host],
) -> None:
    cluster = _counting(hosts)
    count = _last_count(cluster)
    hosts[0].cable.is_connected = False
    for task in ("worker:0", "worker:1"):
        assert "/job:ps/replica:0/task:0" in cluster.wait_for_error(task)
    hosts[0].cable.is_connected = True
    for task in ("worker:0", "worker:1"):
        cluster.wait_for_steps(task, 3)
    assert _last_count(cluster) > count


# The master of the step reaches both: only they notice.
def test_a_step_ends_when_two_of_its_tasks_do_not_reach_each_other(hosts: list[Host]) -> None:
    # Whoever waits for the connection with the tensors waits for a minute.
    arguments = ["--floats=10", "--reader=1", "--limit=30000"]
    cluster = Cluster(hosts, "testing.cluster.counting_task", arguments)
    cluster.wait_for_steps("worker:0", 3)
    hosts[0].unreached.add(hosts[2])
    hosts[2].unreached.add(hosts[0])
    assert "UnavailableError" in cluster.wait_for_error("worker:0")
    hosts[0].unreached.clear()
    hosts[2].unreached.clear()
    cluster.wait_for_steps("worker:0", 3)


# A connection takes longer than the first tries to make one last.
def test_tasks_that_are_far_away_are_not_taken_for_lost(hosts: list[Host]) -> None:
    for host in hosts:
        host.cable.delay = 0.06  # a quarter of a second to another host and back
    cluster = _counting(hosts)
    for task in ("worker:0", "worker:1"):
        cluster.wait_for_steps(task, 20)  # heartbeats come meanwhile
    assert not [line for line in cluster.log if "UnavailableError" in line]


def test_a_task_behind_a_slow_cable_is_not_taken_for_lost(hosts: list[Host]) -> None:
    floats = 500_000  # twice as long on their way as a task that does not answer is waited for
    hosts[0].cable.rate = 400_000.0  # bytes a second, for two workers
    cluster = Cluster(hosts, "testing.cluster.counting_task", [f"--floats={floats}"])
    cluster.wait_for_steps("worker:0", 1)
    cluster.wait_for_steps("worker:1", 1)
    assert not [line for line in cluster.log if "UnavailableError" in line]


# A step of the worker takes 40 seconds: it is killed in the midst of a tensor.
def test_a_worker_that_is_killed_behind_a_slow_cable_stops_nobody_and_comes_back(
    hosts: list[Host],
) -> None:
    hosts[2].cable.rate = 100_000.0
    cluster = Cluster(hosts, "testing.cluster.counting_task", ["--floats=1000000"])
    cluster.wait_for_steps("worker:0", 3)
    _wait_for_bytes(hosts[2], 300_000)
    cluster.kill("worker:1")
    cluster.wait_for_steps("worker:0", 20)
    hosts[2].cable.rate = None
    cluster.start("worker:1")
    cluster.wait_for_steps("worker:1", 3)
    assert not [line for line in cluster.log if "| error" in line]


# The system still sends what it has of a process that was killed.
def test_a_server_that_is_killed_behind_a_slow_cable_ends_the_steps_of_all(
    hosts: list[Host],
) -> None:
    cluster = _counting(hosts, "--floats=1000000")
    hosts[0].cable.rate = 200_000.0
    _wait_for_bytes(hosts[0], 600_000)
    cluster.kill("ps:0")
    for task in ("worker:0", "worker:1"):
        error = cluster.wait_for_error(task)
        assert "UnavailableError" in error
        assert "/job:ps/replica:0/task:0" in error
