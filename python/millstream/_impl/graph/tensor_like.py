"""What can stand where a tensor is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Tensor
    from millstream._impl.values.dtypes import DType
    from millstream._impl.values.tensor_shape import TensorShape


class TensorLike:
    """Base of what turns itself into a tensor of its graph: tensors, variables, slices."""

    __slots__ = ()

    is_tensor: ClassVar[bool] = False  # whether it is one already, so that nothing is made

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """Type of the elements of the tensor that it becomes."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """Static shape of the tensor that it becomes."""
        raise NotImplementedError

    def as_tensor(self) -> Tensor:
        """The tensor; making it may add nodes to the graph."""
        raise NotImplementedError
