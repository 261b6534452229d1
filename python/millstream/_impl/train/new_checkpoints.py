"""Waiting for the checkpoints that another process writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, NUMBER, TEXT, takes
from millstream._impl.train.checkpoint_state import latest_checkpoint

_SLEEP_SECONDS = 1.0


def _wait_for_new(folder: str, last: str | None, timeout: float | None) -> str | None:
    """The newest checkpoint once it is another than `last`; None after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        left = _SLEEP_SECONDS if end is None else end - time.monotonic()
        if left <= 0.0:
            return None
        time.sleep(min(left, _SLEEP_SECONDS))


@public("train.checkpoints_iterator")
@takes(checkpoint_dir=TEXT, min_interval_secs=NUMBER, timeout=NUMBER, timeout_fn=FUNCTION)
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], Any] | None = None,
) -> Iterator[str]:
    """Give each new checkpoint of a folder, and wait for the next one.

    A checkpoint that is replaced before it is asked for is passed over.

    Parameters
    ----------
    checkpoint_dir
        The folder. It need not exist yet.
    min_interval_secs
        The shortest time from one checkpoint to the next.
    timeout
        How long to wait for one, in seconds; None: for ever.
    timeout_fn
        Called after so long. The iterator ends if it gives True, or there is none.

    Returns
    -------
    iterator of str
        The prefixes of their files.

    Examples
    --------
    >>> import tempfile
    >>> list(tf.train.checkpoints_iterator(tempfile.mkdtemp(), timeout=0.0))
    []
    """
    last = None
    while True:
        found = _wait_for_new(checkpoint_dir, last, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        started = time.monotonic()
        last = found
        yield found
        left = started + min_interval_secs - time.monotonic()
        if left > 0.0:
            time.sleep(left)
