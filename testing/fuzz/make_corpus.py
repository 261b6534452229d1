"""Writes the corpora of the fuzz targets: `./bazelw run //testing/fuzz:make_corpus -- FOLDER`.

What libFuzzer found (`tools/fuzz`) lies beside it in the tree, under names that begin with "found".
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millstream as tf
from millstream import _runtime
from millstream._impl import protos
from testing.fuzz.checkpoint_corpus import files_of_checkpoints
from testing.fuzz.cluster_corpus import files_of_clusters
from testing.fuzz.image_corpus import bmp_files, files_of_images
from testing.fuzz.message_texts import (
    CONFIGS,
    GRAPHS,
    OP_ATTRS,
    RUN_OPTIONS,
    TENSORS,
    VALUES,
    binary,
)
from testing.fuzz.string_corpus import parsed_strings

_WRITTEN_BY_TF = Path("testdata/conformance/files/written_by_tf")
_CASES = Path("testdata/conformance/ops/cases")
_PLUGIN = Path("device_plugins/cpu/libmillstream_cpu.so")


def _graphs_of_tf() -> Iterator[tuple[str, Any]]:
    for path in sorted(_WRITTEN_BY_TF.rglob("*.pb*")):
        data = path.read_bytes()
        if path.name == "saved_model.pb":
            model = protos.message_class("SavedModel").FromString(data)
            yield "tf_saved_model", model.meta_graphs[0].graph_def
        elif path.suffix == ".pbtxt":
            yield f"tf_{path.stem}", tf.GraphDef.from_text(data.decode())
        else:
            yield f"tf_{path.stem}", tf.GraphDef.FromString(data)


def _graphs_of_ops() -> Iterator[tuple[str, Any]]:
    """For each op of the golden cases the first one as a graph."""
    known = {op.name: op for op in protos.message_class("OpList").FromString(_runtime.op_list()).op}
    for path in sorted(_CASES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            node = tf.NodeDef.from_text(case["node"]) if "node" in case else None
            if node is None or known.pop(node.op, None) is None:
                continue
            graph = tf.GraphDef()
            for entry in case["inputs"]:
                fed = graph.node.add()
                fed.name, fed.op = entry["name"], "Placeholder"
                fed.attr["dtype"].type = getattr(tf, entry["dtype"], tf.float32).as_datatype_enum
            graph.node.add().CopyFrom(node)
            yield f"op_{node.op}", graph


def _damaged_plugins() -> Iterator[tuple[str, bytes]]:
    """The headers and notes of a plugin, with fields that are wrong."""
    data = bytearray(_PLUGIN.read_bytes())
    offset, entry, count = struct.unpack_from("<Q", data, 32)[0], 56, 0
    count = struct.unpack_from("<H", data, 56)[0]
    segments = [struct.unpack_from("<IIQQQQQQ", data, offset + i * entry) for i in range(count)]
    notes = [segment for segment in segments if segment[0] == 4]
    # A small file of the header, the program headers and the notes.
    small = bytearray(data[:64]) + bytearray(entry * len(notes))
    struct.pack_into("<Q", small, 32, 64)
    struct.pack_into("<QH", small, 40, 0, struct.unpack_from("<H", data, 48)[0])
    small[40:48] = bytes(8)  # no section headers
    struct.pack_into("<H", small, 56, len(notes))
    for i, note in enumerate(notes):
        at, size = len(small), note[5]
        small += data[note[2] : note[2] + size]
        fields = (note[0], note[1], at, note[3], note[4], size, note[6], note[7])
        struct.pack_into("<IIQQQQQQ", small, 64 + i * entry, *fields)
    yield "intact", bytes(small)
    for cut in (0, 3, 16, 63, 64, 100, len(small) - 1):
        yield f"cut_at_{cut}", bytes(small[:cut])
    for name, place, value in (
        ("class", 4, b"\x01"),
        ("big_endian", 5, b"\x02"),
        ("executable", 16, b"\x02\x00"),
        ("machine", 18, b"\xff\xff"),
        ("headers_far", 32, b"\xff" * 8),
        ("headers_none", 56, b"\x00\x00"),
        ("headers_many", 56, b"\xff\xff"),
        ("header_size", 54, b"\x00\x00"),
        ("sections_far", 40, b"\xff" * 8),
        ("note_far", 64 + 8, b"\xff" * 8),
        ("note_long", 64 + 32, b"\xff" * 8),
        ("note_owner_long", 64 + entry * len(notes), b"\xff\xff\xff\xff"),
    ):
        damaged = bytearray(small)
        damaged[place : place + len(value)] = value
        yield f"bad_{name}", bytes(damaged)


def _feeds() -> Iterator[tuple[str, bytes]]:
    """See feed.cc: placeholder, type, rank, sizes, bytes."""
    huge = b"\x80" + struct.pack("<q", 1 << 62)
    yield "vector", bytes((1, 1, 1, 2)) + struct.pack("<ff", 1, 2)
    yield "scalar", bytes((3, 3, 0)) + struct.pack("<i", 7)
    yield "of_another_type", bytes((1, 3, 1, 2)) + struct.pack("<ii", 1, 2)
    yield "too_few_bytes", bytes((1, 1, 1, 2)) + struct.pack("<f", 1)
    yield "no_type", bytes((1, 0, 0))
    yield "unknown_type", bytes((1, 100, 0))
    yield "references", bytes((1, 101, 0)) + struct.pack("<f", 1)
    yield "negative", bytes((1, 1, 1, 0xFF))
    yield "zero_sized", bytes((1, 1, 2, 0, 5))
    yield "overflow", bytes((1, 1, 2)) + huge + huge
    yield "overflow_of_zero", bytes((1, 1, 3, 0)) + huge + huge
    yield "deep", bytes((1, 1, 11)) + bytes([1] * 11) + struct.pack("<f", 1)
    yield "strings", bytes((7, 7, 1, 3)) + b"abc"
    yield "resource", bytes((20, 20, 0)) + bytes(8)
    yield "variant", bytes((21, 21, 0)) + bytes(8)
    yield "bools", bytes((10, 10, 1, 4)) + b"\x00\x01\xff\x80"


# Examples, and those with sequences, with features of the kinds that examples.cc asks for.
_EXAMPLES = {
    "all": 'feature { key: "i" value { int64_list { value: 1 value: -2 } } } '
    'feature { key: "s" value { bytes_list { value: "a" value: "" } } } '
    'feature { key: "f" value { float_list { value: 1 value: 2 } } } '
    'feature { key: "v" value { int64_list { value: 3 value: 4 value: 5 } } }',
    "none": "",
    "no_values": 'feature { key: "i" value { int64_list { } } } feature { key: "v" value { } }',
    "another_type": 'feature { key: "i" value { float_list { value: 1 } } }',
    "another_count": 'feature { key: "f" value { float_list { value: 1 } } }',
    "other_names": 'feature { key: "" value { bytes_list { value: "x" } } }',
}
_SEQUENCES = {
    "steps": 'feature_list { key: "s" value { feature { bytes_list { value: "a" } } feature { } } }'
    ' feature_list { key: "v" value { feature { int64_list { value: 1 } } } }',
    "no_steps": 'feature_list { key: "v" value { } }',
    "missing": "",
    "another_count": 'feature_list { key: "v" value { feature { int64_list { } } } }',
    "another_type": 'feature_list { key: "s" value { feature { float_list { value: 1 } } } }',
}


def _records() -> Iterator[tuple[str, bytes]]:
    """See examples.cc: a letter, and records with their lengths."""
    examples = {
        name: binary("Example", f"features {{ {text} }}") for name, text in _EXAMPLES.items()
    }
    sequences = {
        name: binary(
            "SequenceExample",
            f"context {{ {_EXAMPLES['all']} }} feature_lists {{ {text} }}",
        )
        for name, text in _SEQUENCES.items()
    }
    for letter, records in ((b"e", examples), (b"s", sequences)):
        framed = {name: struct.pack("<H", len(data)) + data for name, data in records.items()}
        for name, data in framed.items():
            yield f"{letter.decode()}_{name}", letter + data
        yield f"{letter.decode()}_batch", letter + b"".join(framed.values())
        yield f"{letter.decode()}_empty", letter
    unpacked = b"\x0a\x0b\x0a\x09\x0a\x01i\x12\x04\x1a\x02\x08\x07"
    yield "e_not_packed", b"e" + struct.pack("<H", len(unpacked)) + unpacked
    group = b"\x0b\x0c"
    yield "e_group", b"e" + struct.pack("<H", len(group)) + group


def _messages() -> dict[str, bytes]:
    """A few of those that files hold."""
    return {
        "MetaGraphDef": (_WRITTEN_BY_TF / "model.meta").read_bytes(),
        "SavedModel": (_WRITTEN_BY_TF / "saved_model/saved_model.pb").read_bytes(),
        "GraphDef": (_WRITTEN_BY_TF / "control_flow.pb").read_bytes(),
        "RunMetadata": b"",
        "NodeDef": b"\x2a\x03\x0a\x01k\x2a\x02\x12\x00",  # entries that lack value, or key
        "RunOptions": binary("RunOptions", "trace_level: FULL_TRACE timeout_in_ms: 5"),
        "ConfigProto": binary("ConfigProto", CONFIGS["devices"]),
        "Event": binary("Event", 'wall_time: nan step: -1 summary { value { tag: "x" } }'),
        "Example": binary(
            "Example", 'features { feature { key: "a" value { int64_list { value: 1 } } } }'
        ),
        "TensorProto": binary("TensorProto", TENSORS["strings"]),
        "AttrValue": binary("AttrValue", VALUES["function"]),
    }


def _write(folder: Path, target: str, name: str, data: bytes) -> None:
    path = folder / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main() -> None:
    """Writes every corpus below the folder of the command line."""
    folder = Path(sys.argv[1])
    graphs = {name: tf.GraphDef.from_text(text) for name, text in GRAPHS.items()}
    graphs.update(_graphs_of_tf())
    graphs.update(_graphs_of_ops())
    for name, graph in graphs.items():
        text = _runtime.message_print_text("GraphDef", graph.SerializeToString())
        _write(folder, "graph_binary", name, graph.SerializeToString())
        _write(folder, "graph_text", name, text.encode())
    for name, text in TENSORS.items():
        _write(folder, "tensor_proto", name, binary("TensorProto", text))
        value = f'attr {{ key: "value" value {{ tensor {{ {text} }} }} }}'
        graph = f'node {{ name: "c" op: "Const" {value} }}'
        _write(folder, "graph_text", f"constant_{name}", graph.encode())
    for i, (name, text) in enumerate(VALUES.items()):
        _write(folder, "attr_value", name, binary("AttrValue", text))
        for op, attr in OP_ATTRS[i % 3 :: 3]:
            _write(folder, "op_attr", f"{op}_{attr}_{name}", f"{op}\n{attr}\n{text}".encode())
    for name, text in CONFIGS.items():
        _write(folder, "session_config", name, binary("ConfigProto", text))
    for name, text in RUN_OPTIONS.items():
        _write(folder, "run_options", name, binary("RunOptions", text))
    for name, data in _messages().items():
        text = _runtime.message_print_text(name, data)
        _write(folder, "message", name, f"{name}\n".encode() + data)
        _write(folder, "message_text", name, f"{name}\n{text}".encode())
    for name, data in _damaged_plugins():
        _write(folder, "plugin_file", name, data)
    for name, data in _feeds():
        _write(folder, "feed", name, data)
    for name, data in files_of_checkpoints():
        _write(folder, "checkpoint", name, data)
    for name, data in _records():
        _write(folder, "examples", name, data)
    for name, data in files_of_clusters():
        _write(folder, "cluster_message", name, data)
    for name, data in files_of_images():
        _write(folder, "image_file", name, data)
    for name, data in bmp_files():
        _write(folder, "bmp_file", name, data)
    for name, data in parsed_strings():
        _write(folder, "parsed_string", name, data)


if __name__ == "__main__":
    main()
