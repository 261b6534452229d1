"""Runs cases in a child process, so that a crash or a hang is a failure with its case."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# Guards against hanging. A case takes milliseconds; the child starts in a second on a busy machine.
SECONDS_A_CASE = 30.0
_SECONDS_TO_START = 120.0

# A child that dies again and again would otherwise run for long.
_MOST_DEATHS = 20


@dataclass
class Report:
    """What came of a plan: failures, and the cases by op, kind and what became of them."""

    failures: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def run_cases(
    ops: list[str],
    seed: int,
    cases: int,
    seconds: float = SECONDS_A_CASE,
    module: str = "testing.properties.child",
    environment: dict[str, str] | None = None,
) -> Report:
    """Run that many cases of each kind of each op."""
    report = Report()
    plan = {"ops": ops, "seed": seed, "cases": cases, "skip": 0}
    deaths = 0
    while True:
        done, at, end = _run_child(plan, seconds, module, environment or {}, report)
        plan["skip"] = int(str(plan["skip"])) + done
        if end == "":
            return report
        deaths += 1
        report.failures.append(f"{end} at {' '.join(map(str, at))}, seed {seed}")
        if deaths == _MOST_DEATHS or not at:
            report.failures.append("gave up")
            return report


def _run_child(
    plan: dict[str, Any],
    seconds: float,
    module: str,
    environment: dict[str, str],
    report: Report,
) -> tuple[int, list[Any], str]:
    """How many cases were begun, the last one, and how the child ended: "" when all was done."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    child = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=variables,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(plan).encode())
    child.stdin.close()
    begun = 0
    at: list[Any] = []
    lines = _lines(child.stdout.fileno(), seconds)
    for line in lines:
        if line is None:
            child.kill()
            child.wait()
            limit = seconds if begun else _SECONDS_TO_START
            return begun, at, f"nothing for {limit} seconds (a guard against hanging)"
        word, *rest = json.loads(line)
        if word == "at":
            begun, at = begun + 1, rest
        elif word == "wrong":
            report.failures.append(f"{' '.join(at[:1])}: {rest[0]}")
        elif word == "count":
            report.counts[rest[0], rest[1], rest[2]] += 1
        else:
            child.wait()
            return begun, at, ""
    return begun, at, f"the process died with status {child.wait()}"


def _lines(descriptor: int, seconds: float) -> Any:
    """Lines as they come; None when none has come for that long, after the child's start."""
    pending = b""
    last = time.monotonic()
    limit = _SECONDS_TO_START
    while True:
        wait = last + limit - time.monotonic()
        ready, _, _ = select.select([descriptor], [], [], max(wait, 0))
        if not ready:
            yield None
            return
        block = os.read(descriptor, 1 << 16)
        if not block:
            return
        last, limit = time.monotonic(), seconds
        *complete, pending = (pending + block).split(b"\n")
        yield from complete
