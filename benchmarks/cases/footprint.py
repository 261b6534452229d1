"""What a package costs before it does anything: time to import it, memory, room on the disk.

``python -m benchmarks.cases.footprint import --module NAME`` prints the figures as JSON. NumPy is
there already, as in every program that uses such a package.
"""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
import time

import numpy as np

from benchmarks.cases import timing

# Packages that are no use without another.
PARTNERS = {"jax": ["jaxlib"]}


def installed_mb(module: str) -> float:
    """Return the size of the package's folder, and of what comes with it, in megabytes."""
    total = 0
    for name in [module, *PARTNERS.get(module, [])]:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
            # What Python makes of the sources is not installed but found by running.
            total += sum(path.stat().st_size for path in files if path.suffix != ".pyc")
    return total / 1e6


def import_package(run: timing.Run) -> None:
    """Time the import, and measure what is resident after it and installed for it."""
    np.ones(1)
    start = time.perf_counter()
    importlib.import_module(run.module)
    run.figures["import"] = time.perf_counter() - start
    run.figures["resident_import_mb"] = timing.resident_mb()
    run.figures["installed_mb"] = installed_mb(run.module.partition(".")[0])


if __name__ == "__main__":
    sys.exit(timing.main({"import": import_package}, {}))
