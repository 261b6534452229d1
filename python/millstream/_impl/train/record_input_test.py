"""RecordInput: every record once in each epoch, in an order that follows from the seed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.ops import gen_ops
from millstream._impl.summary.records import framed


def _files(folder: Path) -> str:
    for number in range(3):
        records = [framed(f"{number}.{i}".encode()) for i in range(4)]
        (folder / f"part{number}").write_bytes(b"".join(records))
    return f"{folder}/part*"


def _records(steps: int, **attributes: Any) -> list[list[bytes]]:
    with tf.Graph().as_default(), tf.Session() as sess:
        records = gen_ops.record_input(**attributes)
        assert records.shape.as_list() == [attributes["batch_size"]]
        return [sess.run(records).tolist() for _ in range(steps)]


def test_each_epoch_has_each_record_once(tmp_path: Path) -> None:
    expected = sorted(f"{number}.{i}".encode() for number in range(3) for i in range(4))
    for buffer_size in (1, 5, 100):
        found = _records(
            4, file_pattern=_files(tmp_path), batch_size=6, file_buffer_size=buffer_size
        )
        assert sorted(found[0] + found[1]) == expected
        assert sorted(found[2] + found[3]) == expected
        # Three files alone may come in one order twice.
        if buffer_size > 1:
            assert found[0] + found[1] != found[2] + found[3]


def test_the_order_follows_from_the_seed(tmp_path: Path) -> None:
    pattern = _files(tmp_path)
    first, again = (_records(2, file_pattern=pattern, batch_size=12) for _ in range(2))
    assert first == again
    assert first != _records(2, file_pattern=pattern, batch_size=12, file_random_seed=7)
    turned = _records(
        2, file_pattern=pattern, batch_size=12, file_buffer_size=1, file_shuffle_shift_ratio=0.5
    )
    assert turned != _records(2, file_pattern=pattern, batch_size=12, file_buffer_size=1)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
        _records(1, file_pattern=f"{tmp_path}/none*", batch_size=1)
    (tmp_path / "empty").touch()
    with pytest.raises(tf.errors.OutOfRangeError, match="have no records"):
        _records(1, file_pattern=f"{tmp_path}/empty", batch_size=1)
    (tmp_path / "damaged").write_bytes(framed(b"abc")[:-1])
    with pytest.raises(tf.errors.DataLossError, match="damaged ends within the record at byte 0"):
        _records(1, file_pattern=f"{tmp_path}/damaged", batch_size=1)
    for attribute, value in (
        ("file_buffer_size", 0),
        ("file_shuffle_shift_ratio", 1.5),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=attribute):
            _records(1, file_pattern=_files(tmp_path), batch_size=1, **{attribute: value})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"compression_type.*got 'LZ4'"):
        _records(1, file_pattern=_files(tmp_path), batch_size=1, compression_type="LZ4")


def test_files_may_be_compressed(tmp_path: Path) -> None:
    whole = b"".join(framed(bytes([number])) for number in range(6))
    halves = whole[: len(whole) // 2], whole[len(whole) // 2 :]
    for kind, data in (
        ("ZLIB", zlib.compress(whole)),
        ("GZIP", b"".join(gzip.compress(half) for half in halves)),
    ):
        path = tmp_path / kind
        path.write_bytes(data)
        (found,) = _records(1, file_pattern=str(path), batch_size=6, compression_type=kind)
        assert sorted(found) == [bytes([number]) for number in range(6)]
        other = "GZIP" if kind == "ZLIB" else "ZLIB"
        with pytest.raises(tf.errors.DataLossError, match=f"{kind} is damaged, or not compressed"):
            _records(1, file_pattern=str(path), batch_size=1, compression_type=other)
        path.write_bytes(data[:-1])
        with pytest.raises(tf.errors.DataLossError, match="ends within the compressed data"):
            _records(1, file_pattern=str(path), batch_size=6, compression_type=kind)
