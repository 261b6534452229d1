"""What a step is asked for: nested structures of tensors and operations, and their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millstream._impl.base import error_text
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.indexed_slices import IndexedSlicesValue
from millstream._impl.ops.nest import Composite
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue
from millstream._impl.session import tensor_handles

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.session.base_session import BaseSession


class Fetches:
    """The elements of a structure of fetches, and how their values make the result.

    Attributes
    ----------
    tensors
        The tensors to fetch, each once.
    targets
        The operations to run.
    structure
        For the extension: an index of `tensors`, None, a list, or a tuple (make, item...).

    Parameters
    ----------
    graph
        The graph of the session.
    fetches
        A tensor, operation, variable, name, slices, or nested lists, tuples, named tuples and
        dictionaries of those.
    session
        The session whose steps fetch them. Handles of tensors lead to it.

    Raises
    ------
    TypeError
        Something else is in the structure.
    ValueError
        A name or element is not of this graph, or must not be fetched.
    """

    def __init__(self, graph: Graph, fetches: Any, session: BaseSession | None = None) -> None:
        self._graph = graph
        self._session = session
        self._positions: dict[Tensor, int] = {}
        self.targets: list[Operation] = []
        self.structure = self._read(fetches)
        self.tensors = list(self._positions)

    def _read(self, fetch: Any) -> Any:
        if isinstance(fetch, (list, tuple)):
            items = [self._read(item) for item in fetch]
            if isinstance(fetch, list):
                return items
            make = type(fetch)._make if hasattr(fetch, "_make") else None
            return (None, *items) if make is None else (_from_items(make), *items)
        if isinstance(fetch, Mapping):
            keys = list(fetch)
            items = [self._read(fetch[key]) for key in keys]
            return (_mapping_maker(fetch, keys), *items)
        if fetch is None:
            raise TypeError(
                "fetches: None is nothing to fetch; a function that should have returned a tensor "
                "or an operation may lack its return"
            )
        return self._element(fetch)

    def _element(self, fetch: Any) -> Any:
        if isinstance(fetch, SparseTensor):
            parts = (fetch.indices, fetch.values, fetch.dense_shape)
            return (SparseTensorValue, *[self._position(part) for part in parts])
        if isinstance(fetch, Composite) and isinstance(fetch, TensorLike):
            places = [self._position(part) for part in fetch._composite_parts()]
            return (_from_items(fetch._fetched), *places)
        if hasattr(fetch, "indices") and hasattr(fetch, "dense_shape"):
            return self._slices(fetch)
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError:
            raise TypeError(
                f"fetches: expected a tensor, an operation, a name or a structure of those, got "
                f"{fetch!r} of type {type(fetch).__name__}"
            ) from None
        except KeyError as error:
            raise ValueError(f"fetches: {fetch!r} cannot be fetched: {error.args[0]}") from None
        if isinstance(element, Operation):
            self._check(element)
            self.targets.append(element)
            return None
        if element.op.type in tensor_handles.OPS and self._session is not None:
            return (_handle_maker(element, self._session), self._position(element))
        return self._position(element)

    def _check(self, element: Operation | Tensor) -> None:
        if not self._graph.is_fetchable(element):
            cause = f"fetches: {element.name!r} has been marked as not fetchable"
            made_by = element if isinstance(element, Operation) else element.op
            raise ValueError(error_text.about(cause, made_by))

    def _position(self, tensor: Tensor) -> int:
        self._check(tensor)
        if tensor.op.type == "VarHandleOp":
            read = self._graph.read_of(tensor)
            tensor = tensor if read is None else read
        return self._positions.setdefault(tensor, len(self._positions))

    def _slices(self, fetch: Any) -> Any:
        shape = fetch.dense_shape
        if shape is not None and not hasattr(shape, "op"):
            raise TypeError(f"fetches: the dense_shape of {fetch!r} is no tensor")
        return (
            IndexedSlicesValue,
            self._position(fetch.values),
            self._position(fetch.indices),
            None if shape is None else self._position(shape),
        )


def _handle_maker(element: Tensor, session: BaseSession) -> Any:
    dtype = element.op.inputs[0].dtype
    return lambda text: tensor_handles.TensorHandle(text, dtype, session)


def _from_items(make: Any) -> Any:
    return lambda *items: make(items)


def _mapping_maker(fetch: Any, keys: list[Any]) -> Any:
    kind = type(fetch)
    if kind is dict:
        return lambda *items: dict(zip(keys, items, strict=True))
    if isinstance(fetch, defaultdict):
        default = fetch.default_factory
        return lambda *items: kind(default, zip(keys, items, strict=True))
    return lambda *items: kind(zip(keys, items, strict=True))


def key_of(fetches: Any) -> Any:
    """A hashable key of a structure: equal for structures that ask for the same.

    Raises
    ------
    TypeError
        Something in the structure is not hashable.
    """
    if isinstance(fetches, (Tensor, Operation, str)):
        return fetches
    if isinstance(fetches, (list, tuple)):
        return type(fetches), tuple([key_of(item) for item in fetches])
    if isinstance(fetches, Mapping):
        items = tuple([(key, key_of(item)) for key, item in fetches.items()])
        return type(fetches), items
    if isinstance(fetches, TensorLike):
        return id(fetches), fetches
    raise TypeError(f"fetches: {fetches!r} cannot be fetched")
