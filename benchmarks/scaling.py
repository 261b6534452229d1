"""How the time of a step grows with the number of workers, up to 200: measured costs, simulated.

    ./bazelw run //benchmarks:scaling -- --cores 8 --gigabits 10

Null steps run on clusters of this machine, of up to 16 processes, which talk through the network as
tasks of several machines do (gRPC; no shared memory). Their processor time gives the cost of a
step, of a message at each end, and of a byte. With these costs, the steps of larger clusters are
simulated, in which each task has a machine of its own, and printed beside the figures of Abadi et
al., "TensorFlow: A System for Large-Scale Machine Learning", OSDI 2016, section 6.2 (medians; 16
parameter servers). The same simulation of clusters of 16 processes on this machine is compared with
what they take: other ones than those which the costs come from.

The machines of the paper are not described there: --cores, --gigabits and --microseconds say what
is assumed, and a better processor than theirs makes messages cheaper.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence

import millstream as tf
from benchmarks.scaling_model import Costs, Load, Machines, Sample, fit, step_seconds

SMALL = 4
LARGE = 1 << 20
# The clusters whose processor time gives the costs.
FITTED = (
    Load(1, 1, SMALL),
    Load(1, 2, SMALL),
    Load(1, 4, SMALL),
    Load(2, 4, SMALL),
    Load(4, 2, SMALL),
    Load(4, 4, SMALL),
    Load(1, 1, LARGE),
    Load(2, 2, LARGE),
    Load(1, 4, LARGE),
)
# The clusters of 16 tasks that the simulation is compared with.
CHECKED = (
    Load(14, 2, SMALL),
    Load(12, 4, SMALL),
    Load(8, 8, SMALL),
    Load(12, 4, LARGE),
)
# A float from each server; 32 rows of a table of any size; the whole model.
SPARSE_ROWS = 32
SPARSE_ROW_BYTES = 4096
KINDS: dict[str, Callable[[int], float]] = {
    "scalar": lambda servers: SMALL,
    "sparse": lambda servers: SPARSE_ROWS * SPARSE_ROW_BYTES / servers,
    "dense 100 MB": lambda servers: 100e6 / servers,
    "dense 1 GB": lambda servers: 1e9 / servers,
}
# By kind and number of workers.
PAPER = {
    "scalar": {1: "1.8 ms", 100: "8.8 ms"},
    "sparse": {1: "5 to 20 ms", 100: "5 to 20 ms"},
    "dense 100 MB": {1: "147 ms", 100: "613 ms"},
    "dense 1 GB": {1: "1.01 s", 100: "7.16 s"},
}
_SIMULATED_STEPS = 20


@dataclasses.dataclass(frozen=True)
class Measured:
    """What a cluster of processes took."""

    sample: Sample
    step_seconds: float
    step_bytes: float  # of a worker


def combine(load: Load, figures: Sequence[Mapping[str, float]]) -> Measured:
    """Return the figures of a cluster.

    Parameters
    ----------
    load
        What its steps were.
    figures
        Of each worker (cases/null_steps.py). Those of the chief have what the servers did as well.
    """
    (chief,) = (one for one in figures if "bytes" in one)
    rate = sum(one["steps"] / one["seconds"] for one in figures)
    all_steps = sum(one["steps"] for one in figures)
    used = sum(one["worker_seconds"] * one["steps"] for one in figures)
    servers = chief["all_servers_seconds"] / (rate * chief["seconds"])
    return Measured(
        Sample(load, used / all_steps, servers),
        load.workers / rate,
        chief["bytes"] / chief["steps"],
    )


def measure(load: Load, seconds: float) -> Measured:
    """Run a cluster of processes on this machine."""
    lines: list[str] = []
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ["MILLSTREAM_CLUSTER_TRANSPORT"] = "network"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.cases.null_steps", f"--folder={folder}"]
        cluster = tf.cluster.LocalCluster(
            [*command, f"--floats={int(load.part_bytes) // 4}", f"--seconds={seconds}"],
            ps=load.servers,
            workers=load.workers,
            write=lambda _, line: lines.append(line),
        )
        status = cluster.run()
    figures = [json.loads(line[8:]) for line in lines if line.startswith("figures ")]
    if status or len(figures) != load.workers:
        raise RuntimeError(f"a task failed with status {status}:\n" + "\n".join(lines))
    return combine(load, figures)


def time_text(seconds: float) -> str:
    """Return a time with a unit that suits it."""
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def load_text(load: Load) -> str:
    """Return a name for a cluster and its steps."""
    size = "4 B" if load.part_bytes == SMALL else f"{load.part_bytes / (1 << 20):.0f} MB"
    return f"{load.workers:2} workers, {load.servers} servers, {size} of each"


def table(
    costs: Costs, machines: Machines, servers: int, workers: Sequence[int]
) -> list[list[str]]:
    """Return the rows of the comparison with the paper: for each number, the model and the paper.

    Parameters
    ----------
    costs
        Of messages.
    machines
        What each task has.
    servers, workers
        The clusters.
    """
    head = ["step"]
    for count in workers:
        head += [f"{count} worker{'s' if count > 1 else ''}", "paper"]
    rows = [head]
    for kind, part_bytes in KINDS.items():
        row = [kind]
        for count in workers:
            load = Load(count, servers, part_bytes(servers))
            row.append(time_text(step_seconds(load, costs, machines)))
            row.append(PAPER[kind].get(count, "-"))
        rows.append(row)
    return rows


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print columns that are as wide as they need to be."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))
    print(flush=True)


def compare_with_processes(costs: Costs, loads: Sequence[Load], seconds: float) -> None:
    """Print the times of clusters of this machine, measured and simulated."""
    here = Machines(cores=len(os.sched_getaffinity(0)), are_one=True)
    rows = [["16 tasks on this machine", "measured", "simulated", "simulated / measured"]]
    for load in loads:
        measured = measure(load, seconds).step_seconds
        simulated = step_seconds(load, costs, here, is_synchronous=False, steps=_SIMULATED_STEPS)
        texts = [time_text(measured), time_text(simulated), f"{simulated / measured:.2f}"]
        rows.append([load_text(load), *texts])
    print_rows(rows)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return value


def _more_than_zero(text: str) -> float:
    value = float(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"expected more than 0, got {text}")
    return value


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=_more_than_zero, default=3.0, help="of each cluster")
    parser.add_argument("--servers", type=_positive, default=16, help="of simulated clusters")
    parser.add_argument("--workers", type=_positive, nargs="+", default=[1, 10, 25, 50, 100, 200])
    parser.add_argument("--cores", type=_positive, default=8, help="of a simulated machine")
    parser.add_argument("--gigabits", type=_more_than_zero, default=10.0, help="a second")
    parser.add_argument("--microseconds", type=_more_than_zero, default=50.0, help="of latency")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, simulate, and print tables."""
    options = parse(arguments)
    samples = []
    rows = [["measured", "step", "worker", "all servers", "bytes a step"]]
    for load in FITTED:
        found = measure(load, options.seconds)
        samples.append(found.sample)
        times = (found.step_seconds, found.sample.worker_seconds, found.sample.server_seconds)
        rows.append([load_text(load), *map(time_text, times), f"{found.step_bytes:.0f}"])
    print_rows(rows)
    costs = fit(samples)
    print("Processor time at this machine:")
    print(f"  {1e6 * costs.step:.1f} µs a step of a worker")
    print(f"  {1e6 * costs.worker_message:.1f} µs a message and its answer, of a worker")
    print(f"  {1e6 * costs.server_message:.1f} µs a message and its answer, of a server")
    print(f"  {1e9 * costs.byte:.3f} ns a byte, at each end\n")
    compare_with_processes(costs, CHECKED, options.seconds)
    machines = Machines(
        options.cores, options.gigabits / 8 * 1e9, options.microseconds / 1e6, are_one=False
    )
    print(
        f"Simulated, with {options.servers} servers; each task has {options.cores} cores, "
        f"{options.gigabits:g} Gbit/s and {options.microseconds:g} µs to the others:"
    )
    print_rows(table(costs, machines, options.servers, options.workers))


if __name__ == "__main__":
    main(sys.argv[1:])
