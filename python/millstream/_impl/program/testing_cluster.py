"""Clusters for tests: all tasks in this process."""

from __future__ import annotations

from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.cluster.server import Server
from millstream._impl.graph.arguments import INTEGER, TEXT, Kind, takes

_CONFIG = Kind(
    "a tf.ConfigProto", lambda value: isinstance(value, protos.message_class("ConfigProto"))
)


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
    addresses = free_addresses(num_workers + num_ps)
    cluster = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    jobs = {"worker": worker_config, "ps": ps_config}
    given = {job: tasks for job, tasks in cluster.items() if tasks}
    made: dict[str, list[Server]] = {
        job: [
            Server(given, job, index, protocol=protocol, config=jobs[job])
            for index in range(len(tasks))
        ]
        for job, tasks in cluster.items()
    }
    return made["worker"], made["ps"]
