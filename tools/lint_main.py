"""Runs the checks of ``tools/lint`` and adds them up."""

import argparse
import functools
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable

import check_tree
import clang_tidy
import new_ops_main
import python_environment
import python_tools

CXX_SUFFIXES = (".c", ".cc", ".h", ".hpp")

# Gives the lines that say what is wrong; none when nothing is.
Check = Callable[[], list[str]]


def run(command: list[str]) -> list[str]:
    """Output lines of a tool that found something; none when it succeeded."""
    done = subprocess.run(
        command,
        cwd=check_tree.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return []
    return done.stdout.splitlines() or [f"{command[0]} ended with status {done.returncode}"]


def changed_files(names: list[str]) -> list[str]:
    """Those of ``names`` that differ from upstream; if nothing is ahead, from the parent commit."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=check_tree.ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    base = git("merge-base", "HEAD", "origin/HEAD")
    if not base or base == git("rev-parse", "HEAD"):
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    if not base:
        return names
    changed = set(git("diff", "--name-only", base).splitlines())
    changed.update(git("ls-files", "--others", "--exclude-standard").splitlines())
    return [name for name in names if name in changed]


class Lint:
    """The checks over the files of the tree as it is now.

    Parameters
    ----------
    cache
        The folder for what should outlive a run.
    everything
        Whether clang-tidy sees all files, not the changed ones alone.
    """

    def __init__(self, cache: pathlib.Path, everything: bool) -> None:
        self._cache = cache
        self._names = check_tree.tree_files()
        own = [name for name in self._names if not check_tree.is_data(name)]
        self._cxx = [name for name in own if name.endswith(CXX_SUFFIXES)]
        self._python = [name for name in own if name.endswith((".py", ".pyi"))]
        self._protos = [name for name in own if name.endswith(".proto")]
        sources = [name for name in own if name.endswith(".cc")]
        self._tidied = sources if everything else changed_files(sources)
        self._tools = python_tools.PythonTools(cache)

    def fix(self) -> None:
        """Format all files in place, and let ruff mend what it safely can."""
        if self._cxx:
            run(["clang-format", "-i", *self._cxx])
        self._ruff("check", "--fix")
        self._ruff("format")

    def checks(self) -> dict[str, Check]:
        """All checks by their names, in the order to run them."""
        rules: dict[str, Check] = {
            name: functools.partial(rule, self._names) for name, rule in check_tree.RULES.items()
        }
        return rules | {
            "lines of tools/try_new_ops": functools.partial(
                new_ops_main.outdated_lines, self._names
            ),
            "clang-format": self._clang_format,
            f"clang-tidy, {len(self._tidied)} files": self._clang_tidy,
            "ruff check": lambda: self._ruff("check"),
            "ruff format": lambda: self._ruff("format", "--check"),
            "mypy": self._mypy,
        }

    def _clang_format(self) -> list[str]:
        return run(["clang-format", "--dry-run", "--Werror", *self._cxx]) if self._cxx else []

    def _clang_tidy(self) -> list[str]:
        tool = self._tools.command("clang-tidy")
        return clang_tidy.check(tool, self._tidied, self._protos, self._cache)

    def _ruff(self, *command: str) -> list[str]:
        return run(self._tools.command("ruff", *command, "--quiet", *self._python))

    def _mypy(self) -> list[str]:
        problems = self._write_stubs()
        return problems or run(self._tools.command("mypy", "--no-error-summary", *self._python))

    def _write_stubs(self) -> list[str]:
        """Write the stubs of the package's public modules, which the build makes of its sources."""
        folder = "python/millstream"
        sources = [
            name
            for name in self._python
            if name.startswith(f"{folder}/_impl/") and not name.endswith("_test.py")
        ]
        program = [sys.executable, "python/generate/generate_names.py", "--stubs-only"]
        tables = ["--namespaces", f"{folder}/namespaces.bzl", "--out", folder]
        return run([*program, *tables, *sources])


def report(checks: dict[str, Check]) -> int:
    """Run each check, print what it finds and the closing line; the number that failed."""
    passed = failed = 0
    for name, check in checks.items():
        start = time.monotonic()
        problems = check()
        for problem in problems:
            print(problem)
        verdict = "FAILED" if problems else "ok"
        print(f"lint: {name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
        passed += not problems
        failed += bool(problems)
    print(f"{passed} passed, {failed} failed")
    return failed


def main() -> int:
    """Check, or fix and check, the whole tree."""
    parser = argparse.ArgumentParser(prog="tools/lint", description=__doc__)
    parser.add_argument("--all", action="store_true", help="clang-tidy on unchanged files too")
    parser.add_argument("--fix", action="store_true", help="format and mend first")
    arguments = parser.parse_args()

    lint = Lint(python_environment.cache_folder(), everything=arguments.all)
    if arguments.fix:
        lint.fix()
    return 1 if report(lint.checks()) else 0


if __name__ == "__main__":
    sys.exit(main())
