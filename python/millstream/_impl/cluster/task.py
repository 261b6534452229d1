"""The place of a process in a cluster."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.cluster.cluster_spec import ClusterSpec, check_ports
from millstream._impl.cluster.device_setter import replica_device_setter
from millstream._impl.cluster.server import Server
from millstream._impl.graph.arguments import INTEGER, TEXT, takes

# The job that keeps variables, and those whose first task is the chief, the first that exists.
PS = "ps"
_CHIEFS = ("chief", "master", "worker")
# Reads checkpoints by itself.
_EVALUATOR = "evaluator"


@public("cluster.Task")
class Task:
    """The place of this process in a cluster: what a program needs to run in one or without.

    Parameters
    ----------
    cluster
        A `tf.train.ClusterSpec` or what that takes. An empty one or None: there is no cluster, and
        the process does all by itself.
    job_name
        The job of the process.
    task_index
        Its number in the job.

    Raises
    ------
    TypeError, ValueError
        The cluster has no such task. An ``evaluator`` need not be in it.
    InvalidArgumentError
        An address has a port that is not from 0 to 65535.

    Attributes
    ----------
    cluster, job_name, task_index
        As given; `cluster` is a `tf.train.ClusterSpec`.

    Examples
    --------
    >>> task = tf.cluster.Task({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]}, "worker", 1)
    >>> task.is_chief
    False
    >>> with tf.Graph().as_default(), tf.device(task.device_setter()):
    ...     tf.Variable(1.0).device, tf.constant(1.0).device
    ('/job:ps/task:0', '/job:worker/task:1')
    >>> tf.cluster.Task().start_server() is None
    True
    """

    @takes(job_name=TEXT, task_index=INTEGER)
    def __init__(self, cluster: Any = None, job_name: str = "worker", task_index: int = 0) -> None:
        self.cluster = ClusterSpec({} if cluster is None else cluster)
        check_ports(self.cluster)
        self.job_name = job_name
        self.task_index = task_index
        self._server: Server | None = None
        if self.cluster and job_name != _EVALUATOR:
            self.cluster.task_address(job_name, task_index)

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes variables and saves them.

        It does without a cluster; otherwise it is the first task of the job ``chief``, ``master``
        or ``worker``, whichever there is.
        """
        if not self.cluster:
            return True
        chiefs = [job for job in _CHIEFS if job in self.cluster.jobs]
        return bool(chiefs) and (self.job_name, self.task_index) == (chiefs[0], 0)

    @property
    def is_ps(self) -> bool:
        """Whether this process only keeps variables for others: it calls `serve`."""
        return bool(self.cluster) and self.job_name == PS

    @property
    def target(self) -> str:
        """What sessions name: the server that `start_server` began, "" without one."""
        return "" if self._server is None else self._server.target

    def start_server(self, config: Any = None) -> Server | None:
        """Begin to answer requests of the cluster.

        Parameters
        ----------
        config
            A ``ConfigProto``: threads and devices of this task.

        Returns
        -------
        Server or None
            None without a cluster, and for a process that the cluster does not list, as an
            evaluator.
        """
        if self._server is None and self._is_listed():
            self._server = Server(self.cluster, self.job_name, self.task_index, config=config)
        return self._server

    def device_setter(self) -> Callable[[Any], str] | str | None:
        """What `tf.device` takes: variables on parameter servers, the rest on this task.

        Returns
        -------
        Callable, str or None
            The task's name where the cluster has no job ``ps``; None without a cluster.
        """
        if not self._is_listed():
            return None
        own = f"/job:{self.job_name}/task:{self.task_index}"
        return replica_device_setter(worker_device=own, cluster=self.cluster) or own

    def serve(self) -> None:
        """Answer requests until the process is told to end by SIGTERM, which is a clean end.

        Raises
        ------
        ValueError
            There is no cluster, or it does not list this process.
        """
        with ending_by_sigterm():
            server = self.start_server()
            if server is None:
                raise ValueError(f"{self!r} is no task of a cluster: there is nothing to serve")
            server.join()

    def as_tf_config(self) -> str:
        """The value of the variable ``TF_CONFIG`` that says the same.

        Examples
        --------
        >>> tf.cluster.Task({"worker": ["a:1"]}).as_tf_config()
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
        """
        task = {"type": self.job_name, "index": self.task_index}
        return json.dumps({"cluster": self.cluster.as_dict(), "task": task})

    def __repr__(self) -> str:
        if not self.cluster:
            return "<tf.cluster.Task without a cluster>"
        return f"<tf.cluster.Task /job:{self.job_name}/task:{self.task_index}>"

    def _is_listed(self) -> bool:
        jobs = self.cluster.jobs
        return self.job_name in jobs and self.task_index in self.cluster.task_indices(self.job_name)


@contextlib.contextmanager
def ending_by_sigterm() -> Iterator[None]:
    """A block in which SIGTERM ends the process with status 0, after it has stopped its servers.

    In another thread than the main one it does nothing: Python runs handlers of signals there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _end(number: int, frame: Any) -> None:
    raise SystemExit(0)
