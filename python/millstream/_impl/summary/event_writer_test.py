"""Event files: framing, checksums, contents."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


def events_of(folder: Path) -> list[Any]:
    """The events of the only file in a folder."""
    (path,) = folder.iterdir()
    return list(tf.train.summary_iterator(path))


def loss(value: float) -> Any:
    return tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])


def test_summaries_of_steps_are_written(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        with tf.name_scope("train"):
            tf.summary.scalar("loss", x * 2.0)
        merged = tf.summary.merge_all()
        with tf.summary.FileWriter(str(tmp_path)) as writer:
            for step in range(3):
                writer.add_summary(session.run(merged, {x: step}), step)
    events = events_of(tmp_path)
    assert events[0].file_version == "brain.Event:2"
    values = [(event.step, event.summary.value[0]) for event in events[1:]]
    assert [step for step, _ in values] == [0, 1, 2]
    assert [value.simple_value for _, value in values] == [0.0, 2.0, 4.0]
    assert {value.tag for _, value in values} == {"train/loss"}


def test_graph_is_written_first(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
        tf.train.SummaryWriter(str(tmp_path), graph).close()
    written = tf.GraphDef.FromString(events_of(tmp_path)[1].graph_def)
    assert [node.name for node in written.node] == ["one"]


def test_graph_and_its_collections_follow_the_version(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0, name="v")
        for value in (tf.constant(1, name="one"), 3, "text", 0.5, object()):
            tf.add_to_collection(type(value).__name__, value)
        tf.summary.FileWriter(str(tmp_path), graph).close()
    events = events_of(tmp_path)
    kinds = [event.WhichOneof("what") for event in events]
    assert kinds == ["file_version", "graph_def", "meta_graph_def"]
    meta_graph = tf.MetaGraphDef.FromString(events[2].meta_graph_def)
    assert meta_graph.graph_def == tf.GraphDef.FromString(events[1].graph_def)
    held = meta_graph.collection_def
    assert list(held["Tensor"].node_list.value) == ["one:0"]
    assert list(held["int"].int64_list.value) == [3]
    assert list(held["str"].bytes_list.value) == [b"text"]
    assert list(held["float"].float_list.value) == [0.5]
    assert list(held["variables"].bytes_list.value) == [variable.to_proto().SerializeToString()]
    assert "object" not in held


def test_graph_def_is_written_as_a_graph_is(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    tf.summary.FileWriter(str(tmp_path), graph_def=graph.as_graph_def()).close()
    written = tf.MetaGraphDef.FromString(events_of(tmp_path)[2].meta_graph_def)
    assert [node.name for node in written.graph_def.node] == ["one"]


def test_graph_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"graph: expected a graph or a GraphDef, got 3"):
        tf.summary.FileWriter(str(tmp_path), 3)


def test_what_is_no_message_is_refused(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path) as writer:
        with pytest.raises(
            TypeError, match=r"summary: expected a message Summary or its bytes, got 3"
        ):
            writer.add_summary(3)
        with pytest.raises(
            TypeError, match=r"event: expected a message Event or its bytes, got 'x'"
        ):
            writer.add_event("x")
        with pytest.raises(ValueError, match=r"not both"):
            writer.add_graph(tf.Graph(), graph_def=tf.GraphDef())


def test_closed_writer_writes_nothing_until_it_is_reopened(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed"):
        writer.add_summary(loss(1.0), 1)
    writer.flush()
    writer.reopen()
    writer.add_summary(loss(2.0), 2)
    writer.close()
    first, second = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    assert len(list(tf.train.summary_iterator(first))) == 1
    assert [event.step for event in tf.train.summary_iterator(second)] == [0, 2]


def test_all_kinds_of_event_are_written(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path, filename_suffix=".end") as writer:
        log = tf.SessionLog(status=tf.SessionLog.START)
        writer.add_session_log(log, 1)
        writer.add_run_metadata(tf.RunMetadata(), "step 2", 2)
        with pytest.raises(ValueError, match="'step 2' was already used"):
            writer.add_run_metadata(tf.RunMetadata(), "step 2", 3)
        writer.add_meta_graph(tf.MetaGraphDef(), 4)
        writer.add_event(tf.Event(step=5, wall_time=1.5))
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert path.name.endswith(".end")
    events = events_of(tmp_path)
    assert [event.WhichOneof("what") for event in events] == [
        "file_version",
        "session_log",
        "tagged_run_metadata",
        "meta_graph_def",
        None,
    ]
    assert [event.step for event in events] == [0, 1, 2, 4, 5]
    assert events[2].tagged_run_metadata.tag == "step 2"
    assert events[4].wall_time == 1.5


def test_metadata_of_a_tag_is_written_once(tmp_path: Path) -> None:
    value = tf.Summary.Value(tag="t", simple_value=1.0, metadata={"display_name": "T"})
    summary = tf.Summary(value=[value])
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(summary, 1)
        writer.add_summary(summary.SerializeToString(), 2)
    assert summary.value[0].HasField("metadata")
    written = [event.summary.value[0] for event in events_of(tmp_path)[1:]]
    assert [value.HasField("metadata") for value in written] == [True, False]


def test_bytes_of_a_summary_are_written_as_they_are(tmp_path: Path) -> None:
    data = loss(0.5).SerializeToString() + b"\x9a\x01\x03xyz"  # and a field that nobody knows
    with tf.summary.FileWriter(tmp_path) as writer:
        for step in (None, 0, 1, 300, -1):
            writer.add_summary(data, step)
    events = events_of(tmp_path)[1:]
    assert [event.step for event in events] == [0, 0, 1, 300, -1]
    assert [event.summary.SerializeToString() for event in events] == [data] * 5
    assert all(event.wall_time > 1.5e9 for event in events)


def test_bytes_that_are_no_summary_are_refused(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path) as writer:
        for bad in (b"\x0a", b"\x0a\x05abc", b"\x0a\x02\x0a\x09", b"\x00"):
            with pytest.raises(
                tf.protos.message.DecodeError, match=f"{len(bad)} bytes are no Summary"
            ):
                writer.add_summary(bad, 1)
    assert len(events_of(tmp_path)) == 1


def test_flush_hands_over_what_many_threads_added(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path, max_queue=2)

    def add() -> None:
        for step in range(50):
            writer.add_summary(loss(step), step)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.flush()
    steps = sorted(event.step for event in events_of(tmp_path)[1:])
    assert steps == sorted(list(range(50)) * 4)
    writer.close()


# Waits and processes take a hundredth of it at the most, on a busy machine too.
_HANG_GUARD_SECONDS = 300


def test_events_are_written_after_flush_secs(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path, flush_secs=0.05)
    writer.add_summary(loss(1.0), 1)
    end = time.monotonic() + _HANG_GUARD_SECONDS
    while len(events_of(tmp_path)) < 2:
        assert time.monotonic() < end, f"a guard against hanging: none for {_HANG_GUARD_SECONDS} s"
        time.sleep(0.01)
    assert len(events_of(tmp_path)) == 2
    writer.close()


def run_program(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that writes into a folder, its only argument, in a process of its own."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(folder)],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
        check=False,
    )


WRITE = """
    import os, signal, sys
    import millstream as tf
    writer = tf.summary.FileWriter(sys.argv[1])
    for step in range(1, 6):
        value = tf.Summary.Value(tag="loss", simple_value=step)
        writer.add_summary(tf.Summary(value=[value]), step)
"""


def test_program_that_ends_without_close_loses_nothing(tmp_path: Path) -> None:
    done = run_program(WRITE, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [event.step for event in events_of(tmp_path)] == [0, 1, 2, 3, 4, 5]


def test_program_that_is_killed_keeps_what_it_flushed(tmp_path: Path) -> None:
    done = run_program(
        WRITE + "    writer.flush()\n    os.kill(os.getpid(), signal.SIGKILL)\n", tmp_path
    )
    assert done.returncode == -signal.SIGKILL
    assert [event.step for event in events_of(tmp_path)] == [0, 1, 2, 3, 4, 5]


def test_writer_in_a_forked_child_says_whose_it_is(tmp_path: Path) -> None:
    program = (
        WRITE
        + """
    child = os.fork()
    if child == 0:
        try:
            writer.add_summary(tf.Summary(), 9)
        except RuntimeError as error:
            print(error, flush=True)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """
    )
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "make a FileWriter of its own in each process" in done.stdout
    assert [event.step for event in events_of(tmp_path)] == [0, 1, 2, 3, 4, 5]


FILL = """
    import resource, sys
    import millstream as tf
    writer = tf.summary.FileWriter(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    value = tf.Summary.Value(tag="text", tensor={"string_val": [b"x" * 2000]})
    summary = tf.Summary(value=[value])
    writer.add_summary(summary, 1)
    for call in (writer.flush, lambda: writer.add_summary(summary, 2), writer.flush, writer.close):
        try:
            call()
        except OSError as error:
            print(error.errno, error.strerror, error.filename, sep="|")
"""


def test_error_of_the_disk_reaches_the_program(tmp_path: Path) -> None:
    done = run_program(FILL, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = tmp_path.iterdir()
    assert done.stdout.splitlines() == [f"{errno.EFBIG}|{os.strerror(errno.EFBIG)}|{path}"] * 4
    events = tf.train.summary_iterator(path)
    assert next(events).file_version == "brain.Event:2"
    with pytest.raises(tf.errors.DataLossError):
        next(events)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileExistsError) as taken:
        tf.summary.FileWriter(file)
    assert taken.value.filename == str(file)
    with pytest.raises(NotADirectoryError) as below:
        tf.summary.FileWriter(file / "below")
    assert below.value.filename == str(file / "below")


def test_file_name_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long") as refused:
        tf.summary.FileWriter(tmp_path, filename_suffix="x" * 300)
    assert refused.value.errno == errno.ENAMETOOLONG
    assert str(refused.value.filename).startswith(str(tmp_path))


def test_cache_has_one_writer_a_folder(tmp_path: Path) -> None:
    cache = tf.summary.FileWriterCache
    writer = cache.get(str(tmp_path))
    assert cache.get(str(tmp_path)) is writer
    writer.add_summary(loss(1.0), 1)
    cache.clear()
    assert [event.step for event in events_of(tmp_path)] == [0, 1]
    assert cache.get(str(tmp_path)) is not writer
    cache.clear()


def test_damaged_file_is_read_up_to_the_damage(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(loss(1.0), 1)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    for bad in [data[:-1], data[:-30], data[:-5] + b"x" + data[-4:]]:
        path.write_bytes(bad)
        events = tf.train.summary_iterator(path)
        assert next(events).file_version == "brain.Event:2"
        with pytest.raises(tf.errors.DataLossError, match="at byte"):
            next(events)
