"""Importing the package is cheap and silent."""

from __future__ import annotations

import importlib
import subprocess
import sys

PROGRAM = """
import numpy, resource, sys, time
start = time.process_time()
import millstream
spent = time.process_time() - start
mapped = open("/proc/self/maps").read()
print(spent, "libmillstream_cpu" in mapped, "google.protobuf" in sys.modules)
"""


def test_import_is_quick_silent_and_opens_no_plugin() -> None:
    best = 1e9
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        )
        spent, plugin, protobuf = done.stdout.split()
        assert done.stderr == ""
        assert plugin == "False"
        assert protobuf == "False"
        best = min(best, float(spent))
    assert best < 0.15  # seconds of this process over NumPy's own


def test_v1_name_is_the_package() -> None:
    import millstream

    assert importlib.import_module("millstream.compat.v1") is millstream
