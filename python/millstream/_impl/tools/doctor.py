"""``python -m millstream.doctor``: what is missing on a machine, and why a plugin is not used.

It prints the versions, the processor, the search path of plugins and what became of each plugin,
and last the problems, each with what can be done about it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from millstream._impl.base import errors, package
from millstream._impl.base.version import VERSION
from millstream._impl.session import plugins
from millstream._impl.session.plugins import PluginInfo
from millstream._impl.tools import plugin_check

_MOST_COLUMNS = 100
_SWITCHES = (
    "MILLSTREAM_PLUGIN_PATH",
    "MILLSTREAM_PLUGINS",
    "MILLSTREAM_PLUGIN_STRICT",
    "MILLSTREAM_PLUGIN_OPTIONS",
    "MILLSTREAM_PLUGIN_PROBE",
)
_BROKEN = ("REJECTED", "FAILED")
# The sets of instructions that plugins can need, as Linux names them.
_CPU_FLAGS = ("avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni")

# What helps, by what the reason says; the first that is found counts.
_HINTS = (
    (r"plugin path entry", "correct MILLSTREAM_PLUGIN_PATH, or unset it"),
    (
        r"(\S+\.so\S*): cannot open shared object file",
        "install the package that has {0}, or name its folder in LD_LIBRARY_PATH",
    ),
    (
        r"undefined symbol: (\S+)",
        "it was built wrongly: {0} must be linked into it or come from a library that it names "
        "(link it with -Wl,-z,defs to see this at build time)",
    ),
    (r"needs ABI ([\d.]+), host has ([\d.]+)", "it was built for another Millstream: upgrade the "
     "older of the two (the plugin wants ABI {0}, this Millstream has {1})"),
    (r"sanitizer", "build it with the sanitizer that this process runs under, or without any"),
    (r"not a Millstream plugin: .*(?:machine|32-bit|class)", "get the file for this machine"),
    (r"not a Millstream plugin", "this is no plugin, or the file is damaged: install it again"),
    (r"crashed \((\w+)\)", "it dies of {0} when it is opened: report it to its vendor with the "
     "output of millstream plugin-check"),
    (r"did not finish loading|hung", "it hangs when it is opened: report it to its vendor"),
    (r"Permission denied|permission", "make the file readable for this user"),
    (r"ties with|already registered", "it registers what another plugin has registered already: "
     "choose one of them by MILLSTREAM_PLUGINS"),
    (r"is of family .* is loaded|is named", "another file of the same plugin was loaded first: "
     "remove one of them"),
    (r"option", "correct MILLSTREAM_PLUGIN_OPTIONS"),
    (r"is missing|is null", "it lacks a function that every plugin must have: report it to its "
     "vendor with the output of millstream plugin-check"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that does not work.

    Parameters
    ----------
    text
        What it is.
    hint
        What can be done about it.
    """

    text: str
    hint: str


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What was found.

    Parameters
    ----------
    facts
        Headings, and below each what is so.
    problems
        What is not as it should be.
    """

    facts: dict[str, list[str]]
    problems: list[Problem]


def main(arguments: list[str] | None = None) -> int:
    """Print the diagnosis.

    Parameters
    ----------
    arguments
        What stands behind the command's name; by default this process's arguments.

    Returns
    -------
    int
        0 when there is no problem, else 1.
    """
    parser = argparse.ArgumentParser(
        prog="millstream doctor",
        description="Says what is missing on this machine, and why a plugin is not used.",
    )
    parser.add_argument("--json", action="store_true", help="for programs: a JSON object")
    options = parser.parse_args(arguments)
    found = diagnose(os.environ)
    if options.json:
        print(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        columns = min(shutil.get_terminal_size((80, 24)).columns, _MOST_COLUMNS)
        print(diagnosis_text(found, columns))
    return 1 if found.problems else 0


def diagnose(environment: Mapping[str, str]) -> Diagnosis:
    """Look at the machine and at what becomes of the plugins.

    Parameters
    ----------
    environment
        The variables that steer the search.

    Returns
    -------
    Diagnosis
    """
    failure = None
    try:
        plugins.load_installed()
    except errors.OpError as error:
        failure = str(error.message)
    found = plugins.list_plugins()
    problems = []
    # An entry of the path that is not there has a record of its own.
    if failure is not None and not any(plugin.text == failure for plugin in found):
        problems.append(Problem(failure, "correct the variables of the search path"))
    problems += [problem for plugin in found for problem in plugin_problems(plugin)]
    problems += _missing_devices(found, environment)
    problems += _missing_programs()
    facts = {
        "Versions": _versions(found),
        "Machine": _machine(),
        "Search path": _search_path(environment),
        "Plugins": [_plugin_line(plugin) for plugin in found] or ["none was found"],
    }
    return Diagnosis(facts, problems)


def plugin_problems(plugin: PluginInfo) -> list[Problem]:
    """Why a plugin is not used, where that is no choice of somebody's.

    Parameters
    ----------
    plugin
        What became of it.

    Returns
    -------
    list of Problem
    """
    name = plugin.name or plugin.path
    if plugin.state == "READY_NO_DEVICE":
        return [
            Problem(
                f"{name} {plugins.reason_of(plugin)}",
                "check that the device is in the machine and that its driver is installed and "
                "loaded; without it the plugin does no harm",
            )
        ]
    if plugin.state not in _BROKEN:
        return []
    text = f"{name} is {plugin.state} at {plugin.stage}: {plugins.reason_of(plugin)}"
    return [Problem(text, _hint(plugin))]


def diagnosis_text(found: Diagnosis, columns: int) -> str:
    """A text for terminals.

    Parameters
    ----------
    found
        The diagnosis.
    columns
        How wide the text may be.

    Returns
    -------
    str
        The facts by heading, and the problems with their hints.
    """
    lines: list[str] = []
    for heading, facts in found.facts.items():
        lines += [heading]
        for fact in facts:
            lines += _wrapped(fact, columns, "  ", "    ")
        lines.append("")
    if not found.problems:
        return "\n".join([*lines, "No problem was found."])
    count = len(found.problems)
    lines.append("1 problem" if count == 1 else f"{count} problems")
    for number, problem in enumerate(found.problems, 1):
        lines += _wrapped(problem.text, columns, f"  {number}. ", "     ")
        lines += _wrapped(problem.hint, columns, "     -> ", "        ")
    return "\n".join(lines)


def _wrapped(text: str, columns: int, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        width=columns,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _hint(plugin: PluginInfo) -> str:
    for pattern, hint in _HINTS:
        match = re.search(pattern, plugin.text)
        if match is not None:
            return hint.format(*match.groups())
    return f"run: millstream plugin-check {plugin.path}"


def _versions(found: list[PluginInfo]) -> list[str]:
    abi = next((plugin.built_abi for plugin in found if plugin.origin == "installed"), "unknown")
    return [
        f"millstream {VERSION}, plugin ABI {abi}, in {package.FOLDER}",
        f"Python {platform.python_version()}, NumPy {np.__version__}, in {sys.prefix}",
        f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
    ]


def _machine() -> list[str]:
    flags: set[str] = set()
    model = platform.machine()
    memory = ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "flags":
                flags |= set(value.split())
            elif key.strip() == "model name":
                model = value.strip()
        kilobytes = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
        memory = f", {int(kilobytes[1]) / 2**20:.1f} GiB of memory" if kilobytes else ""
    except OSError:
        pass  # Not every container shows them, and only this line needs them.
    has = [flag for flag in _CPU_FLAGS if flag in flags]
    lacks = [flag for flag in _CPU_FLAGS if flag not in flags]
    cores = len(os.sched_getaffinity(0))
    return [
        f"{model}, {cores} of {os.cpu_count()} cores for this process{memory}",
        f"instruction sets: {', '.join(has) or 'none beyond the baseline'}"
        + (f"; not there: {', '.join(lacks)}" if lacks else ""),
        _driver(),
    ]


def _driver() -> str:
    version = Path("/proc/driver/nvidia/version")
    if version.exists():
        return f"NVIDIA driver: {version.read_text().splitlines()[0]}"
    if list(Path("/dev").glob("nvidia[0-9]*")):
        return "NVIDIA driver: there are device files, but no driver is loaded"
    return "NVIDIA driver: none (only plugins for NVIDIA's devices need one)"


def _search_path(environment: Mapping[str, str]) -> list[str]:
    lines = [f"{name}={environment[name]}" for name in _SWITCHES if environment.get(name)]
    lines.append(f"installed: {package.FOLDER / 'plugins'}")
    return lines


def _plugin_line(plugin: PluginInfo) -> str:
    devices = ", ".join(f"{device.type}:{device.ordinal}" for device in plugin.devices)
    text = f"{plugin.name or Path(plugin.path).name}: {plugin.state}, {plugin.origin}"
    if plugin.version:
        text += f", version {plugin.version}"
    if plugin.built_abi:
        text += f", ABI {plugin.built_abi}"
    if plugin.kernels:
        text += f", {plugin.kernels} kernels"
    if devices:
        text += f", devices {devices}"
    text += f", {plugin.path}"
    if plugin.state in ("SHADOWED", "DISABLED"):
        text += f" ({plugins.reason_of(plugin)})"
    return text


# Without a CPU nothing runs, whatever else there is.
def _missing_devices(found: list[PluginInfo], environment: Mapping[str, str]) -> list[Problem]:
    if any(device.type == "CPU" for plugin in found for device in plugin.devices):
        return []
    chosen = environment.get("MILLSTREAM_PLUGINS", "")
    if chosen:
        return [
            Problem(
                f'no plugin gives a CPU: MILLSTREAM_PLUGINS is "{chosen}"',
                "unset MILLSTREAM_PLUGINS, or add cpu to it",
            )
        ]
    return [Problem("no plugin gives a CPU, so no session can be made", "install millstream again")]


def _missing_programs() -> list[Problem]:
    programs = {
        package.FOLDER / "millstream_plugin_probe": (
            "plugins of others are loaded without being tried first"
        )
    }
    if (check := plugin_check.installed_program()) is not None:
        programs[check] = "millstream plugin-check does not work"
    problems = []
    for program, use in programs.items():
        if not os.access(program, os.X_OK):
            hint = "install it again, by a tool that keeps the mode of files"
            problems.append(Problem(f"{program} cannot be run: {use}", hint))
    return problems


if __name__ == "__main__":
    sys.exit(main())
