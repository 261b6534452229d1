"""Restoring the variables that a checkpoint has values for, and saying which these are."""

from __future__ import annotations

import os
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import ITEMS, SESSION, TEXT, takes
from millstream._impl.train.checkpoint_nodes import CheckpointNodes
from millstream._impl.train.checkpoint_reader import load_checkpoint
from millstream._impl.train.object_graph import GRAPH_KEY, keys_by_name, read_object_graph
from millstream._impl.train.restore_report import RestoreReport
from millstream._impl.train.save_items import SaveItem, save_items


@public("train.restore_partially")
@takes(sess=SESSION, save_path=TEXT, var_list=ITEMS)
def restore_partially(sess: Any, save_path: str, var_list: Any = None) -> RestoreReport:
    """Give variables the values that a checkpoint has for them, and leave the others as they are.

    Parameters
    ----------
    sess
        The session.
    save_path
        A folder, of which the newest is taken, or the prefix of a checkpoint's files.
    var_list
        As for `Saver`: the variables, or a dictionary from names in the checkpoint to variables; by
        default all global ones.

    Returns
    -------
    RestoreReport
        Which variables took which values (``matched``), had none (``missing``), or had one of
        another shape or type (``mismatched``); and which values nobody took (``unused``). ``str()``
        of it is a text for people.

    Raises
    ------
    ValueError
        The folder has no checkpoint.
    NotFoundError
        There is no such checkpoint.
    DataLossError
        A file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> sess = tf.get_default_session()
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> sess.run(v.initializer)
    >>> path = tf.train.Saver([v]).save(sess, tempfile.mkdtemp() + "/model")
    >>> w = tf.Variable([0.0], name="w")
    >>> print(tf.train.restore_partially(sess, path, [v, w]))
    1 variables have values of the checkpoint
    no value for w
    """
    reader = load_checkpoint(os.fspath(save_path))
    message = read_object_graph(reader)
    shapes = reader.get_variable_to_shape_map()
    keys = {name: name for name in shapes} if message is None else keys_by_name(message)
    chosen = var_list
    if chosen is None:
        chosen = sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    matched: dict[str, str] = {}
    missing: list[str] = []
    mismatched: dict[str, str] = {}
    items: list[SaveItem] = []
    for item in save_items(chosen):
        name = item.variable.op.name
        key = keys.get(item.key)
        if key is None or key not in shapes:
            missing.append(name)
            continue
        why = reader.why_not(item.variable, key)
        if why is None:
            matched[name] = key
            items.append(SaveItem(key, item.spec, item.variable))
        else:
            mismatched[name] = why
    CheckpointNodes().restore(sess, reader.prefix, items)
    taken = {*matched.values(), *(keys.get(name, name) for name in mismatched), GRAPH_KEY}
    return RestoreReport(matched, missing, mismatched, sorted(set(shapes) - taken))
