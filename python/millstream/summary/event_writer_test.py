"""Event files: framing, checksums, contents."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream.summary.record_writer import crc32c, masked_crc32c


def events_of(folder: Path) -> list[Any]:
    """The events of the only file in a folder, whose framing is checked on the way."""
    (path,) = folder.iterdir()
    data, events = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12]) == (masked_crc32c(data[:8]),)
        payload = data[12 : 12 + size]
        assert struct.unpack("<I", data[12 + size : 16 + size]) == (masked_crc32c(payload),)
        events.append(tf.Event.FromString(payload))
        data = data[16 + size :]
    return events


def test_checksum_is_castagnolis() -> None:
    # RFC 3720, appendix B.4
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes([0xFF] * 32)) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


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


def test_graph_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"graph: expected a graph or a GraphDef, got 3"):
        tf.summary.FileWriter(str(tmp_path), 3)


def test_closed_writer_refuses_until_it_is_reopened(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    with pytest.raises(RuntimeError, match="closed"):
        writer.add_summary(tf.Summary())
    writer.reopen()
    writer.add_summary(tf.Summary(), 1)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_tags_are_cleaned_and_grouped_by_family() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = [
            tf.summary.scalar("has space & sign", 1.0),
            tf.summary.scalar("rate", 1.0, family="schedule"),
        ]
        summary = tf.Summary.FromString(session.run(tf.summary.merge(made)))
    assert [value.tag for value in summary.value] == [
        "has_space___sign",
        "schedule/schedule/rate",
    ]
