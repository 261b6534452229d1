"""Tasks whose master is killed, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.session import targets

_PATIENCE = 120.0  # seconds; a guard against hangs
_PS = "/job:ps/replica:0/task:0"
_MASTER = "/job:worker/replica:0/task:0"

_SERVE = """
import sys
import millstream as tf
server = tf.train.Server(eval(sys.argv[1]), "ps", 0)
server.join()
"""

# Waits for an element of a queue of the parameter server, which nobody puts there.
_WAIT = """
import sys
import millstream as tf
server = tf.train.Server(eval(sys.argv[1]), "worker", int(sys.argv[2]))
with tf.device("/job:ps/task:0"):
    element = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="empty").dequeue()
own = f"/job:worker/task:{sys.argv[2]}"
config = tf.ConfigProto(device_filters=["/job:ps", own], isolate_session_state=len(sys.argv) > 3)
with tf.Session(server.target, config=config) as sess:
    sess.run(element)
"""

if not targets.library().exists():
    print("no library connects processes here: its tests do not run")
    pytest.skip("no library connects processes", allow_module_level=True)


class _Cluster:
    """A parameter server, whose log goes to a file, and masters whose steps wait for it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._processes: list[subprocess.Popen[bytes]] = []
        hosts = free_addresses(3)
        self._spec = repr({"ps": hosts[:1], "worker": hosts[1:]})
        with log.open("wb") as stderr:
            self._start(_SERVE, stderr=stderr.fileno())

    def _start(
        self, program: str, *arguments: str, stderr: int | None = None
    ) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": path, "MILLSTREAM_CLUSTER_LOG": "steps"}
        command = [sys.executable, "-c", program, self._spec, *arguments]
        process = subprocess.Popen(command, env=environment, stderr=stderr)
        self._processes.append(process)
        return process

    def start_master(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start one. Its step begins some time later."""
        return self._start(_WAIT, *arguments)

    def wait_for(self, text: str, count: int) -> list[str]:
        """Wait for so many lines of the parameter server's log that have a text."""
        end = time.monotonic() + _PATIENCE
        while True:
            lines = [line for line in self._log.read_text().splitlines() if text in line]
            if len(lines) >= count:
                return lines
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.01)

    def end(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize("way", ["", "network"])
def test_steps_of_a_killed_master_end_by_the_end_of_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_TRANSPORT", way)
    cluster = _Cluster(tmp_path / "log")
    try:
        killed = cluster.start_master("0", "isolated")
        cluster.wait_for(": begins", 1)
        # Until its process runs, the parameter server has long been connected to the first one.
        other = cluster.start_master("1")
        cluster.wait_for(": begins", 2)
        killed.kill()
        (failure,) = cluster.wait_for(": failed", 1)
        assert f"{_PS} part" in failure
        # Not its silence, which is noticed after five seconds.
        assert f"UNAVAILABLE: the master {_MASTER} is lost: the connection to it" in failure
        assert other.poll() is None
    finally:
        cluster.end()
