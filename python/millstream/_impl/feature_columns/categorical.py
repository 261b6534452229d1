"""Columns of categories: by hashes, by numbers, by vocabularies, and with weights."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.feature_columns.column import (
    CategoricalColumn,
    Features,
    Numbers,
    as_sparse,
    check_same_kind,
)
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, PATH, TENSORS, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.ops import array_ops, check_ops, math_ops
from millstream._impl.ops.features import VarLenFeature
from millstream._impl.ops.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from millstream._impl.ops.lookup_ops import StaticHashTable, StaticVocabularyTable
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


class KeyedColumn(CategoricalColumn):
    """A column of the categories that one feature has."""

    key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature with any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform(self, features: Features) -> SparseTensor:
        """The numbers of the categories."""
        given = as_sparse(features.get(self.key))
        check_same_kind(self.key, "SparseTensor", self.dtype, given.dtype)
        return SparseTensor(given.indices, self._ids(given.values), given.dense_shape)

    def _ids(self, values: Any) -> Any:
        """The numbers of a vector of values."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class HashedColumn(KeyedColumn):
    """The column that `categorical_column_with_hash_bucket` makes."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    def _ids(self, values: Any) -> Any:
        texts = values if values.dtype == dtypes.string else gen_ops.as_string(values)
        return gen_ops.string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")


def _checked_dtype(dtype: Any, key: str) -> DType:
    found = dtypes.as_dtype(dtype)
    if not (found == dtypes.string or found.is_integer):
        raise ValueError(
            f"dtype must be string or integer. dtype: {found.name}, column_name: {key}"
        )
    return found


@public("feature_column.categorical_column_with_hash_bucket")
@takes(key=TEXT, hash_bucket_size=INTEGER, dtype=DTYPE)
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedColumn:
    """A column of categories whose numbers are hashes of their texts.

    Parameters
    ----------
    key
        Name of the feature. Of a dense one, "" and -1 stand for no category.
    hash_bucket_size
        How many hashes there are.
    dtype
        Type of the feature: string or an integer.

    Examples
    --------
    >>> word = tf.feature_column.categorical_column_with_hash_bucket("word", 4)
    >>> each = tf.feature_column.indicator_column(word)
    >>> tf.feature_column.input_layer({"word": [["a"], ["b"]]}, [each]).eval().sum()
    2.0
    """
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    return HashedColumn(key, int(hash_bucket_size), _checked_dtype(dtype, key))


@dataclasses.dataclass(frozen=True)
class IdentityColumn(KeyedColumn):
    """The column that `categorical_column_with_identity` makes."""

    key: str
    number_buckets: int
    default_value: int | None
    dtype: DType = dtypes.int64

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.number_buckets

    def _ids(self, values: Any) -> Any:
        ids = math_ops.cast(values, dtypes.int64)
        count = convert_to_tensor(self.number_buckets, dtypes.int64, "num_buckets")
        zero = convert_to_tensor(0, dtypes.int64, "zero")
        if self.default_value is None:
            checks = [
                check_ops.assert_less(ids, count, name="assert_less_than_num_buckets"),
                check_ops.assert_greater_equal(ids, zero, name="assert_greater_or_equal_0"),
            ]
            with scopes.control_dependencies(checks):
                return array_ops.identity(ids)
        outside = gen_ops.logical_or(
            gen_ops.less(ids, zero), gen_ops.greater_equal(ids, count), name="out_of_range"
        )
        default = convert_to_tensor(self.default_value, dtypes.int64)
        return gen_ops.select(outside, gen_ops.fill(gen_ops.shape(ids), default), ids)

    def transform(self, features: Features) -> SparseTensor:
        """The numbers themselves."""
        given = as_sparse(features.get(self.key))
        if not given.dtype.is_integer:
            raise ValueError(
                f"Invalid input, not integer. key: {self.key} dtype: {given.dtype.name}"
            )
        return SparseTensor(given.indices, self._ids(given.values), given.dense_shape)


@public("feature_column.categorical_column_with_identity")
@takes(key=TEXT, num_buckets=INTEGER, default_value=or_none(INTEGER))
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityColumn:
    """A column of categories that are numbers already.

    Parameters
    ----------
    key
        Name of the feature, of integers. Of a dense one, -1 stands for no category.
    num_buckets
        How many categories there are; their numbers are from 0 on.
    default_value
        The number of all others; by default a step with one fails.

    Examples
    --------
    >>> day = tf.feature_column.categorical_column_with_identity("day", 3, default_value=0)
    >>> each = tf.feature_column.indicator_column(day)
    >>> tf.feature_column.input_layer({"day": [[2], [7]]}, [each]).eval().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityColumn(key, int(num_buckets), default_value)


def _found_in_table(entries: Any, buckets: int, default: int, values: Any) -> Any:
    """The numbers of a vector of keys."""
    keys = values if values.dtype == dtypes.string else math_ops.cast(values, dtypes.int64)
    if buckets:
        return StaticVocabularyTable(entries, buckets).lookup(keys)
    return StaticHashTable(entries, default).lookup(keys)


@dataclasses.dataclass(frozen=True)
class VocabularyListColumn(KeyedColumn):
    """The column that `categorical_column_with_vocabulary_list` makes."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The number of words, and of hashes."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _ids(self, values: Any) -> Any:
        with scopes.name_scope(None, f"{self.scope_name}_lookup", [values]):
            kind = dtypes.string if self.dtype == dtypes.string else dtypes.int64
            words = convert_to_tensor(list(self.vocabulary_list), kind, "keys")
            count = len(self.vocabulary_list)
            numbers = convert_to_tensor(np.arange(count), dtypes.int64, "values")
            entries = KeyValueTensorInitializer(words, numbers)
            return _found_in_table(entries, self.num_oov_buckets, self.default_value, values)


@public("feature_column.categorical_column_with_vocabulary_list")
@takes(
    key=TEXT,
    vocabulary_list=TENSORS,
    dtype=or_none(DTYPE),
    default_value=INTEGER,
    num_oov_buckets=INTEGER,
)
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListColumn:
    """A column of categories that are listed.

    Parameters
    ----------
    key
        Name of the feature. Of a dense one, "" and -1 stand for no category.
    vocabulary_list
        The categories in the order of their numbers, texts or integers.
    dtype
        Type of the feature; by default that of the categories.
    default_value
        The number of all others; -1 leaves them out.
    num_oov_buckets
        How many numbers there are for others, which have them by their hashes.

    Examples
    --------
    >>> color = tf.feature_column.categorical_column_with_vocabulary_list("color", ["R", "G"])
    >>> each = tf.feature_column.indicator_column(color)
    >>> layer = tf.feature_column.input_layer({"color": [["G"], ["X"]]}, [each])
    >>> tf.tables_initializer().run()
    >>> layer.eval().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    words = tuple(vocabulary_list)
    if not words:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(words)) != len(words):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    kind = np.asarray(words).dtype.kind
    own = dtypes.string if kind in "USO" else dtypes.int64
    if kind not in "USOiu":
        raise ValueError(
            f"vocabulary_list must be texts or integers, column_name: {key}, got {vocabulary_list}"
        )
    _check_others(key, default_value, num_oov_buckets, none=-1)
    wanted = own if dtype is None else _checked_dtype(dtype, key)
    if wanted.is_integer != own.is_integer:
        raise ValueError(
            f"dtype {wanted.name} and vocabulary dtype {own.name} do not match, column_name: {key}"
        )
    return VocabularyListColumn(key, words, wanted, int(default_value), int(num_oov_buckets))


def _check_others(key: str, default_value: Any, num_oov_buckets: int, none: Any) -> None:
    """ValueError when what is said of categories that are not listed contradicts itself."""
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    if num_oov_buckets and default_value != none:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")


@dataclasses.dataclass(frozen=True)
class VocabularyFileColumn(KeyedColumn):
    """The column that `categorical_column_with_vocabulary_file` makes."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def num_buckets(self) -> int:
        """The number of words, and of hashes."""
        return self.vocabulary_size + self.num_oov_buckets

    def _ids(self, values: Any) -> Any:
        with scopes.name_scope(None, f"{self.scope_name}_lookup", [values]):
            kind, index = (dtypes.string, TextFileIndex.WHOLE_LINE)
            if self.dtype != dtypes.string:
                kind, index = (dtypes.int64, 0)
            entries = TextFileInitializer(
                self.vocabulary_file,
                kind,
                index,
                dtypes.int64,
                TextFileIndex.LINE_NUMBER,
                self.vocabulary_size,
            )
            return _found_in_table(entries, self.num_oov_buckets, self.default_value, values)


@public("feature_column.categorical_column_with_vocabulary_file")
@takes(
    key=TEXT,
    vocabulary_file=PATH,
    vocabulary_size=or_none(INTEGER),
    num_oov_buckets=INTEGER,
    default_value=or_none(INTEGER),
    dtype=DTYPE,
)
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> VocabularyFileColumn:
    r"""A column of categories that are the lines of a file.

    Parameters
    ----------
    key
        Name of the feature. Of a dense one, "" and -1 stand for no category.
    vocabulary_file
        The file.
    vocabulary_size
        How many lines count; by default all.
    num_oov_buckets
        How many numbers there are for other categories, which have them by their hashes.
    default_value
        The number of all others; by default they are left out.
    dtype
        Type of the feature: string or an integer.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with open(path, "w") as file:
    ...     count = file.write("red\ngreen\n")
    >>> color = tf.feature_column.categorical_column_with_vocabulary_file("color", path)
    >>> color.num_buckets
    2
    """
    path = os.fsdecode(vocabulary_file)
    if not path:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        try:
            with open(path, "rb") as file:
                vocabulary_size = sum(1 for _ in file)
        except FileNotFoundError:
            raise ValueError(f"vocabulary_file in {key} does not exist: {path!r}.") from None
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_others(key, default_value, num_oov_buckets, none=None)
    return VocabularyFileColumn(
        key,
        path,
        int(vocabulary_size),
        int(num_oov_buckets),
        _checked_dtype(dtype, key),
        -1 if default_value is None else int(default_value),
    )


@dataclasses.dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """The column that `weighted_categorical_column` makes."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The names of both features."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of the categories, and of the weights."""
        categories = self.categorical_column.parse_example_spec
        if self.weight_feature_key in categories:
            raise ValueError(
                f"Parse config {categories[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        return {**categories, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """That of the categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Numbers:
        """The numbers, and the weights."""
        given = features.get(self.weight_feature_key)
        if given.dtype.base_dtype != self.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype.name}, but got {given.dtype.name}.")
        weights = as_sparse(given, ignored=0)
        if not weights.dtype.is_floating:
            values = math_ops.cast(weights.values, dtypes.float32)
            weights = SparseTensor(weights.indices, values, weights.dense_shape)
        return Numbers(self.categorical_column.numbers(features).ids, weights)

    def numbers(self, features: Features) -> Numbers:
        """The numbers of a batch, and their weights."""
        found: Numbers = features.get(self)
        return found


@public("feature_column.weighted_categorical_column")
@takes(weight_feature_key=TEXT, dtype=DTYPE)
def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedColumn:
    """A column of categories of which each has a weight.

    Parameters
    ----------
    categorical_column
        A column of categories.
    weight_feature_key
        Name of the feature that has the weights, one for each category of an example. Of a dense
        one, 0 stands for no weight.
    dtype
        Type of the weights, a number.

    Examples
    --------
    >>> word = tf.feature_column.categorical_column_with_identity("word", 3)
    >>> counted = tf.feature_column.weighted_categorical_column(word, "count")
    >>> each = tf.feature_column.indicator_column(counted)
    >>> features = {"word": [[0, 2]], "count": [[5.0, 7.0]]}
    >>> tf.feature_column.input_layer(features, [each]).eval().tolist()
    [[5.0, 0.0, 7.0]]
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"categorical_column must be a column of categories, got {categorical_column!r}"
        )
    found = dtypes.as_dtype(dtype)
    if not (found.is_integer or found.is_floating):
        raise ValueError(f"dtype {found.name} is not convertible to float.")
    return WeightedColumn(categorical_column, weight_feature_key, found)
