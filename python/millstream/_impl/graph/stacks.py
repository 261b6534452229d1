"""The stacks of default graphs and sessions that each thread has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph


class StepRunner(Protocol):
    """What operations and tensors need of a session."""

    @property
    def graph(self) -> Any:
        """The graph that it runs."""

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run a step."""


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []


STACKS = _Stacks()


@contextmanager
def graph_as_default(graph: Graph) -> Iterator[Graph]:
    """Make `graph` the default one within the block."""
    STACKS.graphs.append(graph)
    try:
        yield graph
    finally:
        _remove_last(STACKS.graphs, graph)


def push_graph(graph: Graph) -> None:
    """Make `graph` the default one until it is removed."""
    STACKS.graphs.append(graph)


def remove_graph(graph: Graph) -> None:
    """Undo the last `push_graph` of the graph."""
    _remove_last(STACKS.graphs, graph)


def push_session(session: StepRunner) -> None:
    """Make `session` the default one until it is removed."""
    STACKS.sessions.append(session)


def remove_session(session: StepRunner) -> None:
    """Undo the last `push_session` of the session."""
    _remove_last(STACKS.sessions, session)


def _remove_last(stack: list[Any], item: Any) -> None:
    for position in range(len(stack) - 1, -1, -1):
        if stack[position] is item:
            del stack[position]
            return


def session_or_default(session: StepRunner | None, graph: Graph, what: str) -> StepRunner:
    """The session to use for `graph`; ValueError when there is none or it has another graph.

    Parameters
    ----------
    session
        The session that the caller was given, or None for the default one.
    graph
        The graph of what is to be run.
    what
        Name of the calling function, for the message.
    """
    if session is None:
        if not STACKS.sessions:
            raise ValueError(
                f"{what}: no default session is registered; use `with sess.as_default()` or pass "
                "session="
            )
        found: StepRunner = STACKS.sessions[-1]
    else:
        found = session
    if found.graph is not graph:
        raise ValueError(f"{what}: the session belongs to another graph than the tensor")
    return found
