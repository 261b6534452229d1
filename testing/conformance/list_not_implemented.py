"""Prints what not_implemented.txt should hold; with --update writes the file.

./bazelw run //testing/conformance:list_not_implemented -- --update
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from testing.conformance import op_report


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the file in the source tree")
    arguments = parser.parse_args()
    text = op_report.not_implemented_text()
    if not arguments.update:
        print(text, end="")
        return 0
    path = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."), op_report.NOT_IMPLEMENTED)
    path.write_text(text, encoding="utf-8")
    print(f"{path} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
