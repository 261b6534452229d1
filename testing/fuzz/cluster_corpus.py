"""The corpus of cluster_message.cc: messages of clusters, which no Python code reads or writes.

Messages are written field by field: numbers, lengths and bytes (protobuf's encoding).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_FLOAT, _INT32, _STRING = 1, 3, 7
_MAGIC = 0x324D5348  # of frames (distributed_runtime/host_frame.h)
_THEN = 1_700_000_000_000_000_000  # nanoseconds since 1970
_CPU = "/job:worker/replica:0/task:{}/device:CPU:0"


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _real(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _packed(field: int, values: list[int]) -> bytes:
    return _bytes(field, b"".join(_varint(value) for value in values))


def _entry(field: int, key: str, value: bytes) -> bytes:
    """An entry of a map."""
    return _bytes(field, _bytes(1, key) + _bytes(2, value))


def _message(data: bytes, tensors: bytes = b"") -> bytes:
    """A message as it is sent: its size before it, the elements of tensors behind it."""
    return struct.pack("<I", len(data)) + data + tensors


def _device(task: int, peers: list[int]) -> bytes:
    flags = _number(2, 1) + _number(4, 1) + _number(5, 1 << 30) + _number(6, 1234567890123)
    return _bytes(1, _CPU.format(task)) + flags + _packed(7, peers)


def _header(dtype: int, dims: list[int], size: int, *rest: bytes) -> bytes:
    return _number(1, dtype) + _packed(2, dims) + _number(3, size) + b"".join(rest)


def _type(name: str, dtype: int) -> bytes:
    return _entry(6, name, _number(6, dtype))


def _node(name: str, op: str, inputs: list[int], *attrs: bytes) -> bytes:
    edges = _packed(3, inputs) + _packed(4, [0] * len(inputs)) if inputs else b""
    device = _bytes(7, _CPU.format(1))
    return _bytes(1, name) + _bytes(2, op) + edges + device + b"".join(attrs)


def _graph(nodes: list[bytes], *changes: bytes, first: int = 0) -> bytes:
    added = b"".join(_bytes(2, node) for node in nodes)
    return (
        _number(1, first) + added + b"".join(_bytes(3, one) for one in changes) + _number(4, 1440)
    )


def _registration(graph: bytes, signature: bytes = b"", devices: bytes = b"") -> bytes:
    return _fixed(1, 77) + _number(2, 1) + _bytes(3, graph) + _bytes(4, signature) + devices


def _registrations() -> Iterator[tuple[str, bytes]]:
    x = _node("x", "Placeholder", [], _type("dtype", _FLOAT))
    y = _node("y", "Neg", [0], _type("T", _FLOAT))
    devices = b"".join(_bytes(5, _device(task, [0, 1])) for task in range(2))
    signature = _packed(1, [0]) + _packed(2, [0]) + _packed(3, [1]) + _packed(4, [0])
    yield "whole", _registration(_graph([x, y]), signature + _packed(5, [1]), devices)
    yield "no_nodes", _registration(_graph([]))
    yield "does_not_follow", _registration(_graph([x, y], first=3))
    yield "input_of_nobody", _registration(_graph([x, _node("y", "Neg", [9], _type("T", _FLOAT))]))
    yield "input_negative", _registration(_graph([_node("y", "Neg", [-7], _type("T", _FLOAT))]))
    yield "own_input", _registration(_graph([_node("y", "Neg", [0], _type("T", _FLOAT))]))
    control = _number(1, 0) + _packed(2, [1])
    yield "control_of_a_later_node", _registration(_graph([x, y], control))
    yield "change_of_nobody", _registration(_graph([x], _number(1, 5) + _number(3, 1)))
    device = _number(1, 0) + _number(3, 1) + _bytes(4, "/job:ps/task:0")
    yield "change_of_a_device", _registration(_graph([x], device))
    edge = _number(1, 1) + _packed(5, [0]) + _packed(6, [1])
    yield "back_edge_without_a_loop", _registration(_graph([x, y], edge))
    yield "signature_of_nobody", _registration(_graph([x]), _packed(1, [4]) + _packed(2, [0]))
    yield "signature_without_indexes", _registration(_graph([x]), _packed(3, [0]))
    merge = _type("T", _FLOAT) + _entry(6, "N", _number(3, 2))
    loop = [
        x,
        _node("enter", "Enter", [0], _type("T", _FLOAT), _entry(6, "frame_name", _bytes(2, "f"))),
        _node("merge", "Merge", [1, 3], merge),
        _node("next", "NextIteration", [2], _type("T", _FLOAT)),
    ]
    yield "loop", _registration(_graph(loop))
    shape = _bytes(10, _bytes(2, _number(1, 4)))
    yield "shapes", _registration(_graph([x + shape, y + shape]))
    handle = [
        _type("dtype", _FLOAT),
        _entry(6, "shape", _bytes(7, _bytes(2, _number(1, 3)))),
        _number(11, 1),
    ]
    yield "forgotten_shape", _registration(_graph([_node("v", "VarHandleOp", [], *handle)]))
    imported = _bytes(9, _bytes(1, "v") + _bytes(2, "VariableV2") + _entry(8, "T", _number(6, 1)))
    yield "imported", _registration(_graph([x + imported]))
    library = _number(5, 1) + _bytes(6, _bytes(1, _bytes(1, _bytes(1, "f"))))
    yield "library", _registration(_graph([x]) + library)


def _steps() -> Iterator[tuple[str, bytes]]:
    run = _fixed(1, 77) + _number(2, 1) + _fixed(3, 5) + _number(4, 1000)
    run += _bytes(5, struct.pack("<2Q", 3, 4))
    floats = struct.pack("<4f", 1.5, -2, 3, float("nan"))
    two_by_two = _header(_FLOAT, [2, 2], 16)
    yield "plain", _message(run + _bytes(6, two_by_two), floats)
    yield "no_tensor", _message(run + _bytes(6, b""))
    shape_only = _header(_FLOAT, [1000], 0, _number(5, 1))
    yield "shape_only", _message(run + _bytes(6, shape_only))
    huge = _header(_FLOAT, [1 << 40, 1 << 40], 0, _number(5, 1))
    yield "shape_overflow", _message(run + _bytes(6, huge))
    yield "negative_dimension", _message(run + _bytes(6, _header(_FLOAT, [-1], 4)), floats[:4])
    yield "negative_size", _message(run + _bytes(6, _header(_FLOAT, [1], -4)), floats[:4])
    yield "too_few_bytes", _message(run + _bytes(6, two_by_two), floats[:9])
    yield "another_size", _message(run + _bytes(6, _header(_FLOAT, [3], 16)), floats)
    yield "no_elements", _message(run + _bytes(6, _header(_FLOAT, [0, 5], 0)))
    yield "unknown_type", _message(run + _bytes(6, _header(99, [1], 4)), floats[:4])
    yield "strings_as_bytes", _message(run + _bytes(6, _header(_STRING, [1], 4)), floats[:4])
    strings = _number(1, _STRING) + _bytes(2, _bytes(2, _number(1, 2)))
    strings += _bytes(8, "one") + _bytes(8, "two")
    in_message = _header(_STRING, [2], len(strings), _number(4, 1))
    yield "strings", _message(run + _bytes(6, in_message), strings)
    yield "strings_cut", _message(run + _bytes(6, in_message), strings[:7])
    carried = _number(1, 3) + _bytes(3, two_by_two)
    dead = _number(1, 4) + _number(2, 1)
    yield "carried", _message(run + _bytes(7, carried) + _bytes(7, dead), floats)
    integers = _header(_INT32, [2], 8)
    both = run + _bytes(6, integers) + _bytes(7, carried)
    yield "fed_and_carried", _message(both, struct.pack("<2i", 1, -1) + floats)


def _answers() -> Iterator[tuple[str, bytes]]:
    floats = struct.pack("<2f", 1, 2)
    fetch = _number(1, 1) + _bytes(2, _header(_FLOAT, [2], 8))
    yield "done", _message(fetch, floats)
    yield (
        "not_done",
        _message(_bytes(3, _number(1, 0) + _bytes(3, _header(_FLOAT, [2], 8))), floats),
    )
    yield "empty", _message(b"")


def _head(kind: int, *, text: int = 0, segments: int = 0, region: int = 0, size: int = 0) -> bytes:
    descriptor, code = 0, 0
    first = struct.pack("<IIQiIII", _MAGIC, kind, 1, code, text, segments, descriptor)
    return first + struct.pack("<QQQ", 7, region, size)


def _frames() -> Iterator[tuple[str, bytes]]:
    inline = (1 << 64) - 1
    request = _head(1, text=8, segments=1, size=5) + struct.pack("<QQ", 5, inline)
    yield "request", request + b"RunGraph" + b"hello"
    yield "two", _head(5) + _head(6) + request + b"RunGraph" + b"hello"
    mapped = _head(1, text=1, segments=1, region=4096) + struct.pack("<QQ", 4096, 0)
    yield "in_a_region", mapped + b"R"
    outside = _head(2, segments=1, region=4096) + struct.pack("<QQ", 4097, 0)
    yield "outside_of_the_region", outside
    yield "many_segments", _head(1, segments=1 << 20)
    yield "segments_overflow", _head(1, segments=1 << 31)
    yield "large_text", _head(1, text=1 << 20)
    yield "huge", _head(2, segments=1, size=1 << 36) + struct.pack("<QQ", 1 << 36, inline)
    yield "bytes_in_no_segment", _head(2, size=5) + b"hello"
    yield "another_version", b"?" + _head(1)[1:]
    yield "http", b"GET / HTTP/1.1\r\nHost: localhost:2222\r\n\r\n" + bytes(40)


def _sent() -> Iterator[tuple[str, bytes]]:
    """Answers to requests for a tensor."""
    floats = struct.pack("<2f", 1, 2)
    two = _header(_FLOAT, [2], 8)
    further = _bytes(1, "next") + _bytes(3, two)
    yield "alone", _message(_bytes(2, two), floats)
    yield "with_more", _message(_bytes(2, two) + _bytes(4, further) * 2, floats * 3)
    yield "before", _message(_number(3, 1) + _bytes(4, further), floats)
    yield "dead", _message(_number(1, 1) + _bytes(4, _bytes(1, "next") + _number(2, 1)))
    yield "more_cut", _message(_bytes(2, two) + _bytes(4, further), floats)


def _members() -> Iterator[tuple[str, bytes]]:
    """Requests to join a collective operation."""
    floats = struct.pack("<2f", 1, 2)
    two = _bytes(5, _header(_FLOAT, [2], 8))
    rest = _bytes(2, "/job:worker/task:1") + _fixed(3, 4) + _bytes(4, _CPU.format(1)) + _fixed(6, 3)

    def spec(kind: int, merge: int, dtype: int, size: int) -> bytes:
        numbers = _number(2, merge) + _number(3, 1) + _number(4, dtype) + _number(5, size)
        return _bytes(1, _number(1, kind) + numbers + _number(6, 1) + _number(7, 2) + _fixed(8, 5))

    yield "sum", _message(spec(0, 1, _FLOAT, 2) + rest + two, floats)
    link = _number(7, 5) + _bytes(8, _real(1, 1e-4) + _real(2, 1e9))
    yield "measured", _message(spec(0, 1, _FLOAT, 2) + rest + two + link, floats)
    yield (
        "gather_of_a_scalar",
        _message(spec(1, 0, _FLOAT, 2) + rest + _bytes(5, _header(_FLOAT, [], 4)), floats[:4]),
    )
    yield "broadcast_of_nothing", _message(spec(2, 0, _FLOAT, 3) + rest)
    yield "another_type", _message(spec(0, 1, _INT32, 2) + rest + two, floats)
    yield "strings", _message(spec(0, 1, _STRING, 2) + rest)
    yield "unknown_kind", _message(spec(4, 0, _FLOAT, 2) + rest + two, floats)
    yield "nobody", _message(spec(0, 1, _FLOAT, -1) + rest)
    yield "reduce_scatter", _message(spec(3, 0, _FLOAT, 2) + rest + two, floats)
    yield (
        "reduce_scatter_of_a_scalar",
        _message(spec(3, 0, _FLOAT, 2) + rest + _bytes(5, _header(_FLOAT, [], 4)), floats[:4]),
    )


def _meetings() -> Iterator[tuple[str, bytes]]:
    """What members of a collective operation get."""
    floats = struct.pack("<2f", 1, 2)
    members = b"".join(_bytes(3, _CPU.format(task)) for task in range(2))
    members += _bytes(5, struct.pack("<2Q", 3, 4))
    yield "result", _message(_bytes(1, _header(_FLOAT, [2], 8)) + _fixed(2, 9), floats)
    yield "exchange", _message(_fixed(2, 9) + members + _number(4, 1))
    told = _bytes(6, _real(1, 1e-4) + _real(2, 1e9)) + _number(7, 123456) + _number(8, 5)
    yield "told", _message(_fixed(2, 9) + members + _number(4, 1) + told)
    yield "source_of_nobody", _message(_fixed(2, 9) + members + _number(4, 2))
    yield "source_negative", _message(_fixed(2, 9) + members + _number(4, -1))
    yield "without_members", _message(_fixed(2, 9))
    yield "without_tickets", _message(_fixed(2, 9) + _bytes(3, _CPU.format(0)))


def _reports() -> Iterator[tuple[str, bytes]]:
    """What traced steps report."""

    def node(start: int, end: int, dims: list[int], dtype: int = _FLOAT) -> bytes:
        output = _number(2, dtype) + _packed(3, dims) + _number(4, 24) + _number(5, 1)
        names = _bytes(1, "y") + _bytes(2, "Neg") + _bytes(3, "Neg") + _bytes(4, "x")
        return names + _number(5, start) + _number(6, end) + _number(7, 3) + _bytes(11, output)

    def part(*nodes: bytes) -> bytes:
        return _bytes(1, _bytes(1, _CPU.format(0)) + b"".join(_bytes(2, one) for one in nodes))

    argument = _bytes(7, _bytes(1, "rows") + _bytes(2, "2"))
    span = _bytes(1, "y") + _bytes(3, "inner") + _number(4, _THEN) + _number(5, _THEN + 9)
    whole = part(node(_THEN, _THEN + 5, [2, 3]), node(_THEN, _THEN, []))
    yield "whole", _message(whole + _bytes(2, span + argument) + _bytes(3, "graph"))
    yield "negative_dimension", _message(part(node(_THEN, _THEN, [-2])))
    yield "unknown_type", _message(part(node(_THEN, _THEN, [2], dtype=99)))
    yield "before_all_time", _message(part(node(-(1 << 63), _THEN, [2])))
    yield "after_all_time", _message(_bytes(2, _number(4, _THEN) + _number(5, (1 << 63) - 1)))


def files_of_clusters() -> Iterator[tuple[str, bytes]]:
    """Each by its name."""
    devices = b"".join(_bytes(1, _device(task, [1 - task])) for task in range(2))
    create = _fixed(1, 77) + _bytes(2, b"") + _bytes(3, "/job:worker/replica:0/task:0")
    kinds: list[tuple[str, str, Iterator[tuple[str, bytes]]]] = [
        ("g", "graph", ((name, _message(data)) for name, data in _registrations())),
        ("r", "run", _steps()),
        ("R", "answer", _answers()),
        ("t", "sent", _sent()),
        ("j", "member", _members()),
        ("J", "meeting", _meetings()),
        ("p", "report", _reports()),
        ("f", "frame", _frames()),
        ("c", "create", iter([("whole", _message(create + _fixed(4, 9) + _number(5, 1)))])),
        (
            "d",
            "devices",
            iter(
                [
                    ("two", _message(devices)),
                    ("twice", _message(_bytes(1, _device(0, [])) * 2)),
                    ("peer_of_nobody", _message(_bytes(1, _device(0, [5])))),
                    ("no_name", _message(_bytes(1, _number(2, 1)))),
                ]
            ),
        ),
        (
            "s",
            "status",
            iter(
                [
                    ("error", _message(_number(1, 10) + _bytes(2, "no") + _entry(3, "a", b"b"))),
                    ("unknown_code", _message(_number(1, 12345) + _bytes(2, "no"))),
                    ("cut", _message(_number(1, 10))[:5]),
                ]
            ),
        ),
    ]
    for letter, kind, files in kinds:
        for i, (name, data) in enumerate(files):
            yield f"{kind}_{name}", letter.encode() + bytes([(0, 0, 7, 64)[i % 4]]) + data
