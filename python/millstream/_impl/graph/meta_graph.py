"""Graphs with their collections, as ``MetaGraphDef`` messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.version import VERSION
from millstream._impl.protos import wire

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

_GRAPH_DEF_TAG = bytes((2 << 3 | wire.LENGTH_DELIMITED,))


def meta_graph_bytes(graph_def: bytes, graph: Graph | None) -> bytes:
    """The ``MetaGraphDef`` of a graph, in bytes; the graph's own bytes are taken as they are.

    Parameters
    ----------
    graph_def
        The ``GraphDef``, in bytes.
    graph
        The graph whose collections are taken, if there is one.
    """
    names = [] if graph is None else graph.get_all_collection_keys()
    message = meta_graph_message(graph, names)
    own: bytes = message.SerializeToString()
    return b"".join([own, _GRAPH_DEF_TAG, wire.encode_delimited(graph_def)])


def meta_graph_message(
    graph: Graph | None, collections: Iterable[str], export_scope: str | None = None
) -> Any:
    """The ``MetaGraphDef`` of a graph's collections, without its nodes.

    Parameters
    ----------
    graph
        The graph, if there is one.
    collections
        Names of the collections.
    export_scope
        A scope: only what is in it is taken, and it is left out of names.
    """
    message = protos.message_class("MetaGraphDef")()
    message.meta_info_def.tensorflow_version = VERSION
    for key in collections:
        items = [] if graph is None else graph.get_collection(key)
        _add_collection(message, key, items, export_scope)
    return message


def _add_collection(message: Any, key: str, items: list[Any], export_scope: str | None) -> None:
    """Adds a collection of variables, of texts, of numbers, or of what has names; no other.

    Nodes cannot say how an object is saved: saveable objects stay behind.
    """
    scope = f"{export_scope}/" if export_scope else ""
    if key == GraphKeys.SAVEABLE_OBJECTS or not items:
        return
    if all(hasattr(item, "to_proto") for item in items):
        definitions = [item.to_proto(export_scope) for item in items]
        held = [each.SerializeToString() for each in definitions if each is not None]
        message.collection_def[key].bytes_list.value.extend(held)
    elif all(isinstance(item, (str, bytes)) for item in items):
        texts = [item.encode() if isinstance(item, str) else item for item in items]
        message.collection_def[key].bytes_list.value.extend(texts)
    elif all(type(item) is int for item in items):
        message.collection_def[key].int64_list.value.extend(items)
    elif all(type(item) is float for item in items):
        message.collection_def[key].float_list.value.extend(items)
    elif all(isinstance(getattr(item, "name", None), str) for item in items):
        inside = [item.name for item in items if item.name.startswith(scope)]
        names = [name.removeprefix(scope) for name in inside]
        message.collection_def[key].node_list.value.extend(names)
