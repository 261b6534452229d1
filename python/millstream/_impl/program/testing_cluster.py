"""Clusters for tests: all tasks in this process."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.cluster.server import Server
from millstream._impl.graph.arguments import INTEGER, TEXT, Kind, takes

_CONFIG = Kind(
    "a tf.ConfigProto", lambda value: isinstance(value, protos.message_class("ConfigProto"))
)


def _free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens at."""
    with ExitStack() as open_sockets:
        ports = []
        for _ in range(count):
            one = open_sockets.enter_context(socket.socket())
            one.bind(("localhost", 0))
            ports.append(one.getsockname()[1])
        return ports


@public("test.create_local_cluster")
@takes(num_workers=INTEGER, num_ps=INTEGER, protocol=TEXT, worker_config=_CONFIG, ps_config=_CONFIG)
def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Server], list[Server]]:
    """The tasks of a cluster, all in this process.

    Parameters
    ----------
    num_workers, num_ps
        How many tasks the jobs "worker" and "ps" have.
    protocol
        ``"grpc"``.
    worker_config, ps_config
        A ``ConfigProto`` for the tasks of each job.

    Returns
    -------
    tuple
        The servers of the workers, and those of the parameter servers.

    Examples
    --------
    >>> workers, servers = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    >>> with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
    ...     x = tf.constant(1.0) + 2.0
    ...     with tf.Session(workers[0].target) as sess:
    ...         float(sess.run(x))
    3.0
    """
    ports = _free_ports(num_workers + num_ps)
    cluster = {
        "worker": [f"localhost:{port}" for port in ports[:num_workers]],
        "ps": [f"localhost:{port}" for port in ports[num_workers:]],
    }
    jobs = {"worker": worker_config, "ps": ps_config}
    given = {job: addresses for job, addresses in cluster.items() if addresses}
    made: dict[str, list[Server]] = {
        job: [
            Server(given, job, index, protocol=protocol, config=jobs[job])
            for index in range(len(addresses))
        ]
        for job, addresses in cluster.items()
    }
    return made["worker"], made["ps"]
