"""The thread behind a writer: what it takes at once, and when adding waits for it."""

from __future__ import annotations

import threading
import types
from typing import Any

import pytest

from millstream._impl.protos import wire
from millstream._impl.protos.message import DecodeError
from millstream._impl.summary import event_file, summary_bytes
from millstream._impl.summary.event_file import EventFile
from millstream._impl.summary.records import framed

_FOREVER = 1e6  # seconds


class _GatedFile:
    """A file in memory that takes nothing before its gate is open."""

    def __init__(self, path: str) -> None:
        self.gate = threading.Event()
        self.written: list[bytes] = []
        self.syncs = 0
        self.error: OSError | None = None

    def append(self, data: bytes) -> None:
        self.gate.wait()
        if self.error is not None:
            raise self.error
        self.written.append(data)

    def sync(self) -> None:
        self.syncs += 1

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "_runtime", types.SimpleNamespace(File=_GatedFile))


def gated(file: EventFile) -> _GatedFile:
    inner: Any = file._file
    assert isinstance(inner, _GatedFile)
    return inner


def test_records_are_written_together_by_a_flush() -> None:
    file = EventFile("f", 10, _FOREVER)
    for data in (b"a", b"b", b"c"):
        file.add(data)
    gated(file).gate.set()
    file.flush()
    assert gated(file).written == [b"".join(map(framed, (b"a", b"b", b"c")))]
    assert gated(file).syncs == 1
    file.close()


def test_adding_waits_for_a_thread_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    file = EventFile("f", 2, _FOREVER)
    block = b"x" * event_file._LARGE  # the thread writes it at once
    waits = threading.Event()
    wait = file._progress.wait

    def noted_wait(timeout: float | None = None) -> bool:
        waits.set()
        return wait(timeout)

    monkeypatch.setattr(file._progress, "wait", noted_wait)
    # The thread takes at most three; as many wait, and the next one must wait for the gate.

    def add_all() -> None:
        for _ in range(8):
            file.add(block)

    producer = threading.Thread(target=add_all)
    producer.start()
    waits.wait()
    with file._lock:
        assert len(file._waiting) <= 3
    gated(file).gate.set()
    producer.join()
    file.close()
    record = framed(block)
    assert b"".join(gated(file).written) == record * 8
    assert max(map(len, gated(file).written)) <= 3 * len(record)


def test_no_limit_lets_adding_go_on() -> None:
    file = EventFile("f", 0, _FOREVER)
    for _ in range(8):
        file.add(b"x" * event_file._LARGE)
    gated(file).gate.set()
    file.close()
    assert b"".join(gated(file).written) == framed(b"x" * event_file._LARGE) * 8


def test_error_of_the_thread_reaches_those_who_wait() -> None:
    file = EventFile("f", 1, _FOREVER)
    gated(file).error = OSError(28, "No space left on device", "f")
    gated(file).gate.set()
    file.add(b"a")
    for call in (file.flush, file.flush, lambda: file.add(b"b"), file.close):
        with pytest.raises(OSError, match="No space left on device"):
            call()
    assert gated(file).written == []


def test_closed_file_takes_nothing() -> None:
    file = EventFile("f", 1, _FOREVER)
    gated(file).gate.set()
    file.close()
    file.close()
    for call in (file.flush, lambda: file.add(b"b")):
        with pytest.raises(RuntimeError, match="f is closed"):
            call()


def _value(tag: bytes, *fields: bytes) -> bytes:
    inner = b"\x0a" + wire.encode_delimited(tag) + b"".join(fields)
    return b"\x0a" + wire.encode_delimited(inner)


METADATA = b"\x4a\x02\x0a\x00"
SCALAR = b"\x15\x00\x00\x80\x3f"


@pytest.mark.parametrize(
    ("summary", "tags"),
    [
        (b"", set()),
        (_value(b"a", SCALAR), set()),
        (_value(b"a", METADATA) + _value(b"b", SCALAR) + _value(b"c", METADATA), {b"a", b"c"}),
        # A histogram of more than 127 bytes, and a picture of more than 16 KiB, before it.
        (_value(b"a", b"\x2a" + wire.encode_delimited(b"h" * 300), METADATA), {b"a"}),
        (_value(b"a", b"\x22" + wire.encode_delimited(b"p" * 70000), METADATA), {b"a"}),
        # Unknown fields: a number, and one whose own number is above 15.
        (b"\x10\x96\x01" + _value(b"a", b"\xa2\x01\x01x", METADATA), {b"a"}),
    ],
)
def test_tags_with_metadata_are_found(summary: bytes, tags: set[bytes]) -> None:
    assert summary_bytes.tags_with_metadata(summary) == tags


@pytest.mark.parametrize(
    "summary",
    [
        _value(b"a", METADATA)[:-1],
        _value(b"a", SCALAR)[:-1],
        b"\x0a",
        b"\x0a\x80",
        b"\x0a\x05\x0a\x10abc",
        b"\x02\x00",
        b"\x05\x00\x00\x00\x00",
        b"\x0a\xff\xff\x03",
        b"\x0f\x00",
    ],
)
def test_bytes_that_are_no_summary_are_refused(summary: bytes) -> None:
    with pytest.raises(DecodeError):
        summary_bytes.tags_with_metadata(summary)
