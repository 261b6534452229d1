"""Steps that wait for what no thread of the program can give.

A step that waits for an element of a queue ends when another step enqueues one. A step of the main
thread waits in vain if there is no other thread, or only threads of which it is known that they do
not enqueue there: those of queue runners whose operations do not lead there. Such a step fails at
once.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from millstream import _runtime

# Threads that run known steps only, by their ident: whether such a thread may end the waits of a
# step, of which there is one a line.
_known: dict[int, Callable[[str], bool]] = {}

# What only steps end; the wait for a function in Python ends by itself, and so does one that has a
# time limit.
_OF_STEPS = (
    *("queue '", "staging area '", "staging map '", "barrier '", "accumulator '"),
    *("batcher '", "mutex '", "members of collective group "),
)
# What a wait says that a time limit ends.
_OF_LIMITS = ", or the time limit of "


@contextlib.contextmanager
def ends_only(may_end: Callable[[str], bool]) -> Iterator[None]:
    """Within a ``with`` statement, say what the steps of this thread can do for others.

    Parameters
    ----------
    may_end
        Whether they may end the waits of a step. Any thread calls it.
    """
    ident = threading.get_ident()
    _known[ident] = may_end
    try:
        yield
    finally:
        _known.pop(ident, None)


def are_in_vain(waits: str) -> bool:
    """Whether no other thread can end the waits of a step of this thread.

    Parameters
    ----------
    waits
        What it waits for, one wait a line.
    """
    for line in waits.splitlines():
        if _OF_LIMITS in line or not any(what in line for what in _OF_STEPS):
            return False
    others = set(sys._current_frames())
    others.discard(threading.get_ident())
    judges = [_known.get(ident) for ident in others]
    return all(may_end is not None and not may_end(waits) for may_end in judges)


def report_vain_ones() -> None:
    """Let steps of the main thread fail that wait in vain."""
    _runtime.set_wait_judge(are_in_vain)
