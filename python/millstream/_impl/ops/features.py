"""What programs ask of the features of examples: dense or sparse, of one size or of several."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape, as_shape


@public("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature that has one shape in all examples.

    Parameters
    ----------
    shape
        The shape.
    dtype
        Type of the values: float32, int64 or string.
    default_value
        The value of examples without the feature; without it they are refused.

    Examples
    --------
    >>> tf.FixedLenFeature([2], tf.float32).default_value is None
    True
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@public("VarLenFeature", "io.VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature with any number of values, which becomes a `SparseTensor`.

    Parameters
    ----------
    dtype
        Type of the values: float32, int64 or string.

    Examples
    --------
    >>> tf.VarLenFeature(tf.string).dtype
    tf.string
    """

    dtype: Any


@public("SparseFeature", "io.SparseFeature")
class SparseFeature(NamedTuple):
    """A `SparseTensor` that examples have as two features or more: its places and its values.

    Parameters
    ----------
    index_key
        Name of the feature that has the places, or a list of one name for each dimension.
    value_key
        Name of the feature that has the values.
    dtype
        Type of the values: float32, int64 or string.
    size
        Size of the dimension, or a list of sizes.
    already_sorted
        Whether the places of each example are in ascending order.

    Examples
    --------
    >>> tf.SparseFeature("at", "value", tf.float32, size=6).already_sorted
    False
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: Any = False


@public("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows of one shape, which become a dense tensor.

    Parameters
    ----------
    shape
        Shape of a row.
    dtype
        Type of the values: float32, int64 or string.
    allow_missing
        Whether examples without the feature have no rows, and are not refused.
    default_value
        The value that fills rows which an example lacks, by default zero or "".

    Examples
    --------
    >>> tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True).shape
    []
    """

    shape: Any
    dtype: Any
    allow_missing: Any = False
    default_value: Any = None


def _varies(shape: TensorShape) -> bool:
    """Whether the number of rows is unknown."""
    return bool(shape.ndims) and shape.as_list()[0] is None


@dataclasses.dataclass(frozen=True)
class DenseColumn:
    """One dense feature as ops ask for it; the default is None for a feature that must be there."""

    key: str
    dtype: DType
    shape: TensorShape
    default: Any
    may_miss: bool

    def default_tensor(self) -> Tensor:
        """The default as ops take it: without elements where there is none."""
        if _varies(self.shape):
            zero = "" if self.dtype == dtypes.string else 0
            padding = self._named("padding_", zero if self.default is None else self.default)
            scalar: Tensor = gen_ops.reshape(padding, [])
            return scalar
        if self.default is None:
            return constant([], self.dtype)
        if isinstance(self.default, Tensor):
            return self.default
        shaped: Tensor = gen_ops.reshape(self._named("key_", self.default), self.shape.as_list())
        return shaped

    def _named(self, start: str, value: Any) -> Tensor:
        name = start + re.sub(r"[^A-Za-z0-9_.\-/]", "_", self.key)
        return convert_to_tensor(value, self.dtype, name)


@dataclasses.dataclass
class Columns:
    """The features of examples as ops ask for them, each key once."""

    sparse: dict[str, DType] = dataclasses.field(default_factory=dict)
    dense: list[DenseColumn] = dataclasses.field(default_factory=list)

    def add_sparse(self, key: str, dtype: DType) -> None:
        """Ask for the values of a feature, once."""
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(
                f"Conflicting type {self.sparse[key].name} vs {dtype.name} for feature {key}."
            )


def _dtype_of(feature: Any, key: str) -> DType:
    if not feature.dtype:
        raise ValueError(f"Missing dtype for feature {key}.")
    dtype = dtypes.as_dtype(feature.dtype)
    if dtype not in (dtypes.float32, dtypes.int64, dtypes.string):
        raise ValueError(
            f"features: feature {key!r} may be float32, int64 or string, got {dtype.name}"
        )
    return dtype


def _shape_of(feature: Any, key: str) -> TensorShape:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    return as_shape(feature.shape)


def _add_fixed(columns: Columns, key: str, feature: FixedLenFeature) -> None:
    shape = _shape_of(feature, key)
    if _varies(shape):
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            "FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received {shape}."
        )
    dtype = _dtype_of(feature, key)
    columns.dense.append(DenseColumn(key, dtype, shape, feature.default_value, False))


def _add_places(columns: Columns, key: str, feature: SparseFeature) -> None:
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {key}.")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {key}.")
    several = isinstance(feature.index_key, (list, tuple))
    for index_key in feature.index_key if several else [feature.index_key]:
        columns.add_sparse(index_key, dtypes.int64)
    columns.add_sparse(feature.value_key, _dtype_of(feature, key))


def columns_of(
    features: Mapping[str, Any] | None, kinds: tuple[type, ...], batched: bool
) -> Columns:
    """What ops are asked for.

    Parameters
    ----------
    features
        The features by name.
    kinds
        The classes that may be among them.
    batched
        Whether rows of a `FixedLenSequenceFeature` are a dimension of its shape.

    Raises
    ------
    TypeError
        A feature is of another class.
    ValueError
        A feature lacks something, or two of them contradict each other.
    """
    columns = Columns()
    for key, feature in sorted((features or {}).items(), key=lambda item: item[0]):
        if not isinstance(feature, kinds):
            raise TypeError(f"Unsupported {type(feature).__name__}: {feature}.")
        if isinstance(feature, VarLenFeature):
            columns.add_sparse(key, _dtype_of(feature, key))
        elif isinstance(feature, SparseFeature):
            _add_places(columns, key, feature)
        elif isinstance(feature, FixedLenFeature):
            _add_fixed(columns, key, feature)
        elif isinstance(feature, FixedLenSequenceFeature):
            _add_rows(columns, key, feature, batched)
    return columns


def _add_rows(columns: Columns, key: str, feature: FixedLenSequenceFeature, batched: bool) -> None:
    shape = _shape_of(feature, key)
    if batched:
        if not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
        shape = TensorShape([None]).concatenate(shape)
    elif feature.default_value is not None:
        raise ValueError(f"features: the list {key!r} can have no default_value")
    columns.dense.append(
        DenseColumn(
            key, _dtype_of(feature, key), shape, feature.default_value, bool(feature.allow_missing)
        )
    )
