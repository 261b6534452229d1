"""The message classes of Python, which read bytes by themselves, on hostile bytes."""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from pathlib import Path

import pytest

import millstream as tf
from millstream import _runtime
from millstream._impl import protos
from millstream._impl.protos.message import DecodeError

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


_MEBIBYTE = 1 << 20


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _lists(count: int, content: bytes = b"") -> bytes:
    """Lists of values within each other: of each one a ListValue and a StructuredValue."""
    for _ in range(count):
        content = _field(1, _field(51, content))
    return content


def _maps(count: int) -> bytes:
    """An AttrValue of functions within each other, of each one three: func, entry and value."""
    content = b""
    for _ in range(count):
        content = _field(10, _field(2, _field(1, b"k") + _field(2, content)))
    return content


# Of a ListValue.
_LONG_TEXT = _field(1, _field(12, b"a" * 1_000_000))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("GraphDef", b"\x0a\x00" * 500_000, id="empty_messages"),
        pytest.param("NodeDef", b"\x2a\x00" * 500_000, id="empty_entries_of_a_map"),
        pytest.param("ListValue", _lists(49, _LONG_TEXT), id="a_nested_text"),
        pytest.param("ListValue", _lists(300, _LONG_TEXT), id="a_text_that_is_nested_too_deep"),
        pytest.param("NodeDef", b"\x1a\x02\xc4\x80" * 250_000, id="short_texts"),
        pytest.param("NodeDef", b"\x7b\x7c" * 500_000, id="groups"),
        pytest.param("Int64List", _field(1, b"\x80\x02" * 500_000), id="packed_numbers"),
    ],
)
def test_a_mebibyte_takes_at_most_64(name: str, data: bytes) -> None:
    assert len(data) <= _MEBIBYTE
    tracemalloc.start()
    try:
        with contextlib.suppress(DecodeError):
            protos.message_class(name).FromString(data)
        assert tracemalloc.get_traced_memory()[1] <= 64 * _MEBIBYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("GraphDef", b"\x0a\x00"),
        ("AttrValue", b"\x42\x00"),  # one message that comes again and again
        ("AttrValue", b"\x0a\x02\x12\x00\x42\x00"),  # two in turn, of which one is kept
    ],
)
def test_what_takes_much_is_refused_where_it_is_long(name: str, part: bytes) -> None:
    protos.message_class(name).FromString(part * 10_000)
    with pytest.raises(DecodeError, match=f"bytes are no {name}: they would take far more memory"):
        protos.message_class(name).FromString(part * (_MEBIBYTE // len(part)))


def test_a_mebibyte_of_a_graph_with_shapes_is_read() -> None:
    graph = tf.GraphDef()
    for i in range(12_000):
        node = graph.node.add(name=f"n{i}", op="Neg", input=[f"n{i - 1}"])
        node.attr["T"].type = 1
        shape = node.attr["_output_shapes"].list.shape.add()
        for size in (-1, 1, 1, 1, 1, 1, 1, 1):
            shape.dim.add(size=size)
    data = graph.SerializeToString()
    assert len(data) >= _MEBIBYTE
    assert tf.GraphDef.FromString(data) == graph


@pytest.mark.parametrize(
    ("name", "deepest", "too_deep"),
    [
        ("ListValue", _lists(50), _lists(50, b"\x0a\x00")),
        ("StructuredValue", _field(51, _lists(49, b"\x0a\x00")), _field(51, _lists(50))),
        ("AttrValue", _maps(33), _maps(34)),
        ("NodeDef", b"\x7b" * 100 + b"\x7c" * 100, b"\x7b" * 101 + b"\x7c" * 101),
        ("ListValue", _lists(49, b"\x7b" * 2 + b"\x7c" * 2), _lists(49, b"\x7b" * 3 + b"\x7c" * 3)),
    ],
    ids=["lists", "values", "maps", "groups", "groups_in_lists"],
)
def test_messages_nest_as_in_the_runtime(name: str, deepest: bytes, too_deep: bytes) -> None:
    protos.message_class(name).FromString(deepest)
    _runtime.message_print_text(name, deepest)
    with pytest.raises(DecodeError, match="nest more than 100 messages deep"):
        protos.message_class(name).FromString(too_deep)
    with pytest.raises(_runtime.StatusError):
        _runtime.message_print_text(name, too_deep)
