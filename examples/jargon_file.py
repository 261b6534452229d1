"""The text that examples learn from, and how recurrent networks read a text.

The text is the Jargon File, a dictionary of hackers' slang, from Debian's package ``jargon-text``.
"""

from __future__ import annotations

import gzip
import pathlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

TEXT = pathlib.Path("/usr/share/doc/jargon-text/jargon.txt.gz")
# Quotes, the dash, two dots, and the space that does not break.
ASCII = str.maketrans("\u201c\u201d\u2018\u2019\u2014\xb7\u2022\xa0", "\"\"''-.* ")

Ids = npt.NDArray[np.int64]


def read_text(path: pathlib.Path = TEXT) -> str:
    """Return a gzipped text."""
    if not path.exists():
        raise SystemExit(f"{path} is missing: install the Debian package jargon-text")
    return gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")


def plain_lines(text: str) -> str:
    """Return a text in ASCII, without indentation; a line with other characters is left out.

    In the Jargon File such lines are those of tables and figures.
    """
    lines = [line.strip() for line in text.translate(ASCII).splitlines()]
    return "\n".join(line for line in lines if line.isascii())


class Parts(NamedTuple):
    """A text to learn from and one to test with."""

    train: Ids
    test: Ids


def split(ids: Ids) -> Parts:
    """Return nine tenths of a text and the tenth that is left, ten pieces from all over it."""
    pieces = np.array_split(ids, 100)
    tested = [number % 10 == 9 for number in range(100)]
    train = [piece for piece, is_test in zip(pieces, tested, strict=True) if not is_test]
    return Parts(np.concatenate(train), np.concatenate(pieces[9::10]))


class Window(NamedTuple):
    """What a network reads in a step, [streams, time], and what it should predict."""

    inputs: Ids
    targets: Ids


def windows(ids: Ids, streams: int, time: int) -> list[Window]:
    """Return windows of a text that is cut into streams of equal length.

    Row n of a window continues row n of the window before, so that a network can keep its state.
    The target of an element is the element after it.
    """
    length = (len(ids) - 1) // streams // time * time
    inputs = ids[: streams * length].reshape(streams, length)
    targets = ids[1 : streams * length + 1].reshape(streams, length)
    places = [slice(begin, begin + time) for begin in range(0, length, time)]
    return [Window(inputs[:, place], targets[:, place]) for place in places]


def perplexity_by_frequency(parts: Parts, count: int) -> float:
    """Return the perplexity of the test for who knows how frequent each of `count` ids is.

    That is the exponential of the mean of -log(part of the id in the text to learn from).
    """
    counts = np.bincount(parts.train, minlength=count) + 1.0
    return float(np.exp(-np.mean(np.log(counts / counts.sum())[parts.test])))
