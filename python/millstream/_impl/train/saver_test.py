"""Savers: what is in the files, what comes back, and which files stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.ops import gen_ops


def _saved(sess: Any, folder: Path, **arguments: Any) -> tuple[Any, str]:
    saver = tf.train.Saver(**arguments)
    sess.run(tf.global_variables_initializer())
    path = saver.save(sess, str(folder / "model"), write_meta_graph=False)
    assert path is not None
    return saver, path


def test_values_come_back(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable([1.0, 2.0], name="a")
        text = tf.Variable(["x", ""], name="text")
        number = tf.Variable(7, name="number")
        saver, path = _saved(sess, tmp_path)
        sess.run([a.assign([0.0, 0.0]), text.assign(["", ""]), number.assign(0)])
        saver.restore(sess, path)
        assert sess.run(a).tolist() == [1.0, 2.0]
        assert sess.run(text).tolist() == [b"x", b""]
        assert sess.run(number) == 7


def test_restore_needs_no_initializer(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        a = tf.Variable(3.0, name="a")
        with tf.Session() as sess:
            saver, path = _saved(sess, tmp_path)
        with tf.Session() as sess:
            saver.restore(sess, path)
            assert sess.run(a) == 3.0


def test_nodes_have_the_names_that_programs_know(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.Variable(1.0, name="a")
        names = tf.train.Saver().as_saver_def()
        assert names.filename_tensor_name == "save/Const:0"
        assert names.save_tensor_name == "save/control_dependency:0"
        assert names.restore_op_name == "save/restore_all"
        assert graph.get_operation_by_name("save/SaveV2").type == "SaveV2"
        assert graph.get_operation_by_name("save/RestoreV2").type == "RestoreV2"
        assert names.max_to_keep == 5
        assert tf.train.Saver().as_saver_def().restore_op_name == "save_1/restore_all"


def test_a_dictionary_gives_other_names(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([1.0, 2.0], name="a")
        _, path = _saved(sess, tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        other = tf.Variable([0.0, 0.0], name="other")
        tf.train.Saver({"a": other}).restore(sess, path)
        assert sess.run(other).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("sharded", [False, True])
def test_parts_of_a_variable_are_one_tensor(tmp_path: Path, sharded: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable(
            "w",
            initializer=np.arange(10, dtype=np.float32).reshape(5, 2),
            partitioner=tf.fixed_size_partitioner(2),
        )
        _, path = _saved(sess, tmp_path, sharded=sharded)
    assert tf.train.list_variables(path) == [("w", [5, 2])]
    whole = tf.train.load_variable(path, "w")
    assert whole.tolist() == np.arange(10).reshape(5, 2).tolist()
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = tf.get_variable("w", [5, 2], partitioner=tf.fixed_size_partitioner(3))
        tf.train.Saver().restore(sess, path)
        assert sess.run(tf.convert_to_tensor(parts)).tolist() == whole.tolist()


def test_each_device_has_a_file_of_its_own(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        with tf.device("/cpu:0"):
            tf.Variable(2.0, name="b")
        _saved(sess, tmp_path, sharded=True)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [
        "checkpoint",
        "model.data-00000-of-00002",
        "model.data-00001-of-00002",
        "model.index",
    ]
    assert tf.train.load_variable(str(tmp_path), "b") == 2.0


def test_old_checkpoints_go(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver(max_to_keep=2, pad_step_number=True)
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            saver.save(sess, str(tmp_path / "model"), global_step=step)
    kept = [str(tmp_path / f"model-0000000{step}") for step in (2, 3)]
    assert saver.last_checkpoints == kept
    assert len(list(tmp_path.iterdir())) == 1 + 3 * 2
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == kept
    assert tf.train.latest_checkpoint(str(tmp_path)) == kept[-1]
    again = tf.train.Saver(saver_def=saver.as_saver_def())
    again.recover_last_checkpoints([*kept, str(tmp_path / "gone")])
    assert again.last_checkpoints == kept


def test_the_list_has_the_new_checkpoint_before_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[tuple[str, str]] = []

    def removed(prefix: str, **_: Any) -> None:
        listed.append((prefix, str(tf.train.latest_checkpoint(str(tmp_path)))))

    monkeypatch.setattr("millstream._impl.train.saver.remove_checkpoint", removed)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver(max_to_keep=1)
        sess.run(tf.global_variables_initializer())
        first, second = (saver.save(sess, str(tmp_path / "model"), step) for step in (1, 2))
    assert listed == [(first, second)]


def test_old_checkpoints_of_an_earlier_process_go(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    for start in (0, 2):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.Variable(1.0, name="a")
            saver = tf.train.Saver(max_to_keep=2)
            state = tf.train.get_checkpoint_state(str(tmp_path))
            if state is not None:
                saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            sess.run(tf.global_variables_initializer())
            for step in (start, start + 1):
                saver.save(sess, prefix, global_step=step, write_meta_graph=False)
    assert sorted(path.name for path in tmp_path.glob("*.index")) == [
        "model-2.index",
        "model-3.index",
    ]
    assert saver.last_checkpoints == [prefix + "-2", prefix + "-3"]


def test_one_in_some_hours_is_never_removed(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=0.0)
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False)
    assert len(list(tmp_path.glob("*.index"))) == 3


def test_checkpoints_without_a_date_are_never_removed(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver(max_to_keep=1)
        before = str(tmp_path / "old")
        saver.save(sess, before, write_meta_graph=False)
        saver.set_last_checkpoints([before])
        for step in range(3):
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False)
    names = sorted(path.name for path in tmp_path.glob("*.index"))
    assert names == ["model-2.index", "old.index"]


@pytest.mark.parametrize("jump", [0.0, -1e6, 1e6])
def test_hours_between_checkpoints_do_not_see_that_the_clock_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.time", lambda: now[0] + (jump if now[0] > 5000.0 else 0.0))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1.0)
        sess.run(tf.global_variables_initializer())
        for step in range(1, 7):
            now[0] += 1900.0
            saver.save(sess, str(tmp_path / "model"), global_step=step, write_meta_graph=False)
    names = sorted(path.name for path in tmp_path.glob("*.index"))
    assert names == ["model-2.index", "model-4.index", "model-6.index"]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / "model-6")]
    assert not state.all_model_checkpoint_timestamps  # as older programs write it


def test_relative_paths_are_below_the_folder(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0, name="a")
        _, path = _saved(sess, tmp_path, save_relative_paths=True)
    assert '"model"' in (tmp_path / "checkpoint").read_text()
    assert tf.train.latest_checkpoint(str(tmp_path)) == path


def test_a_saver_without_variables() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="No variables to save"):
            tf.train.Saver()
        with tf.Session() as sess:
            saver = tf.train.Saver(allow_empty=True)
            assert saver.save(sess, "/tmp/nothing", write_meta_graph=False) is None
            saver.restore(sess, "/tmp/nothing")


def test_building_may_be_put_off(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.Saver(defer_build=True)
        tf.Variable(1.0, name="a")
        with pytest.raises(RuntimeError, match="build"):
            saver.save(sess, str(tmp_path / "model"))
        saver.build()
        sess.run(tf.global_variables_initializer())
        assert saver.save(sess, str(tmp_path / "model")) == str(tmp_path / "model")


def test_what_differs_from_the_checkpoint_is_an_error(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([1.0, 2.0], name="a")
        _, path = _saved(sess, tmp_path)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: tf.Variable([1.0], name="a"), tf.errors.InvalidArgumentError, "mismatch"),
        (lambda: tf.Variable([1, 2], name="a"), tf.errors.InvalidArgumentError, "expected dtype"),
        (lambda: tf.Variable([1.0], name="b"), tf.errors.NotFoundError, "Key b not found"),
    ]
    for make, error, text in cases:
        with tf.Graph().as_default(), tf.Session() as sess:
            make()
            with pytest.raises(error, match=text):
                tf.train.Saver().restore(sess, path)


def test_values_take_the_shape_of_their_variable_where_that_is_asked(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([1.0, 2.0, 3.0, 4.0], name="a")
        _, path = _saved(sess, tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(np.zeros((2, 2), np.float32), name="a")
        tf.train.Saver(reshape=True).restore(sess, path)
        assert sess.run(a).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_damaged_files_are_found(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(np.ones(1000, np.float32), name="a")
        saver, path = _saved(sess, tmp_path)
        data = Path(path + ".data-00000-of-00001")
        whole = data.read_bytes()
        data.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        with pytest.raises(tf.errors.DataLossError, match=r"tensor a.*checksum"):
            saver.restore(sess, path)
        data.write_bytes(whole[:-1])
        with pytest.raises(tf.errors.DataLossError, match="not within the file"):
            saver.restore(sess, path)
        Path(path + ".index").write_bytes(b"nothing")
        with pytest.raises(tf.errors.DataLossError, match="not a table"):
            saver.restore(sess, path)
        os.remove(path + ".index")
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(sess, path)


def test_bad_arguments() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(1.0, name="a")
        with pytest.raises(ValueError, match="same name: a"):
            tf.train.Saver([a, a])
        with pytest.raises(ValueError, match="two names"):
            tf.train.Saver({"x": a, "y": a})
        with pytest.raises(TypeError, match="not a Variable"):
            tf.train.Saver([3])
        with pytest.raises(ValueError, match="write_version: expected 1 or 2, got 3"):
            tf.train.Saver([a], write_version=3)
        saver = tf.train.Saver()
        with pytest.raises(ValueError, match="Parent directory"):
            saver.save(sess, "/tmp/no/such/folder/model")
        with pytest.raises(ValueError, match="path components"):
            saver.save(sess, "/tmp/model", latest_filename="a/b")
        with pytest.raises(ValueError, match="when it is None"):
            saver.restore(sess, None)
        with pytest.raises(tf.errors.FailedPreconditionError):
            saver.save(sess, "/tmp/uninitialized_model")


def test_a_graph_is_imported_with_its_variables_and_its_saver(tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0], name="v")
        tf.add_to_collection("results", tf.reduce_sum(v * 10.0, name="result"))
        tf.add_to_collection("words", "word")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, prefix)
    for scope in (None, "copy"):
        with tf.Graph().as_default(), tf.Session() as sess:
            saver = tf.train.import_meta_graph(prefix + ".meta", import_scope=scope)
            assert saver is not None
            saver.restore(sess, prefix)
            (result,) = tf.get_collection("results")
            assert result.name == ("copy/result:0" if scope else "result:0")
            assert sess.run(result) == 30.0
            assert tf.trainable_variables() == tf.global_variables()
            assert tf.get_collection("words") == [b"word"]
            saver.save(sess, str(tmp_path / "again"))


def test_text_and_scopes_of_meta_graphs(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.pbtxt")
    with tf.Graph().as_default():
        with tf.name_scope("part"), tf.device("/cpu:0"):
            tf.Variable(1.0, name="v")
        tf.Variable(2.0, name="w")
        message = tf.train.export_meta_graph(
            path, as_text=True, export_scope="part", clear_devices=True
        )
    assert "v" in {node.name for node in message.graph_def.node}
    assert not any(node.name.startswith(("w", "part")) for node in message.graph_def.node)
    assert not any(node.device for node in message.graph_def.node)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(path)
        assert [v.name for v in tf.global_variables()] == ["v:0"]
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))


def test_initializers_from_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("old"):
            tf.get_variable("w", initializer=[1.0, 2.0])
            tf.get_variable("b", initializer=[3.0])
        _, path = _saved(sess, tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("new"):
            w = tf.get_variable("w", [2])
            b = tf.get_variable("b", [1])
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        sess.run(tf.global_variables_initializer())
        assert sess.run([w, b])[0].tolist() == [1.0, 2.0]
        assert sess.run(b).tolist() == [3.0]
        with pytest.raises(ValueError, match="doesn't match"):
            tf.train.init_from_checkpoint(path, {"old/w": b})
        with pytest.raises(ValueError, match="not found"):
            tf.train.init_from_checkpoint(path, {"none": b})
        with pytest.raises(ValueError, match=r"Tensor none/w \(w in none/\) is not found in"):
            tf.train.init_from_checkpoint(path, {"none/": "new/"})
        tf.Variable(0.0, name="new/step")  # not by get_variable
        tf.train.init_from_checkpoint(path, {"old/": "new/"})


def test_with_a_step_the_prefix_may_be_called_as_the_list(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(1.0, name="a")
        sess.run(a.initializer)
        saver = tf.train.Saver()
        path = saver.save(sess, str(tmp_path / "checkpoint"), 3, write_meta_graph=False)
        assert tf.train.latest_checkpoint(str(tmp_path)) == path == str(tmp_path / "checkpoint-3")
        with pytest.raises(ValueError, match="collides with 'save_path'"):
            saver.save(sess, str(tmp_path / "checkpoint"))


@pytest.mark.parametrize("sharded", [False, True])
def test_checkpoints_of_version_1_are_written_and_read(tmp_path: Path, sharded: bool) -> None:
    version = tf.train.SaverDef.V1
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        a = tf.Variable([1.0, 2.0], name="a")
        tf.get_variable("parts", [5, 2], partitioner=tf.fixed_size_partitioner(2))
        saver, path = _saved(sess, tmp_path, sharded=sharded, write_version=version)
        expected = sess.run(tf.convert_to_tensor(graph.get_tensor_by_name("parts/part_1:0")))
        sess.run(a.assign([0.0, 0.0]))
        saver.restore(sess, path)
        assert sess.run(a).tolist() == [1.0, 2.0]
        assert saver.as_saver_def().version == version
    assert path == str(tmp_path / ("model-?????-of-00001" if sharded else "model"))
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert tf.train.list_variables(path) == [("a", [2]), ("parts", [5, 2])]
    assert tf.train.load_variable(path, "parts")[3:].tolist() == expected.tolist()
    tf.train.remove_checkpoint(path, version)
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]


def test_a_whole_checkpoint_of_version_1_has_no_slices(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.Variable([1.0, 2.0], name="a")
        _saved(sess, tmp_path, write_version=1)
        assert graph.get_operation_by_name("save/Save").type == "Save"
    with tf.Graph().as_default(), tf.Session() as sess:
        b = gen_ops.restore(str(tmp_path / "model"), "a", tf.float32)
        part = gen_ops.restore_slice(str(tmp_path / "model"), "a", "2 1,1", tf.float32)
        assert sess.run(b).tolist() == [1.0, 2.0]
        assert sess.run(part).tolist() == [2.0]
        with pytest.raises(tf.errors.NotFoundError, match="Key b not found in checkpoint"):
            sess.run(gen_ops.restore(str(tmp_path / "model"), "b", tf.float32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype int32"):
            sess.run(gen_ops.restore(str(tmp_path / "model"), "a", tf.int32))
        with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
            sess.run(gen_ops.restore(str(tmp_path / "none-*"), "a", tf.float32))


def test_none_and_zero_keep_all_checkpoints(tmp_path: Path) -> None:
    for number, most in enumerate((None, 0)):
        with tf.Graph().as_default(), tf.Session() as session:
            variable = tf.Variable(1.0)
            saver = tf.train.Saver(max_to_keep=most)
            session.run(variable.initializer)
            folder = tmp_path / str(number)
            for step in range(7):
                saver.save(session, str(folder / "m"), step, write_meta_graph=False)
            assert len(list(folder.glob("*.index"))) == 7
