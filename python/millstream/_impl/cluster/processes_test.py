"""Tasks in processes of their own, which gRPC connects."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.session import targets

_SERVE = """
import sys
import millstream as tf
server = tf.train.Server(eval(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
print("listens", flush=True)
server.join()
"""

# Adds large tensors with another worker, for ever.
_ADD = """
import sys
import millstream as tf
server = tf.train.Server(eval(sys.argv[1]), "worker", 1)
with tf.device("/job:worker/task:1"):
    total = tf.cluster.all_reduce(tf.ones([1 << 22]), 2, 1, 0, "Add", "Id").op
config = tf.ConfigProto(device_filters=["/job:worker/task:1"])
with tf.Session(server.target, config=config) as sess:
    while True:
        sess.run(total)
"""

# Forks while it has a server and a session over two tasks. The child's interpreter ends as any
# other.
_FORK = """
import os, sys
import millstream as tf
server = tf.train.Server(eval(sys.argv[1]), "worker", 0)
with tf.device("/job:ps/task:0"):
    count = tf.Variable(0.0, use_resource=True)
    add = count.assign_add(1.0)
with tf.Session(server.target) as sess:
    sess.run(tf.global_variables_initializer())
    assert sess.run(add) == 1.0
    child = os.fork()
    if child == 0:
        server.join()
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sess.run(add) == 2.0
"""

# How late a busy machine, or a far one, takes connections.
_LATE_SECONDS = 0.5

# Passes connections on to a port of this host, late. Prints its own port.
_RELAY = """
import socket, sys, threading, time
def pass_on(source, to):
    while data := source.recv(1 << 16):
        to.sendall(data)
def serve(accepted):
    time.sleep(float(sys.argv[2]))
    other = socket.create_connection(("localhost", int(sys.argv[1])))
    threading.Thread(target=pass_on, args=(accepted, other)).start()
    pass_on(other, accepted)
with socket.create_server(("localhost", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listening.accept()[0],)).start()
"""

if not targets.library().exists():
    print("no library connects processes here: its tests do not run")
    pytest.skip("no library connects processes", allow_module_level=True)


def _start(program: str, *arguments: str, output: bool = False) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE if output else None)


class Cluster:
    """A worker in this process, and parameter servers in others."""

    def __init__(self, num_ps: int) -> None:
        hosts = free_addresses(num_ps + 1)
        self.spec = {"ps": hosts[:num_ps], "worker": hosts[num_ps:]}
        self.processes = [self.start(i) for i in range(num_ps)]
        self.server = tf.train.Server(self.spec, "worker", 0)

    def start(self, task: int) -> subprocess.Popen[bytes]:
        """Start a parameter server."""
        return _start(_SERVE, repr(self.spec), "ps", str(task))

    def end(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    # A task that is started again may take its time on a busy machine.
    monkeypatch.setenv("MILLSTREAM_CLUSTER_PATIENCE", "100")
    made = Cluster(2)
    yield made
    made.end()


def _variables() -> tuple[list[Any], Any]:
    variables = []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            variables.append(tf.Variable(tf.range(3.0) + float(task), use_resource=True))
    with tf.device("/job:worker/task:0"):
        total = tf.add_n([v.read_value() for v in variables])
    return variables, total


def test_training_over_processes(cluster: Cluster) -> None:
    with tf.Graph().as_default():
        variables, total = _variables()
        names = tf.constant(["one", "two"])
        with tf.device("/job:ps/task:1"):
            joined = tf.strings.join([names, names])
        pushes = [v.assign_add(total) for v in variables]
        with tf.Session(cluster.server.target) as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(total).tolist() == [1.0, 3.0, 5.0]
            sess.run(tf.group(*pushes))
            assert sess.run(total).tolist() == [3.0, 9.0, 15.0]
            assert sess.run(joined).tolist() == [b"oneone", b"twotwo"]
            assert len(sess.list_devices()) == 3


@pytest.mark.parametrize("way", ["", "network"])
def test_tasks_of_a_host_may_be_reached_through_the_network_alone(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_TRANSPORT", way)
    cluster = Cluster(1)
    try:
        with tf.device("/job:ps/task:0"):
            total = tf.add(1.0, 2.0)
        with tf.Session(cluster.server.target) as sess:
            assert sess.run(total) == 3.0
        (address,) = cluster.spec["ps"]
        # The name by which processes of the host find the task.
        is_found = f"@millstream {address}\n" in Path("/proc/net/unix").read_text()
        assert is_found == (way != "network")
    finally:
        cluster.end()


@pytest.mark.parametrize("way", ["", "network"])
def test_a_forked_child_ends_and_leaves_the_parents_server_alone(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_TRANSPORT", way)
    hosts = free_addresses(2)
    spec = {"ps": hosts[:1], "worker": hosts[1:]}
    server = _start(_SERVE, repr(spec), "ps", "0")
    try:
        forking = _start(_FORK, repr(spec))
        assert forking.wait() == 0
    finally:
        server.kill()
        server.wait()


def test_a_server_that_takes_connections_late_is_reached() -> None:
    server = tf.train.Server.create_local_server()
    relay = _start(_RELAY, server.target.rpartition(":")[2], str(_LATE_SECONDS), output=True)
    try:
        assert relay.stdout is not None
        target = f"grpc://localhost:{int(relay.stdout.readline())}"
        with tf.Graph().as_default(), tf.Session(target) as sess:
            assert sess.run(tf.constant(1.0) + 2.0) == 3.0
    finally:
        relay.kill()
        relay.communicate()


def _expect_client_waits(
    master: str,
    processes: list[subprocess.Popen[bytes]],
    mend: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Open a session over two tasks, of which one is silent until `mend` is called.

    The client calls it when it has got an error that names a task: only such a one is waited for.
    """
    sleep = time.sleep

    def mend_and_sleep(seconds: float) -> None:
        mend()
        sleep(seconds)

    monkeypatch.setattr(targets, "_MASTER_PATIENCE", 0.0)
    monkeypatch.setattr(time, "sleep", mend_and_sleep)
    try:
        with tf.Graph().as_default(), tf.Session(f"grpc://{master}") as sess:
            assert len(sess.list_devices()) == 2
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _start_and_await(spec: str, task: int) -> subprocess.Popen[bytes]:
    """Start a worker, and wait until it listens."""
    process = _start(_SERVE, spec, "worker", str(task), output=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"listens\n"
    return process


def test_a_client_waits_for_a_task_that_takes_connections_and_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master, silent = free_addresses(2)
    spec = repr({"worker": [master, silent]})
    processes = [_start_and_await(spec, 0)]
    host, _, port = silent.rpartition(":")
    listening = socket.create_server((host, int(port)))

    def replace() -> None:
        listening.close()
        if len(processes) == 1:
            processes.append(_start(_SERVE, spec, "worker", "1"))

    _expect_client_waits(master, processes, replace, monkeypatch)


def test_a_client_waits_for_a_task_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = free_addresses(2)
    spec = repr({"worker": hosts})
    processes = [_start_and_await(spec, task) for task in range(2)]
    processes[1].send_signal(signal.SIGSTOP)

    def go_on() -> None:
        processes[1].send_signal(signal.SIGCONT)

    _expect_client_waits(hosts[0], processes, go_on, monkeypatch)


def test_a_client_of_a_master_in_another_process(cluster: Cluster) -> None:
    with tf.Graph().as_default():
        variables, total = _variables()
        x = tf.placeholder(tf.float32, [3])
        assign = tf.assign(variables[0], x)
        with tf.Session(f"grpc://{cluster.spec['ps'][1]}") as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(assign, {x: [7.0, 8.0, 9.0]})
            assert sess.run(total).tolist() == [8.0, 10.0, 12.0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="not a number") as caught:
                sess.run(tf.check_numerics(tf.log(-total), "not a number", name="checked"))
            assert caught.value.op is not None
            assert caught.value.op.name == "checked"


def test_a_client_in_another_process_gets_the_trace_of_all_tasks(cluster: Cluster) -> None:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Graph().as_default():
        _, total = _variables()
        target = f"grpc://{cluster.spec['ps'][1]}"
        with tf.Session(target) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(total, options=options, run_metadata=metadata)
            tasks = tf.cluster.status(target)
    devices = {device.device for device in metadata.step_stats.dev_stats if device.node_stats}
    names = [f"/job:ps/replica:0/task:{i}" for i in range(2)] + ["/job:worker/replica:0/task:0"]
    assert {f"{name}/device:CPU:0" for name in names} <= devices
    # The clocks of the other tasks than the master.
    assert {f"{names[0]}/clock", f"{names[2]}/clock"} <= devices
    assert [task.task for task in tasks] == names
    assert [task.status.led_steps for task in tasks if task.status is not None] == [0, 2, 0]
    assert tasks[1].status is not None
    assert tasks[1].status.traffic["clients"].received_bytes > 0


def test_a_killed_task_ends_the_step_and_is_named(cluster: Cluster) -> None:
    begun = threading.Event()

    def begin() -> int:
        begun.set()
        return 0

    with tf.Graph().as_default():
        with tf.device("/job:ps/task:1"):
            queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="empty")
            element = queue.dequeue()
        with tf.device("/job:worker/task:0"):
            waits = element + 1.0
            begins = tf.py_func(begin, [], tf.int64)
        _, total = _variables()
        with tf.Session(cluster.server.target) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(total)
            killed = cluster.processes[1]

            def kill() -> None:
                begun.wait()
                killed.kill()

            killer = threading.Thread(target=kill)
            killer.start()
            limit = tf.RunOptions(timeout_in_ms=5000)
            with pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:1"):
                sess.run([waits, begins], options=limit)
            killer.join()
            killed.wait()
            cluster.processes[1] = cluster.start(1)
        with tf.Session(cluster.server.target) as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(total).tolist() == [1.0, 3.0, 5.0]


@pytest.mark.parametrize("task", [0, 1])
def test_a_killed_parameter_server_gets_its_variables_from_its_peer(
    cluster: Cluster, task: int
) -> None:
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=cluster.spec)):
            w = tf.get_variable("w", [1000], initializer=tf.zeros_initializer())
            b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
            loss = tf.reduce_sum(tf.square(w + b - 1.0))
            step = tf.train.get_or_create_global_step()
            train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        variables = {variable.op.name: variable for variable in tf.global_variables()}
        hook = tf.cluster.PeerCopyHook(copy_steps=2)
        with tf.train.MonitoredTrainingSession(cluster.server.target, hooks=[hook]) as session:
            for _ in range(5):
                session.run(train)
            before = session.run(variables)
            cluster.processes[task].kill()
            cluster.processes[task].wait()
            cluster.processes[task] = cluster.start(task)
            session.run(train)  # step 5 once more, after the copy of step 4
            after = session.run(variables)
    assert int(after["global_step"]) == 5
    assert {"w/Adam", "beta1_power"} <= set(before)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def _run_until_it_fails(session: Any, operation: Any, options: Any) -> None:
    while True:
        session.run(operation, options=options)


@pytest.mark.parametrize("is_over_grpc", [False, True])
def test_a_task_that_is_stopped_ends_the_sums_of_others_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_over_grpc: bool
) -> None:
    if is_over_grpc:  # a server that asks for a token has no shortcut within the host
        (tmp_path / "token").write_text("correct-horse-battery-staple\n")
        monkeypatch.setenv("MILLSTREAM_CLUSTER_CREDENTIALS", str(tmp_path))
    spec = {"worker": free_addresses(2)}
    other = _start(_ADD, repr(spec))
    try:
        server = tf.train.Server(spec, "worker", 0)
        config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        limit = tf.RunOptions(timeout_in_ms=100_000)
        with tf.Graph().as_default():
            with tf.device("/job:worker/task:0"):
                total = tf.cluster.all_reduce(tf.ones([1 << 22]), 2, 1, 0, "Add", "Id")
            with tf.Session(server.target, config=config) as sess:
                assert sess.run(total, options=limit)[0] == 2.0
                other.send_signal(signal.SIGSTOP)
                named = "/job:worker/replica:0/task:1"
                with pytest.raises(tf.errors.UnavailableError, match=named):
                    _run_until_it_fails(sess, total.op, limit)
    finally:
        other.kill()
        other.wait()


def test_a_new_session_does_not_wait_for_a_task_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_PATIENCE", "0.2")
    made = Cluster(1)
    try:
        with tf.Graph().as_default():
            with tf.Session(made.server.target) as sess:
                assert len(sess.list_devices()) == 2
            made.end()
            with pytest.raises(tf.errors.UnavailableError, match="is gone") as caught:
                tf.Session(made.server.target)
            assert "/job:ps/replica:0/task:0" in caught.value.message
    finally:
        made.end()


def test_garbage_at_the_port_is_refused_and_logged_once(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    port = int(cluster.spec["worker"][0].rsplit(":", 1)[1])
    for _ in range(20):
        for garbage in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes(range(256)) * 4):
            with socket.create_connection(("localhost", port)) as sender:
                sender.sendall(garbage)
                sender.shutdown(socket.SHUT_WR)
                while sender.recv(1 << 16):
                    pass
    with tf.Graph().as_default(), tf.Session(cluster.server.target) as sess:
        assert sess.run(tf.constant(3.0) * 2.0) == 6.0
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == len(set(lines))
    assert len(lines) < 10
