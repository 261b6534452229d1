"""Runs as many cases of the property test as wanted, of all ops or some.

    ./bazelw run //testing/properties:check -- --seed 7 --cases 1000 [--jobs 2] [OP ...]

Prints what is wrong, with the seed and the case's number, and how often each thing happened.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from testing.ops.support.definitions import registered_ops
from testing.properties import watch


def main() -> int:
    """Run what the command line says; 1 when a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100, help="of each kind, an op")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("ops", nargs="*")
    arguments = parser.parse_args()
    ops = sorted(arguments.ops or registered_ops())
    parts = [ops[i :: arguments.jobs] for i in range(arguments.jobs)]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for report in pool.map(
            lambda part: watch.run_cases(part, arguments.seed, arguments.cases), parts
        ):
            failures += report.failures
            for (_, kind, word), count in report.counts.items():
                counts[f"{kind}, {word}"] += count
    print("\n\n".join([*failures, f"{len(failures)} failed"]))
    for words, count in sorted(counts.items()):
        print(f"{words:30}{count:10}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
