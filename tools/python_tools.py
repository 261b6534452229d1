"""The commands of clang-tidy, mypy and ruff, of the versions that are pinned."""

import pathlib

import python_environment

PINS = pathlib.Path(__file__).resolve().with_name("python_tools.txt")


class PythonTools:
    """Commands of the environment that ``python_tools.txt`` describes.

    Parameters
    ----------
    cache
        The folder that holds the environment and what the tools themselves keep.
    """

    def __init__(self, cache: pathlib.Path) -> None:
        self._cache = cache
        self._environment = python_environment.PythonEnvironment(PINS, "tools", cache)

    def command(self, tool: str, *arguments: str) -> list[str]:
        """The command line that runs a tool, with its cache outside the tree if it has one."""
        program = self._environment.program(tool)
        if tool == "clang-tidy":
            return [program, *arguments]
        cache = f"--cache-dir={self._cache / tool}"
        if tool == "ruff":
            subcommand, *rest = arguments
            return [program, subcommand, cache, *rest]
        return [program, cache, *arguments]
