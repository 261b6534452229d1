"""Run the benchmark cases on Millstream and on other systems in turn, and print them side by side.

    ./bazelw run //benchmarks:peers -- --blocks 9 --threads 1,2 \
        --peer tensorflow=/path/to/python --peer torch=/path/to/python --peer jax=/path/to/python

A peer is a name and the Python interpreter that has it: ``tensorflow`` (in graph mode), ``torch``,
``jax``, ``numpy`` (with SciPy, in the rows of single operations), or any other package, of which
only the import is measured. Contenders alternate, a process
for each case, so that a machine whose speed drifts drifts for all. In each block the best setting
of a contender counts (threads; for convolutions in PyTorch also the memory layout). Printed are the
medians over the blocks, our ratio to the best peer with the smallest and largest of any block, and
the goal. ``--check`` compares numbers instead of times. ``--isa avx2`` measures a wide machine as a
narrow one: it limits our plugin, and each peer by the limits that it has (ONNX Runtime has none).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import comparison, goals
from benchmarks.cases import networks, operations, recurrent

# The tree that the cases are found in; links are kept, because in a built tree everything is one.
ROOT = pathlib.Path(os.path.abspath(__file__)).parent.parent

CASES = (
    "null_chain",
    "null_wide",
    "add_chain",
    "large_chain",
    "tiny_step",
    "build",
    "feed_fetch",
    "mlp",
    "two_shapes",
    "lenet",
    "first_step",
    "alexnet",
    "overfeat",
    "vgg_a",
    "googlenet",
    "resnet50",
    "xent",
    "adam",
    "batch_norm",
    "threads",
    "checkpoint",
    "memory",
    "import",
    *recurrent.CASES,
    operations.CASE,
)
CHECKED = (
    *networks.TRAINING_CASES,
    "xent",
    "adam",
    "batch_norm",
    *recurrent.LSTMS,
    operations.CASE,
)
# Sums of float32 in another order differ by some units of the last place (6e-8 each), and each step
# of training makes some of it more; Adam's epsilon (1e-8) comes before or after the correction of
# the second moment, which makes 3e-5 of an update.
LARGEST_DIFFERENCE = 1e-4
CASE_TIMEOUT_SECONDS = 1800


def isa_limits(isa: str) -> dict[str, str]:
    """Return the environment that keeps all contenders to an instruction set; XLA has flags."""
    if isa == "avx2":
        library, aten = "AVX2", "avx2"
    else:
        library, aten = "SSE41", "default"
    return {
        "MILLSTREAM_PLUGIN_OPTIONS": f"millstream_cpu:isa={isa}",
        "ONEDNN_MAX_CPU_ISA": library,
        "DNNL_MAX_CPU_ISA": library,
        "ATEN_CPU_CAPABILITY": aten,
        "MKL_ENABLE_INSTRUCTIONS": "AVX2" if isa == "avx2" else "SSE4_2",
    }


def xla_flags(isa: str | None, threads: int) -> str:
    """Return XLA's flags for an instruction set, or any, and a number of threads."""
    flags = []
    if threads == 1:
        flags.append("--xla_cpu_multi_thread_eigen=false")
    if isa is not None:
        flags.append("--xla_cpu_max_isa=" + ("AVX2" if isa == "avx2" else "SSE4_2"))
    return " ".join(flags)


@dataclasses.dataclass(frozen=True)
class Contender:
    """A system and the interpreter that has it."""

    name: str
    python: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """How a contender is run."""

    threads: int
    channels_last: bool = False


# Runs one case of one contender: what the process printed, and None when it failed.
Runner = Callable[[Contender, str, Setting], Mapping[str, Any] | None]


class ProcessRunner:
    """Runs each case in a process of its own.

    Parameters
    ----------
    seconds
        What one repeat of a case takes at least.
    check
        Whether numbers are wanted instead of times.
    isa
        The widest instruction set that contenders use, or None.
    """

    def __init__(self, seconds: float, check: bool, isa: str | None = None) -> None:
        self._seconds = seconds
        self._check = check
        self._isa = isa

    def __call__(
        self, contender: Contender, case: str, setting: Setting
    ) -> Mapping[str, Any] | None:
        """Return what the case found; after a failure say why, and return None."""
        command = [contender.python, "-m", *self._program(contender, case), case]
        command += ["--threads", str(setting.threads), "--seconds", str(self._seconds)]
        command += ["--channels-last"] * setting.channels_last + ["--check"] * self._check
        try:
            done = subprocess.run(
                command,
                env=self._environment(contender, setting),
                capture_output=True,
                text=True,
                check=True,
                timeout=CASE_TIMEOUT_SECONDS,
            )
            found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or [f"status {error.returncode}"])[-1]
        except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
            reason = str(error)
        else:
            return found
        print(f"{contender.name}: {case} failed: {reason}", file=sys.stderr, flush=True)
        return None

    @staticmethod
    def _program(contender: Contender, case: str) -> list[str]:
        own = contender.name if contender.name in ("torch", "jax") else "graph"
        program = f"recurrent_{own}" if case in recurrent.CASES else f"{own}_mode"
        if case == operations.CASE:
            program = f"operations_{contender.name if contender.name == 'numpy' else own}"
        if case == "import":
            program = "footprint"
        module = "tensorflow.compat.v1" if contender.name == "tensorflow" else contender.name
        return [f"benchmarks.cases.{program}", "--module", module]

    def _environment(self, contender: Contender, setting: Setting) -> dict[str, str]:
        path = [str(ROOT)]
        if contender.name == goals.OURS:
            path.append(str(ROOT / "python"))
        environment = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(path),
            CUDA_VISIBLE_DEVICES="",
            JAX_PLATFORMS="cpu",
            OPENBLAS_NUM_THREADS=str(setting.threads),
            TF_CPP_MIN_LOG_LEVEL="3",
        )
        flags = xla_flags(self._isa, setting.threads)
        if flags:
            environment["XLA_FLAGS"] = flags
        if self._isa is not None:
            environment.update(isa_limits(self._isa))
        return environment


def settings_of(contender: Contender, case: str, threads: Sequence[int]) -> list[Setting]:
    """Return the settings that a contender is tried with."""
    if case == "import":  # nothing runs
        return [Setting(threads[0])]
    are_trained = case in networks.TRAINING_CASES and case != "mlp"
    has_images = are_trained or case in ("first_step", "batch_norm")
    layouts = (False, True) if contender.name == "torch" and has_images else (False,)
    return [Setting(count, layout) for count in threads for layout in layouts]


def takes_part(contender: Contender, case: str) -> bool:
    """Return whether there is such a case for the contender."""
    last = "numpy" if case == operations.CASE else "jax"
    return case == "import" or contender.name in (goals.OURS, "tensorflow", "torch", last)


def compare(
    contenders: Sequence[Contender],
    cases: Sequence[str],
    blocks: int,
    threads: Sequence[int],
    runner: Runner,
) -> comparison.Measurements:
    """Run all cases on all contenders in turn, ``blocks`` times."""
    measurements = comparison.Measurements()
    for block in range(blocks):
        for case in cases:
            for contender in contenders:
                if not takes_part(contender, case):
                    continue
                for setting in settings_of(contender, case, threads):
                    found = runner(contender, case, setting)
                    if found is not None:
                        measurements.add(block, contender.name, found["figures"])
                        measurements.set_version(contender.name, found["version"])
        print(f"block {block + 1} of {blocks} is done", file=sys.stderr, flush=True)
    return measurements


def check(
    contenders: Sequence[Contender], cases: Sequence[str], threads: int, runner: Runner
) -> tuple[list[list[str]], bool]:
    """Compare numbers with those of the reference, which is the second contender.

    Returns
    -------
    tuple
        The table of the largest relative differences, and whether all of them are small enough.
    """
    reference, *others = contenders[1], contenders[0], *contenders[2:]
    rows = [["workload", *(f"{other.name} / {reference.name}" for other in others)]]
    fine = True
    for case in (case for case in cases if case in CHECKED):
        found = {
            contender: runner(contender, case, Setting(threads))
            for contender in contenders
            if takes_part(contender, case)
        }
        expected = (found.get(reference) or {}).get("curves", {})
        fine &= bool(expected)
        for workload, curve in expected.items():
            row = [workload]
            for other in others:
                if other not in found or (other.name, workload) in operations.LACKING:
                    row.append("-")
                    continue
                mine = (found[other] or {}).get("curves", {}).get(workload, [])
                difference = comparison.largest_difference(mine, curve)
                fine &= difference <= LARGEST_DIFFERENCE
                row.append(f"{difference:.1e}")
            rows.append(row)
    return rows, fine


def peer(text: str) -> Contender:
    """Return the contender that NAME=PYTHON describes."""
    name, _, python = text.partition("=")
    if not name or not python:
        raise argparse.ArgumentTypeError(f"expected NAME=PYTHON, got {text!r}")
    return Contender(name, python)


def counts(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"expected numbers from 1 with commas, got {text!r}")
    return numbers


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command line, checked."""
    parser = argparse.ArgumentParser(
        prog="peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", type=peer, action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--case", choices=CASES, nargs="+", default=list(CASES), metavar="CASE")
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--threads", type=counts, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.4, help="of one repeat of a case")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table into this file too")
    parser.add_argument(
        "--isa", choices=["baseline", "avx2"], help="the widest instruction set used"
    )
    parser.add_argument("--check", action="store_true", help="compare numbers, not times")
    parsed = parser.parse_args(arguments)
    if parsed.blocks < 1:
        parser.error("--blocks must be at least 1")
    if parsed.check and not parsed.peer:
        parser.error("--check needs a --peer to compare with")
    return parsed


def main(arguments: Sequence[str]) -> int:
    """Compare, print the table, and return 1 when numbers that should be equal are not."""
    # Paths are meant from where the user stands, which Bazel says.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    parsed = parse(arguments)
    contenders = [Contender(goals.OURS, sys.executable), *parsed.peer]
    runner = ProcessRunner(parsed.seconds, parsed.check, parsed.isa)
    fine = True
    if parsed.check:
        rows, fine = check(contenders, parsed.case, max(parsed.threads), runner)
    else:
        found = compare(contenders, parsed.case, parsed.blocks, parsed.threads, runner)
        rows = comparison.table(found, [contender.name for contender in contenders])
    print(comparison.plain_text(rows))
    if parsed.markdown is not None:
        parsed.markdown.write_text(comparison.markdown(rows) + "\n")
    if not fine:
        print(f"numbers differ by more than {LARGEST_DIFFERENCE:.0e}, or are missing")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
