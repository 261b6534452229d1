"""Savers of tables and other objects, steps of several kinds, and several writers in one folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops
from millstream._impl.ops.saveable import SaveableObject, SaveSpec


def _table(name: str = "t", **arguments: Any) -> Any:
    return tf.lookup.experimental.DenseHashTable(
        tf.string, tf.int64, -1, "", "gone", name=name, **arguments
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"sharded": True},
        {"write_version": 1},
        {"write_version": 1, "sharded": True},
        {"asynchronous": True},
        {"restore_sequentially": True},
    ],
)
def test_tables_are_saved_as_keys_and_values(tmp_path: Path, arguments: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _table()
        v = tf.Variable(1.0, name="v")
        saver = tf.train.Saver(**arguments)
        sess.run([v.initializer, table.insert(["a", "b"], [1, 2])])
        path = saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        saver.wait()
        assert path is not None
        names = [name for name, _ in tf.train.list_variables(path)]
        assert names == ["t-keys", "t-values", "v"]
        sess.run([v.assign(0.0), table.insert(["b", "c"], [20, 30])])
        saver.restore(sess, path)
        assert sess.run(table.lookup(["a", "b", "c"])).tolist() == [1, 2, -1]
        assert sess.run(v) == 1.0
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _table()
        tf.train.Saver([table]).restore(sess, path)
        assert sess.run(table.lookup(["a", "b", "c"])).tolist() == [1, 2, -1]


def test_a_table_may_stay_out_of_checkpoints(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = _table(checkpoint=False)
        assert graph.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS) == []
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        tf.train.Saver({"any": table})
        assert _table().name != table.name


def test_graphs_with_tables_are_exported_and_imported(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        table = _table()
        sess.run(table.insert(["a"], [5]))
        found = tf.identity(table.lookup(["a"]), name="found")
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        assert sess.run(found).tolist() == [5]
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        assert graph.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS) == []
        assert saver is not None
        saver.restore(sess, path)
        assert sess.run("found:0").tolist() == [5]


class _Pair(SaveableObject):
    """Two variables that are one object."""

    def __init__(self, variables: list[Any], name: str) -> None:
        specs = [
            SaveSpec(each.graph_element, "", f"{name}/{i}") for i, each in enumerate(variables)
        ]
        super().__init__(variables[0].op, specs, name)
        self._variables = variables

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        assert restored_shapes is None
        return tf.group(
            *(
                gen_ops.assign_variable_op(variable.handle, value)
                for variable, value in zip(self._variables, restored_tensors, strict=True)
            )
        )


def test_objects_of_a_program_are_saved(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = [tf.Variable(value, collections=[]) for value in (1.0, [2, 3])]
        pair = _Pair(parts, "pair")
        saver = tf.train.Saver([pair])
        sess.run([part.initializer for part in parts])
        path = saver.save(sess, str(tmp_path / "model"))
        assert path is not None
        assert tf.train.list_variables(path) == [("pair/0", []), ("pair/1", [2])]
        sess.run([parts[0].assign(0.0), parts[1].assign([0, 0])])
        saver.restore(sess, path)
        assert sess.run(parts[0]) == 1.0
        assert sess.run(parts[1]).tolist() == [2, 3]
        assert pair.device == parts[0].device
        with pytest.raises(ValueError, match="same name: pair"):
            tf.train.Saver([pair, _Pair(parts, "pair")])


@pytest.mark.parametrize(
    "step", [7, np.int64(7), np.int32(7), np.array(7), "tensor", "variable", "placeholder"]
)
def test_steps_of_several_kinds(tmp_path: Path, step: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(7, name="v", dtype=tf.int64)
        sess.run(v.initializer)
        kinds = {"tensor": tf.constant(7), "variable": v}
        kinds["placeholder"] = tf.placeholder_with_default(7, [])
        given = kinds[step] if isinstance(step, str) else step
        saver = tf.train.Saver(pad_step_number=True)
        path = saver.save(sess, str(tmp_path / "model"), given, write_meta_graph=False)
        assert path == str(tmp_path / "model-00000007")
        with pytest.raises(TypeError):
            saver.save(sess, str(tmp_path / "model"), 7.5)


def test_shards_of_version_1_are_one_checkpoint(tmp_path: Path) -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        with tf.device("/cpu:0"):
            a = tf.Variable([1.0, 2.0], name="a")
        with tf.device("/cpu:1"):
            b = tf.Variable("text", name="b")
            parts = tf.get_variable("c", [4], partitioner=tf.fixed_size_partitioner(2))
        saver = tf.train.Saver(sharded=True, write_version=1)
        sess.run(tf.global_variables_initializer())
        expected = sess.run([a, b, tf.convert_to_tensor(parts)])
        path = saver.save(sess, str(tmp_path / "model"), 3, write_meta_graph=False)
        assert path == str(tmp_path / "model-3-?????-of-00002")
        assert tf.train.checkpoint_exists(path)
        files = sorted(each.name for each in tmp_path.iterdir())
        assert files == ["checkpoint", "model-3-00000-of-00002", "model-3-00001-of-00002"]
        assert tf.train.list_variables(path) == [("a", [2]), ("b", []), ("c", [4])]
        assert tf.train.load_variable(path, "c").tolist() == expected[2].tolist()
        sess.run([a.assign([0.0, 0.0]), b.assign(""), *(each.initializer for each in parts)])
        saver.restore(sess, tf.train.latest_checkpoint(str(tmp_path)))
        restored = sess.run([a, b, tf.convert_to_tensor(parts)])
        assert [np.asarray(each).tolist() for each in restored] == [
            np.asarray(each).tolist() for each in expected
        ]
        (tmp_path / "model-3-00001-of-00002").unlink()
        with pytest.raises(tf.errors.NotFoundError):
            saver.restore(sess, path)


def test_threads_save_into_one_folder(tmp_path: Path) -> None:
    """Each file of the list is whole, and one of those that a thread wrote."""
    failed: list[BaseException] = []

    def save(number: int) -> None:
        try:
            with tf.Graph().as_default(), tf.Session() as sess:
                v = tf.Variable(float(number), name="v")
                saver = tf.train.Saver(max_to_keep=2)
                sess.run(v.initializer)
                for step in range(8):
                    saver.save(sess, str(tmp_path / f"of{number}"), step, write_meta_graph=False)
                    state = tf.train.get_checkpoint_state(str(tmp_path))
                    assert "/of" in state.model_checkpoint_path
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert latest is not None
    assert latest.endswith("-7")
    assert tf.train.load_variable(latest, "v") == float(latest[-3])
    assert not list(tmp_path.glob("*.tmp"))
