"""The corpus of checkpoint.cc: checkpoints of both versions, and entries of their indices."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import millstream as tf
from testing.fuzz.message_texts import binary

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


def files_of_checkpoints() -> Iterator[tuple[str, bytes]]:
    """See checkpoint.cc: whole files of either version, and entries with checksums that fit."""
    data = struct.pack("<ff", 1, 2)
    header = binary("BundleHeaderProto", "num_shards: 1 version { producer: 1 }")
    for name, text in _ENTRIES.items():
        entry = binary("BundleEntryProto", text)
        yield f"entry_{name}", b"B" + _table({b"": header, b"w": entry}) + data
    yield "no_header", b"B" + _table({b"w": binary("BundleEntryProto", _ENTRIES["whole"])}) + data
    many = {b"w" * (i + 1): b"" for i in range(100)}
    yield "many", b"B" + _table({b"": header, **many}) + data
    values = binary("SavedTensorSlices", "data { data { float_val: 1 float_val: 2 } }")
    key = b"\0w\0\1\1\1\x80\x7f"  # of the whole of a vector
    for name, text in _CONTENTS.items():
        contents = binary("SavedTensorSlices", f"meta {{ tensor {{ {text} }} }}")
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
