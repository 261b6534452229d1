"""What is missing is named, with what can be done about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream._impl.session import plugins
from millstream._impl.session.plugins import PluginInfo
from millstream._impl.tools import doctor


def run(
    *arguments: str, module: str = "millstream.doctor", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def plugin(state: str, stage: str, text: str) -> PluginInfo:
    return PluginInfo(
        path="/acme/acme.so",
        origin="user path",
        name="acme",
        family="acme",
        vendor="",
        version="",
        state=state,
        stage=stage,
        code=3,
        text=text,
        kernels=0,
        devices=(),
    )


def test_a_machine_on_which_all_is_well_has_no_problem() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    for heading in ("Versions", "Machine", "Search path", "Plugins"):
        assert f"{heading}\n  " in done.stdout
    assert "instruction sets: " in done.stdout
    assert ": READY, installed, version " in done.stdout
    assert done.stdout.endswith("No problem was found.\n")
    assert max(len(line) for line in done.stdout.splitlines() if "/" not in line) <= 80


def test_a_file_that_is_no_plugin_is_a_problem_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "acme.so").write_text("text")
    done = run("doctor", module="millstream", MILLSTREAM_PLUGIN_PATH=str(tmp_path))
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert f"MILLSTREAM_PLUGIN_PATH={tmp_path}" in text
    assert "1 problem 1. " in text
    assert f"{tmp_path}/acme.so is REJECTED at preflight: not a Millstream plugin: " in text
    assert "-> this is no plugin, or the file is damaged: install it again" in text


def test_a_path_that_is_not_there_and_a_cpu_that_is_left_out_are_problems() -> None:
    done = run("--json", MILLSTREAM_PLUGIN_PATH="/no/such/folder", MILLSTREAM_PLUGINS="none")
    assert done.returncode == 1
    problems = json.loads(done.stdout)["problems"]
    assert "plugin path entry /no/such/folder does not exist" in problems[0]["text"]
    assert problems[0]["hint"] == "correct MILLSTREAM_PLUGIN_PATH, or unset it"
    assert problems[1]["text"] == 'no plugin gives a CPU: MILLSTREAM_PLUGINS is "none"'
    assert problems[1]["hint"] == "unset MILLSTREAM_PLUGINS, or add cpu to it"


@pytest.mark.parametrize(
    ("stage", "text", "hint"),
    [
        (
            "open",
            "plugin /acme/acme.so cannot be opened: libfoo.so.3: cannot open shared object file: "
            "No such file or directory",
            "install the package that has libfoo.so.3, or name its folder in LD_LIBRARY_PATH",
        ),
        (
            "preflight",
            "plugin /acme/acme.so needs ABI 7.2, host has 0.1",
            "it was built for another Millstream: upgrade the older of the two (the plugin wants "
            "ABI 7.2, this Millstream has 0.1)",
        ),
        (
            "probe",
            "plugin /acme/acme.so crashed (SIGILL) while loading",
            "it dies of SIGILL when it is opened: report it to its vendor with the output of "
            "millstream plugin-check",
        ),
        ("init", "plugin /acme/acme.so: no", "run: millstream plugin-check /acme/acme.so"),
    ],
)
def test_a_reason_has_its_hint(stage: str, text: str, hint: str) -> None:
    (problem,) = doctor.plugin_problems(plugin("FAILED", stage, text))
    assert problem.hint == hint
    assert problem.text.startswith(f"acme is FAILED at {stage}: ")
    assert "/acme/acme.so" not in problem.text


def test_a_device_that_is_not_there_is_a_problem_and_a_choice_is_none() -> None:
    absent = plugin("READY_NO_DEVICE", "enumerate", "plugin /acme/acme.so: no card")
    (problem,) = doctor.plugin_problems(absent)
    assert problem.text == "acme no card"
    assert "driver" in problem.hint
    for state in ("READY", "SHADOWED", "DISABLED", "FOUND"):
        assert doctor.plugin_problems(plugin(state, "choose", "another is used")) == []


def test_reasons_do_not_repeat_the_path() -> None:
    assert plugins.reason_of(plugin("FAILED", "init", "plugin /acme/acme.so: no")) == "no"
