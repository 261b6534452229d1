"""Devices with memory of their own in several processes: simulated accelerators (docs/sim.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

_SERVE = """
import sys
import millstream as tf
tf.train.Server(eval(sys.argv[1]), "ps", 0).join()
"""

# Of the processes that have the plugin; so has this one.
_OPTIONS = "sim:devices=2;memory_mb=64;delay_us=20"
_ON_PS = "/job:ps/task:0/device:SIM:0"
_ON_WORKER = "/job:worker/task:0/device:SIM:1"


class Cluster:
    """A worker in this process, and a parameter server in another."""

    def __init__(self) -> None:
        hosts = free_addresses(2)
        self.spec = {"ps": hosts[:1], "worker": hosts[1:]}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server = tf.train.Server(self.spec, "worker", 0)

    def start(self, options: str | None = _OPTIONS) -> tf.train.Server:
        """Start the parameter server, without the plugin if there are no options."""
        path = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("MILLSTREAM_PLUGIN_OPTIONS", None)
        if options is None:
            environment.pop("MILLSTREAM_PLUGIN_PATH")
        else:
            environment["MILLSTREAM_PLUGIN_OPTIONS"] = options
        command = [sys.executable, "-c", _SERVE, repr(self.spec)]
        self.processes.append(subprocess.Popen(command, env=environment))
        return self.server

    def end(self) -> None:
        """End the parameter server."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(name="cluster", params=["", "network"], ids=["shared_memory", "grpc"])
def _cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_TRANSPORT", request.param)
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_a_variable_on_a_parameter_servers_device_is_pulled_and_pushed(
    cluster: Cluster, size: int
) -> None:
    start = np.arange(size, dtype=np.float32) % 1000
    server = cluster.start()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [size])
        with tf.device(_ON_PS):
            v = tf.Variable(tf.zeros([size]), use_resource=True)
        value = v.read_value()
        with tf.device(_ON_WORKER):
            gradient = value * 2.0
        store = tf.group(v.assign(x))
        push = tf.group(v.assign_add(gradient))
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            sess.run(store, {x: start})
            np.testing.assert_array_equal(sess.run(gradient), 2 * start)
            for _ in range(3):
                sess.run(push)
            np.testing.assert_array_equal(sess.run(value), 27 * start)
        # It outlives the session.
        with tf.Session(server.target) as sess:
            np.testing.assert_array_equal(sess.run(value), 27 * start)


def test_a_loop_takes_turns_on_devices_of_two_processes(cluster: Cluster) -> None:
    server = cluster.start()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])

        def grow(count: tf.Tensor, value: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.device(_ON_PS):
                doubled = value + value
            with tf.device(_ON_WORKER):
                return count + 1, tf.negative(doubled)

        def goes_on(count: tf.Tensor, _: tf.Tensor) -> Any:
            return tf.less(count, 5)

        _, result = tf.while_loop(goes_on, grow, [tf.constant(0), x])
        with tf.Session(server.target) as sess:
            for first in (1.0, 3.0):
                assert sess.run(result, {x: [first, 2.0]}).tolist() == [-32 * first, -64.0]


def test_members_of_a_reduction_are_devices_of_two_processes(cluster: Cluster) -> None:
    server = cluster.start()
    size = 1 << 16  # more than the leader passes on
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [size])
        results = []
        for device in (_ON_PS, _ON_WORKER):
            with tf.device(device):
                total = tf.cluster.all_reduce(x + 1.0, 2, 1, 1, "Add", "Id")
                results.append(tf.negative(total))
        with tf.Session(server.target) as sess:
            given = np.arange(size, dtype=np.float32)
            for result in sess.run(results, {x: given}):
                np.testing.assert_array_equal(result, -2 * (given + 1))


def test_a_copy_that_fails_in_another_process_names_the_tensor_and_the_device(
    cluster: Cluster,
) -> None:
    server = cluster.start(f"{_OPTIONS};fail_copy=1")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        with tf.device(_ON_WORKER):
            sent = tf.negative(x, name="sent")
        with tf.device(_ON_PS):
            received = tf.square(sent)
        with tf.Session(server.target) as sess:
            with pytest.raises(tf.errors.InternalError, match="fail_copy") as caught:
                sess.run(received, {x: [1.0, 2.0]})
            assert "of the tensor sent:0" in caught.value.message
            assert "/job:worker/replica:0/task:0/device:SIM:1" in caught.value.message
            assert "/job:ps/replica:0/task:0/device:SIM:0" in caught.value.message
            assert sess.run(received, {x: [1.0, 2.0]}).tolist() == [1.0, 4.0]


def test_a_device_whose_kernels_a_task_lacks_is_left_out(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    server = cluster.start(options=None)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            there = tf.negative(3.0)
        here = there + 1.0
        with tf.Session(server.target) as sess:
            assert sess.run(here) == -2.0
            assert {device.device_type for device in sess.list_devices()} == {"CPU"}
    warning = capfd.readouterr().err
    assert "the task /job:ps/replica:0/task:0 has no kernels" in warning
    assert "/job:worker/replica:0/task:0/device:SIM:0" in warning
