"""Our own plugins pass the kit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

CHECK = "framework/plugin/check/millstream_plugin_check"
CPU = "device_plugins/cpu/libmillstream_cpu.so"
SIM = "device_plugins/sim/libmillstream_sim.so"


def check(plugin: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [CHECK, "--json", "--rounds", "200", "--reference", CPU, *arguments, plugin],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    return done.returncode, {rule["id"]: rule for rule in report["rules"]}


def failures(rules: dict[str, Any]) -> dict[str, str]:
    return {name: rule["detail"] for name, rule in rules.items() if rule["result"] == "FAIL"}


def skipped(rules: dict[str, Any]) -> set[str]:
    return {name for name, rule in rules.items() if rule["result"] == "SKIP"}


def untried_ops(rules: dict[str, Any]) -> set[str]:
    """Those with kernels that nothing is tried with."""
    return {
        op for rule in rules.values() for op in re.findall(r"no cases of (\w+)", rule["detail"])
    }


# Kernels that only refuse, casts of strings, and numbers that no one can repeat.
MAY_BE_UNTRIED = {"Cast", "NonDeterministicInts", "OnesLike"}

# For which no plugin of ours is the right one.
ALWAYS_SKIPPED = {
    "DEV-REASON",
    "TRACE-EVENTS",
    "KERNEL-SUPPORTS",
    "KERNEL-WRAPPED",
    "KERNEL-DETERMINISTIC",
}


def test_the_cpu_plugin_passes() -> None:
    status, rules = check(CPU)
    assert (status, failures(rules)) == (0, {})
    assert skipped(rules) == ALWAYS_SKIPPED | {
        "COPY-PEER",
        # It is what others are compared with.
        "KERNEL-REFERENCE",
        "KERNEL-SHAPES",
        "KERNEL-RANDOM",
        "KERNEL-ASYNC",
    }
    # It has neither ops of its own nor asynchronous kernels, and the report says so.
    detail = rules["KERNEL-RUNS"]["detail"]
    assert re.fullmatch(r"\d+ checks, 0 of own ops, 0 of asynchronous kernels", detail), detail
    assert untried_ops(rules) <= MAY_BE_UNTRIED


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_the_cpu_plugin_passes_in_narrower_instruction_sets(isa: str) -> None:
    status, rules = check(CPU, "--option", f"isa={isa}", "--suite", "load", "--suite", "kernels")
    assert (status, failures(rules)) == (0, {})


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["devices=3", "delay_us=20", "latency_us=2"],
        ["memory_mb=8", "copy_mb_per_s=500", "poison=0"],
        ["pooled=1"],
    ],
)
def test_the_simulated_accelerator_passes(options: list[str]) -> None:
    arguments = [word for option in options for word in ("--option", option)]
    status, rules = check(SIM, *arguments)
    assert (status, failures(rules)) == (0, {})
    # It has a profiler.
    assert skipped(rules) == ALWAYS_SKIPPED - {"TRACE-EVENTS"} | {"KERNEL-ASYNC"}
    assert untried_ops(rules) <= MAY_BE_UNTRIED


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("garbage_sizes=1", "MEM-SIZES"),
        ("fail_create=1", "DEV-CREATE"),
        ("fail_init=1", "LOAD-INIT"),
        ("hang_copy=3", "COPY-DIRECTIONS"),
    ],
)
def test_what_goes_wrong_in_it_on_purpose_is_found(option: str, rule: str) -> None:
    suites = ["--suite", "load", "--suite", "devices", "--suite", "memory", "--suite", "copies"]
    status, rules = check(SIM, "--option", option, "--patience", "2", *suites)
    assert status == 1
    assert rule in failures(rules)


def test_the_document_has_every_rule() -> None:
    with open("docs/plugin_check.md") as file:
        lines = file.read().splitlines()
    _, rules = check("/no/such/plugin.so")
    expected = [
        f"| {name} | {rule['suite']} | {rule['sentence']} |" for name, rule in rules.items()
    ]
    assert len(expected) > 60
    assert [line for line in lines if line in expected] == expected


def test_the_table_names_rules_and_counts(tmp_path: Any) -> None:
    text = tmp_path / "text.so"
    text.write_text("no plugin")
    done = subprocess.run([CHECK, str(text)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "LOAD-PREFLIGHT" in done.stdout
    assert "not a Millstream plugin: " in done.stdout
    assert "0 passed, 1 failed, " in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["--suite", "nothing", "a.so"], ["a.so", "b.so"], ["--what", "a.so"]]
)
def test_a_wrong_command_line_is_answered_with_the_usage(arguments: list[str]) -> None:
    done = subprocess.run([CHECK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "usage: millstream_plugin_check" in done.stderr


def test_without_its_file_of_cases_the_program_checks_nothing(tmp_path: Any) -> None:
    program = shutil.copy(CHECK, tmp_path)
    done = subprocess.run([program, CPU], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert f"{tmp_path}/kernel_cases.bin: expected a file of cases" in done.stderr
