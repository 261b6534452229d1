"""The command ``millstream``.

``millstream plugins`` lists the plugins that were found: which of them are used, and why the others
are not. ``millstream plugin-check FILE`` says whether a plugin keeps the rules of the plugin ABI.
``millstream doctor`` says what is missing on a machine. Each of these prints the same for programs
with ``--json``. ``millstream plugin-template FOLDER`` makes a plugin to begin with. ``millstream
replay FILE`` runs a node again that made a NaN. ``millstream check PROGRAM`` lists names that a
program uses and that are not there. ``millstream checkpoint`` lists, prints, verifies, compares and
converts checkpoints. ``millstream server`` is a task of a cluster, and ``millstream cluster`` runs
a program as all tasks of one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from collections import Counter

from millstream._impl.base import errors
from millstream._impl.session import numeric_replay, plugins
from millstream._impl.session.plugins import PluginInfo
from millstream._impl.tools import (
    check_names,
    checkpoint_command,
    cluster_command,
    doctor,
    plugin_check,
    plugin_template,
)

# Wider lines are hard to read, however wide the terminal is.
_MOST_COLUMNS = 100
_HEADINGS = ("NAME", "STATE", "VERSION", "ABI", "KERNELS", "DEVICES")
_INDENT = "  "
# The most sentences about skipped kernels, and about ties, of a plugin.
_MOST_SENTENCES = 10
_DETAIL_WIDTH = len("reason ")


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments
        What stands behind the command's name; by default this process's arguments.

    Returns
    -------
    int
        The exit status: 0; 1 when the search path itself is wrong, a rule failed, there is a
        problem or a file cannot be read; 2 when a plugin could not be checked. Of
        ``checkpoint`` see `checkpoint_command.run`, of ``server`` and ``cluster``
        `cluster_command`.
    """
    parser = argparse.ArgumentParser(prog="millstream", description="Tools of Millstream.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser(
        "plugins",
        help="list the plugins that are found, and what became of them",
        description="Lists the plugins that are found, and what became of them.",
    )
    listing.add_argument("--json", action="store_true", help="for programs: a JSON array")
    checking = commands.add_parser(
        "plugin-check",
        help="check whether a plugin keeps the rules of the plugin ABI",
        description="Checks whether a plugin keeps the rules of the plugin ABI.",
    )
    plugin_check.add_arguments(checking)
    copying = commands.add_parser(
        "plugin-template",
        help="make a plugin to begin with",
        description="Makes a folder with a plugin to begin with.",
    )
    copying.add_argument("folder", metavar="FOLDER", help="a folder that is not there yet")
    diagnosis = commands.add_parser(
        "doctor",
        help="say what is missing on this machine",
        description="Says what is missing on this machine, and why a plugin is not used.",
    )
    diagnosis.add_argument("--json", action="store_true", help="for programs: a JSON object")
    again = commands.add_parser(
        "replay",
        help="run a node again that made a NaN",
        description="Runs a node again that made a NaN, on inputs that a session saved.",
    )
    again.add_argument("file", metavar="FILE", help="what the error names")
    again.add_argument("--npz", metavar="OUT", help="write inputs and outputs as NumPy arrays")
    checker = commands.add_parser(
        "check",
        help="list the names that a program uses and that are not there",
        description="Lists the names that programs use and that Millstream does not have.",
    )
    checker.add_argument("files", metavar="PROGRAM", nargs="+")
    checkpoints = commands.add_parser(
        "checkpoint",
        help="list, print, verify, compare and convert checkpoints",
        description="Lists, prints, verifies, compares and converts checkpoints.",
    )
    checkpoint_command.add_arguments(checkpoints)
    server = commands.add_parser(
        "server",
        help="be a task of a cluster",
        description="Is a task of a cluster, until SIGTERM ends it.",
    )
    cluster_command.add_server_arguments(server)
    cluster = commands.add_parser(
        "cluster",
        help="run a program on a cluster",
        description="Runs a program on a cluster.",
    )
    cluster_command.add_cluster_arguments(cluster)
    options = parser.parse_args(arguments)
    if options.command == "server":
        return cluster_command.run_server(options)
    if options.command == "cluster":
        return cluster_command.run_cluster(options)
    if options.command == "checkpoint":
        return checkpoint_command.run(options)
    if options.command == "check":
        return check_names.run(options.files)
    if options.command == "plugin-check":
        return plugin_check.run(options, _columns())
    if options.command == "plugin-template":
        return plugin_template.copy_to(options.folder)
    if options.command == "doctor":
        return doctor.main(["--json"] if options.json else [])
    if options.command == "replay":
        return _replay(options.file, options.npz)
    return _list_plugins(as_json=options.json)


def _replay(path: str, npz: str | None) -> int:
    try:
        failure = numeric_replay.replay(path)
        if npz is not None:
            numeric_replay.save_arrays(failure, npz)
    except (OSError, ValueError, errors.OpError) as error:
        print(f"millstream: {error}", file=sys.stderr)
        return 1
    print(numeric_replay.summary(failure))
    return 0


def _columns() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, _MOST_COLUMNS)


def _list_plugins(*, as_json: bool) -> int:
    error = None
    try:
        plugins.load_installed()
    except errors.OpError as caught:
        error = caught.message
    found = plugins.list_plugins()
    if as_json:
        print(json.dumps([dataclasses.asdict(plugin) for plugin in found], indent=2))
    else:
        print(plugin_table(found, _columns()))
    if error is not None:
        print(f"millstream: {error}", file=sys.stderr)
    return 0 if error is None else 1


def plugin_table(found: list[PluginInfo], columns: int) -> str:
    """A text for terminals.

    Parameters
    ----------
    found
        The plugins.
    columns
        How wide the text may be. Paths are not broken, so that they can be copied.

    Returns
    -------
    str
        A line for each plugin, and below it its path, the instruction sets that it needs and the
        reason why it is not used.
    """
    if not found:
        return "No plugin was found."
    rows = [_HEADINGS, *(_row(plugin) for plugin in found)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    lines = [_aligned(rows[0], widths)]
    for plugin, row in zip(found, rows[1:], strict=True):
        lines += ["", _aligned(row, widths), *_details(plugin, columns)]
    return "\n".join(lines)


def _row(plugin: PluginInfo) -> tuple[str, ...]:
    counts = Counter(device.type for device in plugin.devices)
    return (
        plugin.name or "-",
        plugin.state,
        plugin.version or "-",
        plugin.built_abi or "-",
        _kernels(plugin),
        ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "-",
    )


def _kernels(plugin: PluginInfo) -> str:
    if plugin.kernels_skipped:
        return f"{plugin.kernels} of {plugin.kernels + plugin.kernels_skipped}"
    return str(plugin.kernels) if plugin.kernels else "-"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _details(plugin: PluginInfo, columns: int) -> list[str]:
    details = [f"{_INDENT}{'path':{_DETAIL_WIDTH}}{plugin.path}"]
    if plugin.cpu:
        details += _wrapped("needs", ", ".join(plugin.cpu), columns)
    if plugin.text:
        # The path stands above.
        reason = f"at {plugin.stage}: {plugins.reason_of(plugin)}"
        details += _wrapped("reason", reason, columns)
    for label, sentences in (("skip", plugin.skipped), ("tie", plugin.ties)):
        for sentence in sentences[:_MOST_SENTENCES]:
            details += _wrapped(label, sentence, columns)
        if len(sentences) > _MOST_SENTENCES:
            details += _wrapped(label, f"and {len(sentences) - _MOST_SENTENCES} more", columns)
    return details


def _wrapped(label: str, text: str, columns: int) -> list[str]:
    return textwrap.wrap(
        text,
        width=columns,
        initial_indent=f"{_INDENT}{label:{_DETAIL_WIDTH}}",
        subsequent_indent=_INDENT + " " * _DETAIL_WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )
