"""Calls of the functions for queues and input, a part of the table of argument_types_test.py."""

from __future__ import annotations

import millstream as tf
from millstream.argument_tables import Calls, X


def calls_of_inputs() -> Calls:
    """The rows of the table."""
    return {
        tf.FIFOQueue: lambda: {"capacity": 2, "dtypes": tf.int32},
        tf.PaddingFIFOQueue: lambda: {"capacity": 2, "dtypes": tf.int32, "shapes": [[None]]},
        tf.PriorityQueue: lambda: {"capacity": 2, "types": tf.int32},
        tf.RandomShuffleQueue: lambda: {
            "capacity": 2, "min_after_dequeue": 1, "dtypes": tf.int32,
        },
        tf.random_shuffle: lambda: {"value": X},
    }  # fmt: skip
