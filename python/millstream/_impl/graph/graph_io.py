"""Graphs as files."""

from __future__ import annotations

import os
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.graph import Graph


@public("train.write_graph", "io.write_graph")
@takes(logdir=TEXT, name=TEXT)
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph to a file.

    Parameters
    ----------
    graph_or_graph_def
        A graph or a ``GraphDef``.
    logdir
        The folder, made if it is not there.
    name
        Name of the file.
    as_text
        Write text instead of the binary form.

    Returns
    -------
    str
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> total = tf.add(1.0, 2.0)
    >>> path = tf.train.write_graph(tf.get_default_graph(), tempfile.mkdtemp(), "graph.pbtxt")
    >>> with open(path) as file:
    ...     len(tf.GraphDef.from_text(file.read()).node)
    3
    """
    graph_def = graph_or_graph_def
    if isinstance(graph_def, Graph):
        graph_def = graph_def.as_graph_def()
    if not isinstance(graph_def, protos.message_class("GraphDef")):
        raise TypeError(f"graph_or_graph_def: expected a graph or a GraphDef, got {graph_def!r}")
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    data = str(graph_def).encode() if as_text else graph_def.SerializeToString()
    with open(path, "wb") as file:
        file.write(data)
    return path
