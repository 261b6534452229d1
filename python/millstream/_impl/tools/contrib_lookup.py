"""The tables of ``tf.contrib.lookup`` and ``python.ops.lookup_ops``, which old programs use."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.ops import array_ops, math_ops
from millstream._impl.ops.lookup_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from millstream._impl.ops.lookup_ops import DenseHashTable, StaticHashTable, StaticVocabularyTable
from millstream._impl.values import dtypes


class HashTable(StaticHashTable):
    """A table that is filled once."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer


class MutableHashTable(DenseHashTable):
    """A table that can be changed, and has no reserved keys."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        keys, values = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        with scopes.name_scope(None, name, []) as scope:
            self._default_value = convert_to_tensor(default_value, values, "default_value")
            shape = self._default_value.shape
            kinds: dict[str, Any] = {"key_dtype": keys, "value_dtype": values}
            if shape.ndims == 0:
                handle = gen_ops.mutable_hash_table_v2(
                    shared_name=shared_name or "", name=scope, **kinds
                )
            else:
                handle = gen_ops.mutable_hash_table_of_tensors_v2(
                    shared_name=shared_name or "", name=scope, value_shape=shape, **kinds
                )
        super(DenseHashTable, self).__init__(handle, keys, values, handle.op.name.split("/")[-1])
        self._saveable = None
        if checkpoint:
            saveable = self._gather_saveables_for_checkpoint()["table"]
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)


def _table(entries: Any, num_oov_buckets: int, default_value: Any, name: str | None) -> Any:
    if num_oov_buckets:
        return StaticVocabularyTable(entries, num_oov_buckets, name=name)
    return HashTable(entries, default_value, name=name)


def _numbers_to(mapping: Any) -> Any:
    return math_ops.cast(math_ops.range(array_ops.size(mapping)), dtypes.int64)


def index_table_from_tensor(
    mapping: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: Any = dtypes.string,
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """A table from the elements of a vector to their places.

    `lookup_ops` calls the vector `vocabulary_list`.
    """
    mapping = vocabulary_list if mapping is None else mapping
    kind = dtypes.string if dtypes.as_dtype(dtype) == dtypes.string else dtypes.int64
    keys = convert_to_tensor(mapping if hasattr(mapping, "op") else np.asarray(mapping))
    if keys.dtype != kind:
        keys = math_ops.cast(keys, kind)
    entries = KeyValueTensorInitializer(keys, _numbers_to(keys))
    return _table(entries, num_oov_buckets, default_value, name)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from the lines of a file to their numbers."""
    kind = dtypes.as_dtype(key_dtype)
    if kind.is_integer:
        kind = dtypes.int64
        key_column_index = max(key_column_index, 0)
    entries = TextFileInitializer(
        vocabulary_file,
        kind,
        key_column_index,
        dtypes.int64,
        value_column_index,
        vocab_size,
        delimiter,
    )
    return _table(entries, num_oov_buckets, default_value, name)


def index_to_string_table_from_tensor(
    mapping: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """A table from the places of a vector to its elements."""
    texts = convert_to_tensor(vocabulary_list if mapping is None else mapping, dtypes.string)
    return HashTable(KeyValueTensorInitializer(_numbers_to(texts), texts), default_value, name=name)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> Any:
    """A table from the numbers of lines of a file to the lines."""
    entries = TextFileInitializer(
        vocabulary_file,
        dtypes.int64,
        key_column_index,
        dtypes.string,
        value_column_index,
        vocab_size,
        delimiter,
    )
    return HashTable(entries, default_value, name=name)


# What stands for the names of both modules; other names are those of `tf.lookup`.
NAMES: dict[str, Any] = {
    "HashTable": HashTable,
    "MutableDenseHashTable": DenseHashTable,
    "MutableHashTable": MutableHashTable,
    "index_table_from_file": index_table_from_file,
    "index_table_from_tensor": index_table_from_tensor,
    "index_to_string_table_from_file": index_to_string_table_from_file,
    "index_to_string_table_from_tensor": index_to_string_table_from_tensor,
}
