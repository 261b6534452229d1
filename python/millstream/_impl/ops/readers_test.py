"""Readers of files whose names come out of a queue."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def queue_of(session: tf.Session, *names: Any) -> Any:
    """A closed queue of the names."""
    queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
    session.run(queue.enqueue_many([[str(name) for name in names]]))
    session.run(queue.close())
    return queue


def all_of(session: tf.Session, pair: Any) -> list[tuple[str, bytes]]:
    """The pairs of all reads until the end."""
    found = []
    try:
        while True:
            key, value = session.run(pair)
            found.append((key.decode(), value))
    except tf.errors.OutOfRangeError as error:
        assert "closed and has insufficient elements" in error.message  # noqa: PT017
    return found


def test_lines_of_files(tmp_path: Path, session: tf.Session) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    a.write_bytes(b"head\none\r\n\ntwo")
    b.write_bytes(b"head")
    c.write_bytes(b"head\n" + b"x" * 600_000 + b"\nend\n")
    reader = tf.TextLineReader(skip_header_lines=1)
    pair = reader.read(queue_of(session, a, b, c))
    assert all_of(session, pair) == [
        (f"{a}:2", b"one"),
        (f"{a}:3", b""),
        (f"{a}:4", b"two"),
        (f"{c}:2", b"x" * 600_000),
        (f"{c}:3", b"end"),
    ]
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    assert session.run(counts) == [5, 3]
    session.run(reader.reset())
    assert session.run(counts) == [0, 0]


def test_records_of_files(tmp_path: Path, session: tf.Session) -> None:
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        writer.write(b"")
    pair = tf.TFRecordReader().read(queue_of(session, path))
    assert all_of(session, pair) == [(f"{path}:0", b"one"), (f"{path}:19", b"")]


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_records(kind: str, tmp_path: Path, session: tf.Session) -> None:
    path = tmp_path / "records"
    options = tf.python_io.TFRecordOptions(kind)
    with tf.python_io.TFRecordWriter(path, options=options) as writer:
        writer.write(b"one")
        writer.write(b"two")
    pair = tf.TFRecordReader(options=options).read(queue_of(session, path))
    assert all_of(session, pair) == [(f"{path}:0", b"one"), (f"{path}:19", b"two")]


@pytest.mark.parametrize(
    ("kind", "compress"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress), ("", bytes)]
)
def test_compressed_records_of_one_size(
    kind: str, compress: Callable[[bytes], bytes], tmp_path: Path, session: tf.Session
) -> None:
    path = tmp_path / "file"
    long = b"h" * 300_000 + bytes(range(200)) * 4_000 + b"foot"
    path.write_bytes(compress(long))
    reader = tf.FixedLengthRecordReader(
        250_000, header_bytes=300_000, footer_bytes=4, hop_bytes=540_000, encoding=kind
    )
    pairs = all_of(session, reader.read(queue_of(session, path)))
    assert pairs == [(f"{path}:{i}", long[300_000 + i * 540_000 :][:250_000]) for i in range(2)]
    reader = tf.FixedLengthRecordReader(1, header_bytes=2**62, footer_bytes=2**62, encoding=kind)
    assert all_of(session, reader.read(queue_of(session, path))) == []


def test_the_state_of_a_reader_is_saved(tmp_path: Path, session: tf.Session) -> None:
    reader = tf.IdentityReader()
    pair = reader.read(queue_of(session, "a", "b", "c"))
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    session.run(pair)
    state = session.run(reader.serialize_state())
    # The wire format: 1 piece begun, 1 finished, 1 record, the name.
    assert state == b"\x08\x01\x10\x01\x18\x01\x22\x01a"
    session.run(pair)
    assert session.run(counts) == [2, 2]
    session.run(reader.restore_state(state))
    assert session.run(counts) == [1, 1]
    # A piece that was begun and not finished is read again.
    session.run(reader.restore_state(b"\x08\x01\x22\x01x"))
    assert session.run(list(pair)) == [b"x", b"x"]
    assert session.run(counts) == [1, 1]
    path = tmp_path / "file"
    path.write_bytes(b"text")
    files = tf.WholeFileReader()
    value = files.read(queue_of(session, path)).value
    session.run(value)
    copy = tf.WholeFileReader()
    session.run(copy.restore_state(session.run(files.serialize_state())))
    assert session.run(copy.num_work_units_completed()) == 1


def test_records_of_one_size(tmp_path: Path, session: tf.Session) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"HHabcdefgF")
    reader = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1)
    assert all_of(session, reader.read(queue_of(session, path))) == [
        (f"{path}:0", b"abc"),
        (f"{path}:1", b"def"),
    ]
    reader = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1, hop_bytes=2)
    values = [value for _, value in all_of(session, reader.read(queue_of(session, path)))]
    assert values == [b"abc", b"cde", b"efg"]


def test_whole_files_and_names(tmp_path: Path, session: tf.Session) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\nb\n")
    queue = queue_of(session, path, path)
    assert all_of(session, tf.WholeFileReader().read(queue)) == [(str(path), b"a\nb\n")] * 2
    names = queue_of(session, "a", "b").queue_ref
    assert all_of(session, tf.IdentityReader().read(names)) == [("a", b"a"), ("b", b"b")]


def test_several_records_are_of_one_file(tmp_path: Path, session: tf.Session) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"1\n2\n3\n")
    b.write_bytes(b"4\n")
    pair = tf.TextLineReader().read_up_to(queue_of(session, a, b), 2)
    assert pair.values.shape.as_list() == [None]
    assert [session.run(pair.values).tolist() for _ in range(3)] == [[b"1", b"2"], [b"3"], [b"4"]]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(pair)


def test_input_pipelines_of_old_programs(tmp_path: Path, session: tf.Session) -> None:
    paths = [str(tmp_path / f"{i}.csv") for i in range(2)]
    for i, path in enumerate(paths):
        Path(path).write_text("".join(f"{4 * i + j},{j / 2}\n" for j in range(4)))
    names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader().read(names)
    number, half = tf.decode_csv(line, [[0], [0.0]])
    batch = tf.train.batch([number, half], 3, allow_smaller_final_batch=True)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    seen: list[int] = []
    while len(seen) < 8:
        numbers, halves = session.run(batch)
        assert (numbers % 4).tolist() == (2 * halves).tolist()
        seen += numbers.tolist()
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(batch)
    coordinator.request_stop()
    coordinator.join(threads)
    assert seen == list(range(8))


def test_a_read_ends_with_its_step(session: tf.Session) -> None:
    queue = tf.FIFOQueue(10, tf.string, name="names")
    pair = tf.WholeFileReader().read(queue)
    with pytest.raises(tf.errors.DeadlineExceededError, match="an element of queue 'names'"):
        session.run(pair, options=tf.RunOptions(timeout_in_ms=20))


def test_errors_name_what_is_wrong(tmp_path: Path, session: tf.Session) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(tf.errors.NotFoundError, match="missing"):
        session.run(tf.TextLineReader().read(queue_of(session, missing)))
    path = tmp_path / "records"
    path.write_bytes(b"no records at all")
    with pytest.raises(tf.errors.DataLossError, match="at byte 0"):
        session.run(tf.TFRecordReader().read(queue_of(session, path)))
    compressed = tf.python_io.TFRecordOptions("GZIP")
    with pytest.raises(tf.errors.DataLossError, match="not compressed so"):
        session.run(tf.TFRecordReader(options=compressed).read(queue_of(session, path)))
    count = tf.placeholder(tf.int64, [])
    pair = tf.TextLineReader().read_up_to(queue_of(session, path), count)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'num_records' must be > 0"):
        session.run(pair, {count: 0})
    numbers = tf.FIFOQueue(10, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="string"):
        session.run(tf.TextLineReader().read(numbers))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'record_bytes' must be > 0"):
        session.run(tf.FixedLengthRecordReader(0).read(queue_of(session, path)))
    with pytest.raises(TypeError, match="queue: expected a queue or its handle"):
        tf.TextLineReader().read("names")
    with pytest.raises(tf.errors.UnimplementedError, match="does not save its state"):
        session.run(tf.TextLineReader().serialize_state())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not the saved state of a reader"):
        session.run(tf.IdentityReader().restore_state(b"\xff"))
    negative = b"\x10" + b"\xff" * 9 + b"\x01"  # field 2: -1
    with pytest.raises(tf.errors.InvalidArgumentError, match="-1 finished"):
        session.run(tf.IdentityReader().restore_state(negative))


def test_readers_of_imported_graphs_work_on_references(session: tf.Session) -> None:
    graph_def = tf.GraphDef()
    names = graph_def.node.add(name="names", op="Const")
    names.attr["dtype"].type = tf.string.as_datatype_enum
    names.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(["a", "b"]))
    queue = graph_def.node.add(name="queue", op="FIFOQueue")
    queue.attr["component_types"].list.type.append(tf.string.as_datatype_enum)
    fill = graph_def.node.add(name="fill", op="QueueEnqueueMany", input=["queue", "names"])
    fill.attr["Tcomponents"].list.type.append(tf.string.as_datatype_enum)
    graph_def.node.add(name="reader", op="IdentityReader")
    graph_def.node.add(name="read", op="ReaderRead", input=["reader", "queue"])
    graph_def.node.add(name="count", op="ReaderNumRecordsProduced", input=["reader"])
    elements = ["fill", "read:0", "read:1", "count:0"]
    found: Any = tf.import_graph_def(graph_def, return_elements=elements, name="")
    fill_op, key, value, count = found
    session.run(fill_op)
    assert session.run([key, value]) == [b"a", b"a"]
    assert session.run([key, value]) == [b"b", b"b"]
    assert session.run(count) == 2
