"""Calls of what programs use around graphs, a part of the table of argument_types_test.py."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import millstream as tf
from millstream.argument_tables import Calls, X


def _record_file() -> str:
    path = os.path.join(tempfile.mkdtemp(), "records")
    tf.python_io.TFRecordWriter(path).close()
    return path


def calls_of_programs() -> Calls:
    """The rows of the table."""
    return {
        tf.py_function: lambda: {"func": lambda x: x, "inp": [X], "Tout": tf.float32},
        tf.recompute_grad: lambda: {"f": tf.identity},
        tf.vectorized_map: lambda: {"fn": tf.negative, "elems": tf.constant(X)},
        tf.register_tensor_conversion_function: lambda: {
            "base_type": _Degrees, "conversion_func": _Degrees.as_tensor, "priority": 50,
        },
        tf.debugging.assert_shapes: lambda: {
            "shapes": [(tf.constant(X), ["n", "m"])], "data": ["x"], "summarize": 3, "message": "m",
        },
        tf.sparse_mask: lambda: {
            "a": tf.IndexedSlices(tf.constant([X, X]), tf.constant([1, 2])), "mask_indices": [1],
        },
        tf.strings.bytes_split: lambda: {"input": ["a"]},
        tf.strings.ngrams: lambda: {
            "data": ["a"], "ngram_width": 2, "separator": "-", "pad_values": "x",
            "padding_width": 1,
        },
        tf.strings.unicode_encode: lambda: {
            "input": [97], "output_encoding": "UTF-8", "errors": "ignore", "replacement_char": 65,
        },
        **{
            getattr(tf.strings, f"unicode_{name}"): lambda: {
                "input": ["a"], "input_encoding": "UTF-8", "errors": "ignore",
                "replacement_char": 65,
            }
            for name in ("decode", "decode_with_offsets", "split", "split_with_offsets")
        },
        tf.timestamp: dict,
        tf.read_file: lambda: {"filename": "a"},
        tf.write_file: lambda: {"filename": "a", "contents": "b"},
        tf.ReaderBase: lambda: {"reader_ref": tf.WholeFileReader().reader_ref},
        tf.IdentityReader: dict,
        tf.WholeFileReader: dict,
        tf.TextLineReader: lambda: {"skip_header_lines": 1},
        tf.TFRecordReader: lambda: {"options": tf.python_io.TFRecordOptions()},
        tf.FixedLengthRecordReader: lambda: {
            "record_bytes": 4, "header_bytes": 1, "footer_bytes": 1, "hop_bytes": 2, "encoding": "",
        },
        tf.load_library: lambda: {"library_location": tempfile.mkdtemp()},
        tf.resource_loader.load_resource: lambda: {"path": "py.typed"},
        tf.resource_loader.get_path_to_datafile: lambda: {"path": "a"},
        tf.resource_loader.readahead_file_path: lambda: {"path": "a"},
        tf.python_io.TFRecordOptions: lambda: {
            "compression_type": "ZLIB", "window_bits": 12, "compression_level": 3, "mem_level": 5,
            "compression_strategy": 0,
        },
        tf.python_io.TFRecordWriter: lambda: {"path": _record_file(), "options": "GZIP"},
        tf.python_io.tf_record_iterator: lambda: {"path": _record_file(), "options": ""},
        tf.test.create_local_cluster: lambda: {
            "num_workers": 1, "num_ps": 1, "protocol": "grpc", "worker_config": tf.ConfigProto(),
            "ps_config": tf.ConfigProto(),
        },
    }  # fmt: skip


class _Degrees:
    """What a program says how to convert."""

    @staticmethod
    def as_tensor(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        """A tensor of no particular value."""
        return tf.constant(0.0)
