"""Calls of functions for specifications and options, a part of argument_types_test.py."""

from __future__ import annotations

import tempfile

import millstream as tf
from millstream.argument_tables import Calls


def calls_of_columns() -> Calls:
    """The rows of the table."""
    return {
        tf.TypeSpec: dict,
        tf.TensorSpec: lambda: {"shape": [2], "dtype": tf.float32, "name": "x"},
        tf.SparseTensorSpec: lambda: {"shape": [2], "dtype": tf.float32},
        tf.RaggedTensorSpec: lambda: {
            "shape": [2, None], "dtype": tf.float32, "ragged_rank": 1, "row_splits_dtype": tf.int64,
        },
        tf.IndexedSlicesSpec: lambda: {
            "shape": [2, 3], "dtype": tf.float32, "indices_dtype": tf.int64,
            "dense_shape_dtype": tf.int64, "indices_shape": [None],
        },
        tf.TensorArraySpec: lambda: {"element_shape": [2], "dtype": tf.float32},
        tf.ragged.stack: lambda: {"values": [[1], [2]], "axis": 0},
        tf.config.get_soft_device_placement: dict,
        tf.config.set_soft_device_placement: lambda: {"enabled": False},
        tf.config.experimental_list_devices: dict,
        tf.debugging.get_log_device_placement: dict,
        tf.debugging.set_log_device_placement: lambda: {"enabled": False},
        tf.contrib.tensorboard.plugins.projector.visualize_embeddings: lambda: {
            "summary_writer": tf.summary.FileWriter(tempfile.mkdtemp()),
            "config": tf.contrib.tensorboard.plugins.projector.ProjectorConfig(),
        },
    }  # fmt: skip
