"""Blocks that change how operations are added to the default graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from millstream.apply_op import graph_of
from millstream.default_graph import get_default_graph

if TYPE_CHECKING:
    pass

__all__ = [
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "get_collection",
    "get_collection_ref",
    "import_graph_def",
    "name_scope",
    "op_scope",
]


class name_scope:  # noqa: N801  (the public name)
    """A block in which the names of new operations start with a scope.

    Parameters
    ----------
    name
        Name of the scope, made unique; one that ends with "/" is entered as it is; None or "" with
        no default leaves all scopes.
    default_name
        Name to take when `name` is None.
    values
        Tensors in whose graph the scope is entered.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer") as scope:
    ...     print(scope, tf.constant(1, name="one").name)
    layer/ layer/one:0
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Any = None
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        if name is None and default_name is None and values is not None:
            raise ValueError("name: a scope with values needs a name or a default_name")
        self._name = default_name if name is None else name
        self._values = values
        self._stack = ExitStack()

    @property
    def name(self) -> str | None:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_of(self._values) if self._values else get_default_graph()
        if graph is not get_default_graph():
            self._stack.enter_context(graph.as_default())
        try:
            scope = graph.name_scope(self._name)
            return self._stack.enter_context(scope)
        except BaseException:
            self._stack.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()


def op_scope(
    values: Any, name: str | None, default_name: str | None = None
) -> AbstractContextManager[str]:
    """A `name_scope` with its parameters in another order."""
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """A block whose operations run after the given ones, see `Graph.control_dependencies`."""
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """A block whose operations ask for a device, see `Graph.device`."""
    return get_default_graph().device(device_name_or_function)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """A block whose operations stand where `op` stands, see `Graph.colocate_with`."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """A block whose resources live in a container, see `Graph.container`."""
    return get_default_graph().container(container_name)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A collection of the default graph, see `Graph.get_collection`."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)


def add_to_collection(name: Any, value: Any) -> None:
    """Append to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a ``GraphDef`` to the default graph.

    Parameters
    ----------
    graph_def
        A ``GraphDef`` message, or its bytes.
    input_map
        Tensors that take the place of the graph's tensors of those names.
    return_elements
        Names of operations ("x") and tensors ("x:0") to return.
    name
        Scope of the new names, by default "import"; "" for none.
    op_dict, producer_op_list
        Not used.

    Returns
    -------
    list or None
        What `return_elements` names, or None when it is None.

    Raises
    ------
    ValueError
        The graph is malformed, or a name is not in it.
    NotFoundError
        Operations of the graph are unknown; the message lists all of them.
    """
    from millstream import graph_import

    return graph_import.import_graph_def(graph_def, input_map, return_elements, name)
