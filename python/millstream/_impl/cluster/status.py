"""How the tasks of a cluster are: what they say of themselves, and who waits for whom."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from millstream import _runtime
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.session import targets


@dataclasses.dataclass(frozen=True)
class Traffic:
    """The bytes that a task exchanged with another one."""

    sent_bytes: int
    received_bytes: int


@dataclasses.dataclass(frozen=True)
class Wait:
    """What a step waits for: a tensor of a task, or, where that is "", the end of its part."""

    task: str
    tensor: str


@dataclasses.dataclass(frozen=True)
class RunningStep:
    """A step that a task runs a part of, or leads as its master."""

    session: str
    step: int
    is_led: bool
    seconds: float
    waits: tuple[Wait, ...]


@dataclasses.dataclass(frozen=True)
class Accumulator:
    """The gradients that an accumulator of a task added up, and the stale ones that it dropped.

    `session` is that of the isolated session that has it, and "" if sessions share it.
    """

    container: str
    name: str
    session: str
    applied: int
    dropped: int


@dataclasses.dataclass(frozen=True)
class TaskStatus:
    """What a task says of itself. Counts begin when the task does."""

    task: str
    incarnation: str
    up_seconds: float
    sessions: int
    led_sessions: int
    graphs: int
    steps: int
    failed_steps: int
    led_steps: int
    failed_led_steps: int
    losses: int
    lost: tuple[str, ...]
    traffic: dict[str, Traffic]
    running: tuple[RunningStep, ...]
    accumulators: tuple[Accumulator, ...] = ()


@dataclasses.dataclass(frozen=True)
class ClusterTask:
    """A task as the asked one sees it: `error` says why there is no `status`."""

    task: str
    address: str
    error: str
    status: TaskStatus | None


@public("cluster.status")
@takes(target=TEXT)
def status(target: str) -> list[ClusterTask]:
    """How all tasks of a cluster are.

    Parameters
    ----------
    target
        Of the task that asks the others, as sessions name it: ``"grpc://HOST:PORT"``.

    Returns
    -------
    list
        An object for each task, in the order of jobs and numbers: ``task``, ``address``,
        ``error`` ("" for a task that has answered) and ``status``, which is None after an error.
        A status has ``steps`` (parts of steps that have ended) and ``failed_steps`` of them,
        ``led_steps`` and ``failed_led_steps`` (of this task as the master), ``sessions``,
        ``led_sessions``, ``graphs`` (registered parts), ``traffic`` (``sent_bytes`` and
        ``received_bytes`` by task), ``lost`` and ``losses`` (tasks that its heartbeats do not
        reach, and how often that happened), ``incarnation``, ``up_seconds``, ``running`` (the
        steps that run, with what they wait for) and ``accumulators``: of each its ``name``,
        ``container`` and isolated ``session``, and how many gradients were ``applied``, and
        ``dropped`` because they were of an earlier step.

    Raises
    ------
    UnavailableError
        Nobody answers at the target.
    NotFoundError
        The target is of another kind.

    Examples
    --------
    >>> server = tf.train.Server.create_local_server()
    >>> with tf.Graph().as_default(), tf.Session(server.target) as sess:
    ...     _ = sess.run(tf.constant(1.0) + 2.0)
    >>> (task,) = tf.cluster.status(server.target)
    >>> task.task, task.status.steps, task.status.running
    ('/job:local/replica:0/task:0', 1, ())
    """
    targets.use_library()
    try:
        answer = json.loads(_runtime.cluster_status(target))
    except _runtime.StatusError as error:
        code, message, _ = error.args
        raise errors.make(None, code, message, "") from None
    return [
        ClusterTask(
            task["task"],
            task["address"],
            task["error"],
            None if task["status"] is None else task_status(task["status"]),
        )
        for task in answer["tasks"]
    ]


def task_status(fields: dict[str, Any]) -> TaskStatus:
    """A task's status, as the runtime gives it in JSON (distributed_runtime/status_json.h)."""
    return TaskStatus(
        **{
            **fields,
            "lost": tuple(fields["lost"]),
            "traffic": {peer: Traffic(**counts) for peer, counts in fields["traffic"].items()},
            "running": tuple(_running_step(step) for step in fields["running"]),
            "accumulators": tuple(Accumulator(**one) for one in fields["accumulators"]),
        }
    )


def _running_step(fields: dict[str, Any]) -> RunningStep:
    return RunningStep(**{**fields, "waits": tuple(Wait(**wait) for wait in fields["waits"])})
