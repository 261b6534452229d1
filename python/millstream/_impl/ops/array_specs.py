"""What is known of rows of tensors, and of arrays of tensors, before there are any."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, SHAPE, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.ops.type_specs import TypeSpec
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape


@public("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """What is known of `IndexedSlices`.

    Parameters
    ----------
    shape
        Shape of the whole tensor, as far as known.
    dtype
        Type of the elements.
    indices_dtype
        Type of the indices: int32 or int64.
    dense_shape_dtype
        Type of the tensor of the whole shape; None where there is none.
    indices_shape
        Shape of the indices, which are a vector.

    Examples
    --------
    >>> tf.IndexedSlicesSpec([None, 2]).value_type is tf.IndexedSlices
    True
    """

    @takes(
        shape=SHAPE,
        dtype=DTYPE,
        indices_dtype=DTYPE,
        dense_shape_dtype=or_none(DTYPE),
        indices_shape=SHAPE,
    )
    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        given = dense_shape_dtype
        self._dense_shape_dtype = None if given is None else dtypes.as_dtype(given)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        if not isinstance(value, IndexedSlices):
            return None
        dense = value.dense_shape
        return cls(
            TensorShape([None]).concatenate(value.values.shape[1:]),
            value.dtype,
            value.indices.dtype,
            dense.dtype if isinstance(dense, Tensor) else None,
            value.indices.shape,
        )

    @property
    def value_type(self) -> Any:
        """`IndexedSlices`."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        dense = self._dense_shape_dtype
        return (self._shape, self._dtype, self._indices_dtype, dense, self._indices_shape)


@public("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """What is known of a `TensorArray`.

    Parameters
    ----------
    element_shape
        The shape of all elements, as far as known.
    dtype
        Type of the elements.
    dynamic_size
        Whether a write beyond the end makes the array larger.
    infer_shape
        Whether all elements have one shape.

    Examples
    --------
    >>> array = tf.TensorArray(tf.float32, size=3, element_shape=[2])
    >>> tf.TensorArraySpec([None]).is_compatible_with(tf.TensorArraySpec.from_value(array))
    True
    """

    @takes(element_shape=SHAPE, dtype=DTYPE)
    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @classmethod
    def from_value(cls, value: Any) -> TensorArraySpec:
        """The specification of a `TensorArray`.

        Raises
        ------
        TypeError
            It is none.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"value: Expected value to be a TensorArray, but got: {value!r}")
        return cls(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether an array can be of this specification and of another one.

        Parameters
        ----------
        other
            The other specification, or an array.
        """
        spec = self._of(other)
        return (
            isinstance(spec, TensorArraySpec)
            and bool(self._dtype.is_compatible_with(spec._dtype))
            and bool(self._element_shape.is_compatible_with(spec._element_shape))
            and self._dynamic_size == spec._dynamic_size
        )

    def most_specific_compatible_type(self, other: Any) -> TensorArraySpec:
        """What this specification and another one have in common.

        Parameters
        ----------
        other
            The other specification.

        Raises
        ------
        ValueError
            It is of another kind, type or growth.
        """
        if not isinstance(other, TensorArraySpec) or (self._dtype, self._dynamic_size) != (
            other._dtype,
            other._dynamic_size,
        ):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        shape = self._element_shape.most_specific_compatible_shape(other._element_shape)
        infer_shape = self._infer_shape and other._infer_shape
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, infer_shape)

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        return cls.from_value(value) if isinstance(value, TensorArray) else None

    @property
    def value_type(self) -> Any:
        """`TensorArray`."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)
