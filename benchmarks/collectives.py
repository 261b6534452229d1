"""Sums over processes of this machine, in Millstream and by Gloo in turn.

    ./bazelw run //benchmarks:collectives -- --torch /path/to/python --blocks 5

Each process has one thread for its computations. Printed are the medians over the blocks, and the
ratio to Gloo with its smallest and largest value.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import millstream as tf

ROOT = pathlib.Path(os.path.abspath(__file__)).parent.parent
COUNTS = {"4 B": 1, "1 MB": 1 << 18, "100 MB": 100 << 18}
PORT = 29_500


def _figures(lines: list[str]) -> dict[str, float]:
    (line,) = [line for line in lines if line.startswith("figures ")]
    figures: dict[str, float] = json.loads(line.removeprefix("figures "))
    return figures


def measure_own(processes: int, counts: list[str]) -> dict[str, float]:
    """Return the seconds of each size, of Millstream."""
    lines: list[str] = []
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    cluster = tf.cluster.LocalCluster(
        [sys.executable, "-m", "benchmarks.cases.all_reduce_graph", *counts],
        workers=processes,
        write=lambda _, line: lines.append(line),
    )
    status = cluster.run()
    if status:
        raise RuntimeError(f"a task failed with status {status}:\n" + "\n".join(lines))
    return _figures(lines)


def measure_gloo(python: str, processes: int, counts: list[str]) -> dict[str, float]:
    """Return the seconds of each size, of Gloo."""
    command = [python, "-m", "benchmarks.cases.all_reduce_torch"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [*command, str(rank), str(processes), str(PORT), *counts],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise RuntimeError("a process of Gloo failed")
    return _figures(outputs[0].splitlines())


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", required=True, help="a Python interpreter that has PyTorch")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    options = parser.parse_args(arguments)
    counts = [str(count) for count in COUNTS.values()]
    for processes in options.processes:
        own = []
        gloo = []
        for _ in range(options.blocks):
            own.append(measure_own(processes, counts))
            gloo.append(measure_gloo(options.torch, processes, counts))
        for name, count in COUNTS.items():
            key = str(count)
            ratios = [a[key] / b[key] for a, b in zip(own, gloo, strict=True)]
            print(
                f"{processes} processes, {name:6}: "
                f"{1e3 * statistics.median(one[key] for one in own):9.3f} ms, "
                f"Gloo {1e3 * statistics.median(one[key] for one in gloo):9.3f} ms, "
                f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
