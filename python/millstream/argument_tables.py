"""Calls of the functions for neural networks, a part of the table of argument_types_test.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as tf

# Arguments that work, made anew for each call, by function.
Calls = dict[Any, Callable[[], dict[str, Any]]]

X = [[1.0, 2.0], [3.0, 4.0]]
IMAGES = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
VOLUMES = [IMAGES]
_ONES = [1, 1, 1, 1]

_COUNTS = "false_negatives false_positives precision recall true_negatives true_positives"
_METRICS = f"{_COUNTS} accuracy auc mean_absolute_error mean_squared_error root_mean_squared_error"
_POOLS = "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D"
_LOSSES = "absolute_difference huber_loss log_loss mean_pairwise_squared_error mean_squared_error"


def _transposed(images: str, filters: str) -> Any:
    return {images: IMAGES, filters: [[[[1.0]]]], "output_shape": [1, 2, 2, 1], "strides": 1}


def _of_input(strides: Any) -> Any:
    """A gradient of a convolution of images for these."""
    return {
        "input_sizes": [1, 2, 2, 1],
        "filter": [[[[1.0]]]],
        "out_backprop": IMAGES,
        "strides": strides,
        "padding": "SAME",
    }


def _of_filter(strides: Any) -> Any:
    """A gradient of a convolution of images for its filter."""
    return {
        "input": IMAGES,
        "filter_sizes": [1, 1, 1, 1],
        "out_backprop": IMAGES,
        "strides": strides,
        "padding": "SAME",
    }


def _windows(images: Any, argument: str = "input") -> dict[str, Any]:
    return {argument: images, "ksize": 1, "strides": 1, "padding": "SAME"}


def _decoded() -> dict[str, Any]:
    return {"inputs": [X], "sequence_length": [1, 1]}


def _windows_of_images() -> Calls:
    """Pooling, convolutions and other functions of windows of images."""
    return {
        tf.nn.avg_pool: lambda: {"value": IMAGES, "ksize": 1, "strides": 1, "padding": "SAME"},
        tf.nn.max_pool: lambda: {"value": IMAGES, "ksize": 1, "strides": 1, "padding": "SAME"},
        tf.nn.max_pool2d: lambda: {"input": IMAGES, "ksize": 1, "strides": 1, "padding": "SAME"},
        tf.nn.avg_pool1d: lambda: _windows(IMAGES[0]),
        tf.nn.max_pool1d: lambda: _windows(IMAGES[0]),
        tf.nn.avg_pool3d: lambda: _windows(VOLUMES),
        tf.nn.max_pool3d: lambda: _windows(VOLUMES),
        tf.nn.avg_pool_v2: lambda: _windows(IMAGES),
        tf.nn.max_pool_v2: lambda: _windows(IMAGES),
        tf.nn.max_pool_with_argmax: lambda: _windows(IMAGES),
        tf.nn.pool: lambda: {
            "input": IMAGES, "window_shape": [1, 1], "pooling_type": "MAX", "padding": "SAME"
        },
        tf.nn.fractional_avg_pool: lambda: {"value": IMAGES, "pooling_ratio": [1.0, 1.5, 1.0, 1.0]},
        tf.nn.fractional_max_pool: lambda: {"value": IMAGES, "pooling_ratio": [1.0, 1.5, 1.0, 1.0]},
        tf.nn.ctc_loss: lambda: {
            "labels": tf.SparseTensor([[0, 0], [1, 0]], [0, 0], [2, 1]), "inputs": [X],
            "sequence_length": [1, 1],
        },
        tf.nn.ctc_loss_v2: lambda: {
            "labels": [[1], [1]], "logits": [X], "label_length": [1, 1], "logit_length": [1, 1]
        },
        tf.nn.ctc_unique_labels: lambda: {"labels": [[1, 2]]},
        tf.nn.collapse_repeated: lambda: {"labels": [[1, 2]], "seq_length": tf.constant([2])},
        tf.nn.compute_average_loss: lambda: {"per_example_loss": X},
        tf.nn.scale_regularization_loss: lambda: {"regularization_loss": X},
        tf.nn.ctc_greedy_decoder: _decoded,
        tf.nn.ctc_beam_search_decoder: _decoded,
        tf.nn.ctc_beam_search_decoder_v2: _decoded,
        tf.image.extract_image_patches: lambda: {
            "images": IMAGES, "ksizes": _ONES, "strides": _ONES, "rates": _ONES, "padding": "SAME"
        },
        tf.image.extract_patches: lambda: {
            "images": IMAGES, "sizes": _ONES, "strides": _ONES, "rates": _ONES, "padding": "SAME"
        },
        tf.extract_volume_patches: lambda: {
            "input": VOLUMES, "ksizes": [1, *_ONES], "strides": [1, *_ONES], "padding": "SAME"
        },
        tf.nn.batch_normalization: lambda: {
            "x": X, "mean": 0.0, "variance": 1.0, "offset": None, "scale": None,
            "variance_epsilon": 0.1,
        },
        tf.nn.bias_add: lambda: {"value": X, "bias": [1.0, 2.0]},
        tf.nn.conv2d: lambda: {
            "input": IMAGES, "filter": [[[[1.0]]]], "strides": 1, "padding": "SAME"
        },
        tf.nn.convolution: lambda: {"input": IMAGES, "filter": [[[[1.0]]]], "padding": "SAME"},
        tf.nn.conv1d: lambda: {
            "value": IMAGES[0], "filters": [[[1.0]]], "stride": 1, "padding": "SAME"
        },
        tf.nn.conv3d: lambda: {
            "input": [IMAGES], "filter": [[[[[1.0]]]]], "strides": 1, "padding": "SAME"
        },
        tf.nn.conv1d_transpose: lambda: {
            "input": IMAGES[0], "filters": [[[1.0]]], "output_shape": [2, 2, 1], "strides": 1
        },
        tf.nn.conv2d_transpose: lambda: _transposed("value", "filter"),
        tf.nn.conv3d_transpose: lambda: {
            "value": [IMAGES], "filter": [[[[[1.0]]]]], "output_shape": [1, 1, 2, 2, 1],
            "strides": 1,
        },
        tf.nn.conv_transpose: lambda: _transposed("input", "filters"),
        tf.nn.atrous_conv2d: lambda: {
            "value": IMAGES, "filters": [[[[1.0]]]], "rate": 1, "padding": "SAME"
        },
        tf.nn.atrous_conv2d_transpose: lambda: {
            "value": IMAGES, "filters": [[[[1.0]]]], "output_shape": [1, 2, 2, 1], "rate": 1,
            "padding": "SAME",
        },
        tf.nn.conv2d_backprop_input: lambda: _of_input(1),
        tf.nn.conv2d_backprop_filter: lambda: _of_filter(1),
        tf.nn.conv3d_backprop_filter: lambda: {
            "input": [IMAGES], "filter_sizes": [1, 1, 1, 1, 1], "out_backprop": [IMAGES],
            "strides": [1, 1, 1, 1, 1], "padding": "SAME",
        },
        tf.nn.depthwise_conv2d: lambda: {
            "input": IMAGES, "filter": [[[[1.0]]]], "strides": [1, 1, 1, 1], "padding": "SAME"
        },
        tf.nn.depthwise_conv2d_native: lambda: {
            "input": IMAGES, "filter": [[[[1.0]]]], "strides": [1, 1, 1, 1], "padding": "SAME"
        },
        tf.nn.depthwise_conv2d_native_backprop_input: lambda: _of_input([1, 1, 1, 1]),
        tf.nn.depthwise_conv2d_native_backprop_filter: lambda: _of_filter([1, 1, 1, 1]),
        tf.nn.separable_conv2d: lambda: {
            "input": IMAGES, "depthwise_filter": [[[[1.0]]]], "pointwise_filter": [[[[1.0]]]],
            "strides": [1, 1, 1, 1], "padding": "SAME",
        },
        tf.nn.with_space_to_batch: lambda: {
            "input": IMAGES, "dilation_rate": [1, 1], "padding": "VALID",
            "op": lambda x, count, padding: x,
        },
        tf.nn.dilation2d: lambda: {
            "input": IMAGES, "filter": [[[1.0]]], "strides": [1] * 4, "rates": [1] * 4,
            "padding": "SAME",
        },
        tf.nn.erosion2d: lambda: {
            "value": IMAGES, "kernel": [[[1.0]]], "strides": [1] * 4, "rates": [1] * 4,
            "padding": "SAME",
        },
        tf.space_to_batch: lambda: {
            "input": IMAGES, "paddings": [[0, 0], [0, 0]], "block_size": 2
        },
        tf.batch_to_space: lambda: {
            "input": IMAGES * 4, "crops": [[0, 0], [0, 0]], "block_size": 2
        },
        tf.space_to_batch_nd: lambda: {
            "input": X, "block_shape": [2], "paddings": [[0, 0]]
        },
        tf.batch_to_space_nd: lambda: {"input": X, "block_shape": [2], "crops": [[0, 0]]},
        tf.space_to_depth: lambda: {"input": IMAGES, "block_size": 2},
        tf.depth_to_space: lambda: {"input": [[[[1, 2, 3, 4]]]], "block_size": 2},
        tf.required_space_to_batch_paddings: lambda: {"input_shape": [4], "block_shape": [2]},
    }  # fmt: skip


def _sample() -> dict[str, Any]:
    return {"true_classes": [[1]], "num_true": 1, "num_sampled": 2, "unique": True}


def _sampled_loss() -> dict[str, Any]:
    return {
        "weights": tf.constant(X),
        "biases": tf.constant([1.0, 2.0]),
        "labels": [[1], [0]],
        "inputs": X,
        "num_sampled": 1,
        "num_classes": 2,
    }


def _logits() -> dict[str, Any]:
    return {"labels": [[0.0, 1.0]], "logits": [[0.5, 0.5]]}


def _nn() -> Calls:
    """Further functions of `nn`."""
    return {
        tf.nn.crelu: lambda: {"features": X},
        tf.nn.dropout: lambda: {"x": X, "keep_prob": 0.5},
        tf.nn.embedding_lookup: lambda: {"params": tf.constant(X), "ids": [0]},
        tf.nn.embedding_lookup_sparse: lambda: {
            "params": tf.constant(X),
            "sp_ids": tf.SparseTensor([[0, 0]], tf.constant([1], tf.int64), [1, 1]),
            "sp_weights": None,
        },
        tf.nn.safe_embedding_lookup_sparse: lambda: {
            "embedding_weights": tf.constant(X),
            "sparse_ids": tf.SparseTensor([[0, 0]], tf.constant([1], tf.int64), [1, 1]),
        },
        tf.nn.all_candidate_sampler: _sample,
        tf.nn.compute_accidental_hits: lambda: {
            "true_classes": [[1]], "sampled_candidates": [1], "num_true": 1
        },
        tf.nn.fixed_unigram_candidate_sampler: lambda: {
            **_sample(), "range_max": 2, "unigrams": [1.0, 1.0]
        },
        **{
            getattr(tf.nn, f"{name}_candidate_sampler"): lambda: {**_sample(), "range_max": 2}
            for name in ("learned_unigram", "log_uniform", "uniform")
        },
        tf.nn.in_top_k: lambda: {"predictions": X, "targets": [0, 1], "k": 1},
        tf.nn.nce_loss: _sampled_loss,
        tf.nn.sampled_softmax_loss: _sampled_loss,
        tf.nn.top_k: lambda: {"input": X},
        tf.nn.l2_loss: lambda: {"t": X},
        tf.nn.l2_normalize: lambda: {"x": X},
        tf.nn.leaky_relu: lambda: {"features": X},
        tf.nn.log_softmax: lambda: {"logits": X},
        tf.nn.fused_batch_norm: lambda: {"x": IMAGES, "scale": [1.0], "offset": [0.0]},
        tf.nn.batch_norm_with_global_normalization: lambda: {
            "t": X, "m": 0.0, "v": 1.0, "beta": 0.0, "gamma": None, "variance_epsilon": 0.1,
        },
        tf.nn.lrn: lambda: {"input": IMAGES},
        tf.nn.log_poisson_loss: lambda: {"targets": X, "log_input": X},
        tf.nn.moments: lambda: {"x": X, "axes": [0]},
        tf.nn.normalize_moments: lambda: {
            "counts": 2.0, "mean_ss": 1.0, "variance_ss": 1.0, "shift": None
        },
        tf.nn.relu: lambda: {"features": X},
        **{
            function: lambda: {"features": X}
            for function in (
                tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign
            )
        },
        tf.nn.relu_layer: lambda: {"x": X, "weights": X, "biases": [1.0, 2.0]},
        tf.nn.sufficient_statistics: lambda: {"x": X, "axes": [0]},
        tf.nn.swish: lambda: {"features": X},
        tf.nn.weighted_cross_entropy_with_logits: lambda: {
            "labels": X, "logits": X, "pos_weight": 2.0
        },
        tf.nn.weighted_moments: lambda: {"x": X, "axes": [0], "frequency_weights": X},
        tf.nn.sigmoid_cross_entropy_with_logits: _logits,
        tf.nn.softmax: lambda: {"logits": X},
        tf.nn.softmax_cross_entropy_with_logits: _logits,
        tf.nn.softmax_cross_entropy_with_logits_v2: _logits,
        tf.nn.sparse_softmax_cross_entropy_with_logits: lambda: {
            "labels": [1], "logits": [[0.5, 0.5]]
        },
        tf.nn.xw_plus_b: lambda: {"x": X, "weights": X, "biases": [1.0, 2.0]},
        tf.nn.zero_fraction: lambda: {"value": X},
    }  # fmt: skip


def _pooled_sequence() -> dict[str, Any]:
    return {"inputs": IMAGES[0], "pool_size": 1, "strides": 1}


def _pooled() -> dict[str, Any]:
    return {"inputs": IMAGES, "pool_size": 1, "strides": 1}


def _pooled_volume() -> dict[str, Any]:
    return {"inputs": VOLUMES, "pool_size": 1, "strides": 1}


def _layers() -> Calls:
    """Layers."""
    return {
        tf.layers.average_pooling1d: _pooled_sequence,
        tf.layers.average_pooling2d: _pooled,
        tf.layers.average_pooling3d: _pooled_volume,
        tf.layers.max_pooling3d: _pooled_volume,
        tf.layers.max_pooling1d: _pooled_sequence,
        tf.layers.max_pooling2d: _pooled,
        **{
            getattr(tf.layers, name): lambda: {"pool_size": 1, "strides": 1}
            for name in _POOLS.split()
        },
        tf.layers.BatchNormalization: dict,
        tf.layers.batch_normalization: lambda: {"inputs": tf.constant(X)},
        tf.layers.Conv1D: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.Conv2D: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.Conv3D: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.Conv2DTranspose: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.Conv3DTranspose: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.SeparableConv1D: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.SeparableConv2D: lambda: {"filters": 2, "kernel_size": 1},
        tf.layers.conv1d: lambda: {"inputs": IMAGES[0], "filters": 2, "kernel_size": 1},
        tf.layers.conv2d: lambda: {"inputs": IMAGES, "filters": 2, "kernel_size": 1},
        tf.layers.conv3d: lambda: {"inputs": [IMAGES], "filters": 2, "kernel_size": 1},
        tf.layers.conv2d_transpose: lambda: {"inputs": IMAGES, "filters": 2, "kernel_size": 1},
        tf.layers.conv3d_transpose: lambda: {"inputs": [IMAGES], "filters": 2, "kernel_size": 1},
        tf.layers.separable_conv1d: lambda: {"inputs": IMAGES[0], "filters": 2, "kernel_size": 1},
        tf.layers.separable_conv2d: lambda: {"inputs": IMAGES, "filters": 2, "kernel_size": 1},
        tf.layers.Dense: lambda: {"units": 2},
        tf.layers.dense: lambda: {"inputs": X, "units": 2},
        tf.layers.Dropout: dict,
        tf.layers.dropout: lambda: {"inputs": X},
        tf.layers.Flatten: dict,
        tf.layers.flatten: lambda: {"inputs": X},
        tf.layers.InputSpec: dict,
        tf.layers.Layer: dict,
    }  # fmt: skip


class _StateSaver:
    """Has a state and saves nothing."""

    @staticmethod
    def state(_: str) -> Any:
        return tf.zeros([2, 3])

    @staticmethod
    def save_state(_: str, value: Any) -> Any:
        return tf.identity(value)


def _over(inputs: Any, *ways: str) -> dict[str, Any]:
    """Cells and their input."""
    cells = {f"cell{way}": tf.nn.rnn_cell.BasicLSTMCell(3) for way in ways or [""]}
    return {**cells, "inputs": inputs, "dtype": tf.float32}


def _saving() -> dict[str, Any]:
    arguments = {"state_saver": _StateSaver(), "state_name": ("c", "h")}
    return {"cell": tf.nn.rnn_cell.BasicLSTMCell(3), "inputs": [tf.constant(X)], **arguments}


def _ends_at_once(_time: Any, output: Any, _state: Any, _loop_state: Any) -> Any:
    return tf.constant([True, True]), tf.constant(X), tf.zeros([2, 2]), output, None


def _recurrent() -> Calls:
    """Recurrent networks."""
    cells = tf.nn.rnn_cell
    simple = (cells.BasicRNNCell, cells.BasicLSTMCell, cells.LSTMCell, cells.GRUCell)
    return {
        **{cell: lambda: {"num_units": 2} for cell in simple},
        cells.RNNCell: dict,
        cells.MultiRNNCell: lambda: {"cells": [cells.GRUCell(2)]},
        cells.DropoutWrapper: lambda: {"cell": cells.GRUCell(2)},
        cells.ResidualWrapper: lambda: {"cell": cells.GRUCell(2)},
        cells.DeviceWrapper: lambda: {"cell": cells.GRUCell(2), "device": "/cpu:0"},
        tf.nn.dynamic_rnn: lambda: _over(tf.constant([X])),
        tf.nn.bidirectional_dynamic_rnn: lambda: _over(tf.constant([X]), "_fw", "_bw"),
        tf.nn.raw_rnn: lambda: {"cell": cells.GRUCell(2), "loop_fn": _ends_at_once},
        tf.nn.static_rnn: lambda: _over([tf.constant(X)]),
        tf.nn.static_bidirectional_rnn: lambda: _over([tf.constant(X)], "_fw", "_bw"),
        tf.nn.static_state_saving_rnn: _saving,
    }


def _predictions() -> dict[str, Any]:
    return {"labels": X, "predictions": X}


def _classes() -> dict[str, Any]:
    return {"labels": [0, 1], "predictions": [1, 1]}


def _one_loss() -> str:
    tf.losses.add_loss(tf.constant(1.0, name="loss"))
    return "loss"


def _losses_and_metrics() -> Calls:
    """Losses and metrics."""
    return {
        **{getattr(tf.losses, name): _predictions for name in _LOSSES.split()},
        tf.losses.add_loss: lambda: {"loss": tf.constant(1.0)},
        tf.losses.compute_weighted_loss: lambda: {"losses": X},
        tf.losses.cosine_distance: lambda: {"labels": X, "predictions": X, "axis": 1},
        tf.losses.get_losses: dict,
        tf.losses.get_regularization_loss: dict,
        tf.losses.get_regularization_losses: dict,
        tf.losses.get_total_loss: lambda: {"scope": _one_loss()},
        tf.losses.hinge_loss: lambda: {"labels": X, "logits": X},
        tf.losses.sigmoid_cross_entropy: lambda: {"multi_class_labels": X, "logits": X},
        tf.losses.softmax_cross_entropy: lambda: {"onehot_labels": X, "logits": X},
        tf.losses.sparse_softmax_cross_entropy: lambda: {"labels": [0, 1], "logits": X},
        **{getattr(tf.metrics, name): _classes for name in _METRICS.split()},
        **{
            getattr(tf.metrics, f"{name}_at_thresholds"): lambda: _classes() | {"thresholds": [0.5]}
            for name in _COUNTS.split()
        },
        tf.confusion_matrix: _classes,
        **{
            getattr(tf.metrics, f"{name}_at_k"): lambda: {
                "labels": [[1], [0]], "predictions": X, "k": 1
            }
            for name in ("recall", "precision", "average_precision")
        },
        **{
            getattr(tf.metrics, f"{name}_at_top_k"): lambda: {
                "labels": [[1], [0]], "predictions_idx": [[1], [0]]
            }
            for name in ("recall", "precision")
        },
        tf.metrics.mean: lambda: {"values": X},
        tf.metrics.mean_cosine_distance: lambda: {**_predictions(), "dim": 1},
        tf.metrics.mean_iou: lambda: {**_classes(), "num_classes": 2},
        tf.metrics.mean_per_class_accuracy: lambda: {**_classes(), "num_classes": 2},
        tf.metrics.mean_relative_error: lambda: {**_predictions(), "normalizer": X},
        tf.metrics.mean_tensor: lambda: {"values": X},
        tf.metrics.percentage_below: lambda: {"values": X, "threshold": 1.0},
        tf.metrics.sensitivity_at_specificity: lambda: {**_classes(), "specificity": 0.5},
        tf.metrics.specificity_at_sensitivity: lambda: {**_classes(), "sensitivity": 0.5},
    }  # fmt: skip


def _training() -> Calls:
    """Optimizers, and what counts their steps."""
    return {
        tf.train.AdagradOptimizer: lambda: {"learning_rate": 0.1},
        tf.train.AdadeltaOptimizer: dict,
        tf.train.AdamOptimizer: dict,
        tf.train.GradientDescentOptimizer: lambda: {"learning_rate": 0.1},
        tf.train.MomentumOptimizer: lambda: {"learning_rate": 0.1, "momentum": 0.9},
        tf.train.ProximalAdagradOptimizer: lambda: {"learning_rate": 0.1},
        tf.train.FtrlOptimizer: lambda: {"learning_rate": 0.1},
        tf.train.AdagradDAOptimizer: lambda: {"learning_rate": 0.1, "global_step": 0},
        tf.train.ProximalGradientDescentOptimizer: lambda: {"learning_rate": 0.1},
        tf.train.RMSPropOptimizer: lambda: {"learning_rate": 0.1},
        **{
            getattr(tf.train, f"{name}_decay"): lambda: {
                "learning_rate": 0.1, "global_step": 1, "decay_steps": 10, "decay_rate": 0.5
            }
            for name in ("exponential", "natural_exp", "inverse_time")
        },
        tf.train.ExponentialMovingAverage: lambda: {"decay": 0.9},
        tf.train.polynomial_decay: lambda: {
            "learning_rate": 1.0, "global_step": 1, "decay_steps": 10
        },
        **{
            getattr(tf.train, name): lambda: {
                "learning_rate": 0.1, "global_step": 1, "decay_steps": 10
            }
            for name in ("cosine_decay", "linear_cosine_decay", "noisy_linear_cosine_decay")
        },
        tf.train.cosine_decay_restarts: lambda: {
            "learning_rate": 0.1, "global_step": 1, "first_decay_steps": 10
        },
        tf.train.piecewise_constant: lambda: {"x": 1, "boundaries": [1], "values": [1.0, 2.0]},
        tf.train.assert_global_step: lambda: {"global_step_tensor": tf.Variable(0)},
        tf.train.create_global_step: dict,
        tf.train.get_global_step: dict,
        tf.train.get_or_create_global_step: dict,
    }  # fmt: skip


def calls_of_networks() -> Calls:
    """The calls of all functions of this module."""
    networks = _nn() | _layers() | _recurrent() | _losses_and_metrics()
    return _windows_of_images() | networks | _training()
