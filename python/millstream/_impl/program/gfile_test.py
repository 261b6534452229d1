"""Files: what is read is what was written, and errors are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as tf

gfile: Any = tf.gfile


def test_text_and_bytes_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with gfile.GFile(path, "w") as file:
        file.write("für\n")
        file.write(b"two\n")
        assert file.tell() == 9
    assert gfile.GFile(path).read() == "für\ntwo\n"
    assert gfile.Open(str(path), "rb").read() == "für\ntwo\n".encode()
    assert list(gfile.FastGFile(path)) == ["für\n", "two\n"]
    assert gfile.GFile(path).size() == 9


def test_appending_seeking_and_parts(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with gfile.GFile(path, "w") as file:
        file.write("abc")
    with gfile.GFile(path, "a") as file:
        file.write("def")
    with gfile.GFile(path) as file:
        assert file.read(2) == "ab"
        file.seek(-1, 2)
        assert file.read() == "f"
        file.seek(position=3)
        assert file.readline() == "def"
        assert file.readline() == ""


def test_a_file_is_opened_when_it_is_first_read(tmp_path: Path) -> None:
    file = gfile.GFile(str(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        file.read()


def test_a_file_written_with_nothing_is_there(tmp_path: Path) -> None:
    with gfile.GFile(tmp_path / "empty", "w"):
        pass
    assert gfile.Stat(tmp_path / "empty").length == 0


def test_the_mode_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing"):
        gfile.GFile(tmp_path / "a").write("y")
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading"):
        gfile.GFile(tmp_path / "a", "w").read()
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        gfile.GFile(tmp_path / "a", "q")
    with pytest.raises(tf.errors.FailedPreconditionError):
        gfile.GFile(tmp_path).read()


def test_folders(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    gfile.MakeDirs(inner)
    gfile.MakeDirs(inner)
    for make in (gfile.MkDir, tf.io.gfile.mkdir):
        make(str(inner))
    (inner / "x.txt").write_text("x")
    (inner / "y.bin").write_text("y")
    assert sorted(gfile.ListDirectory(inner)) == ["x.txt", "y.bin"]
    assert gfile.Glob([str(inner / "*.txt"), str(inner / "*.bin")]) == [
        str(inner / "x.txt"),
        str(inner / "y.bin"),
    ]
    walked: list[Any] = [(str(tmp_path), ["a"], []), (str(tmp_path / "a"), ["b"], [])]
    last: Any = (str(inner), [], ["x.txt", "y.bin"])
    assert list(gfile.Walk(tmp_path)) == [*walked, last]
    assert list(gfile.Walk(tmp_path, in_order=False)) == [last, *reversed(walked)]
    gfile.DeleteRecursively(tmp_path / "a")
    assert not gfile.Exists(tmp_path / "a")


def test_copy_and_rename_keep_what_is_there_unless_told(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("a")
    b.write_text("b")
    for function in (gfile.Copy, gfile.Rename, tf.io.gfile.copy, tf.io.gfile.rename):
        with pytest.raises(tf.errors.AlreadyExistsError, match="b: "):
            function(str(a), str(b))
    gfile.Copy(a, b, overwrite=True)
    assert b.read_text() == "a"
    gfile.Rename(a, b, True)
    assert not a.exists()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    none = str(tmp_path / "none")
    for function in (gfile.Remove, gfile.Stat, gfile.ListDirectory, gfile.DeleteRecursively):
        with pytest.raises(tf.errors.NotFoundError, match="none"):
            function(none)
    with pytest.raises(tf.errors.NotFoundError):
        gfile.Copy(none, none + "2")
    with pytest.raises(tf.errors.NotFoundError):
        gfile.MkDir(str(tmp_path / "none" / "inner"))
    assert list(gfile.Walk(none)) == []
    assert not gfile.IsDirectory(none)
