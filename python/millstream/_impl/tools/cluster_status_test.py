"""The command ``millstream cluster status``."""

from __future__ import annotations

import json
import re

import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses
from millstream._impl.cluster.status import (
    Accumulator,
    ClusterTask,
    RunningStep,
    TaskStatus,
    Traffic,
    Wait,
)
from millstream._impl.tools import command
from millstream._impl.tools.cluster_status import status_text

_PS = "/job:ps/replica:0/task:0"
_WORKER = "/job:worker/replica:0/task:0"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def test_the_table_says_who_waits_for_whom() -> None:
    steps = (
        RunningStep("5af3", 12, True, 3.25, (Wait(_PS, ""),)),
        RunningStep("5af3", 12, False, 3.25, (Wait(_PS, "w:0"), Wait(_PS, "b:0"))),
    )
    traffic = {_PS: Traffic(1_500_000, 999), "clients": Traffic(500, 0)}
    lost = "/job:worker/replica:0/task:1"
    worker = TaskStatus(
        _WORKER, "18aa", 3725.5, 1, 1, 2, 1200, 3, 1201, 3, 1, (lost,), traffic, steps
    )  # fmt: skip
    ps = TaskStatus(_PS, "18ab", 59.9, 1, 0, 2, 1200, 0, 0, 0, 0, (), {}, ())
    tasks = [
        ClusterTask(_PS, "localhost:1", "", ps),
        ClusterTask(_WORKER, "localhost:2", "", worker),
        ClusterTask(lost, "localhost:3", "no answer to GetTaskStatus", None),
    ]
    assert status_text(tasks) == "\n".join(
        [
            "TASK                STATE       UP  STEPS  FAILED  RUNNING   LED  SESSIONS  GRAPHS    "
            "SENT  RECEIVED  INCARNATION",
            "/job:ps/task:0      alive      59s   1200       0        0     0         1       2    "
            " 0 B       0 B  18ab",
            "/job:worker/task:0  alive   1h 02m   1200       3        1  1201         1       2  1."
            "5 MB     999 B  18aa",
            "/job:worker/task:1  silent       -      -       -        -     -         -       -    "
            "   -         -  -",
            "/job:worker/task:1: no answer to GetTaskStatus",
            "/job:worker/task:0 has lost /job:worker/task:1",
            "",
            "Running:",
            "  /job:worker/task:0 leads step 12 of session 5af3 for 3.2 s, waits for "
            "/job:ps/task:0",
            "  /job:worker/task:0 runs step 12 of session 5af3 for 3.2 s, waits for "
            "b:0 of /job:ps/task:0, w:0 of /job:ps/task:0",
        ]
    )


def test_stale_gradients_are_counted_below_the_table() -> None:
    sums = (Accumulator("", "w:0/grad_accum", "", 40, 3), Accumulator("", "b:0", "", 41, 0))
    ps = TaskStatus(_PS, "18ab", 59.9, 1, 0, 2, 1200, 0, 0, 0, 0, (), {}, (), sums)
    lines = status_text([ClusterTask(_PS, "localhost:1", "", ps)]).splitlines()
    assert lines[2:] == [
        "",
        "Gradients:",
        "  /job:ps/task:0 has added 81, and dropped 3 stale ones",
        "  /job:ps/task:0 has added 40, and dropped 3 stale ones, of w:0/grad_accum",
    ]


def test_the_command_asks_the_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = free_addresses(2)
    server = tf.train.Server({"worker": [here, there]}, "worker", 0)
    assert command.main(["cluster", "status", server.target]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.sub(r"\d+", "N", " ".join(lines[1].split())) == re.sub(
        r"\d+", "N", "/job:worker/task:0 alive 0s 0 0 0 0 0 0 0 B 0 B " + lines[1].split()[-1]
    )
    assert lines[2].split()[:3] == ["/job:worker/task:1", "silent", "-"]
    # By the network's library, where it is installed, or by the host alone.
    found = re.fullmatch(rf"/job:worker/task:1: (.*) {there}(: .*refused)?", lines[3])
    assert found is not None, lines[3]
    assert found[1] in ("no answer from", "no server of this host is at")
    # By the environment: the task that does not run is passed by.
    config = {"cluster": {"worker": [there, here]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    for expected in (1, 0):
        assert command.main(["cluster", "status", "--json"]) == expected
        tasks = json.loads(capsys.readouterr().out)
        assert [task["address"] for task in tasks] == [here, there]
        assert tasks[0]["status"]["task"] == _WORKER
        assert (tasks[1]["status"] is None) == (expected == 1)
        if expected == 1:
            tf.train.Server({"worker": [here, there]}, "worker", 1)


def test_without_a_cluster_and_without_an_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", "")
    assert command.main(["cluster", "status"]) == 2
    assert "there is no cluster" in capsys.readouterr().err
    (address,) = free_addresses(1)
    assert command.main(["cluster", "status", f"grpc://{address}"]) == 1
    said = capsys.readouterr().err
    assert re.search(rf"(no answer from|no server of this host is at) {address}", said), said
