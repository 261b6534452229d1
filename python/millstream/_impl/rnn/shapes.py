"""Shapes of states and outputs of cells: a size for each example, with a batch before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.graph.convert import constant, constant_value
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_creation, array_join, array_ops, nest
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape


def static_size(size: Any) -> TensorShape:
    """The shape that a size says: an integer, a shape, or a vector or scalar tensor of integers."""
    if isinstance(size, TensorLike):
        size = constant_value(size)
        if size is None:
            return TensorShape(None)
        size = np.asarray(size).tolist()
    if isinstance(size, (int, np.integer)):
        return TensorShape([int(size)])
    return as_shape(size)


def zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Zeros of one size for each example of a batch.

    Parameters
    ----------
    batch_size
        An integer or a scalar tensor.
    size
        As for `static_size`.
    dtype
        Type of the elements.
    """
    made = array_creation.zeros(_joined(batch_size, size), dtype)
    made.set_shape(static_size(batch_size).concatenate(static_size(size)))
    return made


def _joined(batch_size: Any, size: Any) -> Tensor:
    parts = []
    for part in (batch_size, size):
        if isinstance(part, TensorLike):
            tensor = part.as_tensor()
            parts.append(array_ops.expand_dims(tensor, 0) if tensor.shape.ndims == 0 else tensor)
            continue
        shape = static_size(part)
        if not shape.is_fully_defined():
            raise ValueError(f"Provided a prefix or suffix of None: {batch_size} and {size}")
        parts.append(constant(shape.as_list(), dtypes.int32))
    return array_join.concat(parts, 0)


def zero_structure(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for each size of a structure."""
    return nest.map_structure(lambda size: zeros(batch_size, size, dtype), sizes)


def dtype_of_state(dtype: Any, state: Any) -> Any:
    """The type that is asked for, else that of all tensors of a state."""
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    found = [tensor.dtype.base_dtype for tensor in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(each != found[0] for each in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single "
            f"representative dtype: {[each.name for each in found]}"
        )
    return found[0]
