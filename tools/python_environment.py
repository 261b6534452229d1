"""Virtual environments of pinned packages, made on first use below the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys


def cache_folder() -> pathlib.Path:
    """The folder for what should outlive a run, outside the tree."""
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home, "millstream")


class PythonEnvironment:
    """The environment that a list of pins describes; a list of other content is another one.

    Parameters
    ----------
    pins
        Every package with its version, dependencies included: a requirements file of pip.
    name
        First part of its folder's name.
    cache
        The folder to make it in.
    """

    def __init__(self, pins: pathlib.Path, name: str, cache: pathlib.Path | None = None) -> None:
        self._pins = pins
        self._name = name
        self._cache = cache or cache_folder()
        digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:16]
        self._folder = self._cache / f"{name}-{digest}"
        self._ready = False

    def program(self, name: str) -> str:
        """Path of a program of the environment, which is made if it is not there."""
        self._prepare()
        return str(self._folder / "bin" / name)

    def _prepare(self) -> None:
        if self._ready:
            return
        self._cache.mkdir(parents=True, exist_ok=True)
        # Two runs at once must not build the same environment.
        with (self._cache / f"{self._name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            complete = self._folder / "complete"
            if not complete.exists():
                self._install()
                complete.touch()
        self._ready = True

    def _install(self) -> None:
        print(f"installing {self._pins.name} into {self._folder}", file=sys.stderr, flush=True)
        if self._folder.exists():
            shutil.rmtree(self._folder)
        # Debian's Python, also when the caller is another.
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(self._folder)], check=True)
        pip = [str(self._folder / "bin" / "python"), "-m", "pip"]
        options = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
        subprocess.run([*pip, "install", *options, "-r", str(self._pins)], check=True)
