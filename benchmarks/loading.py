"""How long fresh processes take to load the installed plugins, as the first session does.

    ./bazelw run //benchmarks:loading -- --processes 41

Each process loads them once. The row of oneDNN is of processes that load this library alone, which
the CPU plugin needs. `--package NAME=FOLDER` compares with the package of another build. All rows
take turns, so that what else the machine does concerns all alike. On a busy machine look at the
time of the processor: a process that waits for its turn uses none.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

# What the runtime has loaded before is no part of the time.
PROGRAM = """
import ctypes
import time
from millstream import _runtime
ctypes.CDLL("libgomp.so.1")
start, used = time.perf_counter(), time.process_time()
{call}
print(time.perf_counter() - start, time.process_time() - used)
"""
PLUGINS = PROGRAM.format(call="_runtime.plugin_load_installed()")
LIBRARY = PROGRAM.format(call='ctypes.CDLL("libdnnl.so.2")')
Row = tuple[str, str, str]


def seconds(program: str, path: str) -> tuple[float, float]:
    """Return what a fresh process measures with the package of the path: it took, it used."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    took, used = done.stdout.split()
    return float(took), float(used)


def rows_of(packages: list[str]) -> list[Row]:
    """Return names, programs and search paths of all that is measured."""
    here = os.pathsep.join(sys.path)
    rows = [("plugins", PLUGINS, here), ("oneDNN alone", LIBRARY, here)]
    for package in packages:
        name, _, folder = package.partition("=")
        rows.append((f"plugins, {name}", PLUGINS, folder))
    return rows


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--processes", type=int, default=41)
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER")
    arguments = parser.parse_args()
    rows = rows_of(arguments.package)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in rows}
    for _ in range(arguments.processes):
        for name, program, path in rows:
            times[name].append(seconds(program, path))
    for name, found in times.items():
        took, used = zip(*found, strict=True)
        print(
            f"{name}: {1e3 * statistics.median(took):.2f} ms (best {1e3 * min(took):.2f}), "
            f"of the processor {1e3 * statistics.median(used):.2f} (best {1e3 * min(used):.2f})"
        )


if __name__ == "__main__":
    main()
