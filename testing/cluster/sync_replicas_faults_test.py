"""Synchronous training whose workers, chief and parameter servers are killed, stopped and added.

The program says what a worker does next (sync_replicas_task.py), so each fault comes at a known
point. All gradients of a step that a fault does not touch are 1, so w and b stay the negative of
the global step: a step that was applied twice, in part or not at all would show at the end.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millstream as tf
from testing.cluster.task_processes import TaskProcesses

Start = Callable[..., TaskProcesses]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Makes a cluster of two parameter servers and some workers, and starts tasks of it."""
    made: list[TaskProcesses] = []

    def start_some(
        workers: int, aggregate: int, first_tokens: int = -1, without: str = ""
    ) -> TaskProcesses:
        command = [sys.executable, "-m", "testing.cluster.sync_replicas_task"]
        command += [f"--folder={tmp_path}", f"--aggregate={aggregate}"]
        tasks = TaskProcesses([*command, f"--first-tokens={first_tokens}"], 2, workers)
        made.append(tasks)
        chosen = [name for name in tasks.names if name != without]
        tasks.start(*chosen)
        for name in chosen:
            tasks.line_of(name, "serves" if name.startswith("ps") else "begins")
        return tasks

    yield start_some
    for tasks in made:
        tasks.end()


def _reach(tasks: TaskProcesses, step: int, *names: str) -> None:
    """Train by some workers until the global step is so large."""
    tasks.tell(f"until {step}", *names)
    for name in names:
        tasks.line_of(name, "reached")


def _state(tasks: TaskProcesses, name: str) -> tuple[int, float, float]:
    """The global step, w and b, once the chief has applied what it has."""
    while True:
        before = _read(tasks, name)
        after = _read(tasks, name)
        if before == after:
            return after


def _read(tasks: TaskProcesses, name: str) -> tuple[int, float, float]:
    tasks.tell("read", name)
    step, w, b = tasks.line_of(name, "state")
    return int(step), float(w), float(b)


def _counts(tasks: TaskProcesses, name: str) -> tuple[int, int]:
    tasks.tell("counts", name)
    applied, dropped = tasks.line_of(name, "counts")
    return int(applied), int(dropped)


def _await_gradients(tasks: TaskProcesses, count: int) -> None:
    """Wait until so many gradients of w have come; who gave one may wait for its token."""
    while True:
        for task in tf.cluster.status(tasks.target("ps:1")):
            if task.status is None:
                continue
            for accumulator in task.status.accumulators:
                if accumulator.name == "w:0/grad_accum" and accumulator.applied >= count:
                    return


def _check_exact(tasks: TaskProcesses, name: str, step: int) -> None:
    """No step was lost, or applied twice or in part."""
    found = _state(tasks, name)
    assert found[0] >= step
    assert found[1:] == (-found[0], -found[0])


def _end(tasks: TaskProcesses, *names: str) -> None:
    """End workers, the chief as the last one."""
    for name in names:
        tasks.tell("end", name)
        tasks.line_of(name, "ended")


def test_a_killed_backup_worker_stops_nobody_and_comes_back(start: Start) -> None:
    tasks = start(workers=3, aggregate=2)
    names = ["worker:0", "worker:1", "worker:2"]
    _reach(tasks, 10, *names)
    tasks.tell("until 1000000", "worker:2")
    tasks.signal(signal.SIGKILL, "worker:2")
    _reach(tasks, 30, *names[:2])
    _check_exact(tasks, "worker:0", 30)
    tasks.start("worker:2")
    assert int(tasks.line_of("worker:2", "begins")[0]) >= 30
    _reach(tasks, 50, *names)
    _check_exact(tasks, "worker:2", 50)
    _end(tasks, *reversed(names))


def test_a_stopped_backup_worker_stops_nobody_and_its_late_gradient_is_dropped(
    start: Start,
) -> None:
    tasks = start(workers=3, aggregate=2)
    names = ["worker:0", "worker:1", "worker:2"]
    _reach(tasks, 10, *names)
    tasks.signal(signal.SIGSTOP, "worker:2")
    _reach(tasks, _state(tasks, "worker:0")[0] + 20, *names[:2])
    dropped = _counts(tasks, "worker:0")[1]
    tasks.signal(signal.SIGCONT, "worker:2")
    tasks.tell("step 1000", "worker:2")  # it would be seen in w and b
    tasks.line_of("worker:2", "stepped")
    assert _counts(tasks, "worker:0")[1] == dropped + 1
    _reach(tasks, 60, *names)
    _check_exact(tasks, "worker:1", 60)
    _end(tasks, *reversed(names))


def test_a_worker_that_joins_late_takes_part_from_the_next_step_on(start: Start) -> None:
    tasks = start(workers=2, aggregate=1, without="worker:1")
    _reach(tasks, 10, "worker:0")
    step, w, b = _state(tasks, "worker:0")
    assert (w, b) == (-step, -step)
    tasks.start("worker:1")
    assert tasks.line_of("worker:1", "begins") == [str(step)]
    tasks.tell("step 5", "worker:1")
    tasks.line_of("worker:1", "stepped")
    assert _state(tasks, "worker:1") == (step + 1, w - 5, b - 5)
    _end(tasks, "worker:1", "worker:0")


def test_without_backup_workers_the_others_wait_until_a_killed_one_is_back(start: Start) -> None:
    # Without first tokens no worker is a step ahead.
    tasks = start(workers=2, aggregate=2, first_tokens=0)
    names = ["worker:0", "worker:1"]
    for step in range(3):
        tasks.tell("step 1", "worker:0")
        tasks.tell("step 3", "worker:1")
        for name in names:
            tasks.line_of(name, "stepped")
        assert _state(tasks, "worker:0") == (step + 1, -2 * step - 2, -2 * step - 2)
    tasks.signal(signal.SIGKILL, "worker:1")
    tasks.tell("step 1", "worker:0")
    _await_gradients(tasks, 7)
    tasks.start("worker:1")
    assert tasks.line_of("worker:1", "begins") == ["3"]
    tasks.tell("step 3", "worker:1")
    for name in names:
        tasks.line_of(name, "stepped")
    assert _state(tasks, "worker:1") == (4, -8, -8)
    _end(tasks, *reversed(names))


def test_a_worker_that_was_killed_while_it_waited_leaves_its_token_to_the_next_one(
    start: Start,
) -> None:
    tasks = start(workers=2, aggregate=2, first_tokens=0)
    names = ["worker:0", "worker:1"]
    tasks.tell("step 3", "worker:1")
    _await_gradients(tasks, 1)
    tasks.signal(signal.SIGKILL, "worker:1")
    tasks.start("worker:1")
    assert tasks.line_of("worker:1", "begins") == ["0"]
    # It does the step again, whose mean is then of its two gradients. Of the two tokens the worker
    # that was killed must take none.
    tasks.tell("step 3", "worker:1")
    tasks.line_of("worker:1", "stepped")
    assert _state(tasks, "worker:1") == (1, -3, -3)
    tasks.tell("step 1000", "worker:0")  # it is late
    tasks.line_of("worker:0", "stepped")
    assert _counts(tasks, "worker:0") == (2, 1)
    tasks.tell("step 1", *names)
    for name in names:
        tasks.line_of(name, "stepped")
    assert _state(tasks, "worker:0") == (2, -4, -4)
    _end(tasks, *reversed(names))


@pytest.mark.parametrize(("workers", "aggregate"), [(2, 2), (3, 2)])
def test_a_killed_chief_restores_and_gives_tokens_again(
    start: Start, workers: int, aggregate: int
) -> None:
    tasks = start(workers, aggregate)
    names = [f"worker:{i}" for i in range(workers)]
    _reach(tasks, 10, *names)
    _state(tasks, "worker:0")
    tasks.tell("save", "worker:0")
    (saved,) = tasks.line_of("worker:0", "saved")
    _reach(tasks, 20, *names)
    tasks.tell("until 50", *names[1:])
    tasks.signal(signal.SIGKILL, "worker:0")
    tasks.start("worker:0")
    assert tasks.line_of("worker:0", "begins") == [saved]
    tasks.tell("until 50", "worker:0")
    for name in names:
        tasks.line_of(name, "reached")
    _check_exact(tasks, "worker:1", 50)
    _end(tasks, *reversed(names))


@pytest.mark.parametrize("lost", ["ps:0", "ps:1"])  # the first one has the tokens
@pytest.mark.parametrize(("workers", "aggregate"), [(2, 2), (3, 2)])
def test_a_killed_parameter_server_is_restored_and_all_workers_go_on(
    start: Start, workers: int, aggregate: int, lost: str
) -> None:
    tasks = start(workers, aggregate)
    names = [f"worker:{i}" for i in range(workers)]
    _reach(tasks, 10, *names)
    saved = _state(tasks, "worker:0")[0]
    tasks.tell("save", "worker:0")
    assert tasks.line_of("worker:0", "saved") == [str(saved)]
    # Some wait for the chief's gradients, or are amid a step.
    tasks.tell("until 200", *names[1:])
    tasks.signal(signal.SIGKILL, lost)
    tasks.start(lost)
    tasks.tell("until 200", "worker:0")
    assert tasks.line_of("worker:0", "begins") == [str(saved)]
    for name in names:
        tasks.line_of(name, "reached")
    _reach(tasks, 250, *names)
    _check_exact(tasks, "worker:1", 250)
    _end(tasks, *reversed(names))
