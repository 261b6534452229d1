"""Tasks of a cluster in processes that a test starts, kills, stops and commands one by one."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.cluster.task import Task

PATIENCE = 120.0  # seconds for a line; a fault costs a few seconds at the most


class TaskProcesses:
    """Tasks that run one program, which reads commands and writes lines.

    Parameters
    ----------
    command
        The program and its arguments. It finds its place in ``TF_CONFIG``.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    """

    def __init__(self, command: Sequence[str], ps: int, workers: int) -> None:
        self._command = list(command)
        addresses = free_addresses(ps + workers)
        self._cluster = tf.train.ClusterSpec({"ps": addresses[:ps], "worker": addresses[ps:]})
        self.names = [f"ps:{i}" for i in range(ps)] + [f"worker:{i}" for i in range(workers)]
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._lines: dict[str, queue.SimpleQueue[str | None]] = {}
        self._log: list[str] = []

    def target(self, name: str) -> str:
        """The target of a task's server."""
        job, _, index = name.partition(":")
        return f"grpc://{self._cluster.task_address(job, int(index))}"

    def start(self, *names: str) -> None:
        """Start tasks that do not run."""
        for name in names:
            job, _, index = name.partition(":")
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "PYTHONUNBUFFERED": "1",
                "TF_CONFIG": Task(self._cluster, job, int(index)).as_tf_config(),
            }
            process = subprocess.Popen(
                self._command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
            self._running[name], self._lines[name] = process, lines
            for stream, put in ((process.stdout, lines.put), (process.stderr, None)):
                arguments = (name, stream, put)
                threading.Thread(target=self._read, args=arguments, daemon=True).start()

    def _read(self, name: str, stream: IO[str], put: Callable[[str | None], None] | None) -> None:
        with stream:
            for line in stream:
                self._log.append(f"{name}| {line.rstrip()}")
                if put is not None:
                    put(line.rstrip())
        if put is not None:
            put(None)

    def tell(self, line: str, *names: str) -> None:
        """Give tasks a command."""
        for name in names:
            to = self._running[name].stdin
            assert to is not None
            print(line, file=to, flush=True)

    def line_of(self, name: str, word: str) -> list[str]:
        """Wait for a task's next line that begins with a word; the words behind it.

        Raises
        ------
        AssertionError
            The task has ended, or it has not written such a line for long.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines[name].get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{name} did not write {word!r}; {self._text()}") from None
            if line is None:
                raise AssertionError(f"{name} ended before it wrote {word!r}; {self._text()}")
            first, *rest = line.split(" ")
            if first == word:
                return rest

    def _text(self) -> str:
        return "all lines:\n" + "\n".join(self._log)

    def signal(self, number: int, name: str) -> None:
        """Send a task a signal; after SIGKILL, wait for its end."""
        self._running[name].send_signal(number)
        if number == signal.SIGKILL:
            self._forget(name)

    def _forget(self, name: str) -> None:
        process = self._running.pop(name)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def end(self) -> None:
        """Kill all tasks that run."""
        for process in self._running.values():
            process.kill()
        for name in list(self._running):
            self._forget(name)
