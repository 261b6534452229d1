"""A cluster of this machine learns, also when a task is killed in the midst of it."""

from __future__ import annotations

import pathlib
import re

import pytest

from examples import distributed_fashion_mnist


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert distributed_fashion_mnist.main(list(arguments)) == 0
    lines = capsys.readouterr().out.splitlines()
    (found,) = [one for line in lines if (one := re.search(r"test accuracy (0\.\d+)", line))]
    assert float(found[1]) > 0.7
    return lines


@pytest.mark.parametrize("options", [[], ["--short-transfers"]])
def test_servers_and_workers_learn_together(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, options: list[str]
) -> None:
    lines = _run(capsys, "--short", f"--logdir={tmp_path}", *options)
    steps = [line for line in lines if "| step " in line]
    assert {line.partition("|")[0].strip() for line in steps} <= {f"worker:{i}" for i in range(3)}
    assert len(steps) > 1
    assert (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("task", ["worker:1", "ps:0"])
def test_the_training_goes_on_after_a_task_was_killed(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, task: str
) -> None:
    lines = _run(capsys, "--short", f"--logdir={tmp_path}", f"--kill={task}")
    (told,) = [line for line in lines if "was killed by signal 9" in line]
    assert told == f"{task:9}| was killed by signal 9; it is started again"
