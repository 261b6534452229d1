"""Variables that start from a checkpoint, and partial restores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf


def _checkpoint(folder: Path) -> str:
    """One with "table", a row for each of the words a, b, c; "w" and "b"."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("table", initializer=[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
        tf.get_variable("w", initializer=[1.0, 2.0])
        tf.get_variable("b", initializer=3.0, trainable=False)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(folder / "model"))
    assert path is not None
    return path


def _initialized(variables: Any) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(variables)


def test_trainable_variables_start_from_the_checkpoint(tmp_path: Path) -> None:
    path = _checkpoint(tmp_path)
    with tf.Graph().as_default():
        w = tf.get_variable("w", [2])
        b = tf.get_variable("b", initializer=7.0, trainable=False)
        tf.train.warm_start(path)
        values = _initialized([w, b])
    assert values[0].tolist() == [1.0, 2.0]
    assert values[1] == 7.0


def test_variables_are_chosen_by_patterns_and_renamed(tmp_path: Path) -> None:
    path = _checkpoint(tmp_path)
    with tf.Graph().as_default():
        w = tf.get_variable("new/w", [2])
        b = tf.get_variable("new/b", initializer=7.0, trainable=False)
        tf.train.warm_start(
            str(tmp_path), ["new/[wb]"], var_name_to_prev_var_name={"new/w": "w", "new/b": "b"}
        )
        values = _initialized([w, b])
    assert values[0].tolist() == [1.0, 2.0]
    assert values[1] == 3.0
    with tf.Graph().as_default():
        w = tf.get_variable("w", [2])
        tf.train.warm_start(path, [w])
        assert _initialized(w).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("parts", [1, 2])
def test_rows_are_found_by_their_words(tmp_path: Path, parts: int) -> None:
    path = _checkpoint(tmp_path)
    (tmp_path / "old").write_text("a\nb\nc\n")
    (tmp_path / "new").write_text("c\nx\na\nunused\n")
    info = tf.train.VocabInfo(
        str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), -1, tf.constant_initializer(-1.0)
    )
    with tf.Graph().as_default():
        table = tf.get_variable(
            "table", [4, 2], partitioner=tf.fixed_size_partitioner(parts) if parts > 1 else None
        )
        w = tf.get_variable("w", initializer=[0.0, 0.0])
        tf.train.warm_start(path, None, {"table": info})
        values = _initialized([tf.convert_to_tensor(table), w])
    assert values[0].tolist() == [[3.0, 30.0], [-1.0, -1.0], [1.0, 10.0], [-1.0, -1.0]]
    assert values[1].tolist() == [0.0, 0.0]


def test_columns_are_found_by_their_words(tmp_path: Path) -> None:
    path = _checkpoint(tmp_path)
    (tmp_path / "old").write_text("a\nb")
    (tmp_path / "new").write_text("b\nx")
    info = tf.train.VocabInfo(
        str(tmp_path / "new"), 2, 0, str(tmp_path / "old"), 2, tf.zeros_initializer(), axis=1
    )
    with tf.Graph().as_default():
        table = tf.get_variable("table", [3, 2])
        tf.train.warm_start(path, "table", {"table": info})
        assert _initialized(table).tolist() == [[10.0, 0.0], [20.0, 0.0], [30.0, 0.0]]


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    path = _checkpoint(tmp_path)
    (tmp_path / "words").write_text("a\nb\n")
    words = str(tmp_path / "words")
    with tf.Graph().as_default():
        tf.get_variable("w", [2])
        with pytest.raises(ValueError, match=r"var_name_to_prev_var_name that were not used.*none"):
            tf.train.warm_start(path, ".*", None, {"none": "w"})
        with pytest.raises(ValueError, match="Tensor none is not found"):
            tf.train.warm_start(path, ".*", None, {"w": "none"})
        with pytest.raises(ValueError, match="all `Variable` or all `str`"):
            tf.train.warm_start(path, [3])
        with pytest.raises(ValueError, match="doesn't match with 3 words"):
            tf.train.warm_start(path, "w", {"w": tf.train.VocabInfo(words, 2, 1, words)})
        with pytest.raises(ValueError, match="it has 2 words, expected at least 5"):
            tf.train.warm_start(path, "w", {"w": tf.train.VocabInfo(words, 5, 0, words)})
        with pytest.raises(ValueError, match="0 and 1"):
            tf.train.VocabInfo(words, 1, 0, words, axis=2)


def test_a_partial_restore_says_what_matched(tmp_path: Path) -> None:
    path = _checkpoint(tmp_path)
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.get_variable("w", initializer=[0.0, 0.0])
        b = tf.get_variable("b", initializer=[0.0])
        new = tf.get_variable("new", initializer=5.0)
        sess.run(tf.global_variables_initializer())
        report = tf.train.restore_partially(sess, path)
        assert sess.run(w).tolist() == [1.0, 2.0]
        assert sess.run([b, new]) == [[0.0], 5.0]
    assert report.matched == {"w": "w"}
    assert report.missing == ["new"]
    assert report.mismatched == {"b": "b has the shape [], the variable (1,)"}
    assert report.unused == ["table"]
    assert str(report).splitlines()[1:] == [
        "no value for new",
        "does not fit b: b has the shape [], the variable (1,)",
        "not used: table",
    ]


def test_a_partial_restore_of_objects_goes_by_names(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(np.float32(4.0), name="v")
        sess.run(v.initializer)
        path = tf.train.Checkpoint(deep=[v]).save(str(tmp_path / "ckpt"))
        sess.run(v.assign(0.0))
        report = tf.train.restore_partially(sess, path, [v])
        assert sess.run(v) == 4.0
    assert report.matched == {"v": "deep/0/.ATTRIBUTES/VARIABLE_VALUE"}
    assert report.unused == ["save_counter/.ATTRIBUTES/VARIABLE_VALUE"]
