"""Calls of what programs use around graphs, a part of the table of argument_types_test.py."""

from __future__ import annotations

import os
import tempfile

import millstream as tf
from millstream.argument_tables import Calls


def _record_file() -> str:
    path = os.path.join(tempfile.mkdtemp(), "records")
    tf.python_io.TFRecordWriter(path).close()
    return path


def calls_of_programs() -> Calls:
    """The rows of the table."""
    return {
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
        tf.python_io.TFRecordOptions: lambda: {
            "compression_type": "ZLIB", "window_bits": 12, "compression_level": 3, "mem_level": 5,
            "compression_strategy": 0,
        },
        tf.python_io.TFRecordWriter: lambda: {"path": _record_file(), "options": "GZIP"},
        tf.python_io.tf_record_iterator: lambda: {"path": _record_file(), "options": ""},
    }  # fmt: skip
