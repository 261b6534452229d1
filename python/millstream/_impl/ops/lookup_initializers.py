"""What tables are filled with: keys and values that are given, or those of a text file."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, TENSOR, TEXT, Kind, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


@public("lookup.TextFileIndex")
class TextFileIndex:
    """What of a line of a text file is a key or a value, besides the numbers of columns.

    Examples
    --------
    >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class _Initializer:
    """What fills a table."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """Type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """Type of the values."""
        return self._value_dtype

    def initialize(self, table: Any) -> Operation:
        """The operation that fills a table, which `tf.tables_initializer` runs too."""
        if table.key_dtype != self.key_dtype or table.value_dtype != self.value_dtype:
            raise TypeError(
                f"table: expected one from {self.key_dtype.name} to {self.value_dtype.name}, got "
                f"one from {table.key_dtype.name} to {table.value_dtype.name}"
            )
        operation = self._fill(table.resource_handle)
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation

    def _fill(self, handle: Tensor) -> Operation:
        raise NotImplementedError


@public("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(_Initializer):
    """Fills a table with keys and values that are given.

    Parameters
    ----------
    keys
        A vector of keys.
    values
        A vector of as many values.
    key_dtype, value_dtype
        Their types; by default those of `keys` and `values`.
    name
        Name of the operations.

    Examples
    --------
    >>> entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> entries.key_dtype.name, entries.value_dtype.name
    ('string', 'int32')
    """

    @takes(
        keys=TENSOR,
        values=TENSOR,
        key_dtype=or_none(DTYPE),
        value_dtype=or_none(DTYPE),
    )
    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name or "key_value_init"
        with scopes.name_scope(name, self._name, [keys, values]):
            self._keys = convert_to_tensor(keys, key_dtype, "keys")
            self._values = convert_to_tensor(values, value_dtype, "values")
        super().__init__(self._keys.dtype, self._values.dtype)

    def _fill(self, handle: Tensor) -> Operation:
        with scopes.name_scope(None, self._name, [handle]) as scope:
            return gen_ops.initialize_table_v2(handle, self._keys, self._values, scope)


@public("lookup.TextFileInitializer")
class TextFileInitializer(_Initializer):
    r"""Fills a table with an entry for each line of a text file.

    Parameters
    ----------
    filename
        The file.
    key_dtype, value_dtype
        Types of keys and values.
    key_index, value_index
        Which column each is, or one of `TextFileIndex`.
    vocab_size
        How many lines are read; by default all.
    delimiter
        The character between columns.
    name
        Name of the operation.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with open(path, "w") as file:
    ...     count = file.write("red\ngreen\n")
    >>> lines = tf.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1)
    >>> table = tf.lookup.StaticHashTable(lines, -1)
    >>> tf.tables_initializer().run()
    >>> table.lookup(["green", "blue"]).eval().tolist()
    [1, -1]
    """

    @takes(
        filename=TENSOR,
        key_dtype=DTYPE,
        key_index=INTEGER,
        value_dtype=DTYPE,
        value_index=INTEGER,
        vocab_size=or_none(INTEGER),
        delimiter=TEXT,
    )
    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        for argument, index, dtype in (
            ("key_index", key_index, self.key_dtype),
            ("value_index", value_index, self.value_dtype),
        ):
            if index < -2:
                raise ValueError(f"{argument}: expected a number from -2 on, got {index}")
            if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
                raise ValueError(f"{argument}: numbers of lines are int64, got {dtype.name}")
            if index == TextFileIndex.WHOLE_LINE and dtype != dtypes.string:
                raise ValueError(f"{argument}: whole lines are string, got {dtype.name}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"vocab_size: expected a number above 0, got {vocab_size}")
        self._filename = filename
        self._columns = (int(key_index), int(value_index))
        self._vocab_size = -1 if vocab_size is None else int(vocab_size)
        self._delimiter = delimiter
        self._name = name or "text_file_init"

    def _fill(self, handle: Tensor) -> Operation:
        with scopes.name_scope(None, self._name, [handle]) as scope:
            path = convert_to_tensor(self._filename, dtypes.string, "asset_filepath")
            get_default_graph().add_to_collection(GraphKeys.ASSET_FILEPATHS, path)
            return gen_ops.initialize_table_from_text_file_v2(
                handle, path, *self._columns, self._vocab_size, self._delimiter, scope
            )


INITIALIZER_OF_TABLE = Kind("what fills a table", lambda value: isinstance(value, _Initializer))
