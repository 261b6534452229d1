"""Calls of the functions for queues and input, a part of the table of argument_types_test.py."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream.argument_tables import Calls, X

_FEATURES = {"f": tf.FixedLenFeature([], tf.int64), "v": tf.VarLenFeature(tf.string)}
_BATCH = {"batch_size": 2, "capacity": 4}
_SHUFFLE = {**_BATCH, "min_after_dequeue": 1}


def _one(**more: Any) -> dict[str, Any]:
    return {"tensors": [tf.constant(X)], **more}


def _joined(**more: Any) -> dict[str, Any]:
    return {"tensors_list": [[tf.constant(X)]], **more}


def _sparse(**more: Any) -> dict[str, Any]:
    return {"sp_input": tf.SparseTensor([[0, 1]], [7], [1, 3]), **more}


def _sequences(**more: Any) -> dict[str, Any]:
    steps = {"s": tf.FixedLenSequenceFeature([], tf.int64)}
    return {"context_features": _FEATURES, "sequence_features": steps, **more}


def calls_of_inputs() -> Calls:
    """The rows of the table."""
    return {
        tf.decode_json_example: lambda: {"json_examples": ["{}"]},
        tf.deserialize_many_sparse: lambda: {
            "serialized_sparse": [["a", "b", "c"]], "dtype": tf.int32, "rank": 2,
        },
        tf.serialize_sparse: lambda: _sparse(out_type=tf.string),
        tf.serialize_many_sparse: lambda: _sparse(out_type=tf.string),
        tf.serialize_tensor: lambda: {"tensor": X},
        tf.parse_tensor: lambda: {"serialized": "a", "out_type": tf.float32},
        tf.parse_example: lambda: {
            "serialized": ["a"], "features": _FEATURES, "example_names": ["x"],
        },
        tf.parse_single_example: lambda: {
            "serialized": "a", "features": _FEATURES, "example_names": "x",
        },
        tf.parse_single_sequence_example: lambda: _sequences(serialized="a", example_name="x"),
        tf.io.parse_sequence_example: lambda: _sequences(serialized=["a"], example_names=["x"]),
        tf.matching_files: lambda: {"pattern": "/no/such/*"},
        tf.train.match_filenames_once: lambda: {"pattern": ["/no/such/*"]},
        tf.ConditionalAccumulator: lambda: {"dtype": tf.float32},
        tf.SparseConditionalAccumulator: lambda: {"dtype": tf.float32},
        tf.get_session_handle: lambda: {"data": tf.constant(X)},
        tf.get_session_tensor: lambda: {"handle": "GetSessionHandle;1;/cpu:0", "dtype": tf.int32},
        tf.delete_session_tensor: lambda: {"handle": "GetSessionHandle;1;/cpu:0"},
        tf.CriticalSection: lambda: {"shared_name": "section"},
        tf.nondifferentiable_batch_function: lambda: {
            "num_batch_threads": 1, "max_batch_size": 2, "batch_timeout_micros": 100,
            "allowed_batch_sizes": [1, 2], "max_enqueued_batches": 3,
        },
        tf.FIFOQueue: lambda: {"capacity": 2, "dtypes": tf.int32},
        tf.PaddingFIFOQueue: lambda: {"capacity": 2, "dtypes": tf.int32, "shapes": [[None]]},
        tf.PriorityQueue: lambda: {"capacity": 2, "types": tf.int32},
        tf.RandomShuffleQueue: lambda: {
            "capacity": 2, "min_after_dequeue": 1, "dtypes": tf.int32,
        },
        tf.random_shuffle: lambda: {"value": X},
        tf.train.limit_epochs: lambda: {"tensor": X, "num_epochs": 1},
        tf.train.input_producer: lambda: {"input_tensor": X},
        tf.train.string_input_producer: lambda: {"string_tensor": ["a"]},
        tf.train.range_input_producer: lambda: {"limit": 3},
        tf.train.slice_input_producer: lambda: {"tensor_list": [X]},
        tf.train.batch: lambda: _one(**_BATCH),
        tf.train.maybe_batch: lambda: _one(keep_input=True, **_BATCH),
        tf.train.batch_join: lambda: _joined(**_BATCH),
        tf.train.maybe_batch_join: lambda: _joined(keep_input=True, **_BATCH),
        tf.train.shuffle_batch: lambda: _one(**_SHUFFLE),
        tf.train.maybe_shuffle_batch: lambda: _one(keep_input=True, **_SHUFFLE),
        tf.train.shuffle_batch_join: lambda: _joined(**_SHUFFLE),
        tf.train.maybe_shuffle_batch_join: lambda: _joined(keep_input=True, **_SHUFFLE),
    }  # fmt: skip
