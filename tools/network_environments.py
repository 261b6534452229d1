"""Makes the environments of the tests tagged "network", which these would otherwise make.

Nothing is lost where one cannot be made: its tests try again, and say why.
"""

import pathlib
import subprocess
import sys

import python_environment

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements"

# Those that outlive a test. The wheel's own tests install into environments of their own.
NAMES = ("coexistence", "ray", "tensorboard", "kubernetes")


def main() -> int:
    """Make one after the other; how many could not be made."""
    failed = 0
    for name in NAMES:
        environment = python_environment.PythonEnvironment(REQUIREMENTS / f"{name}.txt", name)
        try:
            environment.program("python")
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
