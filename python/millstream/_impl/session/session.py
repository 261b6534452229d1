"""Sessions: where graphs run and variables live."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from millstream import _runtime
from millstream._impl.base import error_text, errors
from millstream._impl.base.public import public
from millstream._impl.graph import stacks
from millstream._impl.graph.graph import Graph
from millstream._impl.session.base_session import BaseSession, check_target
from millstream._impl.values.session_config import config_bytes


@public("Session")
class Session(BaseSession):
    """Runs a graph.

    Parameters
    ----------
    target
        The execution engine; "" is this process, ``"grpc://HOST:PORT"`` a server's cluster.
    graph
        The graph to run, by default the default one.
    config
        A ``ConfigProto``.

    Examples
    --------
    >>> import millstream as tf
    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     c = tf.constant(30.0)
    >>> with tf.Session(graph=graph) as sess:
    ...     float(sess.run(c))
    30.0
    """

    def __enter__(self) -> Session:
        if self._entered:
            hint = "`with session.as_default():` can be nested"
            cause = "Session context managers are not re-entrant: this session is entered already"
            raise RuntimeError(error_text.with_hint(cause, hint))
        self._entered = True
        stacks.push_graph(self._graph)
        stacks.push_session(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._entered = False
        stacks.remove_session(self)
        stacks.remove_graph(self._graph)
        self.close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Clear resource containers of an engine, and close all sessions on it.

        Sessions of this process (target "") share nothing with each other, so there every session
        is closed and its state freed. A step that runs meanwhile ends first; it reads variables of
        the containers as never assigned. Of a cluster, containers are cleared in all tasks.

        Parameters
        ----------
        target
            The execution engine; "" is this process, ``"grpc://HOST:PORT"`` a server's cluster.
        containers
            Names of containers, as `container` gives them; None or an empty list stand for all.
        config
            A ``ConfigProto``; nothing of it is used.

        Raises
        ------
        TypeError
            An argument is of another type.
        NotFoundError
            There is no engine of that name.

        Examples
        --------
        >>> import millstream as tf
        >>> session = tf.Session(graph=tf.Graph())
        >>> tf.Session.reset("", ["experiment"])
        """
        check_target(target)
        if isinstance(containers, (str, bytes)) or not all(
            isinstance(name, str) for name in containers or ()
        ):
            raise TypeError(f"containers: expected a list of strings, got {containers!r}")
        config_bytes(config)
        try:
            if target:
                from millstream._impl.session import targets  # lazy: few programs have a cluster

                targets.reset(target, tuple(containers or ()))
            else:
                _runtime.reset(tuple(containers or ()))
        except _runtime.StatusError as error:
            code, message, _ = error.args
            raise errors.make(None, code, message, "") from None


@public("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default one, with its graph, from its making until `close`.

    For shells: ``tensor.eval()`` and ``operation.run()`` need no session.

    Parameters
    ----------
    target, graph, config
        As for `Session`.

    Examples
    --------
    >>> session = tf.InteractiveSession()
    >>> tf.constant([1, 2]).eval()
    array([1, 2], dtype=int32)
    >>> session.close()
    """

    _open = 0

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        InteractiveSession._open += 1
        if InteractiveSession._open > 1:
            warnings.warn(
                "An interactive session is open already; close() it to free its memory.",
                stacklevel=2,
            )
        self._explicit_graph = graph
        stacks.push_session(self)
        if graph is not None:
            stacks.push_graph(graph)

    def close(self) -> None:
        """Free what the session holds, and be the default one no more."""
        if not self._closed:
            InteractiveSession._open -= 1
            stacks.remove_session(self)
            if self._explicit_graph is not None:
                stacks.remove_graph(self._explicit_graph)
        super().close()
