"""Files of records."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.summary.crc32c import masked_crc32c
from millstream._impl.summary.records import framed

RECORDS = [b"", b"one", b"x" * 300_000, bytes(range(256))]


@pytest.mark.parametrize(
    "options",
    [
        None,
        "",
        "GZIP",
        tf.python_io.TFRecordCompressionType.ZLIB,
        tf.python_io.TFRecordOptions("ZLIB", window_bits=9, compression_level=9, mem_level=1),
        tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP),
    ],
)
def test_records_come_back(options: Any, tmp_path: Path) -> None:
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    assert list(tf.python_io.tf_record_iterator(str(path), options)) == RECORDS


def test_compression_is_that_of_the_formats(tmp_path: Path) -> None:
    for kind, read in (("", bytes), ("ZLIB", zlib.decompress), ("GZIP", gzip.decompress)):
        with tf.io.TFRecordWriter(tmp_path / "records", kind) as writer:
            writer.write(b"one")
        assert read((tmp_path / "records").read_bytes()) == framed(b"one")


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_what_was_flushed_is_in_the_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "records"
    writer = tf.python_io.TFRecordWriter(path, kind)
    writer.write(b"one")
    writer.flush()
    assert next(iter(tf.python_io.tf_record_iterator(path, kind))) == b"one"
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"Writer is closed\."):
        writer.write(b"two")


def test_errors_are_typed(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        next(tf.python_io.tf_record_iterator(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        tf.python_io.TFRecordWriter(tmp_path / "none" / "records")
    path = tmp_path / "records"
    path.write_bytes(framed(b"one") + framed(b"two")[:-1])
    records = tf.python_io.tf_record_iterator(path)
    assert next(records) == b"one"
    with pytest.raises(tf.errors.DataLossError, match="at byte 19: truncated record at 19"):
        next(records)
    with pytest.raises(tf.errors.DataLossError, match="not compressed as it should be"):
        next(tf.python_io.tf_record_iterator(path, "GZIP"))
    for bad in ("LZ4", 7):
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            tf.python_io.TFRecordOptions(bad)
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            tf.python_io.TFRecordWriter(path, bad)


def test_a_length_that_no_file_has_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "records"
    length = struct.pack("<Q", 2**63)
    path.write_bytes(length + struct.pack("<I", masked_crc32c(length)) + bytes(3 << 20))
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        next(tf.python_io.tf_record_iterator(path))
    path.write_bytes(length + bytes(100))
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        next(tf.python_io.tf_record_iterator(path))
    large = bytes(range(256)) * (10 << 10)  # read in three pieces
    path.write_bytes(framed(large) + framed(b"two"))
    assert list(tf.python_io.tf_record_iterator(path)) == [large, b"two"]
