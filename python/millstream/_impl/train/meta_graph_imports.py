"""Graphs from files with their saver."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.train import meta_graphs
from millstream._impl.train.saver import Saver


@public("train.import_meta_graph")
@takes(import_scope=TEXT)
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add the graph of a ``MetaGraphDef`` to the default one, with its collections.

    Parameters
    ----------
    meta_graph_or_file
        The message, or the path of a file that has it, in binary form or as text.
    clear_devices
        Whether its nodes ask for no device.
    import_scope
        Scope of the new names, by default none.
    kwargs
        Arguments of `import_graph_def`.

    Returns
    -------
    Saver or None
        The saver that the message has, or one of all variables if it has none, or None when there
        are no variables.

    Raises
    ------
    OSError
        There is no such file.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/graph.meta"
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0, name="v")
    ...     _ = tf.train.Saver().export_meta_graph(path)
    >>> with tf.Graph().as_default():
    ...     saver = tf.train.import_meta_graph(path)
    ...     print([each.name for each in tf.global_variables()])
    ['v:0']
    """
    message = meta_graphs.import_meta_graph(meta_graph_or_file, clear_devices, import_scope, kwargs)
    if message.HasField("saver_def"):
        return Saver.from_proto(message.saver_def, import_scope)
    scope = f"{import_scope}/" if import_scope else None
    if get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope):
        return Saver()
    return None
