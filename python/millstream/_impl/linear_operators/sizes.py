"""Linear operators that are known by their sizes: what identities and zeros share."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.graph import scopes
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.linear_operators import batches
from millstream._impl.linear_operators.linear_operator import LinearOperator
from millstream._impl.ops import check_ops, control_ops
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import Dimension, TensorShape


class Size:
    """A number of rows or columns: an integer, or a scalar of int32 in the graph.

    Parameters
    ----------
    value
        An integer, or a scalar tensor of integers.
    argument
        What errors call it.
    is_checked
        Whether a step checks what is not known now.

    Raises
    ------
    TypeError, ValueError
        It is no integer, no scalar, or negative.
    """

    def __init__(self, value: Any, argument: str, is_checked: bool) -> None:
        tensor = convert_to_tensor(
            int(value) if isinstance(value, Dimension) else value, name=argument
        )
        if not tensor.dtype.is_integer:
            raise TypeError(
                f"Argument {argument} must be integer type.  Found: {tensor.dtype.name}"
            )
        if tensor.shape.ndims not in (None, 0):
            raise ValueError(f"Argument {argument} must be a 0-D Tensor.  Found: {tensor!r}")
        known = constant_value(tensor)
        if known is not None and known < 0:
            raise ValueError(f"Argument {argument} must be non-negative.  Found: {known}")
        if known is None and is_checked:
            message = f"Argument {argument} was not a non-negative 0-D Tensor."
            check = check_ops.assert_non_negative(tensor, message=message)
            tensor = control_ops.with_dependencies([check], tensor)
        self.known = None if known is None else int(known)
        self.value: Any = batches.as_int32(tensor) if known is None else int(known)


class BatchShape:
    """The shape of a batch, as a static shape and as `batches` has shapes. By default empty."""

    def __init__(self, value: Any, is_checked: bool) -> None:
        if value is None:
            value = []
        if isinstance(value, TensorShape):
            value.assert_is_fully_defined()
            value = value.as_list()
        tensor = convert_to_tensor(value, None if isinstance(value, TensorLike) else "int32")
        if not tensor.dtype.is_integer:
            raise TypeError(
                f"Argument batch_shape must be integer type.  Found: {tensor.dtype.name}"
            )
        if tensor.shape.ndims not in (None, 1):
            raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {tensor!r}")
        known = constant_value(tensor)
        if known is not None and (np.asarray(known) < 0).any():
            raise ValueError(f"Argument batch_shape must be non-negative.  Found: {known}")
        if known is None and is_checked:
            check = check_ops.assert_non_negative(
                tensor, message="Argument batch_shape was not a non-negative 1-D Tensor."
            )
            tensor = control_ops.with_dependencies([check], tensor)
        self.value: Any
        if known is not None:
            self.static = TensorShape(known.tolist())
            self.value = np.asarray(known, np.int32)
            return
        rank = tensor.shape[0].value if tensor.shape.ndims else None
        self.static = TensorShape(None if rank is None else [None] * rank)
        self.value = batches.as_int32(tensor)


class SizedOperator(LinearOperator):
    """An operator that has sizes in place of elements."""

    _checks_shapes = False

    def _broadcast(self, x: Tensor) -> Tensor:
        """Matrices in the batch of the operator, broadcast with their own."""
        batch = self._batch()
        if isinstance(batch, np.ndarray) and batch.size == 0:
            return x
        whole = batches.broadcast_shape(batch, batches.shape_of(x)[:-2])
        return batches.broadcast_to(x, whole)

    def _checked(self, x: Tensor, size: Any) -> Tensor:
        """`x`; where the caller asked for it, a step checks its number of rows."""
        if not self._checks_shapes or (isinstance(size, int) and x.shape[-2].value is not None):
            return x
        rows = batches.shape_of(x)[-2]
        with scopes.name_scope("assert_compatible"):
            check = check_ops.assert_equal(
                convert_to_tensor(rows, dtypes.int32),
                convert_to_tensor(size, dtypes.int32),
                message="Dimensions are not compatible.  x.shape[-2] != self.domain_dimension.",
            )
        return control_ops.with_dependencies([check], x)
