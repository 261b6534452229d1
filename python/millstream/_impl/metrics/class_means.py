"""Metrics that are means over classes."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.metrics.counting import (
    COMMON,
    as_float,
    broadcast_weights,
    collect,
    confusion_matrix,
    fitted,
    metric_variable,
)
from millstream._impl.nn.loss_reduction import quotient_or_zero
from millstream._impl.ops import array_creation, array_ops, math_ops, reductions
from millstream._impl.values import dtypes
from millstream._impl.variables import variable_ops
from millstream._impl.variables.variable_scope import variable_scope


@public("metrics.mean_per_class_accuracy")
@takes(**COMMON, num_classes=INTEGER)
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean over classes of how often predictions are equal to labels.

    Parameters
    ----------
    labels, predictions
        Numbers of classes.
    num_classes
        How many classes there are.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The mean accuracy, and an update, which gives the accuracy of each class.

    Examples
    --------
    >>> value, update = tf.metrics.mean_per_class_accuracy([0, 1, 1], [0, 0, 1], 2)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update).tolist()
    [1.0, 0.5]
    """
    with variable_scope(name, "mean_accuracy"):
        wanted, found, factors = fitted(labels, predictions, weights)
        numbers = array_ops.reshape(math_ops.cast(wanted, dtypes.int64), [-1])
        guesses = array_ops.reshape(math_ops.cast(found, dtypes.int64), [-1])
        total = metric_variable([num_classes], "total")
        count = metric_variable([num_classes], "count")
        counts = array_creation.ones_like(numbers, dtype=dtypes.float32)
        if factors is not None:
            counts = array_ops.reshape(broadcast_weights(factors, wanted), [-1])
        right = as_float(gen_ops.equal(numbers, guesses)) * counts
        update_count = variable_ops.assign_add(
            count, gen_ops.unsorted_segment_sum(counts, numbers, num_classes)
        )
        update_total = variable_ops.assign_add(
            total, gen_ops.unsorted_segment_sum(right, numbers, num_classes)
        )
        of_class = quotient_or_zero(total, gen_ops.identity(count))
        value = reductions.reduce_mean(of_class, name="mean_accuracy")
        update = quotient_or_zero(update_total, update_count, "update_op")
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update


@public("metrics.mean_iou")
@takes(**COMMON, num_classes=INTEGER)
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean over classes of intersection over union.

    Of a class, that is the number of right predictions divided by the number of examples that have
    it as label or as prediction. Classes that have neither do not count.

    Parameters
    ----------
    labels, predictions
        Numbers of classes.
    num_classes
        How many classes there are.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The mean, and an update, which gives the `confusion_matrix` so far.

    Examples
    --------
    >>> value, update = tf.metrics.mean_iou([0, 1, 1], [0, 0, 1], 2)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update).tolist(), sess.run(value)
    ([[1.0, 0.0], [1.0, 1.0]], 0.5)
    """
    with variable_scope(name, "mean_iou"):
        wanted, found, factors = fitted(labels, predictions, weights)
        if factors is not None:
            factors = array_ops.reshape(broadcast_weights(factors, wanted), [-1])
        matrix = metric_variable(
            [num_classes, num_classes], "total_confusion_matrix", dtypes.float64
        )
        counted = confusion_matrix(
            array_ops.reshape(wanted, [-1]),
            array_ops.reshape(found, [-1]),
            num_classes,
            dtypes.float64,
            weights=factors,
        )
        update = variable_ops.assign_add(matrix, counted)
        value = _mean_of_classes(as_float(matrix), num_classes)
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update


def _mean_of_classes(matrix: Tensor, num_classes: int) -> Tensor:
    labels, guesses = reductions.reduce_sum(matrix, 1), reductions.reduce_sum(matrix, 0)
    diagonal = array_creation.one_hot(math_ops.range(num_classes), num_classes)
    right = reductions.reduce_sum(matrix * diagonal, 1)
    union = labels + guesses - right
    of_class = quotient_or_zero(right, union)
    present = as_float(gen_ops.not_equal(union, 0.0))
    total = reductions.reduce_sum(of_class)
    return quotient_or_zero(total, reductions.reduce_sum(present), "mean_iou")
