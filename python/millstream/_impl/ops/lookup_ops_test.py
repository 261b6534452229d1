"""Tables from keys to values: filled, changed, and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops


def _entries(keys: Any, values: Any) -> Any:
    return tf.lookup.KeyValueTensorInitializer(keys, values)


@pytest.mark.parametrize(
    ("keys", "values", "asked", "default", "found"),
    [
        (["a", "bb", ""], np.array([1, -2, 3]), [["bb", "x"], ["", "a"]], 7, [[-2, 7], [3, 1]]),
        (np.array([5, -1]), ["x", ""], np.array([-1, 0, 5]), "none", [b"", b"none", b"x"]),
        (np.array([5, -1]), np.array([0.5, 2.0], np.float32), np.array([5]), -1.0, [0.5]),
        (np.array([4], np.int32), np.array([8], np.int32), np.array([4], np.int32), 0, [8]),
    ],
)
def test_a_static_table_gives_its_values(
    keys: Any, values: Any, asked: Any, default: Any, found: Any
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.StaticHashTable(_entries(keys, values), default)
        result = table.lookup(tf.constant(asked))
        with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
            session.run(result)
        with pytest.raises(tf.errors.AbortedError, match="not initialized"):
            session.run(table.export())
        session.run(tf.tables_initializer())
        assert session.run(result).tolist() == found
        assert session.run(table.size()) == len(keys)
        exported = dict(zip(*(part.tolist() for part in session.run(table.export())), strict=True))
        assert len(exported) == len(keys)
        session.run(table.initializer)  # the same again


def test_a_static_table_is_filled_once() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.StaticHashTable(_entries(["a"], [1]), 0)
        session.run(table.initializer)
        other = gen_ops.initialize_table_v2(table.resource_handle, ["a"], [2])
        with pytest.raises(tf.errors.FailedPreconditionError, match="different data"):
            session.run(other)
        insert = gen_ops.lookup_table_insert_v2(table.resource_handle, ["b"], [2])
        with pytest.raises(tf.errors.UnimplementedError, match="table_handle"):
            session.run(insert)


def test_a_static_table_is_filled_by_an_import_as_well() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = gen_ops.hash_table_v2(key_dtype=tf.string, value_dtype=tf.int64)
        keys, values = ["a", "b"], np.array([1, 2])
        session.run(gen_ops.lookup_table_import_v2(handle, keys, values))
        found = gen_ops.lookup_table_find_v2(handle, ["b", "c"], np.int64(0))
        assert session.run(found).tolist() == [2, 0]
        again = gen_ops.lookup_table_import_v2(handle, ["a", "b"], np.array([1, 3]))
        with pytest.raises(tf.errors.FailedPreconditionError, match="with different data"):
            session.run(again)


def test_what_is_wrong_is_named() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        twice = tf.lookup.StaticHashTable(_entries(["a", "a"], [1, 2]), 0)
        with pytest.raises(tf.errors.FailedPreconditionError, match="different value"):
            session.run(twice.initializer)
        with pytest.raises(TypeError, match="keys"):
            twice.lookup(tf.constant([1]))
        with pytest.raises(ValueError, match="num_oov_buckets"):
            tf.lookup.StaticVocabularyTable(_entries(["a"], np.array([0])), 0)
        handle = gen_ops.hash_table_v2(key_dtype=tf.string, value_dtype=tf.int64)
        wrong = gen_ops.lookup_table_find_v2(handle, tf.constant([1]), np.int64(0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="keys"):
            session.run(wrong)
        vector = gen_ops.lookup_table_find_v2(handle, ["a"], np.array([1, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="default_value"):
            session.run(vector)


def test_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("red\t1.5\ngreen\t2.5\nblue\t3.5")
    with tf.Graph().as_default(), tf.Session() as session:

        def table(*columns: Any, **more: Any) -> Any:
            lines = tf.lookup.TextFileInitializer(str(path), *columns, **more)
            return tf.lookup.StaticHashTable(lines, -1 if columns[2] != tf.float32 else -1.0)

        numbers = table(tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
        floats = table(tf.string, 0, tf.float32, 1)
        first = table(tf.string, 0, tf.int64, -1, vocab_size=2)
        words = tf.constant(["blue", "pink", "red"])
        session.run(tf.tables_initializer())
        assert session.run(numbers.lookup(words)).tolist() == [2, -1, 0]
        assert session.run(floats.lookup(words)).tolist() == [3.5, -1.0, 1.5]
        assert session.run(first.lookup(words)).tolist() == [-1, -1, 0]
        for wrong, phrase in (
            (table(tf.string, 0, tf.int64, -1, vocab_size=9), "vocab_size"),
            (table(tf.string, 0, tf.int64, 7), "columns"),
            (table(tf.string, 0, tf.int64, 0), "not a valid"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=phrase):
                session.run(wrong.initializer)
        missing = tf.lookup.TextFileInitializer(str(path) + "x", tf.string, -2, tf.int64, -1)
        with pytest.raises(tf.errors.NotFoundError):
            session.run(tf.lookup.StaticHashTable(missing, -1).initializer)


def test_a_vocabulary_has_numbers_for_all_keys() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.StaticVocabularyTable(_entries(["a", "b"], np.array([0, 1])), 3)
        hashed = tf.lookup.StaticVocabularyTable(None, 3)
        session.run(tf.tables_initializer())
        words = tf.constant(["b", "x", "y", "a"])
        found, alone = session.run([table.lookup(words), hashed.lookup(words)])
        assert found[[0, 3]].tolist() == [1, 0]
        assert found[[1, 2]].tolist() == (alone[[1, 2]] + 2).tolist()
        assert session.run([table.size(), hashed.size()]) == [5, 3]
        sparse = table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2]))
        assert sparse.values.shape.as_list() == [1]
        assert session.run(sparse).values.tolist() == [1]


def test_a_dense_table_is_changed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, [0.0, 0.0], -1, -2, 4)
        keys = tf.placeholder(tf.int64, [None])
        values = tf.placeholder(tf.float32, [None, 2])
        insert, found = table.insert(keys, values), table.lookup(keys)
        assert found.shape.as_list() == [None, 2]
        many = np.arange(50)
        rows = np.arange(100, dtype=np.float32).reshape(50, 2)
        session.run(insert, {keys: many, values: rows})
        np.testing.assert_array_equal(session.run(found, {keys: many}), rows)
        session.run(table.remove(keys), {keys: [3, 77]})
        assert session.run(table.size()) == 49
        assert session.run(found, {keys: [3]}).tolist() == [[0.0, 0.0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
            session.run(insert, {keys: [-1], values: [[1.0, 2.0]]})


def _dense_table(empty: Any, deleted: Any, shared_name: str = "", **more: Any) -> Any:
    return gen_ops.mutable_dense_hash_table_v2(
        empty, deleted, value_dtype=tf.int64, shared_name=shared_name, **more
    )


def test_a_dense_table_keeps_the_reserved_keys_of_its_first_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        empty, deleted = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -7, empty, deleted)
        keys = tf.placeholder(tf.int64, [None])
        insert, found = table.insert(keys, keys * 10), table.lookup(keys)
        first, other = {empty: 0, deleted: -1}, {empty: 5, deleted: 5}
        session.run(insert, {keys: [5], **first})
        assert session.run(found, {keys: [5, 6], **first}).tolist() == [50, -7]
        # The table is there, so the keys of this step are not looked at.
        session.run(insert, {keys: [9], **other})
        assert session.run(found, {keys: [5, 9], **other}).tolist() == [50, 90]
        for reserved in (0, -1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
                session.run(insert, {keys: [reserved], **other})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(found, {keys: [5], empty: 0})
    with tf.Session(graph=empty.graph) as session:  # another session has a table of its own
        session.run(insert, {keys: [0], empty: 5, deleted: 6})
        assert session.run(table.size(), {empty: 5, deleted: 6}) == 1


@pytest.mark.parametrize(
    ("empty", "deleted", "phrase"),
    [
        (3, 3, "Empty and deleted keys cannot be equal"),
        ([1, 2], [1, 2], "Empty and deleted keys cannot be equal"),
        ([1, 2], [1, 2, 3], "deleted_key"),
        (1, [1], "deleted_key"),
        ([[1]], [[2]], "empty_key"),
    ],
)
def test_fed_reserved_keys_are_checked_when_the_table_is_made(
    empty: Any, deleted: Any, phrase: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        keys = tf.placeholder(tf.int64), tf.placeholder(tf.int64)
        size = gen_ops.lookup_table_size_v2(_dense_table(*keys))
        with pytest.raises(tf.errors.InvalidArgumentError, match=phrase):
            session.run(size, {keys[0]: empty, keys[1]: deleted})
        # No table is left of the step that failed.
        assert session.run(size, {keys[0]: [1, 2], keys[1]: [1, 3]}) == 0


def test_reserved_keys_may_be_computed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.constant(["a", "b"])
        handle = gen_ops.mutable_dense_hash_table_v2(
            words[0], tf.string_join([words[0], words[1]]), value_dtype=tf.int64
        )
        insert = gen_ops.lookup_table_insert_v2(handle, words, np.array([1, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
            session.run(insert)
        session.run(gen_ops.lookup_table_insert_v2(handle, ["b"], np.array([2])))
        inside = tf.cond(
            tf.constant(True),
            lambda: gen_ops.lookup_table_find_v2(handle, ["b", "c"], np.int64(0)),
            lambda: np.array([7, 7]),
        )
        assert session.run(inside).tolist() == [2, 0]


def test_nodes_that_share_a_dense_table_use_the_keys_that_it_has() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        own = _dense_table(np.int64(1), np.int64(2), "shared")
        other = _dense_table(np.int64(3), np.int64(4), "shared")
        session.run(gen_ops.lookup_table_insert_v2(own, np.array([3]), np.array([30])))
        found = gen_ops.lookup_table_find_v2(other, np.array([3]), np.int64(0))
        assert session.run(found).tolist() == [30]
        wide = _dense_table(np.int64(3), np.int64(4), "shared", value_shape=[2])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Conflicting"):
            session.run(gen_ops.lookup_table_size_v2(wide))


def test_reserved_keys_have_one_type() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="deleted_key"):
        _dense_table(tf.constant(0), tf.constant("a"))


def test_tables_of_tensors_and_imports() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = gen_ops.mutable_hash_table_of_tensors_v2(
            key_dtype=tf.string, value_dtype=tf.string, value_shape=[2]
        )
        session.run(gen_ops.lookup_table_insert_v2(handle, ["a"], [["x", "y"]]))
        found = gen_ops.lookup_table_find_v2(handle, ["a", "b"], ["-", "-"])
        assert found.shape.as_list() == [2, 2]
        assert session.run(found).tolist() == [[b"x", b"y"], [b"-", b"-"]]
        session.run(gen_ops.lookup_table_import_v2(handle, ["b"], [["z", "z"]]))
        assert session.run(found).tolist() == [[b"-", b"-"], [b"z", b"z"]]
