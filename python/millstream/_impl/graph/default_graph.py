"""The default graph."""

from __future__ import annotations

from millstream._impl.base.public import public
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.stacks import STACKS

_global: list[Graph] = []  # the graph below all stacks, once there is one


@public("get_default_graph")
def get_default_graph() -> Graph:
    """The graph that new operations join: that of the innermost ``with graph.as_default()``.

    Examples
    --------
    >>> tf.constant(1).graph is tf.get_default_graph()
    True
    """
    if STACKS.graphs:
        return STACKS.graphs[-1]
    if not _global:
        _global.append(Graph())
    return _global[0]


@public("reset_default_graph")
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
    if STACKS.graphs:
        raise AssertionError("reset_default_graph() does not work within graph.as_default()")
    _global.clear()
