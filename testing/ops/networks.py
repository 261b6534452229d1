"""Activations, biases and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, positive, spread
from testing.ops.support.inputs import row_indices
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    longer,
    numbers,
    pick_type,
    refuse_unless,
    summed,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

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


def _large_softmax(values: Values) -> Any:
    found = []
    for logits in (values.of(20, 15_000), values.of(30_000, 10)):
        found += [tf.nn.softmax(logits), tf.nn.log_softmax(logits)]
    return found


define_tests(
    ["Softmax", "LogSoftmax"],
    cases=_make_softmax,
    reference=_softmax,
    determinism=LargeCase(_large_softmax),
)


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


_LOGITS = spread("logits", 3, 4)


def _cross_entropy_checks(op: str) -> list[Check]:
    """Checks of the loss by each argument, and of both outputs by the logits.

    The second output is the gradient of the first by the logits, and that one's gradient the second
    derivative. The labels' gradient leaves the second output out, as the reference's.
    """
    labels = positive("labels", 3, 4)
    labels /= labels.sum(1, keepdims=True)
    loss = gen_ops.softmax_cross_entropy_with_logits
    return [
        Check(lambda x: loss(x, tf.constant(labels))[0], (_LOGITS,)),
        Check(lambda y: loss(tf.constant(_LOGITS), y)[0], (labels,)),
        Check(lambda x: loss(x, tf.constant(labels[:1]))[0], (_LOGITS,)),
        Check(lambda y: loss(tf.constant(_LOGITS), y)[0], (labels[:1],)),
        Check(lambda x: list(loss(x, tf.constant(labels))), (_LOGITS,)),
    ]


def _large_cross_entropy(values: Values) -> Any:
    found = []
    for rows, classes in ((20, 15_000), (30_000, 10)):
        logits = values.of(rows, classes)
        labels = tf.nn.softmax(values.of(rows, classes))
        for loss in (
            tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=values.rows(rows, classes), logits=logits
            ),
        ):
            found += [loss, tf.gradients(loss, logits)[0]]
    return found


_LARGE_CROSS_ENTROPY = LargeCase(_large_cross_entropy)

define_tests(
    "SoftmaxCrossEntropyWithLogits",
    cases=_make_cross_entropy,
    reference=_cross_entropy,
    gradient=_cross_entropy_checks,
    determinism=_LARGE_CROSS_ENTROPY,
)


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


_CLASSES = np.array([1, 3, 0], np.int64)
define_tests(
    "SparseSoftmaxCrossEntropyWithLogits",
    cases=_make_sparse_cross_entropy,
    reference=_sparse_cross_entropy,
    gradient=[
        Check(
            lambda x: list(gen_ops.sparse_softmax_cross_entropy_with_logits(x, _CLASSES)),
            (_LOGITS,),
        )
    ],
    determinism=_LARGE_CROSS_ENTROPY,
)


# ---- Biases ----


def _make_bias(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    first = source.chance(0.4) and op.name != "BiasAddV1"
    low = (3 if first else 2) - (1 if source.chance(0.06) else 0)
    shape = source.small_shape(low, 6)
    channel = 1 if first else len(shape) - 1
    inputs = [Input(dtype, source.values(dtype, shape))]
    if op.name != "BiasAddGrad":
        count = shape[channel] if 0 <= channel < len(shape) else 1
        bias = (count,) if source.chance(0.93) else source.small_shape(0, 2)
        inputs.append(Input(dtype, source.values(dtype, bias)))
    attrs = {"T": type_attr(dtype)}
    if op.name != "BiasAddV1":
        attrs["data_format"] = attr_text("NCHW" if first else "NHWC")
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


def _large_bias(values: Values) -> Any:
    found = []
    for shape in ((30_000, 10), (100, 3000), (16, 28, 28, 24)):
        found += [
            gen_ops.bias_add(values.of(*shape), values.of(shape[-1])),
            gen_ops.bias_add_v1(values.of(*shape), values.of(shape[-1])),
            gen_ops.bias_add_grad(values.of(*shape)),
        ]
    return found


_LARGE_BIAS = LargeCase(_large_bias)

define_tests(
    "BiasAdd",
    cases=_make_bias,
    reference=_bias_add,
    gradient=[Check(gen_ops.bias_add, (spread("x", 2, 3, 4), spread("bias", 4)))],
    determinism=_LARGE_BIAS,
)
define_tests(
    "BiasAddV1",
    cases=_make_bias,
    reference=_bias_add,
    gradient=[Check(gen_ops.bias_add_v1, (spread("x", 2, 3, 4), spread("bias", 4)))],
    determinism=_LARGE_BIAS,
)
define_tests("BiasAddGrad", cases=_make_bias, reference=_bias_add_grad, determinism=_LARGE_BIAS)
