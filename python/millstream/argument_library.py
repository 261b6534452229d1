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
        tf.sets.set_size: lambda: {"a": tf.SparseTensor([[0, 0]], [1], [1, 1])},
        tf.sets.set_difference: lambda: {"a": [[1]], "b": [[2]], "aminusb": True},
        tf.sets.set_intersection: lambda: {"a": [[1]], "b": [[2]]},
        tf.sets.set_union: lambda: {"a": [[1]], "b": [[2]]},
    }  # fmt: skip
