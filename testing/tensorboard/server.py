"""TensorBoard as a server on this machine."""

from __future__ import annotations

import pathlib
import re
import subprocess

import python_environment

_PINS = pathlib.Path("tools/requirements/tensorboard.txt")


class TensorBoard:
    """A server over a folder of event files, until `close`.

    Parameters
    ----------
    logdir
        The folder.

    Attributes
    ----------
    address
        Of its page.
    """

    def __init__(self, logdir: pathlib.Path) -> None:
        environment = python_environment.PythonEnvironment(_PINS, "tensorboard")
        self._process = subprocess.Popen(
            [
                environment.program("tensorboard"),
                "--logdir",
                str(logdir),
                "--host=127.0.0.1",
                "--port=0",  # any free one
                "--reload_interval=1",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.address = self._read_address()

    def _read_address(self) -> str:
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            if found:
                return found.group()
        raise RuntimeError(f"tensorboard did not start: {''.join(said)}")

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.communicate(timeout=30)

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
