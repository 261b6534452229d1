"""The commands of docs/deploy.md print the files of docs/deploy."""

from __future__ import annotations

import pathlib
import shlex

import pytest

from millstream._impl.tools import command

DOCUMENT = pathlib.Path("docs/deploy.md")
FOLDER = pathlib.Path("docs/deploy")


def _arguments(action: str) -> list[str]:
    """What stands behind ``millstream`` in the document's command, up to the pipe."""
    text = DOCUMENT.read_text().replace("\\\n", " ")
    (line,) = (line for line in text.splitlines() if f" millstream cluster {action} " in line)
    words = shlex.split(line)
    return words[1 : words.index("|")]


@pytest.mark.parametrize(
    ("action", "more", "file"),
    [
        ("kubernetes", [], "indexed_job.json"),
        ("kubernetes", ["--kind", "tf-job"], "tf_job.json"),
        ("slurm", [], "slurm.sbatch"),
    ],
)
def test_a_command_prints_its_file(
    capsys: pytest.CaptureFixture[str], action: str, more: list[str], file: str
) -> None:
    cluster, kind, *rest = _arguments(action)
    assert command.main([cluster, kind, *more, *rest]) == 0
    assert capsys.readouterr().out == (FOLDER / file).read_text()
