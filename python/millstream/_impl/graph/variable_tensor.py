"""Variables by the names of their tensors: what ``graph.get_tensor_by_name("w:0")`` gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes, tensor_shape

if TYPE_CHECKING:
    from millstream._impl.values.dtypes import DType
    from millstream._impl.values.tensor_shape import TensorShape


class VariableTensor(Tensor):
    """The tensor ``w:0`` of the variable ``w``.

    Where a tensor is wanted it is the value, read at that place of the graph. Functions that change
    a variable take it as well.

    Attributes
    ----------
    handle
        The handle, which has the same name.

    Parameters
    ----------
    handle
        Output of a ``VarHandleOp``.
    """

    __slots__ = ("handle",)

    is_tensor: ClassVar[bool] = False

    def __init__(self, handle: Tensor) -> None:
        dtype, _ = handle.graph.handle.handle_shape(handle.packed)
        super().__init__(handle.op, handle.value_index, dtypes.of_number(dtype), handle.packed)
        self.handle = handle

    @property
    def shape(self) -> TensorShape:
        """Static shape of the variable."""
        variable = self.graph.variable_of(self.handle)
        found: TensorShape = shape_of(self.handle) if variable is None else variable.shape
        return found

    def as_tensor(self) -> Tensor:
        """The value at this place of the graph: a read that obeys the current blocks."""
        return read(self.handle, self._dtype)


def shape_of(handle: Tensor) -> TensorShape:
    """Static shape of the variable behind a handle."""
    _, dims = handle.graph.handle.handle_shape(handle.packed)
    return tensor_shape.of_wire(dims)


@contextmanager
def on_device_of(handle: Tensor) -> Iterator[None]:
    """Within the block, new operations ask for the handle's device, whatever is around it."""
    state = handle.graph.state
    before = state.devices
    state.set_devices([None, handle.device] if handle.device else [None])
    try:
        yield
    finally:
        state.set_devices(before)


def read(handle: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """The value of the variable, read where it is, whatever the current device."""
    with on_device_of(handle):
        full_name = handle.graph.op_name(name or "ReadVariableOp")
        attrs = [("dtype", "t", dtype.as_datatype_enum)]
        return handle.graph.add("ReadVariableOp", full_name, [handle], [1], attrs).outputs[0]


def handle_of(value: Any) -> Tensor | None:
    """The handle of a variable, or of a tensor that stands for one; else None.

    Such tensors are the handle itself, ``w:0``, and ``w/read:0``, the read that is made with the
    variable.
    """
    if isinstance(value, VariableTensor) or not isinstance(value, Tensor):
        return getattr(value, "handle", None)
    if value.op.type != "ReadVariableOp":
        return value if value.op.type == "VarHandleOp" else None
    handle = value.op.inputs[0]
    return handle if value.graph.read_of(handle) is value else None
