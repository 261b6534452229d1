"""Calls of functions for feature columns and specifications, a part of argument_types_test.py."""

from __future__ import annotations

import tempfile
from typing import Any

import millstream as tf
from millstream.argument_tables import Calls

columns = tf.feature_column


def _day() -> Any:
    return columns.categorical_column_with_identity("day", 7)


def _words() -> dict[str, Any]:
    return {
        "key": "word", "vocabulary_list": ["a", "b"], "dtype": tf.string, "default_value": 1,
        "num_oov_buckets": 0,
    }  # fmt: skip


def _file() -> dict[str, Any]:
    return {
        "key": "word", "vocabulary_file": "words.txt", "vocabulary_size": 2, "num_oov_buckets": 0,
        "default_value": 1, "dtype": tf.string,
    }  # fmt: skip


def _identity() -> dict[str, Any]:
    return {"key": "day", "num_buckets": 7, "default_value": 0}


def _hashed() -> dict[str, Any]:
    return {"key": "word", "hash_bucket_size": 9, "dtype": tf.string}


def _table() -> dict[str, Any]:
    return {
        "dimension": 2, "combiner": "sum", "initializer": tf.ones_initializer(), "max_norm": 1.0,
        "trainable": False,
    }  # fmt: skip


def _layer() -> dict[str, Any]:
    numbers = columns.numeric_column("x")
    return {"features": {"x": [[1.0]]}, "feature_columns": [numbers], "trainable": False}


def calls_of_columns() -> Calls:
    """The rows of the table."""
    return {
        columns.numeric_column: lambda: {
            "key": "x", "shape": [1], "default_value": 0.0, "dtype": tf.float32,
            "normalizer_fn": tf.abs,
        },
        columns.bucketized_column: lambda: {
            "source_column": columns.numeric_column("x"), "boundaries": [1.0],
        },
        columns.categorical_column_with_hash_bucket: _hashed,
        columns.categorical_column_with_identity: _identity,
        columns.categorical_column_with_vocabulary_list: _words,
        columns.categorical_column_with_vocabulary_file: _file,
        columns.sequence_categorical_column_with_hash_bucket: _hashed,
        columns.sequence_categorical_column_with_identity: _identity,
        columns.sequence_categorical_column_with_vocabulary_list: _words,
        columns.sequence_categorical_column_with_vocabulary_file: _file,
        columns.sequence_numeric_column: lambda: {
            "key": "x", "shape": [1], "default_value": 0.0, "dtype": tf.float32,
            "normalizer_fn": tf.identity,
        },
        columns.weighted_categorical_column: lambda: {
            "categorical_column": _day(), "weight_feature_key": "w", "dtype": tf.float32,
        },
        columns.crossed_column: lambda: {
            "keys": ["a", "b"], "hash_bucket_size": 9, "hash_key": 1,
        },
        columns.embedding_column: lambda: {"categorical_column": _day(), **_table()},
        columns.shared_embedding_columns: lambda: {
            "categorical_columns": [_day()], "shared_embedding_collection_name": "days", **_table(),
        },
        columns.indicator_column: lambda: {"categorical_column": _day()},
        columns.input_layer: lambda: {**_layer(), "cols_to_vars": {}, "weight_collections": ["w"]},
        columns.linear_model: lambda: {
            **_layer(), "units": 2, "sparse_combiner": "mean", "cols_to_vars": {},
        },
        columns.make_parse_example_spec: lambda: {"feature_columns": [_day()]},
        tf.contrib.feature_column.sequence_input_layer: lambda: {
            "features": {"x": tf.SparseTensor([[0, 0]], [1.0], [1, 1])},
            "feature_columns": [columns.sequence_numeric_column("x")], "trainable": False,
        },
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
        tf.train.experimental.PythonState: dict,
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
