"""What common mistakes are answered with, word for word."""

from __future__ import annotations

import pathlib

import pytest

from testing.mistakes import mistakes

_ALL = list(mistakes.read(pathlib.Path(mistakes.DOCUMENT).read_text()))


@pytest.mark.parametrize("mistake", _ALL, ids=[mistake.title for mistake in _ALL])
def test_a_mistake_is_answered_as_the_document_says(mistake: mistakes.Mistake) -> None:
    assert mistakes.run(mistake.program) == mistake.said


@pytest.mark.parametrize("mistake", _ALL, ids=[mistake.title for mistake in _ALL])
def test_an_answer_has_at_most_a_dozen_lines(mistake: mistakes.Mistake) -> None:
    assert 1 <= len(mistake.said.splitlines()) <= 12


def test_there_are_thirty_mistakes_and_more() -> None:
    assert len({mistake.program for mistake in _ALL}) == len(_ALL) >= 30
