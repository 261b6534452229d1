"""Files as strings, and the time of day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_files_are_written_and_read(tmp_path: Path, session: tf.Session) -> None:
    path = str(tmp_path / "a" / "b" / "file")
    contents = tf.placeholder(tf.string, [])
    write = tf.write_file(path, contents)
    for data in (b"", b"text\x00\xff", b"x" * 100_000):
        session.run(write, {contents: data})
        assert Path(path).read_bytes() == data
        assert session.run(tf.read_file(path)) == data
    assert [file.name for file in Path(path).parent.iterdir()] == ["file"]


def test_a_file_that_says_it_is_empty_is_read_to_its_end(session: tf.Session) -> None:
    assert session.run(tf.io.read_file("/proc/self/status")).startswith(b"Name:")


def test_a_file_is_read_in_each_step(tmp_path: Path, session: tf.Session) -> None:
    read = tf.read_file(str(tmp_path / "file"))
    for data in (b"one", b"two"):
        (tmp_path / "file").write_bytes(data)
        assert session.run(read) == data


def test_errors_name_the_file(tmp_path: Path, session: tf.Session) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        session.run(tf.read_file(str(tmp_path / "none")))
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(tf.read_file(str(tmp_path)))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(tf.errors.OpError, match="file"):
        session.run(tf.write_file(str(tmp_path / "file" / "below"), "x"))
    name = tf.placeholder(tf.string)
    for operation in (tf.read_file(name), tf.write_file(name, "x")):
        with pytest.raises(tf.errors.InvalidArgumentError, match="for argument 'filename'"):
            session.run(operation, {name: ["a", "b"]})
    with pytest.raises(ValueError, match=r"filename|rank"):
        tf.read_file(["a"])


def test_the_time_is_that_of_the_step(session: tf.Session) -> None:
    now = tf.timestamp()
    first, second = session.run(now), session.run(now)
    assert first.dtype == "float64"
    assert 1.7e9 < first <= second
