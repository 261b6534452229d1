"""Arguments that have an old and a new name."""

from __future__ import annotations

from typing import Any


def one_of(value: Any, old_value: Any, name: str, old_name: str) -> Any:
    """The argument that is given.

    Raises
    ------
    ValueError
        Both are.
    """
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"{name} and {old_name} are one argument: give {name} only")
    return old_value


def by_keyword_only(sentinel: Any, function: str) -> None:
    """Raise ValueError when a function that takes keywords only got a positional argument."""
    if sentinel is not None:
        raise ValueError(f"{function}() takes its arguments by keyword only: labels=, logits=")
