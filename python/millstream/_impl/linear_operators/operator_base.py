"""What is known of a linear operator without computing with it: hints, type, shape, names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, LIST, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.linear_operators import checks
from millstream._impl.ops import math_ops
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import Dimension, TensorShape
from millstream._impl.variables.modules import Module
from millstream._impl.variables.variables import Variable


class OperatorBase(Module):
    """The part of a linear operator that computes nothing. See `LinearOperator`."""

    @takes(dtype=or_none(DTYPE), graph_parents=or_none(LIST), **checks.HINTS)
    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if is_positive_definite:
            is_non_singular = checks.must_hold(
                "is_non_singular",
                is_non_singular,
                "A positive definite matrix is always non-singular.",
            )
        if is_non_singular:
            is_square = checks.must_hold(
                "is_square", is_square, "A non-singular matrix is always square."
            )
        if is_self_adjoint:
            is_square = checks.must_hold(
                "is_square", is_square, "A self-adjoint matrix is always square."
            )
        parents = list(graph_parents or [])
        for place, parent in enumerate(parents):
            if not isinstance(parent, TensorLike):
                raise ValueError(
                    f"graph_parents: Graph parent item {place} is not a Tensor; {parent!r}."
                )
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._graph_parents = parents
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._square_hint = is_square
        self._name = name or type(self).__name__

    # ---- Type and names ----

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """Its name, with which the names of its operations begin."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A scope of its name, for a ``with`` block."""
        return scopes.name_scope(self._name)

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it is made of."""
        return list(self._graph_parents)

    @contextmanager
    def _scope(self, name: str | None, values: Sequence[Any] = ()) -> Iterator[None]:
        """The scope of the operations of a method."""
        tensors = [*self._graph_parents, *values]
        with scopes.name_scope(self._name, values=tensors), scopes.name_scope(name):
            yield

    def _making(self, name: str | None, values: Sequence[Any]) -> scopes.name_scope:
        """The scope of what is made with the operator, before it has its name."""
        return scopes.name_scope(name or type(self).__name__, values=list(values))

    def _parameter(self, value: Any, name: str, dtype: DType | None = None) -> Tensor:
        """The tensor of a parameter; a variable is read, and remembered as one of the operator."""
        if isinstance(value, Variable):
            self.__dict__.setdefault("_given_variables", []).append(value)
        return convert_to_tensor(value, dtype, name)

    # ---- Hints ----

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse; None if that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its own adjoint; None if that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the real part of ``x^H A x`` is positive for all x but zero; or None."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether its two dimensions are equal; None if that is not known."""
        found: bool | None = self.domain_dimension == self.range_dimension
        if self._square_hint is False and found:
            raise ValueError(
                f"is_square: the hint is False, but {self._name} is square: {self.shape}"
            )
        return found if self._square_hint is None else self._square_hint

    def _has_cholesky(self) -> bool:
        """Whether it is known to have a factor of Cholesky."""
        return bool(self.is_self_adjoint and self.is_positive_definite)

    # ---- Shape ----

    def _shape(self) -> TensorShape:
        """The static shape; a kind says what it is."""
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        """The shape in the step; a kind says what it is."""
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """Static shape: ``[*batch_shape, range_dimension, domain_dimension]``."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """Static shape without that of the matrices."""
        found: TensorShape = self.shape[:-2]
        return found

    @property
    def tensor_rank(self) -> int | None:
        """Its rank as a tensor, 2 more than that of the batch; None if it is not known."""
        return self.shape.ndims

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, the dimension of results."""
        return _dimension(self.shape, -2)

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, the dimension of arguments."""
        return _dimension(self.shape, -1)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Its shape, a vector of int32.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._whole_shape()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape without that of the matrices, a vector of int32.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            return self._shape_part(slice(None, -2))

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Its rank as a tensor, a scalar of int32.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            if self.tensor_rank is not None:
                return convert_to_tensor(self.tensor_rank, dtypes.int32)
            return gen_ops.size(self._whole_shape())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns, a scalar of int32.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            known = self.domain_dimension.value
            return self._shape_part(-1) if known is None else convert_to_tensor(known, dtypes.int32)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows, a scalar of int32.

        Parameters
        ----------
        name
            Name of the scope.
        """
        with self._scope(name):
            known = self.range_dimension.value
            return self._shape_part(-2) if known is None else convert_to_tensor(known, dtypes.int32)

    def _whole_shape(self) -> Tensor:
        static = self.shape
        if static.is_fully_defined():
            return convert_to_tensor(np.array(static.as_list(), np.int32))
        return math_ops.cast(self._shape_tensor(), dtypes.int32)

    def _shape_part(self, key: Any) -> Tensor:
        static = self.shape
        if static.is_fully_defined():
            return convert_to_tensor(np.array(static.as_list(), np.int32)[key])
        return self._whole_shape()[key]

    # ---- Arguments ----

    def _argument(self, value: Any, name: str, rank: int) -> Tensor:
        """The tensor of an argument, which has to have the operator's type."""
        # Numbers of Python take the operator's type; arrays have one.
        wished = None if isinstance(value, (np.ndarray, np.generic)) else self.dtype
        tensor = convert_to_tensor(value, name=name, preferred_dtype=wished)
        if self.dtype is not None and tensor.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"{name}: Expected argument to have dtype {self.dtype.name}. "
                f"Found: {tensor.dtype.name} in tensor {tensor!r}"
            )
        known = tensor.shape.ndims
        if known is not None and known < rank:
            raise ValueError(f"{name}: expected a rank of at least {rank}, got {tensor.shape}")
        return tensor

    def _check_dimension(self, name: str, own: Dimension, tensor: Tensor, index: int) -> None:
        size: Dimension = tensor.shape[index]
        if not own.is_compatible_with(size):
            raise ValueError(
                f"{name}: Dimensions {own} and {size} are not compatible: {self._name} has the "
                f"shape {self.shape}, the argument {tensor.shape}"
            )

    # ---- Sizes for computations: numbers where they are known, tensors elsewhere ----

    def _rows(self) -> Any:
        known = self.range_dimension.value
        return self._shape_part(-2) if known is None else known

    def _columns(self) -> Any:
        known = self.domain_dimension.value
        return self._shape_part(-1) if known is None else known

    def _batch(self) -> Any:
        """The shape of the batch, as `batches` has shapes."""
        static = self.batch_shape
        if static.is_fully_defined():
            return np.array(static.as_list(), np.int32)
        return self._shape_part(slice(None, -2))

    def __repr__(self) -> str:
        kind = type(self).__name__
        dtype = "unknown" if self._dtype is None else self._dtype.name
        return f"<tf.linalg.{kind} {self._name!r} shape={self.shape} dtype={dtype}>"


def _dimension(shape: TensorShape, index: int) -> Dimension:
    found: Dimension = shape[index]
    return found
