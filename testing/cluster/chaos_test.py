"""Rounds of chaos with a killed parameter server, a killed worker, and a killed chief."""

from __future__ import annotations

import subprocess

import pytest

from testing.cluster.chaos import run_round
from testing.cluster.chaos_round import Fault, Round, faults_of


def _seed(task: str) -> int:
    """The first seed whose only fault is that the task is killed."""
    for seed in range(1000):
        faults = faults_of(seed, 2, 2)
        if [(fault.task, fault.stop) for fault in faults] == [(task, None)]:
            return seed
    raise AssertionError(task)


@pytest.mark.parametrize("task", ["ps:0", "worker:1", "worker:0"])
def test_a_training_survives_a_killed_task(task: str) -> None:
    result = run_round(_seed(task))
    assert result.problems == []
    assert result.summary["status"] == 0
    (fault,) = result.summary["faults"]
    assert fault["task"] == task
    assert len(result.summary["restarted"]) >= 1
    assert result.summary["saved"] >= 300


# A fault waits for its task, which may come back when the others have done its work.
def test_no_task_is_killed_when_the_training_is_done() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        one = Round([Fault("worker:1", 1, None)], verbose=False)
        one.take("worker:0", "done 300 1e-09")
        one.take("worker:1", f"pid {process.pid}")
        one.take("worker:1", "step 300 1e-09")
        assert one.summary(0)["faults"] == []
        process.kill()
