"""Adding the nodes of a ``GraphDef`` to a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.base import error_text, source_location
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.protos.message import DecodeError, Message
from millstream._impl.values.session_config import config_bytes

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph


def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None,
    return_elements: Sequence[str] | None,
    name: str | None,
    config: Any,
) -> list[Any] | None:
    """See `millstream.scopes.import_graph_def`, which is the public one."""
    graph = get_default_graph()
    data = _bytes_of(graph_def)
    limits = config_bytes(config)
    elements = list(return_elements or [])
    for element in elements:
        if not isinstance(element, str):
            raise TypeError(f"return_elements: expected names, got {element!r}")
    tensors = tuple(element for element in elements if ":" in element)
    operations = [element for element in elements if ":" not in element]
    source = source_location.current()

    def add() -> tuple[str, tuple[int, ...]]:
        # Nothing has the name until there are nodes to have it.
        prefix = _prefix(graph, name, mark_as_used=False)
        scope = prefix + "/" if prefix else ""
        _check_operations(graph, graph_def, data, scope, operations)
        mapped = {key: convert_to_tensor(value) for key, value in (input_map or {}).items()}
        returned = graph.handle.import_(
            data,
            limits,
            prefix,
            source,
            tuple(mapped),
            [tensor.packed for tensor in mapped.values()],
            tensors,
        )
        _prefix(graph, name, mark_as_used=True)
        return scope, returned

    scope, returned = graph.grow(add)
    if return_elements is None:
        return None
    found: dict[str, Any] = {
        tensor: graph.tensor_of(packed) for tensor, packed in zip(tensors, returned, strict=True)
    }
    found |= {name: graph.get_operation_by_name(scope + name) for name in operations}
    return [found[element] for element in elements]


def _check_operations(
    graph: Graph, graph_def: Any, data: bytes, scope: str, operations: list[str]
) -> None:
    """That these will be there; the runtime looks for tensors itself."""
    if not operations:
        return
    message = graph_def
    if not isinstance(message, Message):
        try:
            message = protos.message_class("GraphDef").FromString(data)
        except DecodeError as error:
            raise ValueError(f"graph_def: {error}") from None
    names = {node.name for node in message.node}
    for operation in operations:
        if operation not in names and graph.find_operation(scope + operation) is None:
            raise ValueError(f"return_elements: the graph has no operation {operation!r}")


def _bytes_of(graph_def: Any) -> bytes:
    if isinstance(graph_def, (bytes, bytearray)):
        return bytes(graph_def)
    if isinstance(graph_def, Message) and type(graph_def).__name__ == "GraphDef":
        return graph_def.SerializeToString()
    if type(graph_def).__name__ == "GraphDef" and hasattr(graph_def, "SerializeToString"):
        return bytes(graph_def.SerializeToString())  # another library's message
    cause = f"graph_def: expected a tf.GraphDef, got {graph_def!r}"
    if isinstance(graph_def, (str, os.PathLike)):
        hint = 'tf.GraphDef.FromString(open(path, "rb").read()) reads a file'
        cause = error_text.with_hint(cause, hint)
    raise TypeError(cause)


def _prefix(graph: Graph, name: str | None, mark_as_used: bool) -> str:
    """The scope of the new names, without a "/" at its end."""
    if name == "":
        return graph.get_name_scope()
    return graph.scope_name(name or "import", mark_as_used)[:-1]
