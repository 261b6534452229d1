"""Whole programs print the golden figures: the first level, and those whose names are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = Path("testdata/conformance/programs")
_SUFFIX = ".golden.json"
_LEVEL = 1
# Programs of higher levels of which nothing is missing any more.
_OF_OTHER_LEVELS = (
    "adversarial_pair",
    "batch_norm_layers",
    "cluster_in_process",
    "cond_case",
    "embedding_sampled",
    "image_ops",
    "import_and_freeze",
    "lookup_and_examples",
    "losses_and_metrics",
    "monitored_session",
    "optimizers_all",
    "partial_run_state",
    "py_func_print_assert",
    "queue_kinds",
    "queue_runner_coordinator",
    "readers_records",
    "rnn_static_dynamic",
    "saved_model_signatures",
    "saver_round_trip",
    "schedules_clipping_averages",
    "second_order_custom",
    "sparse_and_strings",
    "sync_replicas",
    "tensor_array_scan",
    "variable_scope_reuse",
    "variables_state",
    "while_gradients",
)
# Guards against hanging, of run.py and of a program: one takes seconds.
_HANG_GUARD_SECONDS = 900
# What programs import of protobuf, which the environment does not have: the same functions.
_PROTOBUF = "from millstream.protos import json_format, message, text_format\n"
_TIMEOUT = ("--timeout", "600")


def _programs() -> list[str]:
    """Names of the level's programs, by what their golden files say."""
    return [
        path.name.removesuffix(_SUFFIX)
        for path in sorted(_FOLDER.glob(f"*{_SUFFIX}"))
        if json.loads(path.read_text())["level"] == _LEVEL
    ]


def _check(program: str, tmp_path: Path, module: str) -> None:
    """Run a program, which imports the module, and compare what it prints."""
    protobuf = tmp_path / "google" / "protobuf"
    protobuf.mkdir(parents=True)
    (protobuf / "__init__.py").write_text(_PROTOBUF)
    # The program runs in a folder of its own, so relative entries of the path would be lost.
    entries = [os.path.abspath(entry) for entry in sys.path if entry]
    path = os.pathsep.join([*entries, str(tmp_path)])
    done = subprocess.run(
        [sys.executable, str(_FOLDER / "run.py"), "--module", module, *_TIMEOUT, program],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 0 failed" in done.stdout, done.stdout


@pytest.mark.parametrize("program", [*_programs(), *_OF_OTHER_LEVELS])
def test_program_prints_the_golden_figures(program: str, tmp_path: Path) -> None:
    _check(program, tmp_path, "millstream")


@pytest.mark.parametrize("program", ["cluster_in_process", "sync_replicas"])
def test_program_prints_the_golden_figures_where_each_task_is_a_process(
    program: str, tmp_path: Path
) -> None:
    _check(program, tmp_path, "testing.conformance.server_processes")


def test_the_level_has_its_nineteen_programs() -> None:
    assert len(_programs()) == 19
