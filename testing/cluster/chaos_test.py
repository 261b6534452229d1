"""Rounds of chaos with a killed parameter server, worker or chief, in all ways of chaos.py."""

from __future__ import annotations

import subprocess

import pytest

from testing.cluster.chaos import Way, run_round
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


@pytest.mark.parametrize(
    "way",
    [Way(network=True), Way(tls=True), Way(token=True), Way(tls=True, token=True)],
    ids=["network", "tls", "token", "tls and token"],
)
def test_a_training_through_grpc_survives_a_killed_parameter_server(way: Way) -> None:
    result = run_round(_seed("ps:0"), way=way)
    assert result.problems == []
    assert result.summary["status"] == 0
    assert [fault["task"] for fault in result.summary["faults"]] == ["ps:0"]


@pytest.mark.parametrize("task", ["ps:0", "worker:1", "worker:0"])
def test_a_synchronous_training_survives_a_killed_task(task: str) -> None:
    result = run_round(_seed(task), way=Way(synchronous=True))
    assert result.problems == []
    assert result.summary["status"] == 0
    assert [fault["task"] for fault in result.summary["faults"]] == [task]


# A fault waits for its task, which may come back when the others have done its work.
def test_no_task_is_killed_when_the_training_is_done() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        one = Round([Fault("worker:1", 1, None)], verbose=False)
        one.take("worker:0", "done 300 1e-09")
        one.take("worker:1", f"pid {process.pid}")
        one.take("worker:1", "step 300 1e-09")
        assert one.summary(0)["faults"] == []
        process.kill()
