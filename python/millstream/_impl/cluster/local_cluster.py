"""A cluster whose tasks are processes of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from millstream._impl.base.public import public
from millstream._impl.cluster.cluster_spec import ClusterSpec
from millstream._impl.cluster.task import PS, Task
from millstream._impl.graph.arguments import FUNCTION, INTEGER, LIST, NUMBER, or_none, takes

# What a process does before it becomes a task: should the starting process be killed, the kernel
# kills the task (PR_SET_PDEATHSIG is 1), also if that happened before it asked for it.
_LAUNCH = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""
_LAUNCHER = [sys.executable, "-I", "-S", "-c", _LAUNCH]
_FIRST_PORT = 10_000  # services have fixed numbers below, mostly
_LEAST_PORTS = 1_000  # fewer are soon taken
_SIGNALLED = 128  # what shells add to the number of the signal that ended a program


def print_line(task: str, line: str) -> None:
    """Print a task's line with the task in front."""
    print(f"{task}| {line}", flush=True)


def _ports_of_servers() -> Sequence[int]:
    """Ports to choose from; 0 stands for the system's choice.

    These are the ports that the system gives to no connection: one that it does could be taken
    before its task listens there, and while a task that was lost is started again.
    """
    with contextlib.suppress(OSError, ValueError):
        text = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        first, last = (int(word) for word in text.split())
        ports = max(range(_FIRST_PORT, first), range(last + 1, 1 << 16), key=len)
        if len(ports) >= _LEAST_PORTS:
            return ports
    return [0]


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine at which nobody listens, at the port or on this host alone.

    A task that has no network's library takes only the name of its address on this host: its port
    stays free, and would be given to others.
    """
    ports = _ports_of_servers()
    addresses: list[str] = []
    # All are held until the last one is found, so that they differ.
    with contextlib.ExitStack() as held:
        while len(addresses) < count:
            try:
                port = held.enter_context(socket.create_server(("localhost", random.choice(ports))))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            address = f"localhost:{port.getsockname()[1]}"
            name = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            # The name that a server takes (distributed_runtime/host_transport.cc).
            with contextlib.suppress(OSError):
                name.bind(f"\0millstream {address}")
                addresses.append(address)
    return addresses


@public("cluster.LocalCluster")
class LocalCluster:
    """A cluster of processes of this machine, which all run one program.

    Each process finds its place in ``TF_CONFIG`` (`from_environment`). What it writes comes out
    line by line. The cluster has done its work when its chief, the first worker, has: the other
    tasks then get some time, and are ended. No process outlives the cluster, even if the process
    that runs it is killed.

    Parameters
    ----------
    command
        The program and its arguments.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    restarts
        How often each task that fails is started again.
    write
        Takes the name of a task, as ``"worker:1"``, and a line that it wrote or that is about it.
        By default both are printed.
    patience
        How many seconds tasks have to end, when the chief has ended and once more when they are
        told to by SIGTERM.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> import sys
    >>> program = "import os; print('chief' in os.environ['TF_CONFIG'])"
    >>> cluster = tf.cluster.LocalCluster([sys.executable, "-c", program], workers=1)
    >>> cluster.run()
    worker:0| False
    0
    """

    @takes(
        command=LIST,
        ps=INTEGER,
        workers=INTEGER,
        restarts=INTEGER,
        write=or_none(FUNCTION),
        patience=NUMBER,
    )
    def __init__(
        self,
        command: Sequence[str],
        ps: int = 0,
        workers: int = 1,
        restarts: int = 0,
        write: Callable[[str, str], None] | None = None,
        patience: float = 10.0,
    ) -> None:
        if not command or ps < 0 or workers < 1:
            raise ValueError(
                "command, ps, workers: expected a program and at least one worker, "
                f"got {list(command)!r}, {ps}, {workers}"
            )
        self._command = [os.fspath(part) for part in command]
        self._write = write or print_line
        self._patience = patience
        addresses = free_addresses(ps + workers)
        jobs = {PS: addresses[:ps]} if ps else {}
        self.cluster = ClusterSpec({**jobs, "worker": addresses[ps:]})
        self._tasks = {
            f"{job}:{index}": Task(self.cluster, job, index)
            for job in self.cluster.jobs
            for index in self.cluster.task_indices(job)
        }
        self._restarts = dict.fromkeys(self._tasks, restarts)
        self._running: dict[str, subprocess.Popen[str]] = {}
        # Lines of tasks; None: the task has closed its output, as it does by its end.
        self._events: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()

    def run(self) -> int:
        """Start all tasks, and wait until the cluster has done its work or a task has failed.

        REQUIRES: the thread that runs it lives on until it returns.

        Returns
        -------
        int
            0, or the status with which the first task failed: 128 and the number of the signal for
            one that was killed.
        """
        try:
            for name in self._tasks:
                self._start(name)
            return self._watch()
        finally:
            self._end_all()

    def kill(self, task: str) -> None:
        """Kill a task, as a crash would.

        Parameters
        ----------
        task
            Its name, as ``"worker:1"``.

        Raises
        ------
        ValueError
            The cluster has no such task.
        """
        if task not in self._tasks:
            raise ValueError(f"no such task: {task!r}; the tasks are {', '.join(self._tasks)}")
        if task in self._running:
            _signal_group(self._running[task], signal.SIGKILL)

    def _start(self, name: str) -> None:
        process = subprocess.Popen(
            [*_LAUNCHER, str(os.getpid()), *self._command],
            env={
                **os.environ,
                "TF_CONFIG": self._tasks[name].as_tf_config(),
                "PYTHONUNBUFFERED": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches us alone, and a signal all that it started
        )
        self._running[name] = process
        threading.Thread(target=self._read, args=(name, process), daemon=True).start()

    def _read(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._events.put((name, line.rstrip("\n")))
        self._events.put((name, None))

    def _watch(self) -> int:
        """Pass lines on until the end. Returns what `run` does."""
        deadline: float | None = None
        workers = {name for name, task in self._tasks.items() if not task.is_ps}
        while workers:
            ended = self._next_end(deadline)
            if ended is None:
                break  # the chief has ended, and the others had their time
            name, status = ended
            if status == 0:
                workers.discard(name)
                if self._tasks[name].is_chief:
                    deadline = time.monotonic() + self._patience
                continue
            if self._restarts[name] == 0 or deadline is not None:
                self._write(name, f"{_how(status)}; the cluster ends")
                return status if status > 0 else _SIGNALLED - status
            self._restarts[name] -= 1
            self._write(name, f"{_how(status)}; it is started again")
            self._start(name)
        return 0

    def _next_end(self, deadline: float | None) -> tuple[str, int] | None:
        """Wait for the next task to end: its name and status, None at the deadline."""
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                name, line = self._events.get(timeout=left)
            except queue.Empty:
                return None
            if line is not None:
                self._write(name, line)
                continue
            process = self._running[name]
            status = process.wait()
            _signal_group(process, signal.SIGKILL)  # what it started and left behind
            del self._running[name]
            return name, status

    def _end_all(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self._running.values():
                _signal_group(process, number)
            is_last = number == signal.SIGKILL
            deadline = None if is_last else time.monotonic() + self._patience
            while self._running and self._next_end(deadline) is not None:
                pass


def _signal_group(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal to a task and to all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _how(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
