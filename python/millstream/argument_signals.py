"""Calls of functions of signals and rows, a part of the table of argument_types_test.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millstream as tf
from millstream.argument_tables import Calls, X


def calls_of_signals() -> Calls:
    """The rows of the table."""
    transforms = (
        (1, tf.signal.rfft, tf.signal.irfft),
        (2, tf.signal.rfft2d, tf.signal.irfft2d),
        (3, tf.signal.rfft3d, tf.signal.irfft3d),
    )
    calls: Calls = {}
    for rank, there, back in transforms:
        calls[there] = _transform(rank, tf.float32)
        calls[back] = _transform(rank, tf.complex64)
    whole = (tf.fft, tf.ifft, tf.fft2d, tf.ifft2d, tf.fft3d, tf.ifft3d)
    for function in whole:
        calls[function] = lambda: {"input": tf.ones([2, 2, 2], tf.complex64)}
    return calls | {
        tf.signal.fftshift: lambda: {"x": X, "axes": [0]},
        tf.signal.ifftshift: lambda: {"x": X, "axes": [0]},
        tf.signal.dct: lambda: {
            "input": X, "type": 3, "n": 4, "axis": -1, "norm": "ortho",
        },
        tf.signal.idct: lambda: {
            "input": X, "type": 3, "n": 4, "axis": -1, "norm": "ortho",
        },
        tf.signal.frame: lambda: {
            "signal": [1, 2, 3], "frame_length": 2, "frame_step": 1, "pad_end": True,
            "pad_value": 7, "axis": 0,
        },
        tf.signal.overlap_and_add: lambda: {"signal": X, "frame_step": 1},
        tf.signal.hann_window: lambda: {
            "window_length": 3, "periodic": False, "dtype": tf.float64,
        },
        tf.signal.hamming_window: lambda: {
            "window_length": 3, "periodic": False, "dtype": tf.float64,
        },
        tf.signal.stft: lambda: {
            "signals": [1.0, 2.0, 3.0], "frame_length": 2, "frame_step": 1, "fft_length": 4,
            "window_fn": None, "pad_end": True,
        },
        tf.signal.inverse_stft: lambda: {
            "stfts": tf.ones([2, 3], tf.complex64), "frame_length": 2, "frame_step": 1,
            "fft_length": 4, "window_fn": None,
        },
        tf.signal.inverse_stft_window_fn: lambda: {
            "frame_step": 2, "forward_window_fn": tf.signal.hamming_window,
        },
        tf.signal.linear_to_mel_weight_matrix: lambda: {
            "num_mel_bins": 3, "num_spectrogram_bins": 5, "sample_rate": 9000,
            "lower_edge_hertz": 100.0, "upper_edge_hertz": 4000.0, "dtype": tf.float64,
        },
        tf.signal.mfccs_from_log_mel_spectrograms: lambda: {"log_mel_spectrograms": X},
        tf.ragged.RaggedTensorValue: lambda: {
            "values": np.array([1]), "row_splits": np.array([0, 1]),
        },
        tf.ragged.constant: lambda: {
            "pylist": [[1], []], "dtype": tf.int64, "ragged_rank": 1, "inner_shape": (),
            "row_splits_dtype": tf.int32,
        },
        tf.ragged.constant_value: lambda: {
            "pylist": [[1], []], "dtype": tf.int64, "ragged_rank": 1, "inner_shape": (),
            "row_splits_dtype": "int32",
        },
        tf.ragged.placeholder: lambda: {"dtype": tf.int32, "ragged_rank": 1, "value_shape": [2]},
        tf.ragged.map_flat_values: lambda: {
            "op": tf.abs, "*": [tf.ragged.constant([[1]])],
        },
        tf.ragged.range: lambda: {
            "starts": [1], "limits": [4], "deltas": 2, "dtype": tf.float32,
            "row_splits_dtype": tf.int32,
        },
        tf.ragged.boolean_mask: lambda: {"data": [[1, 2]], "mask": [[True, False]]},
        tf.ragged.row_splits_to_segment_ids: lambda: {"splits": [0, 2], "out_type": tf.int32},
        tf.ragged.segment_ids_to_row_splits: lambda: {
            "segment_ids": [0, 1], "num_segments": 3, "out_type": tf.int32,
        },
        tf.ragged.stack_dynamic_partitions: lambda: {
            "data": [1, 2], "partitions": [1, 0], "num_partitions": 2,
        },
    }  # fmt: skip


def _transform(rank: int, dtype: tf.DType) -> Callable[[], dict[str, Any]]:
    shape = [2] * rank
    return lambda: {"input_tensor": tf.ones(shape, dtype), "fft_length": shape}
