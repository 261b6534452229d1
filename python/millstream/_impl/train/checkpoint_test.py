"""Checkpoints of objects: keys, what is matched, and what is done about the rest."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl import protos

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


class Net:
    """A model of a program."""

    def __init__(self, scale: float = 1.0) -> None:
        self.w = tf.Variable([1.0 * scale, 2.0 * scale])
        self.parts: list[Any] = [tf.Variable(3.0 * scale), {"a/b.c": tf.Variable(4.0 * scale)}]
        self.name = "net"
        self.sizes = [1, 2]


def _minimized(net: Net, optimizer: Any) -> Any:
    return optimizer.minimize(tf.reduce_sum(net.w * net.w) + net.parts[0])


def _saved(folder: Path, **objects: Any) -> str:
    """The default graph's variables, initialized and saved."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return tf.train.Checkpoint(**objects).save(str(folder / "ckpt"))


def _keys(path: str) -> list[str]:
    return [
        name.removesuffix(_VALUE)
        for name, _ in tf.train.list_variables(path)
        if name.endswith(_VALUE)
    ]


def test_keys_are_paths_of_attributes(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
        layer = tf.layers.Dense(2)
        layer(tf.ones([1, 3]))
        _minimized(net, optimizer)
        path = _saved(tmp_path, net=net, opt=optimizer, layer=layer)
    assert path == str(tmp_path / "ckpt-1")
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert _keys(path) == [
        "layer/bias",
        "layer/kernel",
        "net/parts/0",
        "net/parts/0/.OPTIMIZER_SLOT/opt/m",
        "net/parts/0/.OPTIMIZER_SLOT/opt/v",
        "net/parts/1/a.Sb..c",
        "net/w",
        "net/w/.OPTIMIZER_SLOT/opt/m",
        "net/w/.OPTIMIZER_SLOT/opt/v",
        "opt/beta1_power",
        "opt/beta2_power",
        "save_counter",
    ]


def test_values_come_back_to_variables_of_other_names(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        path = _saved(tmp_path, net=Net())
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("other"):
            net = Net(0.0)
        checkpoint = tf.train.Checkpoint(net=net)
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        assert sess.run(net.w).tolist() == [1.0, 2.0]
        assert sess.run([net.parts[0], net.parts[1]["a/b.c"]]) == [3.0, 4.0]
        assert sess.run(checkpoint.save_counter) == 1
        assert checkpoint.save(str(tmp_path / "ckpt")) == str(tmp_path / "ckpt-2")


def test_what_is_made_after_restore_takes_its_values(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        net, optimizer = Net(), tf.train.MomentumOptimizer(0.1, 0.9)
        _minimized(net, optimizer)
        path = _saved(tmp_path, net=net, opt=optimizer)
    with tf.Graph().as_default(), tf.Session() as sess:
        checkpoint = tf.train.Checkpoint()
        status = checkpoint.restore(path)
        with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint: .*net\.w"):
            status.assert_consumed()
        checkpoint.net = Net(0.0)
        checkpoint.opt = tf.train.MomentumOptimizer(0.1, 0.9)
        with pytest.raises(AssertionError, match=r"slot 'momentum' of \(root\)\.opt"):
            status.assert_consumed()
        train = _minimized(checkpoint.net, checkpoint.opt)
        status.assert_consumed().initialize_or_restore()
        assert sess.run(checkpoint.net.w).tolist() == [1.0, 2.0]
        sess.run(train)


def test_the_rest_is_initialized_and_reported(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        path = _saved(tmp_path, a=tf.Variable(1.0, name="a"), gone=tf.Variable(2.0))
    with tf.Graph().as_default(), tf.Session() as sess:
        a, new = tf.Variable(0.0, name="a"), tf.Variable(7.0, name="new")
        status = tf.train.Checkpoint(a=a, new=new).restore(path)
        with pytest.raises(AssertionError, match=r"were not bound to checkpointed values.*new"):
            status.assert_existing_objects_matched()
        status.assert_nontrivial_match().expect_partial().initialize_or_restore()
        assert sess.run([a, new]) == [1.0, 7.0]
        report = status.report()
        assert report.matched["a"] == "a" + _VALUE
        assert (report.missing, report.unused) == (["new"], ["gone" + _VALUE])
        assert not report.is_complete
        assert "no value for new" in str(report)


def test_a_value_of_another_shape_is_reported_and_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        path = _saved(tmp_path, a=tf.Variable([1.0, 2.0]))
    with tf.Graph().as_default(), tf.Session():
        status = tf.train.Checkpoint(a=tf.Variable([1.0], name="a")).restore(path)
        assert "shape" in status.report().mismatched["a"]
        with pytest.raises(tf.errors.InvalidArgumentError):
            status.run_restore_ops()


def test_nothing_to_restore(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(1.0)
        checkpoint = tf.train.Checkpoint(a=a)
        status = checkpoint.restore(None)
        for method in ("assert_consumed", "run_restore_ops", "assert_existing_objects_matched"):
            with pytest.raises(AssertionError, match="No checkpoint specified"):
                getattr(status, method)()
        assert len(status.report().missing) == 2
        status.initialize_or_restore()
        assert sess.run([a, checkpoint.save_counter]) == [1.0, 0]
        with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
            checkpoint.restore(str(tmp_path / "none"))
        path = checkpoint.save(str(tmp_path / "ckpt"))
        with pytest.raises(AssertionError, match="Nothing to match"):
            tf.train.Checkpoint(b=[]).restore(_of_names(tmp_path)).assert_nontrivial_match()
    with tf.Graph().as_default():
        status = tf.train.Checkpoint(other=tf.Variable(1.0, name="other")).restore(path)
        status.report()


def _of_names(folder: Path) -> str:
    """A checkpoint of names."""
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(5.0, name="a")
        sess.run(a.initializer)
        path = tf.train.Saver([a]).save(sess, str(folder / "names"), write_state=False)
    assert path is not None
    return path


def test_checkpoints_of_names_are_read_by_names_and_those_of_objects_by_savers(
    tmp_path: Path,
) -> None:
    names = _of_names(tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(0.0, name="a")
        status = tf.train.Checkpoint(b=[a]).restore(names)
        status.assert_consumed().initialize_or_restore()
        assert sess.run(a) == 5.0
        objects = tf.train.Checkpoint(b=[a]).write(str(tmp_path / "objects"))
        sess.run(a.assign(1.0))
        saver = tf.train.Saver([a])
        for _ in range(2):
            saver.restore(sess, objects)
        assert sess.run(a) == 5.0
        other = tf.Variable(0.0, name="other")
        with pytest.raises(ValueError, match="could not find 1 variables in the checkpoint: other"):
            tf.train.Saver([a, other]).restore(sess, objects)


def test_the_graph_is_that_of_the_variables(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
        _minimized(net, optimizer)
    checkpoint = tf.train.Checkpoint(opt=optimizer, net=net)
    with tf.Session(graph=graph) as sess:
        status = checkpoint.restore(None)
    with tf.Session(graph=graph) as sess, tf.Graph().as_default():
        status.initialize_or_restore(sess)
        path = checkpoint.save(str(tmp_path / "ckpt"), sess)
        assert "opt/beta1_power" in _keys(path)
        checkpoint.restore(path).assert_consumed().run_restore_ops(sess)
    assert checkpoint.save_counter.graph is graph


def test_a_shared_object_and_a_circle_are_saved_once(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        net = Net()
        net.itself = net  # type: ignore[attr-defined]
        path = _saved(tmp_path, first=net, second=[net.w, net])
    assert _keys(path) == ["first/parts/0", "first/parts/1/a.Sb..c", "first/w", "save_counter"]


def test_parts_of_a_variable_are_one_value(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        parts = tf.get_variable(
            "parts", initializer=[1.0, 2.0, 3.0], partitioner=tf.fixed_size_partitioner(2)
        )
        path = _saved(tmp_path, parts=parts)
    assert tf.train.load_variable(path, "parts" + _VALUE).tolist() == [1.0, 2.0, 3.0]
    with tf.Graph().as_default(), tf.Session() as sess:
        whole = tf.Variable([0.0, 0.0, 0.0])
        tf.train.Checkpoint(parts=whole).restore(path).assert_consumed().run_restore_ops()
        assert sess.run(whole).tolist() == [1.0, 2.0, 3.0]


def test_nodes_are_made_once(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session():
        checkpoint = tf.train.Checkpoint(a=tf.Variable(1.0))
        checkpoint.restore(None).initialize_or_restore()
        counts = []
        for _ in range(3):
            path = checkpoint.save(str(tmp_path / "ckpt"))
            checkpoint.restore(path).run_restore_ops()
            counts.append(len(graph.get_operations()))
    assert counts[0] == counts[1] == counts[2]


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        a = tf.Variable(1.0)
        with pytest.raises(ValueError, match="expecting a trackable object"):
            tf.train.Checkpoint(a=3)
        with pytest.raises(ValueError, match="no default session"):
            tf.train.Checkpoint(a=a).save(str(tmp_path / "ckpt"))
        with tf.Session(), pytest.raises(ValueError, match="keys of dictionaries must be texts"):
            tf.train.Checkpoint(a={1: a}).write(str(tmp_path / "ckpt"))
    with (
        tf.Graph().as_default(),
        tf.Session(),
        pytest.raises(ValueError, match="not in the session's graph"),
    ):
        tf.train.Checkpoint(a=a).write(str(tmp_path / "ckpt"))


# What TensorFlow 2.21 wrote for Checkpoint(opt=MomentumOptimizer(0.5, 0.5), parts={"w.1": w, "l":
# [b]}) after one step on sum(w * w) + b from w = [1, 2], b = 3: files that zlib made smaller.
_INDEX = (
    "eNpjYGDjYJRi4mBkkOGLd/ZwdfYO8Pf0C3F08nGN93fycnUOiXcPcgzw4GAXYlBQ0JjDYmq+8N18BhXegsSikmL9"
    "HH0DfT3HkJAgT6fQENdg/TDHIE+w3jBHn1BXDkagJgENFlP2G6W83Ga8/gEhnr6eUa5B8cE+/iH6+QUl+rn5ual5"
    "JaW5hEyRAZrSuPSWNpu8YLmeniF+5SxCTBxMChwaHKaazDPYecwEybYYYpII0KSody6KDOrcxYllqfHJ+aV5JalF"
    "+LRyCjEANTGW3nNkAAJGELGu+nAOnHPg08INDIzMJQyvmOBiK7lLDd4zcfxh4mcgCMJ/N3SrlLrfBgCB22nJ"
)
_DATA = (
    "eNpjZEAHCg5AAogbQNh+Gou2fa84lxYXOwejEHN+QQkXJweTEGtBYlFJMZcAB7MQT3FiWWp8cn5pXklqkRYTByOX"
    "ihQfB4sQR25+bmpeSWmuBDuQz4bE5wCrEgGayCLEXK5nyMXKwSrEmAMW9RVy5+ILcwzydHTycY0Pc/QJdUW1QUod"
    "maev5xgSEuTpFBriGqyPqg1snIOQFYZxjOVSqmDn65fr6RkSMoEb6Do2IUYDMMdeyBLTuCQpFYhxOfoGhExLE0rA"
    "MICrXN8XGjRSTsgO8w8I8fT1jHINig/28Q/RB4a9PiwMCdmTKhSPaU8Swh5HJBeTbw0AMNuOAg=="
)


def test_a_checkpoint_of_tensorflow_is_read(tmp_path: Path) -> None:
    for suffix, text in ((".index", _INDEX), (".data-00000-of-00001", _DATA)):
        (tmp_path / f"ckpt-1{suffix}").write_bytes(zlib.decompress(base64.b64decode(text)))
    with tf.Graph().as_default(), tf.Session() as sess:
        w, b = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
        optimizer = tf.train.MomentumOptimizer(0.5, 0.5)
        optimizer.minimize(tf.reduce_sum(w * w) + b)
        checkpoint = tf.train.Checkpoint(opt=optimizer, parts={"w.1": w, "l": [b]})
        checkpoint.restore(str(tmp_path / "ckpt-1")).assert_consumed().run_restore_ops()
        assert sess.run(w).tolist() == [0.0, 0.0]
        assert sess.run(b) == 2.5
        assert sess.run(optimizer.get_slot(w, "momentum")).tolist() == [2.0, 4.0]
        assert sess.run(checkpoint.save_counter) == 1


def test_damaged_objects_are_named(tmp_path: Path) -> None:
    key = "_CHECKPOINTABLE_OBJECT_GRAPH"
    bad = protos.message_class("TrackableObjectGraph")()
    bad.nodes.add().children.add(node_id=5, local_name="a")
    cases = [(b"\xff\xff", "no message of objects"), (bad.SerializeToString(), "none of number 5")]
    for data, why in cases:
        with tf.Graph().as_default(), tf.Session() as sess:
            text = tf.Variable(data, name="text")
            sess.run(text.initializer)
            path = tf.train.Saver({key: text}).save(sess, str(tmp_path / "bad"))
            with pytest.raises(tf.errors.DataLossError, match=f"{key}.*{why}"):
                tf.train.Checkpoint().restore(path)


class _Place(tf.train.experimental.PythonState):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def serialize(self) -> str:
        return "\n".join(self.lines)

    def deserialize(self, string_value: bytes) -> None:
        self.lines = string_value.decode().split("\n")


def test_texts_of_objects_are_saved_and_given_back(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        place, v = _Place(), tf.Variable(2.0)
        checkpoint = tf.train.Checkpoint(inner={"place": place}, v=v)
        sess.run(v.initializer)
        place.lines = ["a", "b"]
        first = checkpoint.save(str(tmp_path / "ckpt"))
        place.lines = ["c"]
        second = checkpoint.save(str(tmp_path / "ckpt"))
        assert "inner/place/.ATTRIBUTES/py_state" in dict(tf.train.list_variables(first))
    with tf.Graph().as_default(), tf.Session() as sess:
        other = _Place()
        checkpoint = tf.train.Checkpoint(inner={"place": other}, v=tf.Variable(0.0))
        checkpoint.restore(first).assert_consumed().run_restore_ops()
        assert other.lines == ["a", "b"]
        checkpoint.restore(second)
        assert other.lines == ["c"]
