"""The pinned environment of ruff and mypy, made on first use below the user's cache."""

import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys

PINS = pathlib.Path(__file__).resolve().with_name("python_tools.txt")


class PythonTools:
    """Commands of the environment that ``python_tools.txt`` describes.

    Parameters
    ----------
    cache
        The folder that holds the environments, one for each content of the list, and what the
        tools themselves keep.
    """

    def __init__(self, cache: pathlib.Path) -> None:
        self._cache = cache
        digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:16]
        self._environment = cache / f"tools-{digest}"
        self._ready = False

    def command(self, tool: str, *arguments: str) -> list[str]:
        """The command line that runs a tool with its cache outside the tree."""
        self._prepare()
        program = str(self._environment / "bin" / tool)
        cache = f"--cache-dir={self._cache / tool}"
        if tool == "ruff":
            subcommand, *rest = arguments
            return [program, subcommand, cache, *rest]
        return [program, cache, *arguments]

    def _prepare(self) -> None:
        if self._ready:
            return
        self._cache.mkdir(parents=True, exist_ok=True)
        # Two runs at once must not build the same environment.
        with (self._cache / "tools.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            complete = self._environment / "complete"
            if not complete.exists():
                self._install()
                complete.touch()
        self._ready = True

    def _install(self) -> None:
        print(f"lint: installing the tools of {PINS.name} into {self._environment}", flush=True)
        if self._environment.exists():
            shutil.rmtree(self._environment)
        subprocess.run([sys.executable, "-m", "venv", str(self._environment)], check=True)
        pip = [str(self._environment / "bin" / "python"), "-m", "pip"]
        subprocess.run(
            [
                *pip,
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "-r",
                str(PINS),
            ],
            check=True,
        )
