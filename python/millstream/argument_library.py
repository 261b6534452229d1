"""Calls of functions of the op library, a part of the table of argument_types_test.py."""

from __future__ import annotations

import millstream as tf
from millstream.argument_tables import Calls, X


def calls_of_library() -> Calls:
    """The rows of the table. Values of "*" follow all others, without a name."""
    return {
        tf.einsum: lambda: {"equation": "ij->ji", "*": [X]},
        tf.math.cumulative_logsumexp: lambda: {
            "x": X, "axis": 0, "exclusive": True, "reverse": True,
        },
    }  # fmt: skip
