"""What is known of values before there are any: of tensors, sparse ones and ragged ones."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, SHAPE, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.ops.ragged_value import RaggedTensorValue
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape, as_shape

# What has the attributes of a tensor and is none.
_OTHERS = (SparseTensor, RaggedTensor, IndexedSlices, TensorArray)


@public("TypeSpec")
class TypeSpec:
    """What is known of a value of one kind. Specifications are equal by what they say.

    Examples
    --------
    >>> isinstance(tf.TensorSpec([2]), tf.TypeSpec)
    True
    """

    @property
    def value_type(self) -> Any:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        """What it says: shapes, types and others."""
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        """The specification of this class of a value; None of values of other kinds."""
        return None

    def _of(self, spec_or_value: Any) -> Any:
        given = spec_or_value
        return given if isinstance(given, TypeSpec) else self._of_value(given)

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> Any:
        """The specification that says this."""
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value can be of this specification and of another one.

        Parameters
        ----------
        spec_or_value
            The other specification, or a value.
        """
        other = self._of(spec_or_value)
        if type(other) is not type(self):
            return False
        pairs = zip(self._serialize(), other._serialize(), strict=True)
        return all(_may_be_both(mine, others) for mine, others in pairs)

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """What this specification and another one have in common.

        Parameters
        ----------
        other
            The other specification.

        Raises
        ------
        ValueError
            They are of different kinds or types.
        """
        if type(other) is not type(self):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        found = []
        for mine, others in zip(self._serialize(), other._serialize(), strict=True):
            if isinstance(mine, TensorShape):
                found.append(mine.most_specific_compatible_shape(others))
            elif mine == others:
                found.append(mine)
            else:
                raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(tuple(found))

    def _comparable(self) -> tuple[Any, ...]:
        parts = (
            (None if one.ndims is None else tuple(one.as_list()))
            if isinstance(one, TensorShape)
            else one
            for one in self._serialize()
        )
        return (type(self), *parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSpec) and self._comparable() == other._comparable()

    def __hash__(self) -> int:
        return hash(self._comparable())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


def _may_be_both(mine: Any, others: Any) -> bool:
    if isinstance(mine, (TensorShape, DType)):
        return bool(mine.is_compatible_with(others))
    return bool(mine == others)


@public("TensorSpec")
class TensorSpec(TypeSpec):
    """What is known of a tensor.

    Parameters
    ----------
    shape
        Its shape, as far as known.
    dtype
        Type of the elements.
    name
        Its name, or None.

    Examples
    --------
    >>> spec = tf.TensorSpec([None, 3], tf.float32)
    >>> spec.is_compatible_with(tf.zeros([2, 3])), spec.is_compatible_with(tf.zeros([2]))
    (True, False)
    >>> spec.most_specific_compatible_type(tf.TensorSpec([4, 5]))
    TensorSpec(shape=(?, ?), dtype=tf.float32, name=None)
    """

    @takes(shape=SHAPE, dtype=DTYPE)
    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A specification of the shape and type of another one.

        Parameters
        ----------
        spec
            What has a `shape`, a `dtype` and a `name`.
        name
            The name, by default the other's.
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The specification of a tensor.

        Parameters
        ----------
        tensor
            The tensor.
        name
            The name, by default that of the tensor's operation.

        Raises
        ------
        ValueError
            It is no tensor.
        """
        if not isinstance(tensor, TensorLike) or not hasattr(tensor, "op"):
            raise ValueError(f"`tensor` should be a tf.Tensor, got {tensor!r}")
        own: Any = tensor
        return cls(own.shape, own.dtype.base_dtype, name or own.op.name)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        is_tensor = isinstance(value, TensorLike) and not isinstance(value, _OTHERS)
        return cls.from_tensor(value) if is_tensor else None

    @property
    def value_type(self) -> Any:
        """`Tensor`."""
        return Tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor can be of this specification and of another one, whatever the names.

        Parameters
        ----------
        spec_or_tensor
            The other specification, or a tensor.
        """
        other = self._of(spec_or_tensor)
        if not isinstance(other, TensorSpec):
            return False
        types_fit = bool(self._dtype.is_compatible_with(other.dtype))
        return types_fit and bool(self._shape.is_compatible_with(other.shape))

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """What this specification and another one have in common; a name if both have it.

        Parameters
        ----------
        other
            The other specification.

        Raises
        ------
        ValueError
            It is of another kind or type.
        """
        if not isinstance(other, TensorSpec) or self._dtype != other.dtype:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other.name else None)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


@public("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """What is known of a `SparseTensor`.

    Parameters
    ----------
    shape
        Shape of the whole tensor, as far as known.
    dtype
        Type of the elements.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 2]], [7.0], [1, 3])
    >>> tf.SparseTensorSpec([None, 3]).is_compatible_with(x)
    True
    """

    @takes(shape=SHAPE, dtype=DTYPE)
    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The specification of a `SparseTensor` or a `SparseTensorValue`.

        Raises
        ------
        TypeError
            It is neither.
        """
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            return cls(
                [int(size) for size in value.dense_shape], dtypes.as_dtype(value.values.dtype)
            )
        raise TypeError(f"value: Expected SparseTensor or SparseTensorValue, got {value!r}")

    @property
    def shape(self) -> TensorShape:
        """Shape of the whole tensor."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        is_sparse = isinstance(value, (SparseTensor, SparseTensorValue))
        return cls.from_value(value) if is_sparse else None

    @property
    def value_type(self) -> Any:
        """`SparseTensor`."""
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype)


@public("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """What is known of a `RaggedTensor`.

    Parameters
    ----------
    shape
        Its shape, None along ragged dimensions.
    dtype
        Type of the elements.
    ragged_rank
        How many dimensions have rows of different lengths; by default all but the first.
    row_splits_dtype
        int32 or int64.

    Raises
    ------
    ValueError
        The numbers do not fit.

    Examples
    --------
    >>> x = tf.ragged.constant([[1, 2], [3]])
    >>> tf.RaggedTensorSpec([2, None], tf.int32).is_compatible_with(x)
    True
    """

    @takes(shape=SHAPE, dtype=DTYPE, ragged_rank=or_none(INTEGER), row_splits_dtype=DTYPE)
    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._splits_dtype = dtypes.as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or shape with a known rank.")
            ragged_rank = rank - 1
        if rank is not None and not 0 <= ragged_rank < rank:
            raise ValueError(f"ragged_rank ({ragged_rank}) must be less than rank ({rank}).")
        if self._splits_dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(
                f"row_splits_dtype must be tf.int32 or tf.int64, got {self._splits_dtype.name}"
            )
        self._ragged_rank = int(ragged_rank)

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The specification of a `RaggedTensor` or of the value of one.

        Raises
        ------
        TypeError
            It is neither.
        """
        if isinstance(value, RaggedTensor):
            splits = value.row_splits.dtype
            return cls(value.shape, value.dtype, value.ragged_rank, splits)
        if isinstance(value, RaggedTensorValue):
            splits = dtypes.as_dtype(value.row_splits.dtype)
            return cls(value.shape, dtypes.as_dtype(value.dtype), value.ragged_rank, splits)
        raise TypeError(f"value: Expected RaggedTensor, got {value!r}")

    @classmethod
    def _of_value(cls, value: Any) -> Any:
        is_ragged = isinstance(value, (RaggedTensor, RaggedTensorValue))
        return cls.from_value(value) if is_ragged else None

    @property
    def value_type(self) -> Any:
        """`RaggedTensor`; `Tensor` without ragged dimensions."""
        return RaggedTensor if self._ragged_rank else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._ragged_rank, self._splits_dtype)
