"""The default graph and session: stacks of each thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.session.session import BaseSession

__all__ = [
    "get_default_graph",
    "get_default_session",
    "reset_default_graph",
]


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[BaseSession] = []


_stacks = _Stacks()
_global: list[Graph] = []  # the graph below all stacks, once there is one


def get_default_graph() -> Graph:
    """The graph that new operations join: that of the innermost ``with graph.as_default()``.

    Examples
    --------
    >>> tf.constant(1).graph is tf.get_default_graph()
    True
    """
    if _stacks.graphs:
        return _stacks.graphs[-1]
    if not _global:
        from millstream._impl.graph.graph import Graph

        _global.append(Graph())
    return _global[0]


def reset_default_graph() -> None:
    """Put a new graph at the bottom of the stack.

    Raises
    ------
    AssertionError
        Within ``with graph.as_default()``, where another graph is the default one.

    Examples
    --------
    >>> with tf.Graph().as_default():
    ...     tf.reset_default_graph()
    Traceback (most recent call last):
    AssertionError: reset_default_graph() does not work within graph.as_default()
    """
    if _stacks.graphs:
        raise AssertionError("reset_default_graph() does not work within graph.as_default()")
    _global.clear()


@contextmanager
def graph_as_default(graph: Graph) -> Iterator[Graph]:
    """Make `graph` the default one within the block."""
    _stacks.graphs.append(graph)
    try:
        yield graph
    finally:
        _remove_last(_stacks.graphs, graph)


def push_graph(graph: Graph) -> None:
    """Make `graph` the default one until it is removed."""
    _stacks.graphs.append(graph)


def remove_graph(graph: Graph) -> None:
    """Undo the last `push_graph` of the graph."""
    _remove_last(_stacks.graphs, graph)


def get_default_session() -> BaseSession | None:
    """The session of the innermost ``with session:`` of this thread, or None.

    Examples
    --------
    >>> with tf.Session() as session:
    ...     tf.get_default_session() is session
    True
    """
    return _stacks.sessions[-1] if _stacks.sessions else None


def push_session(session: BaseSession) -> None:
    """Make `session` the default one until it is removed."""
    _stacks.sessions.append(session)


def remove_session(session: BaseSession) -> None:
    """Undo the last `push_session` of the session."""
    _remove_last(_stacks.sessions, session)


def _remove_last(stack: list[Any], item: Any) -> None:
    for position in range(len(stack) - 1, -1, -1):
        if stack[position] is item:
            del stack[position]
            return


def session_or_default(session: BaseSession | None, graph: Graph, what: str) -> BaseSession:
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
        session = get_default_session()
        if session is None:
            raise ValueError(
                f"{what}: no default session is registered; use `with sess.as_default()` or pass "
                "session="
            )
    if session.graph is not graph:
        raise ValueError(f"{what}: the session belongs to another graph than the tensor")
    return session
