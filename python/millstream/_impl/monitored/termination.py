"""SIGTERM while a monitored session is open: the step ends, the session saves, the program ends.

The signal alone changes nothing but a flag, so that no step is cut: variables are whole when the
hooks save them. The flag makes ``should_stop()`` true. A step that ``should_stop()`` has let begin
before the signal came still runs. A program that runs another one gets `Terminated` in its place,
which closes the session as its end would. A second SIGTERM ends the process at once.

The handler is there only while a monitored session is open, was made in the main thread, and the
program has no handler of its own.
"""

from __future__ import annotations

import os
import signal
import threading
import weakref
from typing import Any

_open: weakref.WeakSet[Any] = weakref.WeakSet()


class _State:
    """Whether the signal has come, and whether forks are taken care of."""

    requested = False
    knows_forks = False


class Terminated(SystemExit):
    """Ends the program with the status that shells give to one that SIGTERM has ended."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def watch(session: Any) -> None:
    """Let SIGTERM end a session well, from now on until `unwatch`."""
    _open.add(session)
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    if not _State.knows_forks:
        os.register_at_fork(after_in_child=_begin_fork)
        _State.knows_forks = True
    signal.signal(signal.SIGTERM, _on_signal)


def unwatch(session: Any) -> None:
    """The session is closed: with the last one, SIGTERM is as it was."""
    _open.discard(session)
    if not _open and threading.current_thread() is threading.main_thread():
        _forget()


def _begin_fork() -> None:
    """A fork of the program has no session to close."""
    _open.clear()
    _State.requested = False
    _forget()


def _forget() -> None:
    """Let SIGTERM be as it was."""
    if signal.getsignal(signal.SIGTERM) is _on_signal:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def is_requested() -> bool:
    """Whether SIGTERM has come while a monitored session was open."""
    return _State.requested


def check() -> None:
    """Raise Terminated if SIGTERM has come."""
    if is_requested():
        raise Terminated


def _on_signal(number: int, frame: Any) -> None:
    # Only what may be done between any two lines of the program: no lock, no message.
    signal.signal(number, signal.SIG_DFL)
    if _open:
        _State.requested = True
    else:
        os.kill(os.getpid(), number)
