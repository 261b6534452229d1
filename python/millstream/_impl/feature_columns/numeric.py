"""Columns of numbers, and numbers in buckets."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.feature_columns.column import (
    CategoricalColumn,
    DenseColumn,
    Features,
    Numbers,
    VariableOptions,
)
from millstream._impl.graph.arguments import DTYPE, FUNCTION, INTEGERS, TEXT, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops
from millstream._impl.ops.features import FixedLenFeature
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """The shape of an example of a column of numbers.

    Raises
    ------
    TypeError
        A size is no integer.
    ValueError
        A size is not above 0.
    """
    sizes = shape if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    found = []
    for size in sizes:
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if int(size) < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
        found.append(int(size))
    return tuple(found)


def checked_dtype(dtype: Any, key: str) -> DType:
    """The type of a column of numbers.

    Raises
    ------
    ValueError
        Values of it are no numbers.
    """
    found = dtypes.as_dtype(dtype)
    if not (found.is_integer or found.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {found.name}, key: {key}")
    return found


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value


def _default_of(
    default_value: Any, shape: tuple[int, ...], dtype: DType, key: str
) -> tuple[Any, ...] | None:
    """The default of a column of numbers, as tuples of the column's shape."""
    if default_value is None:
        return None
    given = np.asarray(default_value)
    fits = given.dtype.kind in ("iu" if dtype.is_integer else "iuf")
    if not fits:
        raise TypeError(
            "default_value must be compatible with dtype. "
            f"default_value: {default_value}, dtype: {dtype.name}, key: {key}"
        )
    if given.ndim and given.shape != shape:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {default_value}, shape: {shape}, key: {key}"
        )
    whole = np.broadcast_to(given.astype(dtype.as_numpy_dtype), shape)
    nested: tuple[Any, ...] = _nested(whole.tolist())
    return nested


@dataclasses.dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """The column that `numeric_column` makes."""

    key: str
    shape: tuple[int, ...]
    default_value: tuple[Any, ...] | None
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of one shape."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of an example."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Tensor:
        """The numbers as float32, normalized."""
        given = features.get(self.key)
        if isinstance(given, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. "
                f"SparseTensor is not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            given = self.normalizer_fn(given)
        found: Tensor = math_ops.cast(given, dtypes.float32)
        return found

    def dense_tensor(self, features: Features, scope: VariableOptions) -> Tensor:
        """The numbers of a batch."""
        found: Tensor = features.get(self)
        return found


@public("feature_column.numeric_column")
@takes(key=TEXT, shape=INTEGERS, dtype=DTYPE, normalizer_fn=FUNCTION)
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Any = None,
) -> NumericColumn:
    """A column of numbers.

    Parameters
    ----------
    key
        Name of the feature.
    shape
        Shape of an example.
    default_value
        The numbers of examples without the feature: one for all elements, or one for each.
    dtype
        Type of the feature.
    normalizer_fn
        A function from the feature to what is used in its place.

    Examples
    --------
    >>> price = tf.feature_column.numeric_column("price", normalizer_fn=lambda x: x / 10.0)
    >>> tf.feature_column.input_layer({"price": [[5.0], [20.0]]}, [price]).eval().tolist()
    [[0.5], [2.0]]
    """
    sizes = checked_shape(shape, key)
    wanted = checked_dtype(dtype, key)
    default = _default_of(default_value, sizes, wanted, key)
    return NumericColumn(key, sizes, default, wanted, normalizer_fn)


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """The column that `bucketized_column` makes."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the numbers, and what is done to them."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def _count(self) -> int:
        return len(self.boundaries) + 1

    @property
    def variable_shape(self) -> TensorShape:
        """A vector of the buckets for each number."""
        return TensorShape([*self.source_column.shape, self._count])

    @property
    def num_buckets(self) -> int:
        """As many as there are buckets for all numbers of an example."""
        return self._count * self.source_column.shape[0]

    def transform(self, features: Features) -> Tensor:
        """The bucket of each number."""
        found: Tensor = gen_ops.bucketize(features.get(self.source_column), list(self.boundaries))
        return found

    def dense_tensor(self, features: Features, scope: VariableOptions) -> Tensor:
        """For each number a vector that is 1 at its bucket."""
        return array_creation.one_hot(features.get(self), self._count, 1.0, 0.0)

    def numbers(self, features: Features) -> Numbers:
        """The buckets of the first number, then those of the second, and so on."""
        buckets = features.get(self)
        each = self.source_column.shape[0]
        batch = array_ops.shape(buckets)[0]
        rows = gen_ops.reshape(
            gen_ops.tile(array_ops.expand_dims(math_ops.range(batch), 1), [1, each]), [-1]
        )
        columns = gen_ops.tile(math_ops.range(each), array_ops.expand_dims(batch, 0))
        ids = gen_ops.reshape(buckets, [-1]) + self._count * columns
        places = math_ops.cast(array_join.stack([rows, columns], 1), dtypes.int64)
        shape = math_ops.cast(array_join.stack([batch, each]), dtypes.int64)
        return Numbers(SparseTensor(places, math_ops.cast(ids, dtypes.int64), shape), None)


@public("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """A column of the buckets that numbers are in.

    Parameters
    ----------
    source_column
        A `numeric_column` whose examples are vectors.
    boundaries
        Where buckets end, ascending. A number that is a boundary is in the bucket behind it.

    Raises
    ------
    ValueError
        `source_column` is no such column, or `boundaries` are not ascending.

    Examples
    --------
    >>> age = tf.feature_column.numeric_column("age")
    >>> group = tf.feature_column.bucketized_column(age, [18, 65])
    >>> tf.feature_column.input_layer({"age": [[17], [18], [70]]}, [group]).eval().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column!r}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column!r}")
    if not isinstance(boundaries, (list, tuple, np.ndarray)) or not len(boundaries):
        raise ValueError("boundaries must not be empty.")
    limits = tuple(boundaries)
    if any(not left < right for left, right in itertools.pairwise(limits)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, limits)
