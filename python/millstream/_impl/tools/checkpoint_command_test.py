"""The command ``millstream checkpoint``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.tools import command


def _write(folder: Path, name: str = "model", **values: Any) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        for each, value in values.items():
            tf.Variable(value, name=each)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(folder / name), write_meta_graph=False)
    assert path is not None
    return path


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = command.main(["checkpoint", *arguments])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_tensors_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, w=[1.0, 2.0], text=["a"])
    status, text = _run(capsys, "ls", str(tmp_path))
    assert status == 0
    assert text.splitlines() == [
        "NAME  DTYPE    SHAPE  BYTES",
        "text  string   [1]    -",
        "w     float32  [2]    8",
        f"{path}: 2 tensors, 8 bytes",
    ]
    _, text = _run(capsys, "ls", path, "--json")
    assert json.loads(text)["tensors"][1] == {
        "name": "w",
        "dtype": "float32",
        "shape": [2],
        "bytes": 8,
    }


def test_values_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, w=[1.0, 2.0], b=3)
    assert _run(capsys, "cat", path) == (0, "b  int32[]\n3\nw  float32[2]\n[1. 2.]\n")
    assert _run(capsys, "cat", path, "b") == (0, "b  int32[]\n3\n")
    status, text = _run(capsys, "cat", path, "none")
    assert status == 2
    assert "Key none not found in checkpoint" in text


def test_each_damaged_tensor_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, a=np.ones(100, np.float32), b=np.ones(100, np.float32), c=1.0)
    assert _run(capsys, "verify", path, str(tmp_path)) == (0, f"{path}: 3 tensors, whole\n" * 2)
    data = Path(path + ".data-00000-of-00001")
    contents = bytearray(data.read_bytes())
    contents[10] ^= 1
    contents[500] ^= 1
    data.write_bytes(contents)
    status, text = _run(capsys, "verify", path)
    assert status == 1
    lines = text.splitlines()
    assert [line.partition(": at byte")[0] for line in lines[:2]] == [
        f"{data}: tensor a",
        f"{data}: tensor b",
    ]
    assert lines[2] == f"{path}: 3 tensors, 2 problems"
    Path(path + ".index").write_bytes(b"nothing")
    status, text = _run(capsys, "verify", "--json", path)
    assert status == 1
    assert "not a table" in json.loads(text)[0]["problems"][0]


def test_differences_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nan = float("nan")
    first = _write(
        tmp_path,
        "a",
        same=[nan, 1.0],
        w=[1.0, 2.0, 3.0],
        n=[1, 2],
        shape=[1.0],
        old=1,
        s=["a", "b"],
    )
    second = _write(
        tmp_path, "b", same=[nan, 1.0], w=[1.0, 2.5, 1.0], n=[1, 9], shape=[1], new=1, s=["a", "c"]
    )
    assert _run(capsys, "diff", first, first) == (0, "6 of 6 tensors are equal\n")
    status, text = _run(capsys, "diff", first, second)
    assert status == 1
    assert text.splitlines() == [
        "n: 1 of 2 elements differ, by up to 7",
        f"new: only in {second}",
        f"old: only in {first}",
        "s: 1 of 2 texts differ",
        "shape: float32[1] and int32[1]",
        "w: 2 of 3 elements differ, by up to 2",
        "1 of 7 tensors are equal",
    ]
    assert _run(capsys, "diff", first, str(tmp_path / "none"))[0] == 2


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_copy_has_the_same_tensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    with tf.Graph().as_default():
        half = tf.constant([1.5, -0.0, float("nan")], tf.bfloat16)
        with tf.Session() as sess:
            h = tf.Variable(half, name="h")
            s = tf.Variable([b"a\0", b""], name="s")
            sess.run([h.initializer, s.initializer])
            path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    assert path is not None
    copy = str(tmp_path / "copy")
    assert _run(capsys, "convert", path, copy, "--version", version)[0] == 0
    assert Path(copy).exists() == (version == "1")
    assert _run(capsys, "diff", path, copy) == (0, "2 of 2 tensors are equal\n")
    status, text = _run(capsys, "convert", path, copy)
    assert status == 2
    assert "exists; --overwrite replaces it" in text
    other = "1" if version == "2" else "2"
    assert _run(capsys, "convert", path, copy, "--overwrite", "--version", other)[0] == 0
    assert Path(copy).exists() == (other == "1")
    assert Path(copy + ".index").exists() == (other == "2")


def test_names_are_chosen_and_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, a=1.0, b=2.0)
    copy = str(tmp_path / "copy")
    options = ["--rename", "^=model/", "--only", "/a$"]
    assert _run(capsys, "convert", path, copy, *options) == (0, f"{copy}: 1 tensors\n")
    assert tf.train.list_variables(copy) == [("model/a", [])]
    status, text = _run(capsys, "convert", path, str(tmp_path / "other"), "--rename", "[ab]=c")
    assert status == 2
    assert "would both become 'c'" in text


def test_a_checkpoint_of_objects_becomes_one_of_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(4.0, name="v")
        sess.run(v.initializer)
        path = tf.train.Checkpoint(deep=[v]).write(str(tmp_path / "ckpt"))
    copy = str(tmp_path / "copy")
    assert _run(capsys, "convert", path, copy, "--by-names")[0] == 0
    assert tf.train.load_variable(copy, "v") == 4.0
    status, text = _run(capsys, "convert", copy, str(tmp_path / "other"), "--by-names")
    assert status == 2
    assert "it is no checkpoint of objects" in text


def test_arrays_of_numpy_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, w=[[1.0, 2.0]], s=["a", "bc"], flag=[True])
    file, copy = str(tmp_path / "arrays.npz"), str(tmp_path / "copy")
    assert _run(capsys, "convert", path, file)[0] == 0
    with np.load(file) as arrays:
        assert arrays["w"].tolist() == [[1.0, 2.0]]
        assert arrays["s"].tolist() == [b"a", b"bc"]
    assert _run(capsys, "convert", file, copy)[0] == 0
    assert _run(capsys, "diff", path, copy) == (0, "3 of 3 tensors are equal\n")
    zero = _write(tmp_path, "zero", s=[b"a\0"])
    status, text = _run(capsys, "convert", zero, str(tmp_path / "zero.npz"))
    assert status == 2
    assert "zero byte" in text
