"""SIGTERM while a monitored session is open: the step ends, the session saves, the program ends.

The signal alone changes nothing but a flag, so that no step is cut: variables are whole when the
hooks save them. The flag makes ``should_stop()`` true. A program that runs a further step all the
same gets `Terminated` in its place, which closes the session as its end would. A second SIGTERM
ends the process at once.

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
    """Whether the signal has come, and in which process the handler was set."""

    requested = False
    process = 0


class Terminated(SystemExit):
    """Ends the program with the status that shells give to one that SIGTERM has ended."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def watch(session: Any) -> None:
    """Let SIGTERM end a session well, from now on until `unwatch`."""
    _open.add(session)
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _on_signal):
        _State.process = os.getpid()
        signal.signal(signal.SIGTERM, _on_signal)


def unwatch(session: Any) -> None:
    """The session is closed: with the last one, SIGTERM is as it was."""
    _open.discard(session)
    if (
        not _open
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is _on_signal
    ):
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
    if not _open or os.getpid() != _State.process:  # none to save, or a fork of the program
        os.kill(os.getpid(), number)
    else:
        _State.requested = True
