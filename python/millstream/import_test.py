"""Importing the package is cheap and silent.

What it costs is counted: seconds depend on what else the machine does. `//benchmarks:peers` has
the time (row "import" of docs/performance.md).
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

PROGRAM = """
import json, numpy, sys
before = set(sys.modules)
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
import millstream
sys.setprofile(None)
loaded = sorted(set(sys.modules) - before)
mapped = open("/proc/self/maps").read()
print(json.dumps({"calls": calls, "loaded": loaded, "plugin": "libmillstream_cpu" in mapped}))
"""

# Calls of functions, of Python's and of C's: 83,000 in Python 3.11, in 0.03 s on an idle machine.
MOST_CALLS = 160_000
# Modules of Python's library and of NumPy that NumPy alone does not load: 43 in Python 3.11.
MOST_MODULES_OF_OTHERS = 60


def test_import_is_cheap_silent_and_opens_no_plugin() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert not report["plugin"], "the CPU's plugin is loaded"
    others = [name for name in report["loaded"] if name.partition(".")[0] != "millstream"]
    assert "google.protobuf" not in others
    assert "millstream._impl.ops.ragged_functions" not in report["loaded"]
    assert len(others) <= MOST_MODULES_OF_OTHERS, others
    assert report["calls"] <= MOST_CALLS


def test_v1_name_is_the_package() -> None:
    import millstream

    assert importlib.import_module("millstream.compat.v1") is millstream
