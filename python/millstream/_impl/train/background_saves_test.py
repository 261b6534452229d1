"""Checkpoints that a thread writes while training goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.train import background_saves


class Held:
    """Keeps threads from writing until it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.release = threading.Event()
        write = background_saves.BackgroundSaves._write

        def wait_and_write(saves: Any, *arguments: Any) -> None:
            assert self.release.wait(60.0)
            write(saves, *arguments)

        monkeypatch.setattr(background_saves.BackgroundSaves, "_write", wait_and_write)


def test_a_save_has_the_values_of_its_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable([1.0, 2.0], name="a")
        add = a.assign_add([1.0, 1.0])
        parts = tf.get_variable(
            "parts", initializer=[1.0, 2.0, 3.0], partitioner=tf.fixed_size_partitioner(2)
        )
        saver = tf.train.Saver(asynchronous=True)
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "model"), global_step=1)
        for _ in range(3):
            sess.run([add, [part.assign_add([0.0] * part.shape[0]) for part in parts]])
        assert path == str(tmp_path / "model-1")
        assert tf.train.latest_checkpoint(str(tmp_path)) is None
        assert saver.last_checkpoints == []
        held.release.set()
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        assert saver.last_checkpoints == [path]
        assert tf.train.load_variable(path, "a").tolist() == [1.0, 2.0]
        assert tf.train.load_variable(path, "parts").tolist() == [1.0, 2.0, 3.0]
        saver.restore(sess, path)
        assert sess.run(a).tolist() == [1.0, 2.0]


def test_old_checkpoints_go_and_saves_come_one_after_the_other(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(0.0, name="a")
        saver = tf.train.Saver(asynchronous=True, max_to_keep=2)
        sess.run(a.initializer)
        paths = []
        for step in range(5):
            sess.run(a.assign(float(step)))
            paths.append(saver.save(sess, str(tmp_path / "model"), step, write_meta_graph=False))
        saver.restore(sess, paths[-2])
        assert sess.run(a) == 3.0
    assert saver.last_checkpoints == paths[-2:]
    assert sorted(path.name for path in tmp_path.glob("*.index")) == [
        "model-3.index",
        "model-4.index",
    ]


def test_closing_the_session_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    with tf.Graph().as_default():
        a = tf.Variable(1.0, name="a")
        saver = tf.train.Saver(asynchronous=True)
        with tf.Session() as sess:
            sess.run(a.initializer)
            sess.call_before_close(held.release.set)
            path = saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
    assert path is not None
    assert tf.train.load_variable(path, "a") == 1.0


def test_errors_come_from_the_save_or_from_the_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.Variable(1.0, name="a")
        saver = tf.train.Saver(asynchronous=True)
        with pytest.raises(tf.errors.FailedPreconditionError):
            saver.save(sess, str(tmp_path / "model"))
        sess.run(a.initializer)
        (tmp_path / "model.index").mkdir()
        saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        with pytest.raises(tf.errors.OpError, match=r"model\.index"):
            saver.wait()
        assert "is not saved" in caplog.text
        saver.wait()
        path = saver.save(sess, str(tmp_path / "other"), write_meta_graph=False)
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        # The snapshot of the save that failed is not kept either.
        handle = "GetSessionHandle;1;/cpu:0"
        holder, value = tf.get_session_tensor(handle, tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            sess.run(value, {holder: handle})


def test_other_kinds_of_checkpoints_are_refused() -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0)
        for options in ({"sharded": True}, {"write_version": 1}):
            with pytest.raises(ValueError, match="asynchronous: only nodes of this saver"):
                tf.train.Saver(asynchronous=True, **options)
