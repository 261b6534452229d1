"""Graphs with their collections and their saver, to files and back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.base.whole_files import write_whole
from millstream._impl.graph import meta_graph
from millstream._impl.graph.arguments import GRAPH, LIST, PATH, TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.scopes import import_graph_def
from millstream._impl.protos import text_format
from millstream._impl.protos.message import DecodeError
from millstream._impl.train import meta_graph_trimming as trimming
from millstream._impl.train.queue_runner import QueueRunner
from millstream._impl.variables.variables import Variable

_OF_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.CONCATENATED_VARIABLES,
    GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
)
# Of these a graph without the runtime's own objects has nothing.
_OF_THE_RUNTIME = (GraphKeys.SAVERS, GraphKeys.SAVEABLE_OBJECTS)
_OF_CONTROL_FLOW = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT)


@public("train.export_meta_graph")
@takes(filename=PATH, collection_list=LIST, graph=GRAPH, export_scope=TEXT)
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Make a ``MetaGraphDef`` of a graph: its nodes, its collections and a saver.

    Parameters
    ----------
    filename
        A file to write it to as well.
    meta_info_def
        A ``MetaInfoDef`` for it.
    graph_def
        The nodes, by default those of the graph.
    saver_def
        The ``SaverDef`` of the saver.
    collection_list
        Names of the collections to take, by default all.
    as_text
        Whether the file is text.
    graph
        The graph, by default the default one.
    export_scope
        A scope: only what is in it is taken, and it is left out of names.
    clear_devices
        Whether the nodes ask for no device.
    clear_extraneous_savers
        Whether nodes of other savers than `saver_def` are left out, and the collection of savers
        has this one alone.
    strip_default_attrs
        Whether attributes are left out that have their default values, so that older programs can
        read the nodes.
    save_debug_info, kwargs
        Not used.

    Returns
    -------
    MetaGraphDef

    Examples
    --------
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0, name="v")
    ...     message = tf.train.export_meta_graph()
    >>> sorted(message.collection_def)
    ['trainable_variables', 'variables']
    """
    messages = {"graph_def": graph_def, "meta_info_def": meta_info_def, "saver_def": saver_def}
    for argument, given in messages.items():
        if given is not None and not hasattr(given, "SerializeToString"):
            raise TypeError(f"{argument}: expected a message, got {given!r}")
    graph = graph or get_default_graph()
    nodes = graph_def or graph.as_graph_def()
    if export_scope:
        nodes = _inside(nodes, export_scope)
    if clear_devices:
        nodes = _without_devices(nodes)
    names = graph.get_all_collection_keys() if collection_list is None else collection_list
    if clear_extraneous_savers:
        left_out = trimming.nodes_of_other_savers(nodes, saver_def)
        names = [name for name in names if name != GraphKeys.SAVERS]
        nodes = trimming.without_nodes(nodes, left_out)
    message = meta_graph.meta_graph_message(graph, names, export_scope)
    message.graph_def.CopyFrom(nodes)
    if clear_extraneous_savers:
        trimming.drop_from_collections(message, left_out)
        if saver_def is not None:
            savers = message.collection_def[GraphKeys.SAVERS].bytes_list.value
            savers.append(saver_def.SerializeToString())
    if meta_info_def is not None:
        message.meta_info_def.MergeFrom(meta_info_def)
    if saver_def is not None:
        message.saver_def.CopyFrom(saver_def)
    if strip_default_attrs:
        trimming.strip_default_attrs(message)
    if filename:
        write_whole(filename, str(message).encode() if as_text else message.SerializeToString())
    return message


def _inside(graph_def: Any, scope: str) -> Any:
    """The nodes in a scope, with names below it."""
    start = f"{scope}/"
    made = protos.message_class("GraphDef")()
    made.versions.CopyFrom(graph_def.versions)
    for node in graph_def.node:
        if node.name.startswith(start):
            added = made.node.add()
            added.CopyFrom(node)
            added.name = node.name.removeprefix(start)
            del added.input[:]
            added.input.extend(_below(name, start) for name in node.input)
    return made


def _below(name: str, start: str) -> str:
    return "^" + name[1:].removeprefix(start) if name.startswith("^") else name.removeprefix(start)


def _without_devices(graph_def: Any) -> Any:
    made = protos.message_class("GraphDef")()
    made.CopyFrom(graph_def)
    for node in made.node:
        node.device = ""
    return made


def read_meta_graph(meta_graph_or_file: Any) -> Any:
    """The message, or that of a file, in binary form or as text."""
    kind = protos.message_class("MetaGraphDef")
    if isinstance(meta_graph_or_file, kind):
        return meta_graph_or_file
    if hasattr(meta_graph_or_file, "SerializeToString"):
        return kind.FromString(meta_graph_or_file.SerializeToString())
    if not isinstance(meta_graph_or_file, (str, bytes, os.PathLike)):
        raise TypeError(
            f"meta_graph_or_file: expected a MetaGraphDef or a path, got {meta_graph_or_file!r}"
        )
    try:
        with open(meta_graph_or_file, "rb") as file:
            data = file.read()
    except OSError as error:
        raise OSError(f"File {os.fsdecode(meta_graph_or_file)} does not exist.") from error
    try:
        return kind.FromString(data)
    except DecodeError:
        return text_format.Parse(data, kind())


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool,
    import_scope: str | None,
    options: Mapping[str, Any],
) -> Any:
    """Add its graph and its collections to the default graph; gives the message."""
    message = read_meta_graph(meta_graph_or_file)
    nodes = _without_devices(message.graph_def) if clear_devices else message.graph_def
    import_graph_def(nodes, name=import_scope or "", **options)
    graph = get_default_graph()
    known: dict[bytes, Variable] = {}
    for key in message.collection_def:
        for item in _items(graph, key, message.collection_def[key], import_scope, known):
            graph.add_to_collection(key, item)
    return message


def _items(
    graph: Graph,
    key: str,
    collection: Any,
    import_scope: str | None,
    known: dict[bytes, Variable],
) -> list[Any]:
    """What one collection has, in the graph that was imported."""
    kind = collection.WhichOneof("kind")
    if key in _OF_THE_RUNTIME:
        return []
    if kind == "node_list":
        scope = f"{import_scope}/" if import_scope else ""
        return [graph.as_graph_element(scope + name) for name in collection.node_list.value]
    if kind != "bytes_list":
        return list(getattr(collection, kind).value) if kind else []
    values: list[bytes] = list(collection.bytes_list.value)
    if key in _OF_VARIABLES:
        return [_variable(value, import_scope, known) for value in values]
    if key in _OF_CONTROL_FLOW:
        from millstream._impl.ops import control_contexts  # lazy: few graphs have such

        return [control_contexts.ImportedContext(key, value, import_scope) for value in values]
    if key == GraphKeys.QUEUE_RUNNERS:
        return [_queue_runner(value, import_scope) for value in values]
    return list(values)


def _queue_runner(data: bytes, import_scope: str | None) -> QueueRunner:
    definition = protos.message_class("QueueRunnerDef").FromString(data)
    return QueueRunner.from_proto(definition, import_scope)


def _variable(data: bytes, import_scope: str | None, known: dict[bytes, Variable]) -> Variable:
    """The variable of a ``VariableDef``: one object in all collections."""
    if data not in known:
        definition = protos.message_class("VariableDef").FromString(data)
        known[data] = Variable.from_proto(definition, import_scope)
    return known[data]
