"""Prints the page of the API ledger; with --update writes it into the source tree.

./bazelw run //testing/api:write_ledger -- --update
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from testing.api import ledger


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the page in the source tree")
    arguments = parser.parse_args()
    text = ledger.page()
    if not arguments.update:
        print(text, end="")
        return 0
    path = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."), ledger.PAGE)
    path.write_text(text, encoding="utf-8")
    print(f"{path} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
