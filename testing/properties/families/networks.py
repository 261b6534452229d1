"""Activations, biases and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.properties import number_types
from testing.properties.case import Case, Input, attr_text
from testing.properties.families.rows import row_indices, summed
from testing.properties.number_types import Array
from testing.properties.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refer,
    refuse_unless,
    type_attr,
)
from testing.properties.source import Source

# ---- Softmax and losses ----


def _make_softmax(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape(0 if source.chance(0.05) else 1)
    return Case(op.name, [Input(dtype, source.values(dtype, shape))], {"T": type_attr(dtype)})


def _shifted(x: Array) -> tuple[Array, Array]:
    """The logits less their largest one, and the sum of their exponentials."""
    shifted = x - np.max(x, -1, keepdims=True, initial=-np.inf)
    return shifted, np.sum(np.exp(shifted), -1, keepdims=True)


def _odd_rows(x: Array, dtype: str) -> Array:
    """Rows of infinities, whose exponentials mean nothing, and of numbers that cancel to those."""
    large = np.abs(x) >= number_types.largest(dtype) / 4
    return np.broadcast_to(np.any(large | ~np.isfinite(x), -1, keepdims=True), x.shape)


def _softmax(case: Case) -> Outcome:
    x, dtype = numbers(case, 0), case.inputs[0].dtype
    refuse_unless(x.ndim >= 1, "logits")
    wide = longer(x)
    shifted, total = _shifted(wide)
    value = np.exp(shifted) / total if case.op == "Softmax" else shifted - np.log(total)
    # The shifted logits are rounded before their exponential is taken.
    scale = 8 + np.where(np.isfinite(shifted), np.abs(shifted), 0)
    slack = 1e-7 if dtype != "float64" else 1e-15
    bound = np.abs(value) * (number_types.epsilon(dtype) + slack * scale * 4)
    bound = np.where(np.isfinite(bound), bound, 0) + slack * 8 * (1 + np.abs(np.log(total)))
    return [Near(value, bound, _odd_rows(wide, dtype))]


refer(["Softmax", "LogSoftmax"], _make_softmax, _softmax)


def _make_cross_entropy(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rows, classes = source.size(4), source.size(8)
    shapes = [[rows, classes], [rows, classes]]
    if source.chance(0.2):
        shapes[source.integer(0, 1)] = source.pick(([1, classes], [rows, 1], [classes], []))
    elif source.chance(0.1):
        shapes[source.integer(0, 1)] = list(source.small_shape(0, 3))
    inputs = [Input(dtype, source.values(dtype, shape, "plain")) for shape in shapes]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _cross_entropy(case: Case) -> Outcome:
    features, labels = numbers(case, 0), numbers(case, 1)
    dtype = case.inputs[0].dtype
    try:
        shape = np.broadcast_shapes(features.shape, labels.shape)
    except ValueError:
        shape = ()
    refuse_unless(len(shape) == 2, "features")
    x, y = (np.broadcast_to(longer(part), shape) for part in (features, labels))
    if x.shape[1] == 0:
        kind = features.dtype
        return [np.zeros(x.shape[0], kind), np.zeros(x.shape, kind)]
    shifted, total = _shifted(x)
    loss = np.sum(-y * (shifted - np.log(total)), -1)
    scale = np.sum(np.abs(y) * (np.abs(shifted) + np.abs(np.log(total))), -1) + 1
    backprop = np.exp(shifted) / total - y
    slack = number_types.epsilon(dtype) * 16 * max(x.shape[1], 1)
    return [Near(loss, scale * slack), Near(backprop, slack * (1 + np.abs(y)))]


refer("SoftmaxCrossEntropyWithLogits", _make_cross_entropy, _cross_entropy)


def _make_sparse_cross_entropy(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    rows, classes = source.size(4), source.size(8)
    features = [rows, classes] if source.chance(0.95) else list(source.small_shape(0, 3))
    count = rows if source.chance(0.95) else rows + 1
    labels = row_indices(source, [count], classes)
    inputs = [Input(dtype, source.values(dtype, features, "plain")), labels]
    return Case(op.name, inputs, {"T": type_attr(dtype), "Tlabels": type_attr(labels.dtype)})


def _sparse_cross_entropy(case: Case) -> Outcome:
    features, labels = numbers(case, 0), case.array(1)
    dtype = case.inputs[0].dtype
    refuse_unless(features.ndim == 2, "features")
    refuse_unless(labels.shape == features.shape[:1], "labels")
    refuse_unless(features.shape[1] > 0, "features")
    refuse_unless(((labels >= 0) & (labels < features.shape[1])).all(), "labels")
    shifted, total = _shifted(longer(features))
    rows = np.arange(len(labels))
    loss = np.log(total[:, 0]) - shifted[rows, labels]
    backprop = np.exp(shifted) / total
    backprop[rows, labels] -= 1
    slack = number_types.epsilon(dtype) * 16 * features.shape[1]
    return [Near(loss, slack * (1 + np.abs(loss))), Near(backprop, slack)]


refer("SparseSoftmaxCrossEntropyWithLogits", _make_sparse_cross_entropy, _sparse_cross_entropy)


# ---- Biases ----


def _make_bias(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first = source.chance(0.4)
    low = (3 if first else 2) - (1 if source.chance(0.06) else 0)
    shape = source.small_shape(low, 6)
    channel = 1 if first else len(shape) - 1
    inputs = [Input(dtype, source.values(dtype, shape))]
    if op.name == "BiasAdd":
        count = shape[channel] if 0 <= channel < len(shape) else 1
        bias = (count,) if source.chance(0.93) else source.small_shape(0, 2)
        inputs.append(Input(dtype, source.values(dtype, bias)))
    data_format = "NCHW" if first else "NHWC"
    attrs = {"T": type_attr(dtype), "data_format": attr_text(data_format)}
    return Case(op.name, inputs, attrs, {"first": first})


def _channel(case: Case, argument: str) -> int:
    rank, first = case.array(0).ndim, case.values["first"]
    refuse_unless(rank >= (3 if first else 2), argument)
    return 1 if first else rank - 1


def _bias_add(case: Case) -> Outcome:
    value, bias = numbers(case, 0), numbers(case, 1)
    channel = _channel(case, "value")
    refuse_unless(bias.shape == (value.shape[channel],), "bias")
    bias = bias.reshape([-1 if i == channel else 1 for i in range(value.ndim)])
    if value.dtype.kind in "iu":
        return [value + bias]
    sums = longer(value) + longer(bias)
    scale = np.abs(longer(value)) + np.abs(longer(bias))
    return [summed(sums, scale, 1, case.inputs[0].dtype)]


def _bias_add_grad(case: Case) -> Outcome:
    gradient, dtype = numbers(case, 0), case.inputs[0].dtype
    channel = _channel(case, "out_backprop")
    axes = tuple(i for i in range(gradient.ndim) if i != channel)
    if gradient.dtype.kind in "iu":
        return [np.sum(gradient, axes, gradient.dtype)]
    sums = np.sum(longer(gradient), axes)
    scale = np.sum(np.abs(longer(gradient)), axes)
    return [summed(sums, scale, max(gradient.size, 1), dtype)]


refer("BiasAdd", _make_bias, _bias_add)
refer("BiasAddGrad", _make_bias, _bias_add_grad)
