"""The wrong programs of docs/mistakes.md, and what Millstream says of them."""

from __future__ import annotations

import linecache
import os
import pathlib
import re
import sys
import traceback
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import millstream as tf

DOCUMENT = "docs/mistakes.md"

# How Python names the programs, so that messages say the same wherever the test runs.
_FILE = "program.py"
# A heading, a program, and the text below it, which a new mistake does not have yet.
_MISTAKE = re.compile(
    r"^### (?P<title>[^\n]+)\n\n```python\n(?P<program>.*?)```\n(?:\n```text\n(?P<said>.*?)```\n)?",
    re.DOTALL | re.MULTILINE,
)
# What differs from machine to machine and from run to run.
_CHANGING = ((re.compile(r"which has \d+ bytes in use of \d+"), "which has N bytes in use of M"),)


class Mistake(NamedTuple):
    """One of them.

    Attributes
    ----------
    title
        What is wrong, in words.
    program
        Its source.
    said
        What the document says that Python prints; "" where it says nothing yet.
    """

    title: str
    program: str
    said: str


def read(text: str) -> Iterator[Mistake]:
    """The mistakes in a document."""
    for found in _MISTAKE.finditer(text):
        yield Mistake(found["title"], found["program"], found["said"] or "")


def run(program: str) -> str:
    """The last lines that Python prints of a program: the error without the traceback.

    Raises
    ------
    AssertionError
        The program is right.
    """
    linecache.cache[_FILE] = (len(program), None, program.splitlines(keepends=True), _FILE)
    with tf.Graph().as_default():
        try:
            exec(compile(program, _FILE, "exec"), {"np": np, "tf": tf})
        except Exception as error:
            said = "".join(traceback.format_exception_only(error))
        else:
            raise AssertionError(f"nothing is wrong with\n{program}")
    for pattern, text in _CHANGING:
        said = pattern.sub(text, said)
    return said


def regenerated(text: str) -> str:
    """The document with what is said now."""

    def replace(found: re.Match[str]) -> str:
        program = found["program"]
        return f"### {found['title']}\n\n```python\n{program}```\n\n```text\n{run(program)}```\n"

    return _MISTAKE.sub(replace, text)


def main() -> int:
    """Write the document anew."""
    path = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."), DOCUMENT)
    path.write_text(regenerated(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
