"""Columns of examples that have steps in time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.feature_columns import categorical
from millstream._impl.feature_columns.column import (
    CategoricalColumn,
    Features,
    Numbers,
    SequenceColumn,
    VariableOptions,
)
from millstream._impl.feature_columns.numeric import checked_dtype, checked_shape
from millstream._impl.graph.arguments import (
    DTYPE,
    FUNCTION,
    INTEGER,
    INTEGERS,
    NUMBER,
    PATH,
    TENSORS,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops, reductions
from millstream._impl.ops.features import VarLenFeature
from millstream._impl.ops.sparse_layout import sparse_reshape
from millstream._impl.ops.sparse_ops import sparse_tensor_to_dense
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape


@dataclasses.dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """What functions such as `sequence_categorical_column_with_identity` make."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the categories."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Any:
        """The numbers of the categories."""
        return features.get(self.categorical_column)


def numbers_of_steps(column: SequenceCategoricalColumn, features: Features) -> Numbers:
    """The numbers of a batch, [batch, steps, categories of a step]."""
    ids, weights = column.categorical_column.numbers(features)
    shape = ids.dense_shape
    last = array_ops.expand_dims(reductions.reduce_prod(shape[2:]), 0)
    target = array_join.concat([shape[:2], last], 0)
    split = None if weights is None else sparse_reshape(weights, target)
    return Numbers(sparse_reshape(ids, target), split)


def lengths_of_steps(sparse: SparseTensor, elements: int = 1) -> Tensor:
    """How many steps each example has: up to its last element.

    Parameters
    ----------
    sparse
        Elements whose first index is the example and whose second is the step.
    elements
        How many elements of the second dimension are one step.
    """
    rows, steps = sparse.indices[:, 0], sparse.indices[:, 1]
    counts = gen_ops.floor_div(steps, gen_ops.cast(elements, dtypes.int64)) + 1
    batch = sparse.dense_shape[0]
    found = gen_ops.unsorted_segment_max(counts, rows, batch)
    lengths: Tensor = gen_ops.maximum(found, gen_ops.cast(0, dtypes.int64))
    return lengths


@dataclasses.dataclass(frozen=True)
class SequenceNumericColumn(SequenceColumn):
    """The column that `sequence_numeric_column` makes."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature with any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of a step."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Any:
        """The numbers, normalized."""
        given = features.get(self.key)
        return given if self.normalizer_fn is None else self.normalizer_fn(given)

    def sequence_tensor(self, features: Features, scope: VariableOptions) -> tuple[Tensor, Tensor]:
        """The numbers of a batch, and the steps of each example."""
        sparse = features.get(self)
        dense = sparse_tensor_to_dense(sparse, self.default_value)
        size = int(TensorShape(self.shape).num_elements() or 1)
        batch = array_ops.shape(dense)[0]
        found = gen_ops.reshape(dense, array_join.stack([batch, -1, *self.shape]))
        elements = size if sparse.shape.ndims == 2 else 1
        return math_ops.cast(found, dtypes.float32), lengths_of_steps(sparse, elements)


@public("feature_column.sequence_numeric_column")
@takes(key=TEXT, shape=INTEGERS, default_value=NUMBER, dtype=DTYPE, normalizer_fn=FUNCTION)
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Any = None,
) -> SequenceNumericColumn:
    """A column of numbers of examples that have steps.

    Parameters
    ----------
    key
        Name of the feature.
    shape
        Shape of a step.
    default_value
        The numbers of steps that an example lacks.
    dtype
        Type of the feature.
    normalizer_fn
        A function from the feature, which is sparse, to what is used in its place.

    Examples
    --------
    >>> heat = tf.feature_column.sequence_numeric_column("heat")
    >>> heat.parse_example_spec
    {'heat': VarLenFeature(dtype=tf.float32)}
    """
    sizes = checked_shape(shape, key)
    return SequenceNumericColumn(
        key, sizes, default_value, checked_dtype(dtype, key), normalizer_fn
    )


@public("feature_column.sequence_categorical_column_with_identity")
@takes(key=TEXT, num_buckets=INTEGER, default_value=or_none(INTEGER))
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """As `categorical_column_with_identity`, of examples that have steps.

    Parameters
    ----------
    key, num_buckets, default_value
        As there.

    Examples
    --------
    >>> tf.feature_column.sequence_categorical_column_with_identity("day", 7).num_buckets
    7
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_identity(key, num_buckets, default_value)
    )


@public("feature_column.sequence_categorical_column_with_hash_bucket")
@takes(key=TEXT, hash_bucket_size=INTEGER, dtype=DTYPE)
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """As `categorical_column_with_hash_bucket`, of examples that have steps.

    Parameters
    ----------
    key, hash_bucket_size, dtype
        As there.

    Examples
    --------
    >>> tf.feature_column.sequence_categorical_column_with_hash_bucket("word", 9).num_buckets
    9
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


@public("feature_column.sequence_categorical_column_with_vocabulary_list")
@takes(
    key=TEXT,
    vocabulary_list=TENSORS,
    dtype=or_none(DTYPE),
    default_value=INTEGER,
    num_oov_buckets=INTEGER,
)
def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """As `categorical_column_with_vocabulary_list`, of examples that have steps.

    Parameters
    ----------
    key, vocabulary_list, dtype, default_value, num_oov_buckets
        As there.

    Examples
    --------
    >>> words = ["red", "green"]
    >>> tf.feature_column.sequence_categorical_column_with_vocabulary_list("w", words).num_buckets
    2
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


@public("feature_column.sequence_categorical_column_with_vocabulary_file")
@takes(
    key=TEXT,
    vocabulary_file=PATH,
    vocabulary_size=or_none(INTEGER),
    num_oov_buckets=INTEGER,
    default_value=or_none(INTEGER),
    dtype=DTYPE,
)
def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """As `categorical_column_with_vocabulary_file`, of examples that have steps.

    Parameters
    ----------
    key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        As there.

    Examples
    --------
    >>> column = tf.feature_column.sequence_categorical_column_with_vocabulary_file("w", "f", 5)
    >>> column.num_buckets
    5
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )
