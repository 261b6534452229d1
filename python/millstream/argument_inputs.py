"""Calls of the functions for queues and input, a part of the table of argument_types_test.py."""

from __future__ import annotations

from typing import Any

import millstream as tf
from millstream.argument_tables import Calls, X

_BATCH = {"batch_size": 2, "capacity": 4}
_SHUFFLE = {**_BATCH, "min_after_dequeue": 1}


def _one(**more: Any) -> dict[str, Any]:
    return {"tensors": [tf.constant(X)], **more}


def _joined(**more: Any) -> dict[str, Any]:
    return {"tensors_list": [[tf.constant(X)]], **more}


def calls_of_inputs() -> Calls:
    """The rows of the table."""
    return {
        tf.ConditionalAccumulator: lambda: {"dtype": tf.float32},
        tf.SparseConditionalAccumulator: lambda: {"dtype": tf.float32},
        tf.get_session_handle: lambda: {"data": tf.constant(X)},
        tf.get_session_tensor: lambda: {"handle": "GetSessionHandle;1;/cpu:0", "dtype": tf.int32},
        tf.delete_session_tensor: lambda: {"handle": "GetSessionHandle;1;/cpu:0"},
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
