"""Whole programs print the golden figures."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_RUNNER = "testdata/conformance/programs/run.py"
_PROGRAMS = [
    "convnet_train",
    "feed_intermediate",
    "mlp_optimizers",
    "paper_osdi_fig1",
    "paper_tour_listing",
    "paper_whitepaper_fig1",
]


@pytest.mark.parametrize("program", _PROGRAMS)
def test_program_prints_the_golden_figures(program: str) -> None:
    # The program runs in a folder of its own, so relative entries of the path would be lost.
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, _RUNNER, "--module", "millstream", program],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout, done.stdout
