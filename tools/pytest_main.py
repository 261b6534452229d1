"""Runs pytest as a Bazel test: the cases go to Bazel's XML report, its --test_filter selects."""

import os
import sys

import pytest


def main() -> int:
    """Run the files and options of the command line; pytest's exit status."""
    arguments = ["-p", "no:cacheprovider", "--import-mode=importlib", "-rs", *sys.argv[1:]]
    report = os.environ.get("XML_OUTPUT_FILE")
    if report:
        arguments.append(f"--junit-xml={report}")
    selection = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if selection:
        arguments += ["-k", selection]
    scratch = os.environ.get("TEST_TMPDIR")
    if scratch:
        arguments.append(f"--basetemp={scratch}/pytest")
    return int(pytest.main(arguments))


if __name__ == "__main__":
    sys.exit(main())
