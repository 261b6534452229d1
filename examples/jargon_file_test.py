"""Windows continue one another, and the text is split without a loss."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest

from examples import jargon_file


def test_rows_of_windows_continue_one_another() -> None:
    ids = np.arange(100)
    pieces = jargon_file.windows(ids, streams=3, time=10)
    assert [piece.inputs.shape for piece in pieces] == [(3, 10)] * 3
    for piece in pieces:
        np.testing.assert_array_equal(piece.targets, piece.inputs + 1)
    for piece, following in itertools.pairwise(pieces):
        np.testing.assert_array_equal(following.inputs[:, 0], piece.targets[:, -1])


def test_a_tenth_of_the_text_is_kept_for_the_test() -> None:
    parts = jargon_file.split(np.arange(1000))
    assert len(parts.test) == 100
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(1000))


def test_the_perplexity_of_equally_frequent_ids_is_their_number() -> None:
    parts = jargon_file.Parts(np.repeat(np.arange(4), 1000), np.arange(4))
    assert jargon_file.perplexity_by_frequency(parts, 4) == pytest.approx(4.0)


def test_plain_lines_are_in_ascii_without_indentation() -> None:
    text = "   “It\u2019s”\xa0a\n   │ table │\n\n   line — two"
    assert jargon_file.plain_lines(text) == '"It\'s" a\n\nline - two'


def test_a_text_that_is_missing_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="install the Debian package jargon-text"):
        jargon_file.read_text(tmp_path / "none.gz")
    (tmp_path / "some.gz").write_bytes(gzip.compress(b"some"))
    assert jargon_file.read_text(tmp_path / "some.gz") == "some"
