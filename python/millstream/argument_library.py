"""Calls of functions of the op library, a part of the table of argument_types_test.py."""

from __future__ import annotations

from typing import Any

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
        tf.strings.unicode_script: lambda: {"input": [97]},
        tf.strings.lower: lambda: {"input": ["A"], "encoding": "utf-8"},
        tf.strings.upper: lambda: {"input": ["a"], "encoding": "utf-8"},
        tf.strings.unsorted_segment_join: lambda: {
            "inputs": ["a"], "segment_ids": [0], "num_segments": 1, "separator": "-",
        },
        tf.debugging.assert_shapes: lambda: {
            "shapes": [(X, (2, 2))], "data": [X], "summarize": 2, "message": "m",
        },
        tf.Module: lambda: {"name": "module"},
        tf.vectorized_map: lambda: {"fn": tf.negative, "elems": tf.constant(X)},
        tf.sparse_mask: lambda: {
            "a": tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])), "mask_indices": [1],
        },
        tf.strings.bytes_split: lambda: {"input": ["ab"]},
        tf.strings.ngrams: lambda: {
            "data": ["a", "b"], "ngram_width": [2], "separator": "-", "pad_values": ("<", ">"),
            "padding_width": 1, "preserve_short_sequences": True,
        },
        tf.strings.unicode_decode: _characters,
        tf.strings.unicode_decode_with_offsets: _characters,
        tf.strings.unicode_split: _characters,
        tf.strings.unicode_split_with_offsets: _characters,
        tf.strings.unicode_encode: lambda: {
            "input": [97], "output_encoding": "UTF-8", "errors": "ignore", "replacement_char": 63,
        },
        tf.lookup.KeyValueTensorInitializer: lambda: {
            "keys": ["a"], "values": [1], "key_dtype": tf.string, "value_dtype": tf.int32,
        },
        tf.lookup.TextFileInitializer: lambda: {
            "filename": "a", "key_dtype": tf.string, "key_index": 0, "value_dtype": tf.int64,
            "value_index": 1, "vocab_size": 3, "delimiter": ",",
        },
        tf.lookup.StaticHashTable: lambda: {"initializer": _entries(), "default_value": -1},
        tf.lookup.StaticVocabularyTable: lambda: {
            "initializer": _entries(), "num_oov_buckets": 1, "lookup_key_dtype": tf.string,
        },
        tf.lookup.experimental.DenseHashTable: lambda: {
            "key_dtype": tf.int64, "value_dtype": tf.int64, "default_value": -1, "empty_key": 0,
            "deleted_key": -1, "initial_num_buckets": 4,
        },
        tf.regex_replace: lambda: {
            "input": ["a"], "pattern": "a", "rewrite": "b", "replace_global": False,
        },
        tf.strings.regex_full_match: lambda: {"input": ["a"], "pattern": "a"},
        tf.cholesky: lambda: {"input": [[1.0]]},
        tf.cholesky_solve: lambda: {"chol": [[1.0]], "rhs": [[2.0]]},
        tf.matrix_solve: lambda: {"matrix": [[1.0]], "rhs": [[2.0]], "adjoint": True},
        tf.matrix_triangular_solve: lambda: {
            "matrix": [[1.0]], "rhs": [[2.0]], "lower": False, "adjoint": True,
        },
        tf.linalg.lu: lambda: {"input": [[1.0]], "output_idx_type": tf.int64},
        tf.trace: lambda: {"x": [[1.0]]},
        tf.linalg.adjoint: lambda: {"matrix": [[1.0]]},
        tf.linalg.logdet: lambda: {"matrix": [[1.0]]},
        tf.linalg.expm: lambda: {"input": [[1.0]]},
        **_quantization(),
        tf.audio.decode_wav: lambda: {
            "contents": tf.audio.encode_wav([[0.5]], 8000), "desired_channels": 1,
            "desired_samples": 1,
        },
        tf.audio.encode_wav: lambda: {"audio": [[0.5]], "sample_rate": 8000},
        tf.train.experimental.FixedLossScale: lambda: {"loss_scale_value": 8},
        tf.train.experimental.DynamicLossScale: lambda: {
            "initial_loss_scale": 8.0, "increment_period": 2, "multiplier": 2.0,
        },
        tf.train.experimental.MixedPrecisionLossScaleOptimizer: lambda: {
            "opt": tf.train.GradientDescentOptimizer(1.0), "loss_scale": "dynamic",
        },
        tf.sort: lambda: {"values": X, "axis": 0, "direction": "DESCENDING"},
        tf.argsort: lambda: {"values": X, "axis": 0, "direction": "DESCENDING"},
        tf.boolean_mask: lambda: {"tensor": [1, 2], "mask": [True, False], "axis": 0},
        tf.repeat: lambda: {"input": [1, 2], "repeats": 2, "axis": 0},
        tf.lbeta: lambda: {"x": X},
        tf.math.bessel_i0: lambda: {"x": X},
        tf.math.bessel_i1: lambda: {"x": X},
        tf.math.reciprocal_no_nan: lambda: {"x": X},
        tf.create_partitioned_variables: lambda: {
            "shape": [2], "slicing": [2], "initializer": tf.zeros_initializer(),
            "dtype": tf.float32, "name": "parts",
        },
        tf.linalg.normalize: lambda: {"tensor": [3.0, 4.0], "ord": 1, "axis": 0},
        tf.linalg.matrix_rank: lambda: {"a": [[1.0]], "tol": 0.5},
        tf.linalg.pinv: lambda: {"a": [[1.0]], "rcond": 0.5},
        tf.linalg.logm: lambda: {"input": tf.constant([[1.0]], tf.complex64)},
        tf.qr: lambda: {"input": [[1.0]], "full_matrices": True},
        tf.svd: lambda: {"tensor": [[1.0]]},
        tf.self_adjoint_eig: lambda: {"tensor": [[1.0]]},
        tf.self_adjoint_eigvals: lambda: {"tensor": [[1.0]]},
        tf.matrix_square_root: lambda: {"input": [[1.0]]},
        tf.matrix_solve_ls: lambda: {"matrix": [[1.0]], "rhs": [[1.0]], "l2_regularizer": 0.5},
        tf.linalg.matvec: lambda: {"a": [[1.0]], "b": [2.0]},
        tf.linalg.tridiagonal_solve: lambda: {
            "diagonals": [[0.0], [1.0], [0.0]], "rhs": [[2.0]], "diagonals_format": "compact",
        },
        tf.linalg.tridiagonal_matmul: lambda: {
            "diagonals": [[0.0], [1.0], [0.0]], "rhs": [[2.0]], "diagonals_format": "compact",
        },
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
        **_of_sparse_tensors(),
    }  # fmt: skip


def _entries() -> Any:
    return tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64))


def _sparse(*values: Any) -> tf.SparseTensor:
    """A matrix of one element for each value."""
    places = [[0, i] for i in range(len(values))]
    return tf.SparseTensor(places, list(values), [1, len(values)])


def _of_sparse_tensors() -> Calls:
    reductions = ("sum", "sum_sparse", "max", "max_sparse")
    extrema = ("maximum", "minimum")
    return {
        **{
            getattr(tf, f"sparse_reduce_{kind}"): lambda: {
                "sp_input": _sparse(1, 2), "axis": [1], "keepdims": True,
            }
            for kind in reductions
        },
        **{
            getattr(tf, f"sparse_{kind}"): lambda: {"sp_a": _sparse(1), "sp_b": _sparse(2)}
            for kind in extrema
        },
        tf.sparse_add: lambda: {"a": _sparse(1), "b": _sparse(2), "threshold": 1},
        tf.sparse_tensor_dense_matmul: lambda: {"sp_a": _sparse(1.0), "b": [[2.0]]},
        tf.sparse_softmax: lambda: {"sp_input": _sparse(1.0)},
        tf.sparse_reorder: lambda: {"sp_input": _sparse(1)},
        tf.sparse_reshape: lambda: {"sp_input": _sparse(1), "shape": [-1]},
        tf.sparse_concat: lambda: {"axis": 0, "sp_inputs": [_sparse(1), _sparse(2)]},
        tf.sparse_split: lambda: {"sp_input": _sparse(1, 2), "num_split": 2, "axis": 1},
        tf.sparse_slice: lambda: {"sp_input": _sparse(1), "start": [0, 0], "size": [1, 1]},
        tf.sparse_retain: lambda: {"sp_input": _sparse(1), "to_retain": [True]},
        tf.sparse_reset_shape: lambda: {"sp_input": _sparse(1), "new_shape": [2, 2]},
        tf.sparse_fill_empty_rows: lambda: {"sp_input": _sparse(1), "default_value": 0},
        tf.sparse_transpose: lambda: {"sp_input": _sparse(1), "perm": [1, 0]},
        tf.sparse.expand_dims: lambda: {"sp_input": _sparse(1), "axis": 0},
        tf.sparse_merge: lambda: {
            "sp_ids": [_sparse(1)], "sp_values": _sparse(2), "vocab_size": [3],
        },
        tf.sparse_to_indicator: lambda: {"sp_input": _sparse(1), "vocab_size": 3},
        tf.sparse.from_dense: lambda: {"tensor": [1, 0]},
        tf.random.experimental.Generator: lambda: {"state": [1, 2, 3], "alg": 1},
        tf.random.experimental.create_rng_state: lambda: {"seed": 1, "algorithm": 1},
        tf.random.experimental.get_global_generator: dict,
        tf.random.experimental.set_global_generator: lambda: {
            "generator": tf.random.experimental.Generator(state=[1, 2, 3], alg=1),
        },
        tf.sparse.cross: lambda: {"inputs": [[["a"]], [["b"]]]},
        tf.sparse.cross_hashed: lambda: {
            "inputs": [[["a"]], [["b"]]], "num_buckets": 10, "hash_key": 1,
        },
        tf.sparse.eye: lambda: {"num_rows": 2, "num_columns": 3, "dtype": tf.int32},
    }  # fmt: skip


def _characters() -> dict[str, Any]:
    return {
        "input": ["a"], "input_encoding": "UTF-8", "errors": "ignore", "replacement_char": 63,
    }  # fmt: skip


def _levels(values: Any) -> Any:
    return tf.bitcast(tf.constant(values, tf.uint8), tf.quint8)


def _pixels() -> dict[str, Any]:
    return {"input": _levels([[[[1], [2]]]]), "min_input": 0.0, "max_input": 1.0}


def _quantization() -> Calls:
    ends = {"min_range": 0.0, "max_range": 1.0}
    windows = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    fixed = {"min": -1.0, "max": 1.0, "num_bits": 4, "narrow_range": True}
    channels = {**fixed, "min": [-1.0, -1.0], "max": [1.0, 1.0]}
    return {
        tf.quantization.quantize: lambda: {
            "input": X, **ends, "T": tf.quint8, "mode": "SCALED", "round_mode": "HALF_TO_EVEN",
        },
        tf.quantize_v2: lambda: {
            "input": X, **ends, "T": tf.quint8, "mode": "SCALED", "round_mode": "HALF_TO_EVEN",
        },
        tf.quantization.dequantize: lambda: {"input": _levels([1]), **ends, "mode": "SCALED"},
        tf.quantization.quantize_and_dequantize: lambda: {
            "input": X, "input_min": 0.0, "input_max": 1.0, "signed_input": True, "num_bits": 4,
            "range_given": True, "round_mode": "HALF_UP", "narrow_range": True,
        },
        tf.quantization.quantized_concat: lambda: {
            "concat_dim": 0, "values": [_levels([1]), _levels([2])], "input_mins": [0.0, 0.0],
            "input_maxes": [1.0, 1.0],
        },
        tf.fake_quant_with_min_max_args: lambda: {"inputs": X, **fixed},
        tf.fake_quant_with_min_max_args_gradient: lambda: {"gradients": X, "inputs": X, **fixed},
        tf.fake_quant_with_min_max_vars: lambda: {"inputs": X, **fixed},
        tf.fake_quant_with_min_max_vars_gradient: lambda: {"gradients": X, "inputs": X, **fixed},
        tf.fake_quant_with_min_max_vars_per_channel: lambda: {"inputs": X, **channels},
        tf.fake_quant_with_min_max_vars_per_channel_gradient: lambda: {
            "gradients": X, "inputs": X, **channels,
        },
        tf.nn.quantized_avg_pool: lambda: {**_pixels(), "ksize": [1, 1, 1, 1], **windows},
        tf.nn.quantized_max_pool: lambda: {**_pixels(), "ksize": [1, 1, 1, 1], **windows},
        tf.nn.quantized_conv2d: lambda: {
            **_pixels(), "filter": _levels([[[[1]]]]), "min_filter": 0.0, "max_filter": 1.0,
            **windows, "out_type": tf.qint32, "dilations": [1, 1, 1, 1],
        },
        tf.nn.quantized_relu_x: lambda: {
            "features": _levels([1]), "max_value": 1.0, "min_features": 0.0, "max_features": 1.0,
            "out_type": tf.quint8,
        },
    }  # fmt: skip
