"""Compare placement by costs with round robin and with the default, on devices of different speed.

    ./bazelw run //benchmarks:placement -- --blocks 15

Three simulated accelerators (docs/sim.md) take 1, 2 and 4 ms for each piece of work, and as long
for a copy: delays that hardly depend on what else the machine does. The step has branches that do
not wait for each other, and their sum. Each placement has a session of its own; the one by costs
runs steps until it has settled. Then the three take turns, and printed are the medians of a step
and of the ratios block by block, with the smallest and the largest.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import millstream as tf

PLUGIN = pathlib.Path("device_plugins/sim/libmillstream_sim.so")
LATENCIES_US = (1000, 2000, 4000)
BRANCHES = 12
DEPTH = 4
SIZE = 64
PERIOD = 5
UNTIL_SETTLED = 6 * PERIOD

BY_COSTS, ROUND_ROBIN, DEFAULT = "by costs", "round robin", "default"
Step = Callable[[], np.ndarray]


def load_devices() -> None:
    """Load the simulated devices."""
    options = {"devices": str(len(LATENCIES_US))}
    for ordinal, latency in enumerate(LATENCIES_US):
        options[f"latency_us@{ordinal}"] = str(latency)
    tf.plugins.load_plugin(PLUGIN.resolve(), options)


def begin(placement: str) -> tuple[Step, Callable[[], str]]:
    """Return what runs a step, and what explains where its nodes are."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [SIZE, SIZE])
        ends = []
        for branch in range(BRANCHES):
            robin = branch % len(LATENCIES_US)
            where = f"SIM:{robin}" if placement == ROUND_ROBIN else "SIM:*"
            with tf.device(f"/device:{where}"):
                weights = tf.constant(np.eye(SIZE, dtype=np.float32) / (branch + 1))
                value = x
                for _ in range(DEPTH):
                    value = tf.matmul(value, weights)
                ends.append(value)
        with tf.device("/cpu:0"):
            total = tf.add_n(ends)
    config = tf.ConfigProto()
    if placement == BY_COSTS:
        config.placement_period = PERIOD
        config.graph_options.build_cost_model = PERIOD - 1
    session = tf.Session(graph=graph, config=config)
    fed = np.ones((SIZE, SIZE), np.float32)
    step = session.make_callable(total, [x])
    return lambda: step(fed), lambda: str(session.explain_placement(total, [x]))


def branches_by_device(text: str) -> str:
    """Return how many products each device has: "24 12 12"."""
    products = [line for line in text.splitlines() if "(MatMul)" in line]
    counts = [sum(f"SIM:{d} " in line for line in products) for d in range(len(LATENCIES_US))]
    return " ".join(map(str, counts))


def spread(values: list[float]) -> str:
    """Return the median, the smallest and the largest."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def compare(blocks: int, calls: int) -> None:
    """Print the table."""
    steps = {name: begin(name) for name in (BY_COSTS, ROUND_ROBIN, DEFAULT)}
    results = {name: step() for name, (step, _) in steps.items()}
    for _ in range(UNTIL_SETTLED):
        steps[BY_COSTS][0]()
    results["settled"] = steps[BY_COSTS][0]()
    if len({result.tobytes() for result in results.values()}) != 1:
        raise RuntimeError("the placements give different bits")
    times: dict[str, list[float]] = {name: [] for name in steps}
    for block in range(blocks):
        turns = list(steps)
        for name in turns[block % 3 :] + turns[: block % 3]:
            start = time.perf_counter()
            for _ in range(calls):
                steps[name][0]()
            times[name].append((time.perf_counter() - start) / calls)
    for name, (_, explain) in steps.items():
        ratios = [ours / other for ours, other in zip(times[BY_COSTS], times[name], strict=True)]
        median = statistics.median(times[name]) * 1e3
        text = f"{name:12} {median:7.1f} ms   products on each device: "
        text += f"{branches_by_device(explain()):10}"
        print(text + ("" if name == BY_COSTS else f" by costs / {name}: {spread(ratios)}"))


def main(arguments: list[str]) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--calls", type=int, default=3, help="steps of each a block")
    parsed = parser.parse_args(arguments)
    load_devices()
    compare(max(parsed.blocks, 1), max(parsed.calls, 1))


if __name__ == "__main__":
    main(sys.argv[1:])
