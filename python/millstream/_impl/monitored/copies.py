"""Hooks that keep a copy of the variables, from which a session that was lost begins again."""

from __future__ import annotations

import abc
from typing import Any

from millstream._impl.monitored.hook import SessionRunHook


class CopyLostError(Exception):
    """Of the copy is not everything there any more."""


class CopyHook(SessionRunHook, metaclass=abc.ABCMeta):
    """A hook that copies the variables, and gives them back to a new session.

    Attributes
    ----------
    is_chiefs
        Whether it belongs to the session that gives variables their values, whose creator says
        so. Hooks of other sessions do nothing: two that copy would disturb each other.
    has_short_transfers
        Whether that session shortens numbers of float32 that go between tasks.
    """

    is_chiefs: bool = False
    has_short_transfers: bool = False

    @property
    @abc.abstractmethod
    def copied_step(self) -> int | None:
        """The global step of the last complete copy, or None."""

    @abc.abstractmethod
    def restore(self, session: Any) -> None:
        """Give the variables the values of the last complete copy.

        Parameters
        ----------
        session
            A new session, whose variables may or may not have values.

        Raises
        ------
        CopyLostError
            The copy is not complete any more; no variable was changed, and there is none to use.
        """
