"""Calls of functions of numbers, arrays and texts: rows of argument_types_test.py's table."""

from __future__ import annotations

import millstream as tf
from millstream.argument_tables import Calls, X

_UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp expm1 floor identity "
    "inv is_finite is_inf is_nan lgamma log log1p negative reciprocal rint round rsqrt sigmoid "
    "sign sin sinh sqrt square stop_gradient tan tanh"
)
_BINARY = (
    "add atan2 div div_no_nan divide equal floordiv floormod greater greater_equal less "
    "less_equal maximum minimum multiply not_equal pow realdiv squared_difference subtract "
    "truediv truncatediv truncatemod"
)
_REDUCTIONS = (
    "count_nonzero reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
)


def calls_of_arrays() -> Calls:
    """The rows of the table."""
    return {
        **{getattr(tf, name): lambda: {"x": X} for name in _UNARY.split()},
        **{getattr(tf, name): lambda: {"x": X, "y": X} for name in _BINARY.split()},
        **{getattr(tf, name): lambda: {"input_tensor": X} for name in _REDUCTIONS.split()},
        tf.identity: lambda: {"input": X},
        tf.stop_gradient: lambda: {"input": X},
        tf.identity_n: lambda: {"input": [X]},
        tf.reduce_all: lambda: {"input_tensor": [True]},
        tf.reduce_any: lambda: {"input_tensor": [True]},
        tf.logical_and: lambda: {"x": [True], "y": [True]},
        tf.logical_or: lambda: {"x": [True], "y": [True]},
        tf.logical_not: lambda: {"x": [True]},
        tf.logical_xor: lambda: {"x": tf.constant([True]), "y": tf.constant([True])},
        tf.diag: lambda: {"diagonal": [1.0, 2.0]},
        tf.diag_part: lambda: {"input": X},
        tf.matrix_band_part: lambda: {"input": [X, X], "num_lower": 1, "num_upper": 0},
        tf.matrix_diag: lambda: {
            "diagonal": X, "k": 1, "num_rows": 3, "num_cols": 3, "padding_value": 2.0,
        },
        tf.matrix_diag_part: lambda: {"input": [X, X], "k": [0, 1], "padding_value": 2.0},
        tf.matrix_set_diag: lambda: {"input": [X, X], "diagonal": X, "k": 0},
        tf.roll: lambda: {"input": X, "shift": 1, "axis": 0},
        tf.bincount: lambda: {
            "arr": [1, 0], "weights": [0.5, 1.0], "minlength": 1, "maxlength": 3, "dtype": tf.int64,
        },
        tf.bitcast: lambda: {"input": X, "type": tf.int32},
        tf.broadcast_dynamic_shape: lambda: {"shape_x": [2, 1], "shape_y": [3]},
        tf.histogram_fixed_width: lambda: {
            "values": X, "value_range": [0.0, 5.0], "nbins": 2, "dtype": tf.int64,
        },
        tf.histogram_fixed_width_bins: lambda: {
            "values": X, "value_range": [0.0, 5.0], "nbins": 2, "dtype": tf.int32,
        },
        tf.lin_space: lambda: {"start": 0.0, "stop": 1.0, "num": 3},
        tf.parallel_stack: lambda: {"values": [X, X]},
        tf.searchsorted: lambda: {
            "sorted_sequence": X, "values": X, "side": "right", "out_type": tf.int64,
        },
        tf.unravel_index: lambda: {"indices": [1], "dims": [2, 2]},
        **{
            getattr(tf, f"segment_{kind}"): lambda: {"data": X, "segment_ids": [0, 1]}
            for kind in ("max", "mean", "min", "prod", "sum")
        },
        **{
            getattr(tf, f"unsorted_segment_{kind}"): lambda: {
                "data": X, "segment_ids": [0, 1], "num_segments": 2,
            }
            for kind in ("max", "min", "prod")
        },
        **{
            getattr(tf, f"sparse_segment_{kind}"): lambda: {
                "data": X, "indices": [0, 1], "segment_ids": [0, 1], "num_segments": 2,
            }
            for kind in ("mean", "sqrt_n", "sum")
        },
        tf.math.reduce_euclidean_norm: lambda: {"input_tensor": X, "axis": 0},
        tf.betainc: lambda: {"a": X, "b": X, "x": 0.5},
        tf.igamma: lambda: {"a": X, "x": X},
        tf.igammac: lambda: {"a": X, "x": X},
        tf.math.bessel_i0e: lambda: {"x": X},
        tf.math.bessel_i1e: lambda: {"x": X},
        tf.as_string: lambda: {
            "input": X, "precision": 2, "scientific": False, "shortest": False, "width": 5,
            "fill": "0",
        },
        tf.decode_base64: lambda: {"input": ["YWI"]},
        tf.decode_compressed: lambda: {"bytes": ["ab"], "compression_type": ""},
        tf.decode_raw: lambda: {
            "input_bytes": ["ab"], "out_type": tf.uint8, "little_endian": False,
        },
        tf.encode_base64: lambda: {"input": ["ab"], "pad": True},
        tf.reduce_join: lambda: {"inputs": [["a"]], "axis": [0], "separator": "-"},
        tf.string_strip: lambda: {"input": [" a"]},
        tf.string_to_number: lambda: {"string_tensor": ["1"], "out_type": tf.int32},
        tf.strings.length: lambda: {"input": ["a"], "unit": "BYTE"},
        tf.substr: lambda: {"input": ["abc"], "pos": 1, "len": 1, "unit": "BYTE"},
        tf.random.stateless_uniform: lambda: {
            "shape": [2], "seed": [1, 2], "minval": 0.0, "maxval": 2.0, "dtype": tf.float32,
        },
        **{
            getattr(tf.random, f"stateless_{kind}"): lambda: {
                "shape": [2], "seed": [1, 2], "mean": 1.0, "stddev": 2.0, "dtype": tf.float32,
            }
            for kind in ("normal", "truncated_normal")
        },
        tf.cross: lambda: {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]},
        tf.sparse_matmul: lambda: {
            "a": X, "b": X, "transpose_a": True, "transpose_b": True, "a_is_sparse": True,
            "b_is_sparse": True,
        },
        tf.fingerprint: lambda: {"data": ["a"], "method": "farmhash64"},
        tf.string_to_hash_bucket: lambda: {"string_tensor": ["a"], "num_buckets": 5},
        tf.string_to_hash_bucket_fast: lambda: {"input": ["a"], "num_buckets": 5},
        tf.string_to_hash_bucket_strong: lambda: {
            "input": ["a"], "num_buckets": 5, "key": [1, 2],
        },
        tf.ensure_shape: lambda: {"x": X, "shape": [None, 2]},
        tf.guarantee_const: lambda: {"input": X},
        tf.invert_permutation: lambda: {"x": [1, 0]},
        tf.setdiff1d: lambda: {"x": [1, 2], "y": [2], "index_dtype": tf.int64},
        tf.unique_with_counts: lambda: {"x": [1, 2, 1], "out_idx": tf.int64},
        tf.where_v2: lambda: {"condition": True, "x": X, "y": X},
        tf.accumulate_n: lambda: {"inputs": [X, X]},
        tf.add_n: lambda: {"inputs": [X, X]},
    }  # fmt: skip
