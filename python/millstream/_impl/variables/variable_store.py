"""The variables of a graph by name, for sharing them between parts of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import as_shape
from millstream._impl.variables import initializers
from millstream._impl.variables.variables import Variable

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

# No text: programs that go through the collections by name do not meet it.
_COLLECTION = ("__variable_store",)

AUTO_REUSE = public("AUTO_REUSE")("AUTO_REUSE")


class VariableStore:
    """The variables that `get_variable` made in one graph, and how often scopes were opened."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._variables: dict[str, Variable] = {}
        self._opened: dict[str, int] = {}
        self._layers: dict[str, int] = {}

    # ---- Scopes ----

    def open_scope(self, name: str) -> None:
        """A scope was opened: its name as a default name gets a number from now on."""
        self._opened[name] = self._opened.get(name, 0) + 1

    def close_subscopes(self, name: str) -> None:
        """A scope was left: default names below it start anew."""
        for other in self._opened:
            if not name or other.startswith(name + "/"):
                self._opened[other] = 0

    def unique_scope(self, name: str) -> str:
        """A name like `name` of a scope that was not opened."""
        candidate, number = name, 0
        while self._opened.get(candidate, 0):
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def unique_layer(self, name: str) -> str:
        """A name like `name` for a layer without one: numbered from 1."""
        self._layers[name] = self._layers.get(name, 0) + 1
        return f"{name}_{self._layers[name]}"

    # ---- Variables ----

    def get(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        reuse: Any,
        **arguments: Any,
    ) -> Variable:
        """The variable of that name, made if `reuse` allows it.

        Raises
        ------
        ValueError
            It exists and may not be reused, or does not and must be, or has another shape or
            dtype.
        """
        wanted = dtypes.as_dtype(dtype).base_dtype
        found = self._variables.get(name)
        if found is None:
            if reuse is True:
                raise ValueError(
                    f"Variable {name} does not exist, or was not created with tf.get_variable(); "
                    "use reuse=tf.AUTO_REUSE to make what is missing"
                )
            return self._make(name, shape, wanted, initializer, **arguments)
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, made at {found.op.source}; set reuse=True or "
                "reuse=tf.AUTO_REUSE in its variable_scope to share it"
            )
        asked = as_shape(shape)
        if not asked.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {name}, but the shape {asked} was asked for and it has "
                f"{found.shape}"
            )
        if wanted != found.dtype.base_dtype:
            raise ValueError(
                f"Trying to share variable {name}, but the dtype {wanted.name} was asked for and "
                f"it has {found.dtype.name}"
            )
        return found

    def _make(
        self,
        name: str,
        shape: Any,
        dtype: DType,
        initializer: Any,
        regularizer: Any = None,
        **arguments: Any,
    ) -> Variable:
        first, kind = _first_value(name, shape, dtype, initializer)
        graph = self._graph
        with graph.as_default(), graph.enter_scope(""):
            variable = Variable(first, name=name, dtype=kind, **arguments)
        self._variables[name] = variable
        if regularizer is not None:
            with graph.as_default(), graph.enter_scope(name + "/Regularizer/"):
                loss = regularizer(variable)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return variable


def _first_value(name: str, shape: Any, dtype: DType, initializer: Any) -> tuple[Any, DType | None]:
    """What the variable starts from, and its dtype where that is not the value's own."""
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer) or isinstance(initializer, TensorLike):
        if shape is not None:
            raise ValueError(
                f"{name}: a constant initializer has a shape of its own; do not give one"
            )
        return initializer, None
    static = as_shape(shape)
    if not static.is_fully_defined():
        if shape is None and not isinstance(initializer, initializers.Initializer):
            return initializer, dtype
        raise ValueError(f"Shape of a new variable ({name}) must be known, but is {static}")
    return lambda: initializer(static.as_list(), dtype=dtype), dtype


def _default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_bool:
        return initializers.Zeros()
    raise ValueError(f"initializer: {name} of {dtype.name} needs one")


def store_of(graph: Graph) -> VariableStore:
    """The store of a graph, made when first asked for."""
    held = graph.get_collection_ref(_COLLECTION)
    if not held:
        held.append(VariableStore(graph))
    store: VariableStore = held[0]
    return store
