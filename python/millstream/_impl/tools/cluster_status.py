"""The command ``millstream cluster status``: a cluster's tasks, and who waits for whom."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from millstream._impl.base import errors
from millstream._impl.cluster.environment import from_environment
from millstream._impl.cluster.status import ClusterTask, RunningStep, TaskStatus, status

_HEADINGS = (
    *("TASK", "STATE", "UP", "STEPS", "FAILED", "RUNNING", "LED", "SESSIONS", "GRAPHS", "SENT"),
    *("RECEIVED", "INCARNATION"),
)
_LEFT = {"TASK", "STATE", "INCARNATION"}  # the other columns are numbers
_REPLICA = "/replica:0"  # in the names of all tasks
_UNITS = ("B", "kB", "MB", "GB", "TB")
_NO_ANSWERS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What may stand behind ``status``."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a server's, as grpc://HOST:PORT; by default the tasks that the environment names "
        "are asked in turn (docs/cluster.md)",
    )
    parser.add_argument("--json", action="store_true", help="for programs: a JSON array")


def run(options: argparse.Namespace) -> int:
    """Print how the tasks of a cluster are.

    Parameters
    ----------
    options
        The parsed arguments.

    Returns
    -------
    int
        1 when a task does not answer or nobody does; 2 without a cluster.
    """
    try:
        asked = [options.target] if options.target else _targets()
        if not asked:
            print("millstream: there is no cluster: name a target or TF_CONFIG", file=sys.stderr)
            return 2
        tasks = _first_answer(asked)
    except (ValueError, errors.OpError) as error:
        print(f"millstream: {error}", file=sys.stderr)
        return _NO_ANSWERS
    if options.json:
        print(json.dumps([dataclasses.asdict(task) for task in tasks], indent=2))
    else:
        print(status_text(tasks))
    return 0 if all(task.status is not None for task in tasks) else _NO_ANSWERS


def _targets() -> list[str]:
    """The tasks that the environment names, the workers first: they lead steps."""
    cluster = from_environment().cluster
    jobs = sorted(cluster.jobs, key=lambda job: job == "ps")
    addresses = [
        str(cluster.task_address(job, index)) for job in jobs for index in cluster.task_indices(job)
    ]
    return [one if one.startswith("unix:") else f"grpc://{one}" for one in addresses]


def _first_answer(asked: list[str]) -> list[ClusterTask]:
    for target in asked[:-1]:
        try:
            return status(target)
        except errors.UnavailableError:
            continue
    return status(asked[-1])


def status_text(tasks: list[ClusterTask]) -> str:
    """A text for terminals.

    Parameters
    ----------
    tasks
        What `tf.cluster.status` gives.

    Returns
    -------
    str
        A line for each task, and below them one for each task with accumulators, one for each
        accumulator that has dropped gradients, and one for each step that runs.
    """
    rows = [_HEADINGS, *(_row(task) for task in tasks)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    lines = [_aligned(row, widths) for row in rows]
    lines += [f"{_short(task.task)}: {task.error}" for task in tasks if task.error]
    for task in tasks:
        if task.status is not None:
            lines += [f"{_short(task.task)} has lost {_short(one)}" for one in task.status.lost]
    sums = [line for task in tasks if task.status is not None for line in _gradients(task.status)]
    waits = [
        f"  {_short(task.task)} {_step_text(step)}"
        for task in tasks
        if task.status is not None
        for step in task.status.running
    ]
    gradients = ["", "Gradients:", *sums] if sums else []
    running = ["", "Running:", *waits] if waits else []
    return "\n".join([*lines, *gradients, *running])


def _row(task: ClusterTask) -> tuple[str, ...]:
    found = task.status
    if found is None:
        return (_short(task.task), "silent", *("-" for _ in _HEADINGS[2:]))
    led = sum(step.is_led for step in found.running)
    return (
        _short(task.task),
        "alive",
        _duration(found.up_seconds),
        str(found.steps),
        str(found.failed_steps),
        str(len(found.running) - led),
        str(found.led_steps),
        str(found.sessions),
        str(found.graphs),
        _bytes(sum(traffic.sent_bytes for traffic in found.traffic.values())),
        _bytes(sum(traffic.received_bytes for traffic in found.traffic.values())),
        found.incarnation,
    )


def _gradients(found: TaskStatus) -> list[str]:
    """How many gradients the task's accumulators got; those that dropped none have no line."""
    if not found.accumulators:
        return []
    task = _short(found.task)
    applied = sum(one.applied for one in found.accumulators)
    dropped = sum(one.dropped for one in found.accumulators)
    return [
        f"  {task} has added {applied}, and dropped {dropped} stale ones",
        *(
            f"  {task} has added {one.applied}, and dropped {one.dropped} stale ones, of {one.name}"
            for one in found.accumulators
            if one.dropped
        ),
    ]


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = zip(_HEADINGS, row, widths, strict=True)
    return "  ".join(
        text.ljust(width) if heading in _LEFT else text.rjust(width)
        for heading, text, width in cells
    ).rstrip()


def _step_text(step: RunningStep) -> str:
    verb = "leads" if step.is_led else "runs"
    text = f"{verb} step {step.step} of session {step.session} for {step.seconds:.1f} s"
    waits = [
        f"{wait.tensor} of {_short(wait.task)}" if wait.tensor else _short(wait.task)
        for wait in step.waits
    ]
    return f"{text}, waits for {', '.join(sorted(waits))}" if waits else text


def _short(task: str) -> str:
    return task.replace(_REPLICA, "")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}h"
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def _bytes(count: int) -> str:
    value = float(count)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"
