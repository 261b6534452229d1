"""Sessions of clusters: those whose target is a server."""

from __future__ import annotations

import importlib.util
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream import _runtime
from millstream._impl.base import errors, package

_LOG = logging.getLogger("millstream")

_DISTRIBUTION = "millstream_cluster"  # pip install millstream[cluster]
# How long one attempt waits for tasks that do not answer. A master in another process waits two
# seconds for them, and says which they are (kBeginPatience).
_TURN_MS = 3000
_PAUSE = 0.1  # between attempts, in seconds
_NEWS_PERIOD = 10.0  # between messages
_MASTER_PATIENCE = 10.0  # how long nobody may be at the target itself
_OF_A_TASK = "\n  task: "  # in errors about other tasks than the master
_GONE = "the task was there and is gone"  # in errors about a task that may never come back


def open_session(
    graph: Any, data: bytes, make_error: Callable[[int, str, str], Exception], target: str
) -> _runtime.Session:
    """A session of a cluster. It waits until all tasks of the cluster answer.

    Tasks come up one after another: one that has never answered the master is waited for. One
    that was there before may be away for ``MILLSTREAM_CLUSTER_PATIENCE`` seconds (5).

    Parameters
    ----------
    graph
        The runtime's graph.
    data
        A serialized ``ConfigProto``.
    make_error
        Makes exceptions of codes, messages and names of nodes.
    target
        ``"grpc://HOST:PORT"``, a server's.

    Raises
    ------
    NotFoundError
        The target is of another kind.
    UnavailableError
        Nobody answers at the target, or a task was there and is gone; the message names it.
    """
    use_library()
    began = told = time.monotonic()
    while True:
        try:
            return _runtime.Session(graph, data, make_error, target, _TURN_MS)
        except errors.UnavailableError as error:
            if _GONE in error.message:
                raise
            now = time.monotonic()
            if _OF_A_TASK not in error.message and now - began > _MASTER_PATIENCE:
                raise
            if now - told > _NEWS_PERIOD:
                told = now
                _LOG.warning("the session still waits for tasks: %s", error.message)
        time.sleep(_PAUSE)


def reset(target: str, containers: tuple[str, ...]) -> None:
    """Clear containers in all tasks of a cluster.

    Parameters
    ----------
    target
        ``"grpc://HOST:PORT"``, a server's.
    containers
        Their names; none stands for all.
    """
    use_library()
    _runtime.cluster_reset(target, containers)


def use_library() -> None:
    """Say where the library is that connects processes.

    Raises
    ------
    FailedPreconditionError
        The certificates or the token that it is to use are not in order.
    """
    from millstream._impl.session import credentials  # lazy: most programs have no cluster

    credentials.check()
    _runtime.cluster_set_library(str(library()))


def library() -> Path:
    """Where the library is that connects processes; it may not be there.

    ``MILLSTREAM_CLUSTER_LIBRARY`` names it, or it is that of the installed distribution.
    """
    given = os.environ.get("MILLSTREAM_CLUSTER_LIBRARY")
    if given:
        return Path(given)
    found = importlib.util.find_spec(_DISTRIBUTION)
    folder = package.FOLDER if found is None or found.origin is None else Path(found.origin).parent
    return folder / "transports" / "libmillstream_grpc.so"
