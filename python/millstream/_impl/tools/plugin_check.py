"""``millstream plugin-check FILE``: whether a plugin keeps the rules of the plugin ABI.

The program of the distribution ``millstream_plugin_check`` does the work. It loads the plugin in
processes of its own; here its report is asked for and printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from millstream._impl.base import package

_DISTRIBUTION = "millstream_plugin_check"
_WITH_REPORT = (0, 1, 2)
_WRONG_COMMAND_LINE = 64
_INDENT = "  "


def installed_program() -> Path | None:
    """The program that checks plugins; None where its distribution is not installed."""
    found = importlib.util.find_spec(_DISTRIBUTION)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / _DISTRIBUTION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What may stand behind ``plugin-check``."""
    parser.add_argument("file", metavar="FILE", help="the plugin, a shared object")
    parser.add_argument("--json", action="store_true", help="for programs: a JSON object")
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME",
        help="only these rules: load, options, registry, devices, memory, copies, streams, "
        "kernels, faults, threads, trace, soak; may be given several times",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option for the plugin; may be given several times",
    )
    parser.add_argument(
        "--patience",
        type=int,
        default=30,
        metavar="SECONDS",
        help="how long a plugin may be silent and idle before it counts as hung (30)",
    )


def run(options: argparse.Namespace, columns: int) -> int:
    """Check a plugin and print what became of each rule.

    Parameters
    ----------
    options
        The parsed arguments.
    columns
        How wide the table may be.

    Returns
    -------
    int
        0 when no rule failed, 1 when one did, 2 when nothing could be checked, or not everything
        because processes could not be started.
    """
    program = installed_program()
    if program is None:
        print(
            "millstream: the program that checks plugins is not installed; "
            "pip install millstream[plugin-check]",
            file=sys.stderr,
        )
        return 2
    command = [str(program), "--json", "--patience", str(options.patience)]
    command += ["--reference", str(package.FOLDER / "plugins" / "libmillstream_cpu.so")]
    for name in ("suite", "option"):
        for value in getattr(options, name):
            command += [f"--{name}", value]
    try:
        done = subprocess.run([*command, options.file], stdout=subprocess.PIPE, check=False)
    except OSError as error:
        print(f"millstream: {program} cannot be run: {error.strerror}", file=sys.stderr)
        return 2
    if done.returncode not in _WITH_REPORT:
        if done.returncode != _WRONG_COMMAND_LINE:
            print(f"millstream: {program} ended with {done.returncode}", file=sys.stderr)
        return 2
    if options.json:
        print(done.stdout.decode(), end="")
    else:
        print(report_table(json.loads(done.stdout), columns))
    return done.returncode


def report_table(report: dict[str, Any], columns: int) -> str:
    """A text for terminals.

    Parameters
    ----------
    report
        What the program says as JSON.
    columns
        How wide the text may be.

    Returns
    -------
    str
        The rules by suite: each with its result, its sentence and the details. Then the numbers of
        checks of kernels, if there were any, and of rules.
    """
    rules = report["rules"]
    width = max((len(rule["id"]) for rule in rules), default=0)
    lines: list[str] = []
    suite = None
    for rule in rules:
        if rule["suite"] != suite:
            suite = rule["suite"]
            lines += ["", suite] if lines else [suite]
        lines += _rule_lines(rule, width, columns)
    lines.append("")
    if report["checks_of_kernels"] > 0:
        lines.append(
            f"{report['checks_of_kernels']} checks of kernels, "
            f"{report['checks_of_own_ops']} of own ops, "
            f"{report['checks_of_async_kernels']} of asynchronous kernels"
        )
    counts = ", ".join(f"{report[word]} {word}" for word in ("passed", "failed", "skipped"))
    return "\n".join([*lines, f"{report['plugin']}: {counts}"])


def _rule_lines(rule: dict[str, Any], width: int, columns: int) -> list[str]:
    head = f"{_INDENT}{rule['id']:{width}}  {rule['result']}  "
    return textwrap.wrap(
        f"{rule['sentence']}: {rule['detail']}",
        width=max(columns, len(head) + 20),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
