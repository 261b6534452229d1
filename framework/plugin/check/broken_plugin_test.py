"""The kit finds each fault of a broken plugin by its rule, and none in good plugins."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

CHECK = "framework/plugin/check/millstream_plugin_check"
BROKEN = "framework/plugin/check/testing/libbroken.so"
REFERENCE = "device_plugins/cpu/libmillstream_cpu.so"

# The parts of a frame that a kernel may scribble over.
FRAME_PARTS = [
    "head", "ctx", "inputs", "outputs", "outputs_used", "shape_state", "scratch", "n_in", "n_out",
    "device_state", "stream_native", "stream", "correlation_id", "flags", "step_id",
    "device_ordinal", "pad", "scratch_mem", "input_view", "output_view", "used_bits",
]  # fmt: skip

# Every fault with the rules that fail by it: the first is the fault's own, and the others cannot
# hold where that one does not.
FAULTS = {
    "init_fails": ["LOAD-INIT"],
    "any_host": ["LOAD-OLD-HOST"],
    "null_function": ["LOAD-FUNCTIONS"],
    "one_table": ["LOAD-FUNCTIONS"],
    "any_option": ["OPTION-UNKNOWN"],
    "undocumented_option": ["OPTION-SCHEMA"],
    "bad_default": ["OPTION-SCHEMA"],
    "options_of_one_name": ["OPTION-SCHEMA"],
    "crossed_bounds": ["OPTION-SCHEMA"],
    "refuses_default": ["OPTION-SCHEMA"],
    "unknown_op": ["REG-KERNELS"],
    "tie": ["REG-TIES"],
    "other_device": ["REG-DEVICES"],
    "ignores_refusal": ["REG-REFUSED"],
    "unstable": ["DEV-STABLE"],
    "overfills": ["DEV-COUNT"],
    "no_device": ["DEV-REASON"],
    "any_ordinal": ["DEV-ORDINAL"],
    "misaligned": ["MEM-ALIGN"],
    "zero_bytes": ["MEM-ZERO"],
    "huge": ["MEM-HUGE"],
    "any_space": ["MEM-SPACE"],
    "garbage_sizes": ["MEM-SIZES"],
    "leaks": ["MEM-LEAK"],
    "short_copy": ["COPY-SIZES", "COPY-OFFSETS"],
    "no_offset": ["COPY-OFFSETS"],
    "fill_of_bytes": ["COPY-FILL"],
    "crashes": ["COPY-FILL"],
    "late_copy": ["EVENT-SYNC", "EVENT-QUERY", "STREAM-DEVICE-SYNC"],
    "never_idle": ["STREAM-IDLE"],
    "hangs": ["EVENT-SYNC"],
    "host_fn_twice": ["HOSTFN-ONCE"],
    "host_fn_late": ["HOSTFN-ORDER"],
    "wrong_result": ["KERNEL-REFERENCE"],
    "wrong_shape": ["KERNEL-SHAPES", "KERNEL-REFERENCE", "KERNEL-PLANNED", "KERNEL-IN-PLACE"],
    "forgets_output": ["KERNEL-OUTPUTS", "KERNEL-REFERENCE"],
    "output_in_host": ["KERNEL-OUTPUTS", "KERNEL-RUNS"],
    "beyond_output": ["KERNEL-BOUNDS"],
    "byte_before_input": ["KERNEL-BOUNDS"],
    "byte_after_input": ["KERNEL-BOUNDS"],
    "byte_before_output": ["KERNEL-BOUNDS"],
    "byte_after_output": ["KERNEL-BOUNDS"],
    "byte_before_temporary": ["KERNEL-BOUNDS"],
    "byte_after_temporary": ["KERNEL-BOUNDS"],
    "byte_before_device_temporary": ["KERNEL-BOUNDS"],
    "byte_after_device_temporary": ["KERNEL-BOUNDS"],
    "byte_before_scratch": ["KERNEL-BOUNDS"],
    "byte_after_scratch": ["KERNEL-BOUNDS"],
    "byte_before_device_scratch": ["KERNEL-BOUNDS"],
    "byte_after_device_scratch": ["KERNEL-BOUNDS"],
    **{f"scribbles_{part}": ["KERNEL-FRAME"] for part in FRAME_PARTS},
    "writes_handle": ["KERNEL-INPUTS"],
    "writes_input": ["KERNEL-INPUTS", "KERNEL-FORWARD", "KERNEL-IN-PLACE"],
    "wraps_without_release": ["KERNEL-WRAPPED", "KERNEL-RUNS"],
    "wraps_too_little": ["KERNEL-WRAPPED", "KERNEL-RUNS"],
    "writes_wrapped": ["KERNEL-WRAPPED"],
    "releases_wrapped_twice": ["KERNEL-REFERENCES"],
    "writes_lent": ["KERNEL-WRAPPED"],
    "deletes_lent": ["KERNEL-REFERENCES"],
    "lends_twice": ["KERNEL-REFERENCES"],
    "supports_changes_its_mind": ["KERNEL-SUPPORTS"],
    "supports_gives_no_reason": ["KERNEL-SUPPORTS"],
    "supports_gives_no_text": ["KERNEL-STATUS"],
    "supports_reads_unknown": ["KERNEL-SUPPORTS"],
    "beyond_own_output": ["KERNEL-BOUNDS"],
    "other_type": ["KERNEL-OUTPUTS", "KERNEL-RUNS"],
    "other_shape": ["KERNEL-SHAPES", "KERNEL-PLANNED"],
    "shape_function_crashes": ["KERNEL-SHAPES"],
    "shape_function_guesses": ["KERNEL-SHAPES"],
    "differs": ["KERNEL-DETERMINISTIC"],
    "crashes_on_means": ["KERNEL-RUNS"],
    "fails_on_means": ["KERNEL-RUNS"],
    "keeps_lock": ["KERNEL-LOCKS"],
    "unlocks_twice": ["KERNEL-LOCKS"],
    "uses_lock_later": ["KERNEL-LOCKS"],
    "keeps_tensor": ["KERNEL-REFERENCES"],
    "releases_input": ["KERNEL-REFERENCES"],
    "releases_output_twice": ["KERNEL-REFERENCES"],
    "releases_object_twice": ["KERNEL-REFERENCES"],
    "keeps_status": ["KERNEL-STATUS"],
    "frees_status_twice": ["KERNEL-STATUS"],
    "done_twice": ["KERNEL-ASYNC"],
    "never_done": ["KERNEL-ASYNC"],
    "writes_after_done": ["KERNEL-ASYNC"],
    "bad_in_place": ["KERNEL-IN-PLACE", "KERNEL-FORWARD"],
    "bad_plan": ["KERNEL-PLANNED"],
    "keeps_object": ["KERNEL-REFERENCES"],
    "ignores_cancel": ["KERNEL-CANCEL"],
    "cancel_fails": ["KERNEL-CANCEL"],
    "keeps_callback": ["KERNEL-CANCEL"],
    "open_part": ["KERNEL-TRACE"],
    "ends_no_part": ["KERNEL-TRACE"],
    "trace_changes": ["KERNEL-TRACE"],
    "own_random": ["KERNEL-RANDOM"],
    "aborts": ["KERNEL-RUNS"],
    "ignores_no_memory": ["FAULT-MEMORY"],
    "shared_state": ["THREADS-STATE"],
    "backward_event": ["TRACE-EVENTS"],
    "device_clock": ["TRACE-EVENTS"],
    "unasked_event": ["TRACE-EVENTS"],
    "other_correlation": ["TRACE-EVENTS"],
    "keeps_files": ["SOAK-DEVICES"],
}
SUITES = {
    "LOAD": "load",
    "OPTION": "options",
    "REG": "registry",
    "DEV": "devices",
    "MEM": "memory",
    "COPY": "copies",
    "STREAM": "streams",
    "EVENT": "streams",
    "HOSTFN": "streams",
    "KERNEL": "kernels",
    "FAULT": "faults",
    "THREADS": "threads",
    "TRACE": "trace",
    "SOAK": "soak",
}


Checked = tuple[int, dict[str, Any]]


def check(plugin: str, *arguments: str, fault: str = "") -> Checked:
    """The exit status, and what became of each rule."""
    done = subprocess.run(
        [CHECK, "--json", "--rounds", "40", "--reference", REFERENCE, *arguments, plugin],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MILLSTREAM_TEST_FAULT": fault},
    )
    report = json.loads(done.stdout)
    return done.returncode, {rule["id"]: rule for rule in report["rules"]}


def failed(rules: dict[str, Any]) -> set[str]:
    return {name for name, rule in rules.items() if rule["result"] == "FAIL"}


def test_the_plugin_without_a_fault_passes() -> None:
    status, rules = check(BROKEN)
    assert (status, failed(rules)) == (0, set())
    skipped = {name for name, rule in rules.items() if rule["result"] == "SKIP"}
    assert skipped == {"DEV-REASON", "COPY-PEER", "KERNEL-RANDOM"}
    # Kernels of own ops and asynchronous ones are counted apart.
    for name in ("KERNEL-RUNS", "KERNEL-FORWARD", "KERNEL-BOUNDS", "FAULT-MEMORY"):
        rule = rules[name]
        assert 0 < rule["checks_of_async_kernels"] < rule["checks"], rule
        assert 0 < rule["checks_of_own_ops"] < rule["checks"], rule
    assert rules["KERNEL-REFERENCE"]["checks_of_own_ops"] == 0
    assert rules["KERNEL-DETERMINISTIC"]["checks_of_async_kernels"] == 0


def test_kernels_pass_on_a_device_with_memory_of_its_own() -> None:
    status, rules = check(BROKEN, "--suite", "kernels", fault="own_memory")
    assert (status, failed(rules)) == (0, set())


# A check of a fault waits for late writes for three quarters of its time: together these take less
# than one processor.
AT_ONCE = 3


@pytest.fixture(scope="module")
def checked(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Checked]]]:
    """What comes of the plugin with each of the faults that this run is about."""

    def check_fault(fault: str) -> Checked:
        suite = SUITES[FAULTS[fault][0].split("-")[0]]
        return check(BROKEN, "--suite", suite, "--patience", "4", fault=fault)

    asked = {item.name for item in request.session.items}
    faults = [fault for fault in FAULTS if f"test_a_fault_is_found_by_its_rule[{fault}]" in asked]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {fault: pool.submit(check_fault, fault) for fault in faults}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_rule(fault: str, checked: dict[str, Future[Checked]]) -> None:
    expected = FAULTS[fault]
    status, rules = checked[fault].result()
    assert status == 1
    assert failed(rules) == set(expected), {name: rules[name]["detail"] for name in failed(rules)}


def test_whoever_crashes_is_named_with_signal_and_breadcrumb() -> None:
    _, rules = check(BROKEN, "--suite", "copies", fault="crashes")
    detail = rules["COPY-FILL"]["detail"]
    assert detail == "width 1: crashed (SIGABRT) (breadcrumb: filling with a pattern)"


def test_whoever_hangs_is_stopped_and_the_other_suites_go_on() -> None:
    _, rules = check(
        BROKEN, "--suite", "streams", "--suite", "soak", "--patience", "2", fault="hangs"
    )
    assert rules["EVENT-SYNC"]["detail"] == "hung: nothing happened for 2s"
    assert rules["SOAK-STREAMS"]["result"] == "PASS"


def test_a_kernel_that_crashes_stops_no_other() -> None:
    _, rules = check(BROKEN, "--suite", "kernels", fault="aborts")
    assert "Neg(T float32)" in rules["KERNEL-RUNS"]["detail"]
    assert rules["KERNEL-LOCKS"]["result"] == "PASS"
    assert rules["KERNEL-ASYNC"]["result"] == "PASS"


def test_whoever_uses_a_frame_later_crashes() -> None:
    status, rules = check(BROKEN, "--suite", "kernels", fault="uses_frame_later")
    assert status == 1
    # On a machine that is busy it may be another rule's turn by then.
    details = {name: rules[name]["detail"] for name in failed(rules)}
    assert all("crashed (SIGSEGV)" in detail for detail in details.values()), details
    assert details


def test_the_document_counts_the_faults() -> None:
    with open("docs/plugin_check.md") as file:
        # That which may fail any rule has a test of its own.
        assert f"holds a plugin with {len(FAULTS) + 1} faults" in file.read()


def test_every_suite_has_a_fault() -> None:
    assert {SUITES[rules[0].split("-")[0]] for rules in FAULTS.values()} == set(SUITES.values())
