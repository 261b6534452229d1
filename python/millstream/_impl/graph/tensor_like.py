"""What can stand where a tensor is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Tensor
    from millstream._impl.values.dtypes import DType
    from millstream._impl.values.tensor_shape import TensorShape

_LONGEST_VALUE = 60  # of what stands for a Python value in errors


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


class Conversion(NamedTuple):
    """How a program turns objects of its own classes into tensors."""

    priority: int
    types: tuple[type, ...]
    function: Callable[..., Any]


# Those of the program, in the order in which they are asked.
conversions: list[Conversion] = []


def is_converted(value: Any) -> bool:
    """Whether the program has said how objects of the value's class become tensors."""
    return any(isinstance(value, one.types) for one in conversions)


def described(value: Any) -> str:
    """An input in a word or two: ``"float32[2,3] x:0"``, or the Python value."""
    if isinstance(value, TensorLike):
        dims = value.shape.dims
        shape = "<unknown>" if dims is None else f"[{','.join(str(dim) for dim in dims)}]"
        return f"{value.dtype.base_dtype.name}{shape} {getattr(value, 'name', '')}".rstrip()
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
