"""The command ``millstream``.

``millstream plugins`` lists the plugins that were found: which of them are used, and why the others
are not. ``millstream plugins --json`` prints the same for programs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from collections import Counter

from millstream import errors, plugins
from millstream.plugins import PluginInfo

# Wider lines are hard to read, however wide the terminal is.
_MOST_COLUMNS = 100
_HEADINGS = ("NAME", "STATE", "VERSION", "ABI", "KERNELS", "DEVICES")
_INDENT = "  "
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
        The exit status: 0, or 1 when the search path itself is wrong.
    """
    parser = argparse.ArgumentParser(prog="millstream", description="Tools of Millstream.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser(
        "plugins",
        help="list the plugins that are found, and what became of them",
        description="Lists the plugins that are found, and what became of them.",
    )
    listing.add_argument("--json", action="store_true", help="for programs: a JSON array")
    options = parser.parse_args(arguments)
    return _list_plugins(as_json=options.json)


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
        columns = min(shutil.get_terminal_size((80, 24)).columns, _MOST_COLUMNS)
        print(plugin_table(found, columns))
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
        str(plugin.kernels) if plugin.kernels else "-",
        ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "-",
    )


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _details(plugin: PluginInfo, columns: int) -> list[str]:
    details = [f"{_INDENT}{'path':{_DETAIL_WIDTH}}{plugin.path}"]
    if plugin.cpu:
        details += _wrapped("needs", ", ".join(plugin.cpu), columns)
    if plugin.text:
        # The path stands above.
        reason = plugin.text.replace(f"plugin {plugin.path} ", "")
        reason = reason.replace(f"plugin {plugin.path}: ", "").replace(f"{plugin.path}: ", "")
        details += _wrapped("reason", f"at {plugin.stage}: {reason}", columns)
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
