"""Local clusters: their tasks find their place, and none is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

# What the programs of tasks begin with; "park" waits for ever.
_HEAD = """
import json, os, signal, sys
config = json.loads(os.environ["TF_CONFIG"])
job, index = config["task"]["type"], config["task"]["index"]
def park():
    while True:
        signal.pause()
"""


def _run(
    program: str, ps: int = 0, workers: int = 1, restarts: int = 0, patience: float = 30.0
) -> tuple[int, list[str]]:
    lines: list[str] = []
    cluster = tf.cluster.LocalCluster(
        [sys.executable, "-c", _HEAD + program],
        ps=ps,
        workers=workers,
        restarts=restarts,
        write=lambda task, line: lines.append(f"{task}| {line}"),
        patience=patience,
    )
    return cluster.run(), lines


def test_tasks_find_their_place_and_servers_end_after_the_workers() -> None:
    program = """
print(job, index, [len(config["cluster"][name]) for name in ("ps", "worker")], flush=True)
if job == "ps":
    park()
"""
    status, lines = _run(program, ps=1, workers=2)
    assert status == 0
    assert {"worker:0| worker 0 [1, 2]", "worker:1| worker 1 [1, 2]"} <= set(lines)


def test_all_tasks_are_at_different_addresses_of_this_machine() -> None:
    cluster = tf.cluster.LocalCluster(["true"], ps=2, workers=3).cluster
    addresses = [address for job in cluster.jobs for address in cluster.job_tasks(job)]
    assert len(set(addresses)) == 5
    assert all(str(address).startswith("localhost:") for address in addresses)


def test_a_task_that_fails_ends_the_cluster() -> None:
    status, lines = _run("sys.exit(3) if index == 1 else park()", workers=3)
    assert status == 3
    assert "worker:1| ended with status 3; the cluster ends" in lines


def test_a_killed_task_is_started_again_as_often_as_allowed(tmp_path: Path) -> None:
    mark, fifo = tmp_path / "mark", tmp_path / "fifo"
    os.mkfifo(fifo)
    # The chief ends when the other worker, in its second life, has opened and closed the pipe.
    program = f"""
if index == 0:
    open({str(fifo)!r}).read()
elif not os.path.exists({str(mark)!r}):
    open({str(mark)!r}, "w")
    os.kill(os.getpid(), signal.SIGKILL)
else:
    open({str(fifo)!r}, "w")
"""
    status, lines = _run(program, workers=2, restarts=1)
    assert status == 0
    assert "worker:1| was killed by signal 9; it is started again" in lines
    mark.unlink()
    status, lines = _run(program, workers=2)
    assert status == 128 + signal.SIGKILL
    assert "worker:1| was killed by signal 9; the cluster ends" in lines


def test_a_program_can_kill_a_task_by_name() -> None:
    lines: list[str] = []

    def write(task: str, line: str) -> None:
        lines.append(line)
        if line == "begun":
            cluster.kill(task)

    program = _HEAD + "print('begun', flush=True)\npark()"
    cluster = tf.cluster.LocalCluster([sys.executable, "-c", program], write=write)
    assert cluster.run() == 128 + signal.SIGKILL
    assert lines == ["begun", "was killed by signal 9; the cluster ends"]
    cluster.kill("worker:0")  # it does not run
    with pytest.raises(ValueError, match="no such task: 'worker:1'; the tasks are worker:0"):
        cluster.kill("worker:1")


# Large tensors are exchanged in pieces; a small one comes with its members.
@pytest.mark.parametrize("last", [1 << 22, 1])
def test_no_sum_is_lost_where_each_task_ends_with_its_own(
    last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")
    program = f"""
import millstream as tf
task = tf.cluster.from_environment()
task.start_server()
with tf.device(task.device_setter()):
    sums = [
        tf.cluster.all_reduce(tf.ones([size]), 4, 1, key, "Add", "Id")
        for key, size in enumerate([1 << 20, {last}])
    ]
with tf.Session(task.target) as session:
    print("sums", [float(session.run(total)[-1]) for total in sums], flush=True)
"""
    status, lines = _run(program, workers=4)
    assert status == 0, lines
    expected = [f"worker:{i}| sums [4.0, 4.0]" for i in range(4)]
    assert sorted(line for line in lines if "sums" in line) == expected


def test_a_task_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = f"""
if index == 0:
    open({str(fifo)!r}).read()
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open({str(fifo)!r}, "w").close()
    park()
"""
    assert _run(program, workers=2, patience=0.0)[0] == 0


def test_no_task_outlives_its_cluster_that_is_killed(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = tmp_path / "program.py"
    # Tasks hold the pipe open as long as they live.
    program.write_text(f"{_HEAD}\nout = open({str(fifo)!r}, 'wb', 0)\nout.write(b'x')\npark()")
    command = [sys.executable, "-m", "millstream", "cluster", "run", "--workers=2", str(program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment) as process, fifo.open("rb", 0) as held:
        received = held.read(1)
        while len(received) < 2:
            received += held.read(1)
        process.kill()
        assert held.read(1) == b""  # the last writer has ended


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        tf.cluster.LocalCluster(["true"], workers=0)
    with pytest.raises(ValueError, match="expected a program"):
        tf.cluster.LocalCluster([])


def test_an_address_whose_name_on_this_host_is_taken_is_not_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (taken,) = free_addresses(1)
    listen = socket.create_server
    ports = [int(taken.rpartition(":")[2])]
    monkeypatch.setattr(
        socket, "create_server", lambda _: listen(("localhost", ports.pop() if ports else 0))
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as name:
        name.bind(f"\0millstream {taken}")
        found = free_addresses(2)
    assert ports == []
    assert len(set(found)) == 2
    assert taken not in found


def test_an_address_has_a_port_that_the_system_gives_to_no_connection() -> None:
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first, last = (int(word) for word in text.split())
    if first < 11_000 and last > 64_535:
        pytest.skip(f"the system gives ports {first} to {last}, nearly all, to connections")
    ports = [int(address.rpartition(":")[2]) for address in free_addresses(50)]
    assert not [port for port in ports if first <= port <= last]
