"""What a ``MetaGraphDef`` may do without: nodes of other savers, attributes with default values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream._impl import protos
from millstream._impl.graph import op_defs

# Ops whose scope is that of a saver.
_SAVE_AND_RESTORE_OPS = frozenset(
    ("Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2")
)


def _scope(name: str) -> str:
    return name.rpartition("/")[0]


def nodes_of_other_savers(graph_def: Any, saver_def: Any) -> set[str]:
    """The names of all nodes in scopes of savers, but for one saver's.

    Parameters
    ----------
    graph_def
        The nodes.
    saver_def
        The ``SaverDef`` of the one saver, or None.
    """
    savers = {node.name for node in graph_def.node if node.op in _SAVE_AND_RESTORE_OPS}
    scopes = {_scope(name) for name in savers} - savers
    if saver_def is not None:
        scopes -= {_scope(saver_def.save_tensor_name), _scope(saver_def.restore_op_name)}
    starts = tuple(f"{scope}/" for scope in scopes)
    return {node.name for node in graph_def.node if node.name.startswith(starts)}


def without_nodes(graph_def: Any, names: set[str]) -> Any:
    """A copy of a ``GraphDef`` without some nodes."""
    made = protos.message_class("GraphDef")()
    made.CopyFrom(graph_def)
    del made.node[:]
    made.node.extend(node for node in graph_def.node if node.name not in names)
    return made


def drop_from_collections(message: Any, names: set[str]) -> None:
    """Take nodes, and tensors of them, out of the collections of a ``MetaGraphDef``."""
    for key in list(message.collection_def):
        listed = message.collection_def[key].node_list.value
        kept = [name for name in listed if name.partition(":")[0] not in names]
        if len(kept) == len(listed):
            continue
        del message.collection_def[key]
        if kept:
            message.collection_def[key].node_list.value.extend(kept)


def strip_default_attrs(message: Any) -> None:
    """Remove the attributes of a ``MetaGraphDef``'s nodes that have their default values."""
    functions = {function.signature.name for function in message.graph_def.library.function}
    defaults: dict[str, dict[str, bytes]] = {}
    _strip(message.graph_def.node, functions, defaults)
    for function in message.graph_def.library.function:
        _strip(function.node_def, functions, defaults)
    message.meta_info_def.stripped_default_attrs = True


def _strip(
    nodes: Iterable[Any], functions: set[str], defaults: dict[str, dict[str, bytes]]
) -> None:
    for node in nodes:
        if node.op in functions:
            continue
        if node.op not in defaults:
            defaults[node.op] = _defaults_of(node.op)
        for name, value in defaults[node.op].items():
            if name in node.attr and node.attr[name].SerializeToString() == value:
                del node.attr[name]


def _defaults_of(op: str) -> dict[str, bytes]:
    """The default values of an op's attributes; none of an op that is not registered."""
    try:
        attributes = op_defs.op_def(op).attr
    except KeyError:
        return {}
    return {
        attribute.name: attribute.default_value.SerializeToString()
        for attribute in attributes
        if attribute.HasField("default_value")
    }
