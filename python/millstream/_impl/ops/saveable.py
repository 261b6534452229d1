"""How an object that is no variable is saved to checkpoints, and restored: as several tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.values.dtypes import DType


@dataclasses.dataclass(frozen=True)
class SaveSpec:
    """One tensor of an object.

    Parameters
    ----------
    tensor
        What is saved.
    slice_spec
        The part that it is of the tensor of that name; "" for the whole.
    name
        The name in checkpoints.
    """

    tensor: Tensor
    slice_spec: str
    name: str

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self.tensor.dtype.base_dtype


class SaveableObject:
    """An object in the collection ``saveable_objects``: the tensors that are its state.

    Parameters
    ----------
    op
        What holds the state, whose device the tensors are on.
    specs
        The tensors.
    name
        Name of the object.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = list(specs)
        self.name = name

    @property
    def device(self) -> str:
        """The device of the object."""
        return str(self.op.device)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Any) -> Operation:
        """The operation that gives the object the state of a checkpoint.

        Parameters
        ----------
        restored_tensors
            The tensors, in the order of `specs`.
        restored_shapes
            Shapes to give them, or None.
        """
        raise NotImplementedError
