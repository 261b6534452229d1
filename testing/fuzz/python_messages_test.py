"""The message classes of Python, which read bytes by themselves, on hostile bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from millstream import protos
from millstream.protos.message import DecodeError

_FILES = sorted(Path("testing/fuzz/corpus/message").iterdir())


def _read(name: str, data: bytes) -> None:
    """A message or a DecodeError; what is read is written and read again."""
    try:
        message = protos.message_class(name).FromString(data)
    except DecodeError:
        return
    again = protos.message_class(name).FromString(message.SerializeToString())
    assert again.SerializeToString() == message.SerializeToString()


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_corpus_and_its_mutations_are_read_or_refused(path: Path) -> None:
    name, _, data = path.read_bytes().partition(b"\n")
    _read(name.decode(), data)
    numbers = random.Random(20)
    for _ in range(50):
        damaged = bytearray(data)
        for _ in range(numbers.randint(1, 4)):
            at = numbers.randrange(len(damaged) + 1)
            kind = numbers.randrange(3)
            if kind == 0:
                damaged[at : at + 1] = bytes([numbers.choice((0, 1, 127, 128, 255))])
            elif kind == 1:
                del damaged[at : at + numbers.randint(1, 16)]
            else:
                damaged[at:at] = damaged[at : at + numbers.randint(1, 16)]
        _read(name.decode(), bytes(damaged))


def test_groups_that_never_end_are_refused() -> None:
    with pytest.raises(DecodeError):
        protos.message_class("NodeDef").FromString(b"\x7b" * (1 << 20))


def test_deep_nesting_is_refused() -> None:
    data = b""
    for _ in range(2000):
        inner = b"\x9a\x03" + _varint(len(data)) + data
        data = b"\x0a" + _varint(len(inner)) + inner
    with pytest.raises(DecodeError):
        protos.message_class("ListValue").FromString(data)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
