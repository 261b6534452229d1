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
        tf.strings.lower: lambda: {"input": ["A"], "encoding": "utf-8"},
        tf.strings.upper: lambda: {"input": ["a"], "encoding": "utf-8"},
        tf.strings.unsorted_segment_join: lambda: {
            "inputs": ["a"], "segment_ids": [0], "num_segments": 1, "separator": "-",
        },
        tf.regex_replace: lambda: {
            "input": ["a"], "pattern": "a", "rewrite": "b", "replace_global": False,
        },
        tf.strings.regex_full_match: lambda: {"input": ["a"], "pattern": "a"},
        tf.string_split: lambda: {"source": ["a b"], "sep": " "},
        tf.strings.split: lambda: {"input": ["a b"], "sep": " ", "maxsplit": 1},
        tf.strings.unicode_transcode: lambda: {
            "input": ["a"], "input_encoding": "UTF-8", "output_encoding": "UTF-16-BE",
            "errors": "ignore", "replacement_char": 63,
        },
        tf.decode_csv: lambda: {
            "records": ["1"], "record_defaults": [[0]], "field_delim": ";", "na_value": "-",
            "select_cols": [0],
        },
        tf.random_gamma: lambda: {
            "shape": [2], "alpha": [1.0], "beta": 2.0, "dtype": tf.float64, "seed": 1,
        },
        tf.random_poisson: lambda: {"lam": 1.0, "shape": [2], "dtype": tf.int32, "seed": 1},
        tf.edit_distance: lambda: {
            "hypothesis": tf.SparseTensor([[0]], ["a"], [1]),
            "truth": tf.SparseTensor([[0]], ["b"], [1]),
        },
    }  # fmt: skip
