"""Writes the file of cases: ``write_cases LIST_KERNELS PLUGIN FILE``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from testing.kernel_cases.case_file import MAGIC, encoded
from testing.kernel_cases.draw import all_cases, parsed_kernels


def main(list_kernels: str, plugin: str, path: str) -> None:
    """Write the cases of all kernels of a plugin, which the program `list_kernels` names."""
    done = subprocess.run([list_kernels, plugin], stdout=subprocess.PIPE, text=True, check=True)
    cases = all_cases(parsed_kernels(done.stdout))
    Path(path).write_bytes(MAGIC + b"".join(encoded(case) for case in cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
