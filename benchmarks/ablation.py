"""Measure what each optimization is worth: the same program with it and without, in turn.

    ./bazelw run //benchmarks:ablation -- --threads 2 --blocks 21

One process runs two sessions over one graph, of which one does without an optimization, in short
blocks that alternate, so that a machine whose speed drifts drifts for both. Printed are the medians
of a step with and without, and their ratio block by block: its median, smallest and largest. Each
optimization meets the workloads that it is for, with ``--all`` all of them. What is in programs and
not in the runtime is compared with programs that do without it. The last table has what the first
step of a new batch size costs beyond one whose shape is known: the plan, and memory to run it in.

With ``--checks`` it is instead what the mode costs that stops at the first NaN, with a folder for
what it would save.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from benchmarks import comparison, goals
from benchmarks.cases import graph_mode, networks, programs, timing

# The workloads that an optimization is for; others meet DEFAULT.
SHOWN_BY = {
    "fuse_products": ("mlp_b1", "mlp_b128", "lenet_b128"),
    "fuse_batch_norm": ("batch_norm",),
    "fuse_layer_norm": ("encoder_b1", "encoder_b8"),
    "fuse_attention": ("encoder_b1", "encoder_b8"),
    "fuse_gelu": ("encoder_b1", "encoder_erf_b1"),
    "fuse_dense_layers": (
        "encoder_b1",
        "encoder_b8",
        "mlp_inference_b1",
        "mlp_inference_b4",
        "mlp_inference_b32",
    ),
    "fuse_lstm_steps": ("lstm_inference_b1", "lstm_inference_b8"),
    "join_lstm_steps": ("lstm_inference_b1", "lstm_inference_b8"),
    "fuse_concats": ("inception_inference_b1",),
    "join_products": ("lstm_b1_unrolled", "lstm_b64_unrolled", "lstm_inference_b1"),
    "share_strips": ("lstm_b64", "lstm_b64_unrolled"),
    "sum_products": ("lstm_b1", "lstm_b1_unrolled", "lstm_b64", "lstm_b64_unrolled"),
    "raise_loops": ("lstm_b1", "lstm_b64"),
    "unroll_loops": ("lstm_b1", "lstm_b64"),
    "join_rows": ("lstm_b1", "lstm_b64"),
    "fuse_elementwise": ("add_chain", "large_chain", "mlp_b1", "mlp_b128"),
    "compile_elementwise": ("add_chain", "large_chain"),
    "slab": ("mlp_b1", "mlp_b128", "lenet_b128"),
    "in_place": ("mlp_b1", "mlp_b128", "lenet_b128"),
    "fold_shapes": ("mlp_b1", "lenet_b128"),
    "views": ("mlp_b1", "lenet_b128"),
    "variables": ("mlp_b1", "mlp_b128", "adam"),
    "unused_outputs": ("xent_loss_alone",),
    "borrowed_feeds": ("feed_100MB", "tiny_step"),
    "moved_fetches": ("fill_fetch_100MB", "tiny_step"),
    "parallelism_permit": ("threads", "threads_wide"),
}
DEFAULT = ("mlp_b1", "mlp_b128", "lenet_b128", "adam_small", "adam")
# Of all pairs: no more than minutes each.
MATRIX = tuple(
    name
    for name in programs.WORKLOADS
    if name not in networks.WORKLOADS or name.startswith(("mlp", "lenet"))
)

# What meets the mode that stops at the first NaN.
CHECKED = ("mlp_b32", "mlp_b128", "lenet_b128", "adam_small", "adam")

WITH, WITHOUT = "with", "without"
HEADING = ["optimization", "workload", WITH, WITHOUT, "with / without"]
SHAPES_HEADING = ["new batch sizes of", "more than a known one (least .. most)", "a known one"]

Side = AbstractContextManager[programs.Step]


def names(module: str = goals.OURS) -> list[str]:
    """Return the names of the runtime's optimizations, which it tells when it is given another."""
    tf = graph_mode.front_end(module)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.append("?")
    try:
        tf.Session(config=config).close()
    except tf.errors.InvalidArgumentError as error:
        found = re.search(r"expected one of ([\w, ]+)", str(error))
        if found is not None:
            return found.group(1).split(", ")
    raise RuntimeError("the runtime does not tell the names of its optimizations")


def pairs(
    known: Sequence[str], wanted: Sequence[str], workloads: Sequence[str], everything: bool
) -> list[tuple[str, str]]:
    """Return which optimization is tried on which workload; nothing wanted is all there is."""
    chosen = []
    for optimization in wanted or known:
        meets = MATRIX if everything else SHOWN_BY.get(optimization, DEFAULT)
        if wanted and workloads:  # the user knows
            meets = tuple(workloads)
        chosen += [(optimization, name) for name in meets if name in (workloads or meets)]
    return chosen


def alternate(
    sides: tuple[programs.Step, programs.Step], blocks: int, seconds: float
) -> list[tuple[float, float]]:
    """Return the seconds of a call of either, block by block; who begins changes too."""
    calls = [timing.calls_within(side, seconds) for side in sides]
    found = []
    for block in range(blocks):
        times = [0.0, 0.0]
        for turn in (0, 1):
            side = (block + turn) % 2
            times[side] = timing.mean_time(sides[side], calls[side])
        found.append((times[0], times[1]))
    return found


@dataclasses.dataclass(frozen=True)
class Row:
    """One optimization on one workload: the seconds of a step, block by block."""

    optimization: str
    workload: str
    measured: comparison.Measurements

    def ratio(self) -> comparison.Spread | None:
        """Return with / without."""
        return self.measured.ratio(self.workload, WITH, WITHOUT)

    def cells(self) -> list[str]:
        """Return the row of the table."""
        medians = (self.measured.median(self.workload, side) for side in (WITH, WITHOUT))
        times = (comparison.value_text(self.workload, median) for median in medians)
        return [self.optimization, self.workload, *times, str(self.ratio())]

    def numbers(self) -> dict[str, Any]:
        """Return the row for a file of JSON."""
        ratio = self.ratio()
        return {
            "optimization": self.optimization,
            "workload": self.workload,
            "with_seconds": self.measured.median(self.workload, WITH),
            "without_seconds": self.measured.median(self.workload, WITHOUT),
            "ratio": ratio and dataclasses.asdict(ratio),
        }


class Ablation:
    """Measures rows. A workload's graph is built once, sessions are made for each row."""

    def __init__(self, run: timing.Run, blocks: int) -> None:
        self._run = run
        self._blocks = blocks
        self._programs: dict[str, programs.Program] = {}

    def without_optimization(self, optimization: str, workload: str) -> Row:
        """Measure a workload with an optimization and without."""
        program = self._program(workload)
        return self._row(optimization, workload, program.begin(), program.begin([optimization]))

    def checked(self, workload: str, folder: str) -> Row:
        """Measure a workload in the mode that stops at the first NaN, and without."""
        program = self._program(workload)
        return self._row("check_numerics", workload, program.begin(checks=folder), program.begin())

    def rewritten(self, rewrite: programs.Rewrite) -> Row:
        """Measure a workload as it is and as it is written without something."""
        as_it_is = self._program(rewrite.workload).begin()
        rewritten = rewrite.build(self._run).begin()
        return self._row(rewrite.without, rewrite.workload, as_it_is, rewritten)

    def new_shapes(self, workload: str) -> list[programs.NewShape]:
        """Measure batches of new sizes."""
        return programs.new_shapes(self._run, workload)

    def _program(self, workload: str) -> programs.Program:
        if workload not in self._programs:
            self._programs[workload] = programs.WORKLOADS[workload](self._run)
        return self._programs[workload]

    def _row(self, title: str, workload: str, with_it: Side, without: Side) -> Row:
        parts = self._program(workload).parts
        measured = comparison.Measurements()
        with with_it as ours, without as other:
            blocks = alternate((ours, other), self._blocks, self._run.seconds)
        for block, (time_with, time_without) in enumerate(blocks):
            measured.add(block, WITH, {workload: time_with / parts})
            measured.add(block, WITHOUT, {workload: time_without / parts})
        return Row(title, workload, measured)


def shape_cells(workload: str, found: Sequence[programs.NewShape]) -> list[str]:
    """Return the row of a network in the table of new shapes."""
    more = [each.more for each in found]
    times = [statistics.median(more), min(more), max(more)]
    median, least, most = (f"{1e3 * value:.3g}" for value in times)
    known = statistics.median(each.known for each in found)
    return [workload, f"{median} ms ({least} .. {most})", comparison.value_text(workload, known)]


# ---- The command ---------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command line, checked."""
    parser = argparse.ArgumentParser(
        prog="ablation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--optimization", nargs="+", default=[], metavar="NAME")
    parser.add_argument(
        "--workload", choices=programs.WORKLOADS, nargs="+", default=[], metavar="WORKLOAD"
    )
    parser.add_argument("--all", action="store_true", help="every optimization on every workload")
    parser.add_argument(
        "--checks", action="store_true", help="the mode that stops at the first NaN"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.1, help="of a block, on either side")
    parser.add_argument("--json", type=pathlib.Path, help="write the numbers into this file too")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables into this file too")
    parsed = parser.parse_args(arguments)
    if parsed.blocks < 1 or parsed.threads < 1:
        parser.error("--blocks and --threads must be at least 1")
    return parsed


def measurements(
    ablation: Ablation, parsed: argparse.Namespace, known: Sequence[str], folder: str
) -> Iterator[Row]:
    """Measure the rows that the command line asks for, one after the other."""
    if parsed.checks:
        for workload in parsed.workload or CHECKED:
            yield ablation.checked(workload, folder)
        return
    for pair in pairs(known, parsed.optimization, parsed.workload, parsed.all):
        yield ablation.without_optimization(*pair)
    for rewrite in () if parsed.optimization else programs.REWRITES:
        if rewrite.workload in (parsed.workload or programs.WORKLOADS):
            yield ablation.rewritten(rewrite)


def measure_all(ablation: Ablation, parsed: argparse.Namespace, known: Sequence[str]) -> list[Row]:
    """Return the rows that the command line asks for."""
    rows = []
    # What is there is printed.
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder:
        for row in measurements(ablation, parsed, known, folder):
            rows.append(row)
            print("  ".join(row.cells()), file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure and print the tables."""
    # Paths are meant from where the user stands, which Bazel says.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    parsed = parse(arguments)
    known = names()
    for name in parsed.optimization:
        if name not in known:
            print(f"there is no optimization '{name}'; there are {', '.join(known)}")
            return 2
    run = timing.Run(parsed.threads, parsed.seconds, channels_last=False, module=goals.OURS)
    ablation = Ablation(run, parsed.blocks)
    rows = measure_all(ablation, parsed, known)
    networks_shown = [
        name
        for name in programs.NEW_SHAPES
        if not (parsed.optimization or parsed.checks)
        and name in (parsed.workload or programs.NEW_SHAPES)
    ]
    shapes = {name: ablation.new_shapes(name) for name in networks_shown}
    tables = [
        [HEADING, *(row.cells() for row in rows)],
        [SHAPES_HEADING, *(shape_cells(name, found) for name, found in shapes.items())],
    ]
    tables = [table for table in tables if len(table) > 1]
    print("\n\n".join(map(comparison.plain_text, tables)))
    if parsed.markdown is not None:
        parsed.markdown.write_text("\n\n".join(map(comparison.markdown, tables)) + "\n")
    if parsed.json is not None:
        numbers = {
            "rows": [row.numbers() for row in rows],
            "new_shapes": {
                name: [dataclasses.asdict(each) for each in found] for name, found in shapes.items()
            },
        }
        parsed.json.write_text(json.dumps(numbers, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
