"""Writes the corpora of the fuzz targets: `./bazelw run //testing/fuzz:make_corpus -- FOLDER`.

What libFuzzer found (`tools/fuzz`) lies beside it in the tree, under names that begin with "found".
"""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millstream as tf
from millstream import _runtime
from millstream._impl import protos
from testing.fuzz.cluster_corpus import files_of_clusters
from testing.fuzz.image_corpus import bmp_files, files_of_images

_WRITTEN_BY_TF = Path("testdata/conformance/files/written_by_tf")
_CASES = Path("testdata/conformance/ops/cases")
_PLUGIN = Path("device_plugins/cpu/libmillstream_cpu.so")

_X = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } } '
_T = 'attr { key: "T" value { type: DT_FLOAT } } '

# Graphs by what is wrong with them, or unusual.
_GRAPHS = {
    "empty": "",
    "two_of_a_name": _X + _X,
    "self_loop": 'node { name: "a" op: "Identity" input: "a" ' + _T + "}",
    "self_control": 'node { name: "a" op: "NoOp" input: "^a" }',
    "cycle": "".join(
        f'node {{ name: "{a}" op: "Neg" input: "{b}" {_T}}} ' for a, b in ("ab", "bc", "ca")
    ),
    "missing_input": 'node { name: "a" op: "Neg" input: "nobody" ' + _T + "}",
    "missing_control": 'node { name: "a" op: "NoOp" input: "^nobody" }',
    "control_of_nothing": 'node { name: "a" op: "NoOp" input: "^" }',
    "control_with_index": _X + 'node { name: "a" op: "NoOp" input: "^x:0" }',
    "control_first": _X + 'node { name: "a" op: "Neg" input: "^x" input: "x" ' + _T + "}",
    "index_too_large": _X + 'node { name: "a" op: "Neg" input: "x:99999999999" ' + _T + "}",
    "index_out_of_range": _X + 'node { name: "a" op: "Neg" input: "x:1" ' + _T + "}",
    "index_negative": _X + 'node { name: "a" op: "Neg" input: "x:-1" ' + _T + "}",
    "index_empty": _X + 'node { name: "a" op: "Neg" input: "x:" ' + _T + "}",
    "name_empty": 'node { op: "NoOp" }',
    "name_with_zero": 'node { name: "a\\000b" op: "NoOp" }',
    "name_with_space": 'node { name: "a b" op: "NoOp" }',
    "op_unknown": 'node { name: "a" op: "NoSuchOp" attr { key: "T" value { i: 1 } } }',
    "op_empty": 'node { name: "a" }',
    "attr_of_another_kind": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { s: "float" } } }',
    "attr_missing": 'node { name: "a" op: "Placeholder" }',
    "attr_unknown": 'node { name: "a" op: "NoOp" attr { key: "size" value { i: 1 } } }',
    "attr_unset": 'node { name: "a" op: "Placeholder" attr { key: "dtype" value { } } }',
    "attr_placeholder": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { placeholder: "T" } } }',
    "attr_of_two_kinds": 'node { name: "a" op: "NoOp" '
    'attr { key: "_x" value { list { i: 1 f: 2 } } } }',
    "type_of_references": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT_REF } } }',
    "shape_negative": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: -5 } } } } }',
    "shape_overflows": 'node { name: "a" op: "Placeholder" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 4611686018427387904 } '
    "dim { size: 4611686018427387904 } } } } }",
    "split_in_many": 'node { name: "d" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } '
    'attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } } '
    + _X
    + 'node { name: "a" op: "Split" input: "d" input: "x" '
    + _T
    + 'attr { key: "num_split" value { i: 1000000 } } }',
    "add_of_too_many": 'node { name: "a" op: "AddN" '
    + _T
    + 'attr { key: "N" value { i: 4611686018427387904 } } }',
    "library_of_two": 'library { function { signature { name: "f" } } '
    'function { signature { name: "f" description: "another" } } }',
    "library_calls_itself": 'library { function { signature { name: "f" } '
    'node_def { name: "call" op: "f" } } }',
    "consumers": "versions { producer: 134 min_consumer: 2000000000 }",
    "bad_consumers": "versions { producer: 134 bad_consumers: 134 }",
    "loop": 'node { name: "e" op: "Enter" input: "x" '
    + _T
    + 'attr { key: "frame_name" value { s: "f" } } } '
    'node { name: "m" op: "Merge" input: "e" input: "n" '
    + _T
    + 'attr { key: "N" value { i: 2 } } } node { name: "n" op: "NextIteration" input: "m" '
    + _T
    + "} "
    + _X,
    "loop_of_shapes": 'node { name: "m" op: "Merge" input: "n" input: "n" '
    + _T
    + 'attr { key: "N" value { i: 2 } } attr { key: "_output_shapes" value { list { '
    "shape { dim { size: 3 } } shape { } } } } } "
    'node { name: "n" op: "NextIteration" input: "m" ' + _T + "}",
    "references": 'node { name: "v" op: "VariableV2" '
    'attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 2 } } } } } '
    + _X
    + 'node { name: "a" op: "Assign" input: "v" input: "x" input: "^r" '
    + _T
    + 'attr { key: "validate_shape" value { b: false } } } '
    'node { name: "r" op: "RefIdentity" input: "v" input: "^x" '
    + _T
    + '} node { name: "s" op: "AddN" input: "v" input: "a" input: "r" '
    + _T
    + 'attr { key: "N" value { i: 3 } } }',
    "reference_expected": _X + 'node { name: "a" op: "Assign" input: "x" input: "x" ' + _T + "}",
}

# Tensors by what is wrong with them.
_TENSORS = {
    "splat": "dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } float_val: 2",
    "splat_2_40": "dtype: DT_INT8 tensor_shape { dim { size: 1099511627776 } } int_val: 1",
    "splat_overflows": "dtype: DT_INT64 tensor_shape { dim { size: 4294967296 } "
    "dim { size: 4294967296 } } int64_val: 1",
    "negative": "dtype: DT_FLOAT tensor_shape { dim { size: -1 } } float_val: 1",
    "zero_and_huge": "dtype: DT_FLOAT tensor_shape { dim { size: 0 } "
    "dim { size: 9223372036854775807 } }",
    "rank_unknown": "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
    "content_short": 'dtype: DT_FLOAT tensor_shape { dim { size: 4 } } tensor_content: "1234"',
    "content_long": "dtype: DT_BOOL tensor_shape { dim { size: 4 } } "
    'tensor_content: "\\001\\377\\000\\002\\003"',
    "content": "dtype: DT_BOOL tensor_shape { dim { size: 4 } } "
    'tensor_content: "\\001\\377\\000\\002"',
    "values_many": "dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 int_val: 2",
    "value_too_large": "dtype: DT_INT8 tensor_shape { } int_val: 300",
    "complex_odd": "dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: 1",
    "complex": "dtype: DT_COMPLEX128 tensor_shape { } dcomplex_val: nan dcomplex_val: -0",
    "strings": 'dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: "a" string_val: ""',
    "strings_content": "dtype: DT_STRING tensor_shape { dim { size: 2 } } "
    'tensor_content: "\\001\\002abc"',
    "strings_huge": "dtype: DT_STRING tensor_shape { dim { size: 2 } } "
    'tensor_content: "\\377\\377\\377\\377\\017\\001a"',
    "strings_endless": "dtype: DT_STRING tensor_shape { dim { size: 1 } } "
    'tensor_content: "\\200\\200\\200\\200\\200\\200\\200"',
    "invalid": "tensor_shape { } float_val: 1",
    "reference": "dtype: DT_FLOAT_REF tensor_shape { } float_val: 1",
    "resource": "dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: 'v' }",
    "variant": "dtype: DT_VARIANT tensor_shape { } variant_val { type_name: 'x' }",
    "half": "dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 31744 half_val: 65535",
    "quantized": "dtype: DT_QINT8 tensor_shape { dim { size: 2 } } int_val: -128",
}

_VALUES = {
    "int": "i: -9223372036854775808",
    "zero": "i: 0",
    "float": "f: nan",
    "string": 's: "\\000\\377"',
    "bool": "b: true",
    "type": "type: DT_BFLOAT16",
    "type_unknown": "type: DT_FLOAT8_E5M2",
    "shape": "shape { dim { size: -1 } dim { size: 9223372036854775807 } }",
    "shape_unknown": "shape { unknown_rank: true }",
    "tensor": "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 }",
    "tensor_large": "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 100000000 } } "
    "float_val: 1 }",
    "function": 'func { name: "f" attr { key: "g" value { func { name: "h" } } } }',
    "placeholder": 'placeholder: "T"',
    "unset": "",
    "list": "list { }",
    "ints": "list { i: 1 i: 2 i: 2 i: 1 }",
    "ints_extreme": "list { i: 0 i: -1 i: 9223372036854775807 i: -9223372036854775808 }",
    "floats": "list { f: 1 f: inf }",
    "strings": 'list { s: "" s: "NHWC" }',
    "types": "list { type: DT_FLOAT type: DT_STRING }",
    "shapes": "list { shape { } shape { unknown_rank: true } }",
    "tensors": "list { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } }",
    "functions": 'list { func { name: "f" } }',
    "mixed": "list { i: 1 b: true }",
    "data_format": 's: "NCHW"',
    "padding": 's: "EXPLICIT"',
    "dtype": "type: DT_FLOAT",
    "int32": "type: DT_INT32",
    "strides": "list { i: 1 i: 2147483647 i: 2147483647 i: 1 }",
    "large": "i: 2147483648",
}

_OP_ATTRS = (
    ("Placeholder", "shape"),
    ("Const", "value"),
    ("Conv2D", "strides"),
    ("Split", "num_split"),
    ("AddN", "N"),
    ("AvgPool", "ksize"),
    ("IdentityN", "T"),
    ("StridedSlice", "begin_mask"),
    ("VarHandleOp", "shape"),
    ("ConcatV2", "N"),
    ("Unpack", "axis"),
    ("Squeeze", "squeeze_dims"),
)

_CONFIGS = {
    "empty": "",
    "threads": "intra_op_parallelism_threads: 2 inter_op_parallelism_threads: -1",
    "threads_negative": "intra_op_parallelism_threads: -5",
    "devices": 'device_count { key: "CPU" value: 1000000000 } device_count { value: -1 }',
    "passes": "graph_options { rewrite_options { "
    "disabled_passes: 'fuse_products' remapping: OFF } }",
    "passes_unknown": "graph_options { rewrite_options { disabled_passes: 'no_such' } }",
    "forbidden": "forbidden_ops: 'files' forbidden_ops: 'Assert' max_import_expansion: -1",
    "forbidden_unknown": "forbidden_ops: 'disks'",
    "times": "operation_timeout_in_ms: -9223372036854775808",
}

_RUN_OPTIONS = {
    "empty": "",
    "trace": "trace_level: FULL_TRACE output_partition_graphs: true",
    "trace_unknown": "trace_level: HARDWARE_TRACE",
    "limit": "timeout_in_ms: 1000",
    "limit_negative": "timeout_in_ms: -9223372036854775808",
    "limit_endless": "timeout_in_ms: 9223372036854775807",
    "threads": "inter_op_thread_pool: -1 experimental { use_run_handler_pool: true "
    "run_handler_pool_options { priority: 9223372036854775807 } }",
    "debugger": 'debug_options { debug_tensor_watch_opts { node_name: "y" output_slot: -1 '
    'debug_ops: "DebugIdentity" debug_urls: "file:///" } global_step: -1 }',
    "allocations": "report_tensor_allocations_upon_oom: true",
}


def _binary(message: str, text: str) -> bytes:
    return _runtime.message_parse_text(message, text)


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


# Entries of tensors "w" in an index, before eight bytes of data.
_ENTRIES = {
    "whole": "dtype: DT_FLOAT shape { dim { size: 2 } } size: 8",
    "scalar": "dtype: DT_INT64 shape { } size: 8",
    "empty": "dtype: DT_FLOAT shape { dim { size: 0 } }",
    "texts": "dtype: DT_STRING shape { dim { size: 2 } } size: 8",
    "no_type": "shape { dim { size: 2 } } size: 8",
    "resources": "dtype: DT_RESOURCE shape { } size: 8",
    "huge": "dtype: DT_FLOAT shape { dim { size: 1099511627776 } } size: 4398046511104",
    "huge_without_bytes": "dtype: DT_FLOAT shape { dim { size: 1099511627776 } } size: 8",
    "overflow": "dtype: DT_FLOAT shape { dim { size: 4611686018427387904 } "
    "dim { size: 4611686018427387904 } } size: 8",
    "negative_shape": "dtype: DT_FLOAT shape { dim { size: -1 } } size: 8",
    "unknown_rank": "dtype: DT_FLOAT shape { unknown_rank: true } size: 8",
    "negative_size": "dtype: DT_FLOAT shape { } size: -4",
    "negative_offset": "dtype: DT_FLOAT shape { } offset: -4 size: 4",
    "behind_the_end": "dtype: DT_FLOAT shape { } offset: 9223372036854775807 size: 4",
    "other_shard": "dtype: DT_FLOAT shape { } shard_id: 7 size: 4",
    "slices": "dtype: DT_FLOAT shape { dim { size: 1099511627776 } } "
    + "slices { extent { start: 0 length: 2 } } " * 3,
    "slices_outside": "dtype: DT_FLOAT shape { dim { size: 4 } } "
    "slices { extent { start: 3 length: 2 } } slices { extent { start: -1 length: 1 } }",
}
# Tables of contents of version 1, in which "w" has two values.
_CONTENTS = {
    "whole": "name: 'w' shape { dim { size: 2 } } type: DT_FLOAT slice { extent { } }",
    "huge": "name: 'w' shape { dim { size: 1099511627776 } } type: DT_FLOAT slice { extent { } }",
    "texts": "name: 'w' shape { dim { size: 2 } } type: DT_STRING slice { extent { } }",
    "twice": "name: 'w' shape { dim { size: 2 } } type: DT_FLOAT slice { extent { } } "
    "slice { extent { } }",
    "overlap": "name: 'w' shape { dim { size: 3 } } type: DT_FLOAT "
    "slice { extent { start: 0 length: 2 } } slice { extent { start: 1 length: 2 } }",
    "missing": "name: 'v' shape { dim { size: 2 } } type: DT_FLOAT slice { extent { } }",
}


def _table(entries: dict[bytes, bytes]) -> bytes:
    """Entries as checkpoint.cc reads them."""
    texts = (
        struct.pack("<HH", len(key), len(entries[key])) + key + entries[key] for key in entries
    )
    return b"".join(texts) + struct.pack("<HH", 0xFFFF, 0)


def _checkpoints() -> Iterator[tuple[str, bytes]]:
    """See checkpoint.cc: whole files of either version, and entries with checksums that fit."""
    data = struct.pack("<ff", 1, 2)
    header = _binary("BundleHeaderProto", "num_shards: 1 version { producer: 1 }")
    for name, text in _ENTRIES.items():
        entry = _binary("BundleEntryProto", text)
        yield f"entry_{name}", b"B" + _table({b"": header, b"w": entry}) + data
    yield "no_header", b"B" + _table({b"w": _binary("BundleEntryProto", _ENTRIES["whole"])}) + data
    many = {b"w" * (i + 1): b"" for i in range(100)}
    yield "many", b"B" + _table({b"": header, **many}) + data
    values = _binary("SavedTensorSlices", "data { data { float_val: 1 float_val: 2 } }")
    key = b"\0w\0\1\1\1\x80\x7f"  # of the whole of a vector
    for name, text in _CONTENTS.items():
        contents = _binary("SavedTensorSlices", f"meta {{ tensor {{ {text} }} }}")
        yield f"contents_{name}", b"S" + _table({b"": contents, key: values})
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as sess:
        halves = tf.fixed_size_partitioner(2)
        tf.get_variable("parts", initializer=[[1.0], [2.0], [3.0]], partitioner=halves)
        tf.Variable(["a", "", "long"], name="texts")
        tf.Variable(7, name="number")
        sess.run(tf.global_variables_initializer())
        for version in (1, 2):
            prefix = os.path.join(folder, f"v{version}")
            tf.train.Saver(write_version=version).save(sess, prefix, write_meta_graph=False)
        yield "version_1", b"s" + Path(folder, "v1").read_bytes()
        index = Path(folder, "v2.index").read_bytes()
        written = Path(folder, "v2.data-00000-of-00001").read_bytes()
        yield "version_2", b"b" + struct.pack("<I", len(index)) + index + written


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
        name: _binary("Example", f"features {{ {text} }}") for name, text in _EXAMPLES.items()
    }
    sequences = {
        name: _binary(
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
        "RunOptions": _binary("RunOptions", "trace_level: FULL_TRACE timeout_in_ms: 5"),
        "ConfigProto": _binary("ConfigProto", _CONFIGS["devices"]),
        "Event": _binary("Event", 'wall_time: nan step: -1 summary { value { tag: "x" } }'),
        "Example": _binary(
            "Example", 'features { feature { key: "a" value { int64_list { value: 1 } } } }'
        ),
        "TensorProto": _binary("TensorProto", _TENSORS["strings"]),
        "AttrValue": _binary("AttrValue", _VALUES["function"]),
    }


def _write(folder: Path, target: str, name: str, data: bytes) -> None:
    path = folder / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main() -> None:
    """Writes every corpus below the folder of the command line."""
    folder = Path(sys.argv[1])
    graphs = {name: tf.GraphDef.from_text(text) for name, text in _GRAPHS.items()}
    graphs.update(_graphs_of_tf())
    graphs.update(_graphs_of_ops())
    for name, graph in graphs.items():
        text = _runtime.message_print_text("GraphDef", graph.SerializeToString())
        _write(folder, "graph_binary", name, graph.SerializeToString())
        _write(folder, "graph_text", name, text.encode())
    for name, text in _TENSORS.items():
        _write(folder, "tensor_proto", name, _binary("TensorProto", text))
        value = f'attr {{ key: "value" value {{ tensor {{ {text} }} }} }}'
        graph = f'node {{ name: "c" op: "Const" {value} }}'
        _write(folder, "graph_text", f"constant_{name}", graph.encode())
    for i, (name, text) in enumerate(_VALUES.items()):
        _write(folder, "attr_value", name, _binary("AttrValue", text))
        for op, attr in _OP_ATTRS[i % 3 :: 3]:
            _write(folder, "op_attr", f"{op}_{attr}_{name}", f"{op}\n{attr}\n{text}".encode())
    for name, text in _CONFIGS.items():
        _write(folder, "session_config", name, _binary("ConfigProto", text))
    for name, text in _RUN_OPTIONS.items():
        _write(folder, "run_options", name, _binary("RunOptions", text))
    for name, data in _messages().items():
        text = _runtime.message_print_text(name, data)
        _write(folder, "message", name, f"{name}\n".encode() + data)
        _write(folder, "message_text", name, f"{name}\n{text}".encode())
    for name, data in _damaged_plugins():
        _write(folder, "plugin_file", name, data)
    for name, data in _feeds():
        _write(folder, "feed", name, data)
    for name, data in _checkpoints():
        _write(folder, "checkpoint", name, data)
    for name, data in _records():
        _write(folder, "examples", name, data)
    for name, data in files_of_clusters():
        _write(folder, "cluster_message", name, data)
    for name, data in files_of_images():
        _write(folder, "image_file", name, data)
    for name, data in bmp_files():
        _write(folder, "bmp_file", name, data)


if __name__ == "__main__":
    main()
