"""``millstream plugin-check`` prints what became of each rule."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from millstream._impl.base import package
from millstream._impl.tools import plugin_check

CPU = package.FOLDER / "plugins" / "libmillstream_cpu.so"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "millstream", "plugin-check", *arguments],
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_our_own_plugin_passes() -> None:
    done = run(str(CPU), "--suite", "devices", "--suite", "memory")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "devices"
    assert "  DEV-STABLE       PASS  enumerating twice gives the same devices: 1 check" in lines
    assert "  MEM-ZERO         PASS  zero bytes can be allocated and freed: 1 check" in lines
    assert lines[-1] == f"{CPU}: 16 passed, 0 failed, 1 skipped"


def test_kernels_are_compared_with_the_plugin_that_is_installed() -> None:
    report = json.loads(run(str(CPU), "--suite", "kernels", "--json").stdout)
    rules = {rule["id"]: rule for rule in report["rules"]}
    assert rules["KERNEL-RUNS"]["result"] == "PASS"
    assert report["checks_of_kernels"] > rules["KERNEL-RUNS"]["checks"] > 0
    assert "this is the CPU plugin" in rules["KERNEL-REFERENCE"]["detail"]


def test_what_is_no_plugin_fails_with_the_reason(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("text")
    done = run(str(text))
    assert done.returncode == 1
    assert re.search("^  LOAD-PREFLIGHT +FAIL  ", done.stdout, re.MULTILINE)
    assert "not a Millstream plugin" in " ".join(done.stdout.split())


def test_a_suite_that_is_not_there_is_an_error() -> None:
    done = run(str(CPU), "--suite", "nonsense")
    assert done.returncode == 2
    assert 'there is no suite "nonsense"' in done.stderr


def test_the_table_is_wrapped_and_says_what_failed() -> None:
    def rule(name: str, result: str, detail: str) -> dict[str, Any]:
        return {
            "id": name,
            "suite": "memory",
            "sentence": "a sentence",
            "result": result,
            "detail": detail,
        }

    report = {
        "plugin": "acme.so",
        "rules": [rule("MEM-A", "PASS", "3 checks"), rule("MEM-LONG", "FAIL", "one two three")],
        "checks_of_kernels": 69,
        "checks_of_own_ops": 0,
        "checks_of_async_kernels": 4,
        "passed": 1,
        "failed": 1,
        "skipped": 0,
    }
    assert plugin_check.report_table(report, 40).splitlines() == [
        "memory",
        "  MEM-A     PASS  a sentence: 3 checks",
        "  MEM-LONG  FAIL  a sentence: one two",
        "                  three",
        "",
        "69 checks of kernels, 0 of own ops, 4 of asynchronous kernels",
        "acme.so: 1 passed, 1 failed, 0 skipped",
    ]
