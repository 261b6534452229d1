"""How errors are written: the cause, and below it a line each for what helps to find it.

The runtime writes the same (``core/graph/error_details.h``), except for the text of the user's
line::

    expected 64 rows to go with argument 'a' [8,64], got [32,10]
      node 'product' (op MatMul), made at train.py:12 in build
        y = tf.matmul(x, w)
      inputs: float32[8,64], float32[32,10]
      hint: transpose_b=True multiplies by the second matrix transposed
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

# The line that names the node; its file and line stand before the name of the function.
_NODE_LINE = re.compile(r"^  node '.*, made at (.*):(\d+) in .*$", re.MULTILINE)
_MOST_INPUTS_NAMED = 8


class Node(Protocol):
    """What a text says of a node; an `Operation` has it."""

    name: str
    type: str

    @property
    def source(self) -> str:
        """The user's line that made it."""


def with_source(message: str) -> str:
    """An error's text with the text of the user's line below the line that names it."""
    found = _NODE_LINE.search(message)
    text = found and source_text(found[1], int(found[2]))
    if not found or not text:
        return message
    return f"{message[: found.end()]}\n    {text}{message[found.end() :]}"


def source_text(filename: str, line: int) -> str:
    """The text of a line of a source file, without the blanks around it; "" when it is not there.

    A file that has changed since the program began gives what it holds now, as in tracebacks.
    """
    return linecache.getline(filename, line).strip()


def about(cause: str, operation: Node, hint: str = "") -> str:
    """The text of an error about an operation.

    Parameters
    ----------
    cause
        What was expected, and what came.
    operation
        The operation that it is about.
    hint
        What to do, where that can be told.
    """
    return of_node(cause, operation.name, operation.type, operation.source, hint=hint)


def of_node(
    cause: str,
    name: str,
    op_type: str,
    source: str,
    inputs: Sequence[str] = (),
    hint: str = "",
) -> str:
    """The same for a node by its parts, as for one that could not be made.

    Parameters
    ----------
    cause
        What was expected, and what came.
    name, op_type
        The node's name and op.
    source
        The user's line, from `source_location.current`.
    inputs
        A description of each input.
    hint
        What to do, where that can be told.
    """
    place = f", made at {source}" if source else ""
    lines = [cause, f"  node {name!r} (op {op_type}){place}"]
    if inputs:
        lines.append(f"  inputs: {joined(inputs)}")
    if hint:
        lines.append(f"  hint: {hint}")
    return with_source("\n".join(lines))


def with_hint(cause: str, hint: str) -> str:
    """An error's text that is about no node, and what to do."""
    return f"{cause}\n  hint: {hint}"


def joined(inputs: Sequence[str]) -> str:
    """Descriptions of inputs, of which the first few are named."""
    named = ", ".join(inputs[:_MOST_INPUTS_NAMED])
    rest = len(inputs) - _MOST_INPUTS_NAMED
    return f"{named} and {rest} more" if rest > 0 else named


def nearest(name: str, names: Iterable[str], suffix: str = "") -> str:
    """A question that offers the name most like `name` and `suffix`, or "" where none is."""
    import difflib  # lazy: takes long to load

    near = difflib.get_close_matches(name, list(names), 1)
    return f" Did you mean {near[0] + suffix!r}?" if near else ""
