"""Servers: tasks of a cluster in this process, and what they answer about themselves."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Mapping
from typing import Any

from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.cluster.cluster_spec import ClusterSpec, check_ports
from millstream._impl.graph.arguments import FLAG, INTEGER, TEXT, Kind, or_none, takes
from millstream._impl.session import credentials, plugins, targets

# The port, and the address of this machine, at which servers answer about themselves (metrics.py).
METRICS_PORT_VARIABLE = "MILLSTREAM_METRICS_PORT"
METRICS_HOST_VARIABLE = "MILLSTREAM_METRICS_HOST"

_LOG = logging.getLogger("millstream")

# How long a join waits before it lets signal handlers run.
_TURN_MS = 100

# Sessions name a server by its target alone, so it lives until the process ends.
_running: list[_runtime.Server] = []


_MESSAGES = ("ServerDef", "ClusterDef")


def _is_cluster(value: Any) -> bool:
    if isinstance(value, (ClusterSpec, Mapping)):
        return True
    return any(isinstance(value, protos.message_class(name)) for name in _MESSAGES)


_CLUSTER = Kind(
    "a tf.train.ServerDef, tf.train.ClusterDef, tf.train.ClusterSpec or dictionary", _is_cluster
)
_CONFIG = Kind(
    "a tf.ConfigProto", lambda value: isinstance(value, protos.message_class("ConfigProto"))
)


@public("train.Server")
class Server:
    """A task of a cluster: it runs parts of steps, and keeps variables.

    The task listens at its address in the cluster, and there only. Whoever can reach the address
    can run any graph in this process, so that an address other than ``localhost`` needs
    certificates (docs/security.md).

    Parameters
    ----------
    server_or_cluster_def
        A ``ServerDef``, or a cluster: a ``ClusterDef``, a `ClusterSpec` or what that takes.
    job_name
        The job of the task; it may be left out where the cluster has one job.
    task_index
        The number of the task; it may be left out where the job has one task.
    protocol
        ``"grpc"``.
    config
        A ``ConfigProto``: threads and devices of this task.
    start
        Kept for programs: the server answers in any case.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind, or the task is not clear.
    InvalidArgumentError
        The cluster has no such task, or an address has a port that is not from 0 to 65535.
    UnavailableError
        The address is in use.
    PermissionDeniedError
        Other machines may reach the address, and there are no certificates.
    FailedPreconditionError
        Certificates or a token are not in order.

    Examples
    --------
    >>> server = tf.train.Server.create_local_server()
    >>> with tf.Graph().as_default(), tf.Session(server.target) as sess:
    ...     float(sess.run(tf.constant(1.0) + 2.0))
    3.0
    """

    @takes(
        server_or_cluster_def=_CLUSTER,
        job_name=or_none(TEXT),
        task_index=or_none(INTEGER),
        protocol=or_none(TEXT),
        config=or_none(_CONFIG),
        start=FLAG,
    )
    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        definition = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        plugins.find_packages()
        targets.use_library()
        check_ports(ClusterSpec(definition.cluster))
        _check_address(definition)
        try:
            self._handle = _runtime.Server(definition.SerializeToString())
        except _runtime.StatusError as error:
            code, message, _ = error.args
            raise errors.make(None, code, message, "") from None
        self._definition = definition
        self._serve_metrics()
        _running.append(self._handle)
        if start:
            self.start()

    @property
    def server_def(self) -> Any:
        """The ``ServerDef``: the cluster, and which of its tasks this is."""
        return self._definition

    @property
    def target(self) -> str:
        """What sessions name to run on the cluster with this task as the master."""
        return self._handle.target()

    def start(self) -> None:
        """Begin to answer. A server that was made does so already."""

    def join(self) -> None:
        """Wait until the process ends: for tasks that only serve others."""
        while not self._handle.join(_TURN_MS):
            pass

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A cluster of one task at a free port of this machine.

        Parameters
        ----------
        config
            A ``ConfigProto``.
        start
            As for `Server`.

        Examples
        --------
        >>> tf.train.Server.create_local_server().target.startswith("grpc://localhost:")
        True
        """
        cluster = {"local": ["localhost:0"]}
        return Server(cluster, "local", 0, protocol="grpc", config=config, start=start)

    def _serve_metrics(self) -> None:
        """Answer HTTP requests about the task, if the environment asks for it.

        The task does its work also where it cannot.
        """
        text = os.environ.get(METRICS_PORT_VARIABLE)
        if not text:
            return
        port = _metrics_port(text, self._definition)
        host = os.environ.get(METRICS_HOST_VARIABLE) or "localhost"
        try:
            url = serve_metrics(self, port, host)
        except errors.UnavailableError as error:
            _LOG.warning("%r does not serve its metrics: %s", self, error.message)
        else:
            _LOG.info("%r serves its metrics at %s/metrics", self, url)

    def __repr__(self) -> str:
        definition = self._definition
        return f"<tf.train.Server of /job:{definition.job_name}/task:{definition.task_index}>"


_SERVER = Kind("a tf.train.Server", lambda value: isinstance(value, Server))


@public("cluster.serve_metrics")
@takes(server=_SERVER, port=INTEGER, host=TEXT)
def serve_metrics(server: Server, port: int = 0, host: str = "localhost") -> str:
    """Answer HTTP requests about a task, until the process ends.

    ``/metrics`` gives counters for Prometheus, and ``/healthz`` the status 200 while the task
    answers requests. ``MILLSTREAM_METRICS_PORT``, and for others than this machine
    ``MILLSTREAM_METRICS_HOST``, have each `tf.train.Server` of the process do the same by itself:
    the first task of a host at that port, and the next ones of the host's at the ports behind it.
    ``auto`` is any free port. A port in use is logged then, and the server runs without.

    Parameters
    ----------
    server
        The task.
    port
        Where to listen; 0 is any free port.
    host
        The address of this machine to listen at. Whoever reaches it can read the names of tasks and
        how much they do, and nothing else.

    Returns
    -------
    str
        ``"http://HOST:PORT"``

    Raises
    ------
    UnavailableError
        The port is in use, or the host is no address of this machine.

    Examples
    --------
    >>> import urllib.request
    >>> server = tf.train.Server.create_local_server()
    >>> url = tf.cluster.serve_metrics(server)
    >>> urllib.request.urlopen(url + "/healthz").status
    200
    """
    from millstream._impl.cluster import metrics  # lazy: a server of HTTP, for few programs

    handle = server._handle
    return metrics.serve(handle.status, lambda: not handle.join(0), port, host)


def _metrics_port(text: str, definition: Any) -> int:
    """The port of a task's metrics: tasks of one host have ports one behind the other.

    Parameters
    ----------
    text
        What the environment says: ``"auto"`` or ``"0"`` for any free port, or that of the first
        task of a host.
    definition
        The ``ServerDef`` of the task.
    """
    if text == "auto":
        return 0
    if not text.isdecimal():
        raise ValueError(f"{METRICS_PORT_VARIABLE}: expected a port, got {text!r}")
    if int(text) == 0:
        return 0
    cluster = ClusterSpec(definition.cluster)
    own = definition.job_name, definition.task_index
    tasks = [(job, index) for job in sorted(cluster.jobs) for index in cluster.task_indices(job)]
    hosts = {task: cluster.task_address(*task).rpartition(":")[0] for task in tasks}
    return int(text) + sum(task < own and hosts[task] == hosts[own] for task in tasks)


def _server_def(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None, config: Any
) -> Any:
    """The task's ``ServerDef``, a copy with what the arguments say."""
    definition = protos.message_class("ServerDef")()
    if isinstance(given, protos.message_class("ServerDef")):
        definition.CopyFrom(given)
    else:
        definition.cluster.CopyFrom(ClusterSpec(given).as_cluster_def())
    cluster = ClusterSpec(definition.cluster)
    if job_name is not None:
        definition.job_name = job_name
    elif not definition.job_name:
        if len(cluster.jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`: the cluster has several jobs.")
        definition.job_name = cluster.jobs[0]
    if task_index is not None:
        definition.task_index = task_index
    elif not isinstance(given, type(definition)):
        numbers = cluster.task_indices(definition.job_name)
        if len(numbers) != 1:
            raise ValueError("Must specify an explicit `task_index`: the job has several tasks.")
        definition.task_index = numbers[0]
    definition.protocol = protocol or definition.protocol or "grpc"
    if definition.protocol != "grpc":
        raise ValueError(f"protocol: expected 'grpc', got {definition.protocol!r}")
    if config is not None:
        definition.default_session_config.MergeFrom(config)
    return definition


def _check_address(definition: Any) -> None:
    """Raise PermissionDeniedError if the server must not listen at its address."""
    if not targets.library().exists():
        return  # only this process will reach it
    cluster = ClusterSpec(definition.cluster)
    job, index = definition.job_name, definition.task_index
    # The runtime says what is wrong where there is no such task.
    if job in cluster.jobs and index in cluster.task_indices(job):
        credentials.check_address(cluster.task_address(job, index))


@atexit.register
def _stop_all() -> None:
    """Close the sessions of the process's servers while what their steps need still works.

    A server also waits, for some seconds at the longest, until other tasks have their parts of the
    results of collective operations.
    """
    while _running:
        _running.pop().stop()
