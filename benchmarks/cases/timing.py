"""What the case modules share: the clock, the figures that they print, their command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping

WARM_UP_STEPS = 3
REPEATS = 5


@dataclasses.dataclass
class Run:
    """One process: its settings, and the figures that it found.

    Figures are seconds, or megabytes when their name ends with ``_mb``.
    """

    threads: int
    seconds: float  # that one repeat takes at least
    channels_last: bool
    module: str
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    curves: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    def time(self, figure: str, step: Callable[[], object], parts: int = 1) -> None:
        """Take the time of one call of ``step``, shared out over its ``parts``."""
        calls = calls_within(step, self.seconds)
        self.figures[figure] = statistics.median(
            mean_time(step, calls) / parts for _ in range(REPEATS)
        )


def calls_within(step: Callable[[], object], seconds: float) -> int:
    """Return how many calls take about as long, at least one; the step is warm then."""
    for _ in range(WARM_UP_STEPS):
        step()
    return max(1, int(seconds / max(time_once(step), 1e-7)))


def time_once(step: Callable[[], object]) -> float:
    """Return the seconds that one call takes, without any before it."""
    return mean_time(step, 1)


def mean_time(step: Callable[[], object], calls: int) -> float:
    """Return the seconds that a call takes, over some of them."""
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def resident_mb() -> float:
    """Return how much memory the process has in use, in megabytes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError("/proc/self/status has no VmRSS")


Cases = Mapping[str, Callable[[Run], None]]


def main(cases: Cases, curves: Cases) -> int:
    """Run one case by the command line, and print what it found as JSON, in one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--module", default="", help="of the front end")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--check", action="store_true", help="give numbers instead of times")
    arguments = parser.parse_args()
    run = Run(arguments.threads, arguments.seconds, arguments.channels_last, arguments.module)
    chosen = (curves if arguments.check else cases).get(arguments.case)
    if chosen is not None:  # else there is nothing to compare with here
        chosen(run)
    version = getattr(sys.modules.get(run.module.partition(".")[0]), "__version__", "")
    json.dump({"figures": run.figures, "curves": run.curves, "version": version}, sys.stdout)
    print()
    return 0
