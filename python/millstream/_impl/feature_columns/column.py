"""What feature columns have in common, and the features of a batch as they read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, check_ops, conditionals
from millstream._impl.ops.sparse_layout import sparse_reshape
from millstream._impl.ops.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape

# Columns of an invalid name have a scope nevertheless.
_INVALID_IN_SCOPES = re.compile(r"[^A-Za-z0-9_.\-/]")


class Numbers(NamedTuple):
    """What a categorical column makes of a batch.

    Parameters
    ----------
    ids
        The numbers of the categories, a `SparseTensor` of int64.
    weights
        What each counts, a `SparseTensor` of the same places; None for 1.
    """

    ids: SparseTensor
    weights: SparseTensor | None


class Column:
    """The base of feature columns. Columns are equal by what they are made of."""

    @property
    def name(self) -> str:
        """The name, which is that of its scope of variables."""
        raise NotImplementedError

    @property
    def scope_name(self) -> str:
        """The last part of the scope of its variables."""
        return _INVALID_IN_SCOPES.sub("_", self.name)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that it reads of examples, as `tf.parse_example` takes them."""
        raise NotImplementedError

    def transform(self, features: Features) -> Any:
        """What it makes of a batch; `Features.get` calls it once a batch."""
        raise NotImplementedError

    def leaf_keys(self) -> list[Any]:
        """The features that a cross of it reads: names, or columns."""
        return [self]


class DenseColumn(Column):
    """A column whose examples are dense tensors of one shape."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of an example."""
        raise NotImplementedError

    def dense_tensor(self, features: Features, scope: VariableOptions) -> Tensor:
        """The examples of a batch."""
        raise NotImplementedError


class CategoricalColumn(Column):
    """A column whose examples are numbers of categories."""

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        raise NotImplementedError

    def numbers(self, features: Features) -> Numbers:
        """The numbers of a batch."""
        return Numbers(features.get(self), None)


class SequenceColumn(Column):
    """A column whose examples have steps in time."""

    def sequence_tensor(self, features: Features, scope: VariableOptions) -> tuple[Tensor, Tensor]:
        """The examples of a batch, [batch, steps, ...], and the steps of each, [batch]."""
        raise NotImplementedError


class VariableOptions(NamedTuple):
    """What a layer says of the variables that columns make.

    Parameters
    ----------
    collections
        The collections that they join.
    trainable
        Whether optimizers change them.
    """

    collections: list[str]
    trainable: bool


class Features:
    """The features of a batch, and what columns made of them, each once.

    Parameters
    ----------
    features
        Tensors by name. A program may have columns as names as well.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._given = features
        self._made: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """A feature by its name, or what a column makes of the batch.

        Raises
        ------
        ValueError
            There is no feature of that name, or it is a scalar.
        """
        if key not in self._made:
            if key in self._given:
                self._made[key] = _at_least_a_matrix(key, self._given[key])
            elif isinstance(key, Column):
                with scopes.name_scope(None, key.scope_name, []):
                    self._made[key] = key.transform(self)
            else:
                raise ValueError(f"Feature {key} is not in features dictionary.")
        return self._made[key]


def _at_least_a_matrix(key: Any, value: Any) -> Any:
    """A feature, of which each example is a vector at least."""
    feature = convert_to_tensor_or_sparse_tensor(value)
    rank = feature.shape.ndims
    if rank == 0:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {feature}")
    if isinstance(feature, SparseTensor):
        if rank != 1:
            return feature
        return sparse_reshape(feature, [feature.dense_shape[0], 1])
    if rank is not None:
        return feature if rank != 1 else array_ops.expand_dims(feature, -1)
    found = array_ops.rank(feature)
    check = check_ops.assert_positive(
        found, message=f"Feature (key: {key}) cannot have rank 0. Given: {feature}"
    )
    with scopes.control_dependencies([check]):
        return conditionals.cond(
            gen_ops.equal(found, 1),
            lambda: array_ops.expand_dims(feature, -1),
            lambda: feature,
        )


def as_sparse(tensor: Any, ignored: Any = None) -> SparseTensor:
    """The elements of a dense tensor that are given; a sparse tensor is taken as it is.

    Parameters
    ----------
    tensor
        The tensor.
    ignored
        The element that stands for none: by default "" among texts, -1 among integers, else 0.
    """
    if isinstance(tensor, SparseTensor):
        return tensor
    with scopes.name_scope(None, "to_sparse_input", [tensor]):
        if ignored is None:
            texts = tensor.dtype == dtypes.string
            ignored = "" if texts else -1 if tensor.dtype.is_integer else 0.0
        places = array_ops.where(gen_ops.not_equal(tensor, ignored))
        values = gen_ops.gather_nd(tensor, places)
        return SparseTensor(places, values, array_ops.shape(tensor, out_type=dtypes.int64))


def check_same_kind(key: str, what: str, dtype: Any, found: Any) -> None:
    """ValueError unless a feature is of texts or of integers, as its column says.

    Parameters
    ----------
    key, what
        The feature's name, and what it is, as an error says it.
    dtype
        The type that the column says.
    found
        The type of the feature.
    """
    if not (found == dtypes.string or found.is_integer):
        raise ValueError(f"{what} dtype must be string or integer. key: {key}, got {found.name}")
    if dtype.is_integer != found.is_integer:
        raise ValueError(
            "Column dtype and SparseTensors dtype must be compatible. "
            f"key: {key}, column dtype: {dtype.name}, tensor dtype: {found.name}"
        )


def checked_columns(feature_columns: Any) -> list[Column]:
    """A list of the columns that a layer is given, one or several.

    Raises
    ------
    ValueError
        One is no column, two have one name, or there is none.
    """
    if isinstance(feature_columns, Column):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict) or not isinstance(feature_columns, Iterable):
        raise ValueError(
            f"feature_columns: Expected feature_columns to be iterable, found {feature_columns!r}."
        )
    columns = list(feature_columns)
    for column in columns:
        if not isinstance(column, Column):
            raise ValueError(
                "feature_columns: Items of feature_columns must be a _FeatureColumn. "
                f"Given (type {type(column).__name__}): {column!r}."
            )
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Column] = {}
    for column in columns:
        if column.name in by_name:
            raise ValueError(
                f"feature_columns: Duplicate feature column name found for columns: {column} and "
                f"{by_name[column.name]}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
        by_name[column.name] = column
    return sorted(columns, key=lambda one: one.name)
