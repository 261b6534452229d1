"""Tables from keys to values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.lookup_initializers import INITIALIZER_OF_TABLE
from millstream._impl.ops.saveable import SaveableObject, SaveSpec
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


class _Table:
    """The base of tables: a handle, and the types of keys and values."""

    def __init__(self, handle: Tensor, key_dtype: DType, value_dtype: DType, name: str) -> None:
        self._handle = handle
        self._key_dtype = key_dtype
        self._value_dtype = value_dtype
        self._name = name

    @property
    def resource_handle(self) -> Tensor:
        """The handle of the table."""
        return self._handle

    @property
    def key_dtype(self) -> DType:
        """Type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """Type of the values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._name

    def size(self, name: str | None = None) -> Tensor:
        """How many entries there are.

        Parameters
        ----------
        name
            Name of the result.
        """
        with scopes.name_scope(name, f"{self._name}_Size", [self._handle]) as scope:
            return gen_ops.lookup_table_size_v2(self._handle, scope)

    def _find(self, keys: Any, default_value: Any, name: str | None) -> Any:
        """The values of keys; those of a sparse tensor if they are one."""
        given = keys.values if isinstance(keys, SparseTensor) else keys
        with scopes.name_scope(name, f"{self._name}_Lookup", [self._handle]) as scope:
            found = convert_to_tensor(given, name="keys", preferred_dtype=self._key_dtype)
            if found.dtype != self._key_dtype:
                raise TypeError(
                    "keys: Signature mismatch. Keys must be dtype "
                    f"{self._key_dtype.name}, got {found.dtype.name}."
                )
            values = gen_ops.lookup_table_find_v2(self._handle, found, default_value, scope)
        if default_value.shape.ndims == 0:
            values.set_shape(found.shape)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, values, keys.dense_shape)
        return values

    def _exported(self, name: str | None) -> tuple[Tensor, Tensor]:
        with scopes.name_scope(name, f"{self._name}_export_values", [self._handle]) as scope:
            keys, values = gen_ops.lookup_table_export_v2(
                self._handle, self._key_dtype, self._value_dtype, scope
            )
        return keys, values


class TableSaveable(SaveableObject):
    """How a table is saved: as its keys and its values.

    Parameters
    ----------
    handle
        The handle of the table.
    exported
        Its keys and its values.
    name
        Name of the table.
    """

    def __init__(self, handle: Tensor, exported: tuple[Tensor, Tensor], name: str) -> None:
        parts = zip(exported, ("keys", "values"), strict=True)
        super().__init__(
            handle.op, [SaveSpec(tensor, "", f"{name}-{part}") for tensor, part in parts], name
        )
        self._handle = handle

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Any) -> Operation:
        """The operation that makes the table's entries those of a checkpoint."""
        keys, values = restored_tensors
        with scopes.name_scope(None, f"{self.name}_table_restore", []) as scope:
            imported: Operation = gen_ops.lookup_table_import_v2(self._handle, keys, values, scope)
        return imported


@public("lookup.StaticHashTable")
class StaticHashTable(_Table):
    """A table that is filled once.

    Parameters
    ----------
    initializer
        What fills it.
    default_value
        The value of keys that it does not have.
    name
        Name of the table.

    Examples
    --------
    >>> entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> table = tf.lookup.StaticHashTable(entries, default_value=-1)
    >>> table.initializer.run()
    >>> table.lookup(["b", "c"]).eval().tolist(), table.size().eval()
    ([2, -1], 2)
    """

    @takes(initializer=INITIALIZER_OF_TABLE, default_value=TENSOR)
    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        with scopes.name_scope(None, name or "hash_table", []) as scope:
            handle = gen_ops.hash_table_v2(
                key_dtype=initializer.key_dtype, value_dtype=initializer.value_dtype, name=scope
            )
            default = convert_to_tensor(default_value, initializer.value_dtype, "Const")
        super().__init__(
            handle, initializer.key_dtype, initializer.value_dtype, handle.op.name.split("/")[-1]
        )
        self._default_value = default
        self._initializer = initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value of keys that the table does not have."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._initializer

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Parameters
        ----------
        keys
            A tensor, or a `SparseTensor`.
        name
            Name of the result.
        """
        return self._find(keys, self._default_value, name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values, in no particular order.

        Parameters
        ----------
        name
            Name of the results.
        """
        return self._exported(name)


@public("lookup.StaticVocabularyTable")
class StaticVocabularyTable:
    """A table of numbers that gives keys which it does not have numbers by their hashes.

    Parameters
    ----------
    initializer
        What fills it, with int64 values from 0 on; None for hashes alone.
    num_oov_buckets
        How many numbers there are after those of the table for keys that it does not have.
    lookup_key_dtype
        Type of the keys that are looked up: string, int32 or int64; by default that of the table.
    name
        Name of the table.

    Examples
    --------
    >>> entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    >>> table = tf.lookup.StaticVocabularyTable(entries, num_oov_buckets=1)
    >>> tf.tables_initializer().run()
    >>> table.lookup(["b", "c"]).eval().tolist()
    [1, 2]
    """

    @takes(
        initializer=or_none(INITIALIZER_OF_TABLE),
        num_oov_buckets=INTEGER,
        lookup_key_dtype=or_none(DTYPE),
    )
    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"num_oov_buckets: oov_buckets must be > 0, got {num_oov_buckets}")
        self._buckets = int(num_oov_buckets)
        self._name = name or "hash_bucket"
        self._table: StaticHashTable | None = None
        wanted = dtypes.string if lookup_key_dtype is None else dtypes.as_dtype(lookup_key_dtype)
        if initializer is not None:
            if initializer.value_dtype != dtypes.int64:
                raise TypeError(
                    "initializer: Invalid value dtype, expected int64 but got "
                    f"{initializer.value_dtype.name}"
                )
            if lookup_key_dtype is None:
                wanted = initializer.key_dtype
            if (wanted == dtypes.string) != (initializer.key_dtype == dtypes.string):
                raise TypeError(
                    f"lookup_key_dtype: the table has keys of {initializer.key_dtype.name}, got "
                    f"{wanted.name}"
                )
            self._table = StaticHashTable(initializer, -1)
            self._name = name or self._table.name
        if not (wanted == dtypes.string or wanted.is_integer):
            raise TypeError(f"lookup_key_dtype: Invalid key dtype, got {wanted.name}")
        self._key_dtype = wanted

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return gen_ops.no_op() if self._table is None else self._table.initializer

    @property
    def key_dtype(self) -> DType:
        """Type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """Type of the numbers: int64."""
        return dtypes.int64

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._name

    def size(self, name: str | None = None) -> Tensor:
        """How many numbers there are.

        Parameters
        ----------
        name
            Name of the result.
        """
        with scopes.name_scope(name, f"{self._name}_Size", []) as scope:
            more = convert_to_tensor(self._buckets, dtypes.int64, "num_oov_buckets")
            return more if self._table is None else gen_ops.add(self._table.size(), more, scope)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of keys.

        Parameters
        ----------
        keys
            A tensor, or a `SparseTensor`.
        name
            Name of the result.
        """
        if isinstance(keys, SparseTensor):
            numbers = self.lookup(keys.values, name)
            return SparseTensor(keys.indices, numbers, keys.dense_shape)
        with scopes.name_scope(name, f"{self._name}_Lookup", [keys]) as scope:
            found = convert_to_tensor(keys, name="keys", preferred_dtype=self._key_dtype)
            if found.dtype != self._key_dtype:
                raise TypeError(
                    "keys: Signature mismatch. Keys must be dtype "
                    f"{self._key_dtype.name}, got {found.dtype.name}."
                )
            texts = found if found.dtype == dtypes.string else gen_ops.as_string(found)
            if self._table is None:
                return gen_ops.string_to_hash_bucket_fast(texts, self._buckets, scope)
            own = found
            if own.dtype != self._table.key_dtype:
                own = gen_ops.cast(own, self._table.key_dtype)
            ids = self._table.lookup(own)
            others = gen_ops.string_to_hash_bucket_fast(texts, self._buckets) + self._table.size()
            is_known = gen_ops.not_equal(ids, self._table.default_value)
            return gen_ops.select(is_known, ids, others, scope)


@public("lookup.experimental.DenseHashTable")
class DenseHashTable(_Table):
    """A table that can be changed.

    Parameters
    ----------
    key_dtype, value_dtype
        Types of keys and values.
    default_value
        The value of keys that the table does not have; its shape is that of a value.
    empty_key, deleted_key
        Two keys that are not used; their shape is that of a key. The first step that uses the table
        decides what they are.
    initial_num_buckets
        A hint of the size: a power of 2.
    name
        Name of the table.
    checkpoint
        Whether savers save the table: its keys and values, as ``NAME-keys`` and ``NAME-values``.

    Examples
    --------
    >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -1)
    >>> table.insert([5, 6], [50, 60]).run()
    >>> table.lookup([6, 7]).eval().tolist()
    [60, -1]
    """

    @takes(
        key_dtype=DTYPE,
        value_dtype=DTYPE,
        default_value=TENSOR,
        empty_key=TENSOR,
        deleted_key=TENSOR,
        initial_num_buckets=or_none(INTEGER),
    )
    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        keys, values = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        with scopes.name_scope(None, name, []) as scope:
            self._default_value = convert_to_tensor(default_value, values, "default_value")
            handle = gen_ops.mutable_dense_hash_table_v2(
                convert_to_tensor(empty_key, keys, "empty_key"),
                convert_to_tensor(deleted_key, keys, "deleted_key"),
                value_dtype=values,
                value_shape=self._default_value.shape,
                initial_num_buckets=131072 if initial_num_buckets is None else initial_num_buckets,
                name=scope,
            )
        super().__init__(handle, keys, values, handle.op.name.split("/")[-1])
        self._saveable: TableSaveable | None = None
        if checkpoint:
            saveable = self._gather_saveables_for_checkpoint()["table"]
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)

    def _gather_saveables_for_checkpoint(self) -> dict[str, TableSaveable]:
        """What savers save when the table is among their variables."""
        if self._saveable is None:
            self._saveable = TableSaveable(self._handle, self.export(), self._name)
        return {"table": self._saveable}

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Parameters
        ----------
        keys
            A tensor, or a `SparseTensor`.
        name
            Name of the result.
        """
        return self._find(keys, self._default_value, name)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """The operation that adds entries. The last value of a key counts.

        Parameters
        ----------
        keys, values
            The entries.
        name
            Name of the operation.
        """
        with scopes.name_scope(name, f"{self._name}_lookup_table_insert", []) as scope:
            return gen_ops.lookup_table_insert_v2(
                self._handle,
                convert_to_tensor(keys, self._key_dtype, "keys"),
                convert_to_tensor(values, self._value_dtype, "values"),
                scope,
            )

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """The same as `insert`.

        Parameters
        ----------
        keys, values
            The entries.
        name
            Name of the operation.
        """
        return self.insert(keys, values, name)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """The operation that removes keys. Those that are not there are ignored.

        Parameters
        ----------
        keys
            The keys.
        name
            Name of the operation.
        """
        with scopes.name_scope(name, f"{self._name}_lookup_table_remove", []) as scope:
            return gen_ops.lookup_table_remove_v2(
                self._handle, convert_to_tensor(keys, self._key_dtype, "keys"), scope
            )

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """The same as `remove`.

        Parameters
        ----------
        keys
            The keys.
        name
            Name of the operation.
        """
        return self.remove(keys, name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values, in no particular order.

        Parameters
        ----------
        name
            Name of the results.
        """
        return self._exported(name)
