"""Checks which symbols a shared object exports and which it leaves to others.

exports_test.py FILE --export NAME... [--no-undefined PREFIX...]
"""

import argparse
import pathlib
import subprocess
import sys


def dynamic_symbols(file: pathlib.Path, selection: str) -> set[str]:
    """Names in the file's dynamic symbol table, without versions.

    Parameters
    ----------
    file
        The shared object.
    selection
        ``nm``'s option: ``--defined-only`` or ``--undefined-only``.
    """
    listing = subprocess.run(
        ["nm", "--dynamic", "--format=posix", selection, str(file)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {line.split()[0].split("@")[0] for line in listing.splitlines()}


def main() -> int:
    """Print each difference; 0 when there is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--export", action="append", required=True)
    parser.add_argument("--no-undefined", action="append", default=[], metavar="PREFIX")
    arguments = parser.parse_args()

    exported = dynamic_symbols(arguments.file, "--defined-only")
    expected = set(arguments.export)
    problems = [f"does not export {name}" for name in sorted(expected - exported)]
    problems += [f"exports {name}, which nobody should see" for name in sorted(exported - expected)]
    for name in sorted(dynamic_symbols(arguments.file, "--undefined-only")):
        # A C++ name carries its namespace inside: _ZN10millstream...
        if any(
            name.startswith(prefix) or f"_ZN{len(prefix)}{prefix}" in name
            for prefix in arguments.no_undefined
        ):
            problems.append(f"leaves {name} to the process that opens it")
    for problem in problems:
        print(f"{arguments.file}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
