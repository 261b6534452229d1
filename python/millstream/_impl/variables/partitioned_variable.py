"""Variables in several parts, which stand for one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape
from millstream._impl.variables.partitioners import cut_axis
from millstream._impl.variables.variables import Variable

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph


class PartitionedVariable(TensorLike):
    """A variable in parts, as `get_variable` makes it with a partitioner.

    Where a tensor is wanted, the parts are read and joined. Each part is a variable of its own:
    optimizers change the parts. Iterating over it gives the parts.

    Parameters
    ----------
    name
        Its name; parts are called ``name/part_0`` and so on.
    shape, dtype
        Shape and type of the whole.
    variable_list
        The parts in order.
    partitions
        The number of parts along each dimension, of which at most one is above 1.
    """

    def __init__(
        self,
        name: str,
        shape: TensorShape,
        dtype: DType,
        variable_list: list[Variable],
        partitions: list[int],
    ) -> None:
        self._name = name
        self._shape = shape
        self._dtype = dtype
        self._variable_list = variable_list
        self._partitions = partitions

    # ---- What it is ----

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self._variable_list[0].graph

    @property
    def name(self) -> str:
        """Its name, without a ":0": it is no tensor."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Shape of the whole: the property `shape`."""
        return self._shape

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it unless told otherwise."""
        return self._variable_list[0].trainable

    def __len__(self) -> int:
        return len(self._variable_list)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variable_list)

    def __repr__(self) -> str:
        return (
            f"<PartitionedVariable {self._name!r} shape={self._shape} dtype={self._dtype.name} "
            f"of {len(self)} parts>"
        )

    # Names that programs use, in spite of the underscore.

    def _get_variable_list(self) -> list[Variable]:
        """The parts in order."""
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        """The number of parts along each dimension."""
        return self._partitions

    def _partition_axes(self) -> list[int]:
        """The dimension that is cut, in a list."""
        return [cut_axis(self._partitions)]

    # ---- Reading and writing ----

    def as_tensor(self) -> Tensor:
        """The parts, read at this place of the graph and joined."""
        graph = self.graph
        with graph.as_default(), graph.control_dependencies(None):
            if len(self) == 1:
                joined = self._variable_list[0].as_tensor()
            else:
                with graph.enter_scope(self._name + "/ConcatPartitions/"):
                    parts = [part.as_tensor() for part in self._variable_list]
                    joined = array_join.concat(parts, cut_axis(self._partitions))
            with graph.enter_scope(""):
                return gen_ops.identity(joined, self._name)

    def initialized_value(self) -> list[Tensor]:
        """The value of each part, or as long as it has none, its first one."""
        return [part.initialized_value() for part in self._variable_list]

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Replace the value of each part.

        Parameters
        ----------
        value
            The new value of the whole.
        use_locking
            Not used: writes of a part are never torn.
        name
            Name of the operations.
        read_value
            Return the new values instead of the operations.

        Returns
        -------
        list
            The value after the write for each part, or the operation.
        """
        return self._write("assign", value, name, read_value)

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Add to each part; parameters and result are those of `assign`."""
        return self._write("assign_add", value, name, read_value)

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtract from each part; parameters and result are those of `assign`."""
        return self._write("assign_sub", value, name, read_value)

    def _write(self, method: str, value: Any, name: str | None, read_value: bool) -> list[Any]:
        axis = cut_axis(self._partitions)
        sizes = [part.shape.as_list()[axis] for part in self._variable_list]
        with self.graph.as_default():
            whole = convert_to_tensor(value, self._dtype, "value")
            if not whole.shape.is_compatible_with(self._shape):
                raise ValueError(
                    f"value: expected the shape {self._shape} of {self._name}, got {whole.shape}"
                )
            values = array_join.split(whole, sizes, axis) if len(sizes) > 1 else [whole]
        parts = zip(self._variable_list, values, strict=True)
        return [getattr(part, method)(own, name=name, read_value=read_value) for part, own in parts]
