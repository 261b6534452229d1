"""The command ``millstream checkpoint``: what is in checkpoints, whether it is whole, and copies.

``ls`` lists the tensors of a checkpoint and ``cat`` prints their values. ``verify`` reads every
byte and names what is damaged. ``diff`` says how two checkpoints differ. ``convert`` makes one of
another version, with other names, or a file of NumPy arrays, and back. A checkpoint is the prefix
of its files, or a folder, of which the newest one is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millstream._impl.base import errors
from millstream._impl.tools import checkpoint_conversion
from millstream._impl.train.checkpoint_reader import CheckpointReader, load_checkpoint
from millstream._impl.train.checkpoint_state import get_checkpoint_state
from millstream._impl.values import dtypes

_FOLDER_OR_PREFIX = "the prefix of a checkpoint's files, or a folder with checkpoints"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, text: str, *, as_json: bool = False) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if as_json:
            added.add_argument("--json", action="store_true", help="for programs: JSON")
        return added

    listing = add("ls", "list the tensors", as_json=True)
    listing.add_argument("checkpoint", help=_FOLDER_OR_PREFIX)
    printing = add("cat", "print values")
    printing.add_argument("checkpoint", help=_FOLDER_OR_PREFIX)
    printing.add_argument("names", metavar="NAME", nargs="*", help="of tensors; by default all")
    verifying = add("verify", "read every byte and name what is damaged", as_json=True)
    verifying.add_argument(
        "checkpoints", metavar="checkpoint", nargs="+", help="a prefix; a folder: all in its list"
    )
    comparing = add("diff", "say how two checkpoints differ", as_json=True)
    comparing.add_argument("first", help=_FOLDER_OR_PREFIX)
    comparing.add_argument("second", help=_FOLDER_OR_PREFIX)
    checkpoint_conversion.add_arguments(
        add("convert", "make a checkpoint of another version, or with other names")
    )


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    options
        What the parser found.

    Returns
    -------
    int
        The exit status: 0; 1 when a tensor is damaged or checkpoints differ; 2 when there is no
        checkpoint or another error.
    """
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "ls": _list,
        "cat": _print_values,
        "verify": _verify,
        "diff": _compare,
        "convert": checkpoint_conversion.run,
    }
    try:
        return actions[options.action](options)
    except errors.OpError as error:
        print(f"millstream: {error.message}", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"millstream: {error}", file=sys.stderr)
    return 2


# ---- ls and cat ----


def _bytes_of(reader: CheckpointReader, name: str) -> int | None:
    """How many bytes a tensor takes; None for texts, which the index does not say."""
    dtype = reader.get_variable_to_dtype_map()[name]
    if dtype == dtypes.string:
        return None
    return int(np.prod(reader.get_variable_to_shape_map()[name], dtype=object)) * dtype.size


def _list(options: argparse.Namespace) -> int:
    reader = load_checkpoint(options.checkpoint)
    types = reader.get_variable_to_dtype_map()
    found = [
        (name, types[name].name, shape, _bytes_of(reader, name))
        for name, shape in sorted(reader.get_variable_to_shape_map().items())
    ]
    if options.json:
        keys = ("name", "dtype", "shape", "bytes")
        tensors = [dict(zip(keys, row, strict=True)) for row in found]
        print(json.dumps({"checkpoint": reader.prefix, "tensors": tensors}, indent=2))
        return 0
    rows = [(name, dtype, str(shape), _number(size)) for name, dtype, shape, size in found]
    _print_table([("NAME", "DTYPE", "SHAPE", "BYTES"), *rows])
    total = sum(size or 0 for *_, size in found)
    print(f"{reader.prefix}: {len(found)} tensors, {total:,} bytes")
    return 0


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


def _print_values(options: argparse.Namespace) -> int:
    reader = load_checkpoint(options.checkpoint)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    for name in options.names or sorted(shapes):
        value = checkpoint_conversion.array_of(reader, name)
        print(f"{name}  {types[name].name}{shapes[name]}")
        print(np.array2string(value, threshold=1000))
    return 0


# ---- verify ----


def _verify(options: argparse.Namespace) -> int:
    reports = [report for each in options.checkpoints for report in _reports(each)]
    if options.json:
        print(json.dumps(reports, indent=2))
    else:
        for report in reports:
            for problem in report["problems"]:
                print(problem)
            state = f"{len(report['problems'])} problems" if report["problems"] else "whole"
            print(f"{report['checkpoint']}: {report['tensors']} tensors, {state}")
    return 1 if any(report["problems"] for report in reports) else 0


def _reports(folder_or_prefix: str) -> list[dict[str, Any]]:
    """A report for a checkpoint, or for each of a folder's list."""
    if not os.path.isdir(folder_or_prefix):
        return [_report(folder_or_prefix)]
    state = get_checkpoint_state(folder_or_prefix)
    if state is None:
        raise ValueError(f"{folder_or_prefix}: it has no list of checkpoints")
    return [_report(path) for path in state.all_model_checkpoint_paths]


def _report(prefix: str) -> dict[str, Any]:
    problems: list[str] = []
    names: list[str] = []
    try:
        reader = CheckpointReader(prefix)
        names = sorted(reader.get_variable_to_shape_map())
    except errors.OpError as error:
        problems.append(error.message)
    for name in names:
        try:
            reader.get_tensor(name)
        except errors.OpError as error:
            problems.append(error.message.splitlines()[0])
    return {"checkpoint": prefix, "tensors": len(names), "problems": problems}


# ---- diff ----


def _compare(options: argparse.Namespace) -> int:
    first, second = load_checkpoint(options.first), load_checkpoint(options.second)
    names = sorted({*first.get_variable_to_shape_map(), *second.get_variable_to_shape_map()})
    found = {name: why for name in names if (why := _difference(first, second, name)) is not None}
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, why in found.items():
            print(f"{name}: {why}")
        print(f"{len(names) - len(found)} of {len(names)} tensors are equal")
    return 1 if found else 0


def _difference(first: CheckpointReader, second: CheckpointReader, name: str) -> str | None:
    """How a tensor differs; None if it does not. NaNs of the same bits are equal."""
    for here, there in ((first, second), (second, first)):
        if not there.has_tensor(name):
            return f"only in {here.prefix}"
    types = [each.get_variable_to_dtype_map()[name].name for each in (first, second)]
    shapes = [each.get_variable_to_shape_map()[name] for each in (first, second)]
    if types[0] != types[1] or shapes[0] != shapes[1]:
        return f"{types[0]}{shapes[0]} and {types[1]}{shapes[1]}"
    a, b = (checkpoint_conversion.array_of(each, name) for each in (first, second))
    if a.dtype == object:
        count = int(np.sum(a != b))
        return f"{count} of {a.size} texts differ" if count else None
    if a.tobytes() == b.tobytes():
        return None
    differs = ~((a == b) | ((a != a) & (b != b)))
    count = int(np.sum(differs))
    if a.dtype == bool or not count:
        return (
            f"{count} of {a.size} elements differ"
            if count
            else "only signs of zeros or NaNs differ"
        )
    with np.errstate(all="ignore"):
        # As Python's numbers: differences of integers do not wrap around.
        wide = (a.astype(object), b.astype(object)) if a.dtype.kind in "iu" else (a, b)
        most = np.max(np.abs(wide[0][differs] - wide[1][differs]))
    return f"{count} of {a.size} elements differ, by up to {float(most):g}"
