"""The variables of a graph by name, for sharing them between parts of a program."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables import initializers
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.partitioners import Partition, counts_of, known_sizes, partitions
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
        self._partitioned: dict[str, PartitionedVariable] = {}
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

    def has(self, name: str) -> bool:
        """Whether `get_variable` made a variable of that name, whole or in parts."""
        return name in self._variables or name in self._partitioned

    def get(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        reuse: Any,
        partitioner: Any = None,
        **arguments: Any,
    ) -> Variable | PartitionedVariable:
        """The variable of that name, made if `reuse` allows it; in parts if there is a partitioner.

        Scalars are never in parts. A variable in parts is shared without a partitioner as well.

        Raises
        ------
        ValueError
            It exists and may not be reused, or does not and must be, or has another shape, dtype or
            number of parts.
        """
        if partitioner is not None and not callable(partitioner):
            raise ValueError(f"partitioner: expected a callable, got {partitioner!r}")
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        in_parts = partitioner is not None and not is_scalar
        if in_parts or (reuse and name in self._partitioned):
            chosen = partitioner if in_parts else None
            return self._get_parts(name, shape, dtype, initializer, reuse, chosen, **arguments)
        if name + "/part_0" in self._variables:
            raise ValueError(
                f"No partitioner was provided, but a partitioned version of the variable was "
                f"found: {name}/part_0; give the partitioner, or share it with reuse=True"
            )
        return self._get_one(name, shape, dtype, initializer, reuse, **arguments)

    def _get_parts(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        reuse: Any,
        partitioner: Any,
        **arguments: Any,
    ) -> PartitionedVariable:
        kind = dtypes.as_dtype(dtype).base_dtype
        if name in self._variables:
            raise ValueError(
                f"A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}"
            )
        first = _value_in_parts(name, initializer, kind)
        static = as_shape(shape)
        if first is not None:
            static, kind = static.merge_with(first.shape), first.dtype.base_dtype
        found = self._partitioned.get(name)
        if found is not None:
            _check_shared(found, static, kind, reuse)
            if partitioner is not None:
                _check_counts(found, counts_of(partitioner, name, found.shape, kind))
            return found
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(); use reuse=tf.AUTO_REUSE to make what is missing"
            )
        counts = counts_of(partitioner, name, static, kind)
        parts = []
        for index, partition in enumerate(partitions(known_sizes(static), counts)):
            own: Any = initializer
            own_shape: Any = partition.var_shape
            if first is not None:
                own, own_shape = _slice_of(first, partition), None
            part = self._get_one(
                f"{name}/part_{index}",
                own_shape,
                kind,
                own,
                reuse,
                partition=partition,
                **arguments,
            )
            part._set_save_slice_info(Variable.SaveSliceInfo(name, *partition))
            parts.append(part)
        made = PartitionedVariable(name, static, kind, parts, counts)
        self._partitioned[name] = made
        return made

    def _get_one(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        reuse: Any,
        **arguments: Any,
    ) -> Variable:
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
                f"Trying to share variable {name}, but specified shape {asked} and found shape "
                f"{found.shape}"
            )
        if wanted != found.dtype.base_dtype:
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {wanted.name} and found "
                f"dtype {found.dtype.name}"
            )
        return found

    def _make(
        self,
        name: str,
        shape: Any,
        dtype: DType,
        initializer: Any,
        regularizer: Any = None,
        partition: Partition | None = None,
        **arguments: Any,
    ) -> Variable:
        first, kind = _first_value(name, shape, dtype, initializer, partition)
        graph = self._graph
        with graph.as_default(), graph.enter_scope(""):
            variable = Variable(first, name=name, dtype=kind, **arguments)
        self._variables[name] = variable
        if regularizer is not None:
            self._add_loss(variable, regularizer)
        return variable

    def _add_loss(self, variable: Variable, regularizer: Any) -> None:
        """Note what a regularizer makes of a variable.

        A regularizer is called twice. The first call, outside of the variable's scope, only shows
        whether there is a loss. Its operations take names there, on which the names of later
        operations in graph programs depend.
        """
        graph = self._graph
        with graph.as_default(), graph.control_dependencies(None):
            with graph.enter_scope(""):
                if regularizer(variable) is None:
                    return
            with graph.enter_scope(variable.op.name + "/Regularizer/"):
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(variable))


def _check_shared(found: PartitionedVariable, shape: TensorShape, dtype: DType, reuse: Any) -> None:
    """ValueError where a variable in parts is not to be shared, or not as it was asked for."""
    name = found.name
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {name} already exists; set reuse=True or "
            "reuse=tf.AUTO_REUSE in its variable_scope to share it"
        )
    if not shape.is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share partitioned variable {name}, but the shape {shape} was asked for and "
            f"it has {found.shape}"
        )
    if dtype != found.dtype:
        raise ValueError(
            f"Trying to share partitioned variable {name}, but the dtype {dtype.name} was asked "
            f"for and it has {found.dtype.name}"
        )


def _check_counts(found: PartitionedVariable, counts: list[int]) -> None:
    """ValueError where a variable has other numbers of parts than those that are asked for."""
    if counts != found._get_partitions():
        raise ValueError(
            f"Trying to reuse partitioned variable {found.name}, but the partitions {counts} were "
            f"asked for and it has {found._get_partitions()}"
        )


def _value_in_parts(name: str, initializer: Any, dtype: DType) -> Tensor | None:
    """The first value of a variable in parts where it is given as a whole, else None."""
    if initializer is None or (callable(initializer) and not isinstance(initializer, TensorLike)):
        return None
    with get_default_graph().name_scope(name + "/PartitionedInitializer"):
        if isinstance(initializer, Variable):
            return initializer.initialized_value()
        wanted = None if isinstance(initializer, TensorLike) else dtype
        return convert_to_tensor(initializer, wanted, "initializer")


def _slice_of(value: Tensor, partition: Partition) -> Tensor:
    with value.graph.name_scope("PartitionedInitializer"):
        return gen_ops.slice(value, partition.var_offset, partition.var_shape)


def _first_value(
    name: str, shape: Any, dtype: DType, initializer: Any, partition: Partition | None = None
) -> tuple[Any, DType | None]:
    """What the variable starts from, and its dtype where that is not the value's own."""
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer) or isinstance(initializer, TensorLike):
        if shape is not None:
            raise ValueError(
                f"{name}: If initializer is a constant, do not specify shape: it has a shape of "
                "its own"
            )
        return initializer, None
    static = as_shape(shape)
    if not static.is_fully_defined():
        if shape is None and not isinstance(initializer, initializers.Initializer):
            return initializer, dtype
        raise ValueError(f"Shape of a new variable ({name}) must be known, but is {static}")
    if partition is not None and _knows_of_partitions(initializer):
        return (
            lambda: initializer(static.as_list(), dtype=dtype, partition_info=partition),
            dtype,
        )
    return lambda: initializer(static.as_list(), dtype=dtype), dtype


def _knows_of_partitions(initializer: Any) -> bool:
    """Whether an initializer asks for the place of a part, in an argument of that name."""
    try:
        return "partition_info" in inspect.signature(initializer).parameters
    except (TypeError, ValueError):
        return False


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
