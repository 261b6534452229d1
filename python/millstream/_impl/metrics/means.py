"""Metrics that are means: of values, of errors, of what is right."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.metrics.counting import (
    COLLECTIONS,
    COMMON,
    OPTIONAL,
    as_float,
    broadcast_weights,
    collect,
    fitted,
    fitted_weights,
    metric_variable,
)
from millstream._impl.nn.loss_reduction import quotient_or_zero
from millstream._impl.ops import array_creation, math_ops, reductions
from millstream._impl.variables import variable_ops
from millstream._impl.variables.variable_scope import variable_scope

_OF_VALUES = {
    "values": TENSOR,
    "weights": OPTIONAL,
    "metrics_collections": COLLECTIONS,
    "updates_collections": COLLECTIONS,
}


def _counted(values: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
    """The values with their weights, and what each counts."""
    factors = fitted_weights(weights, values)
    if factors is None:
        return values, array_creation.ones_like(values)
    counts = broadcast_weights(factors, values)
    return values * counts, counts


@public("metrics.mean")
@takes(**_OF_VALUES)
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of all values so far.

    Parameters
    ----------
    values
        Values of any shape.
    weights
        What each counts: None for 1, or a tensor that can be broadcast to `values`.
    metrics_collections, updates_collections
        Collections that the value and the update join.
    name
        Name of the scope of the variables.

    Returns
    -------
    tuple
        The mean, and an update: running it counts new values and gives the mean with them.

    Examples
    --------
    >>> x = tf.placeholder(tf.float32, [None])
    >>> value, update = tf.metrics.mean(x)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update, {x: [1.0, 2.0]}), sess.run(update, {x: [6.0]}), sess.run(value)
    (1.5, 3.0, 3.0)
    """
    with variable_scope(name, "mean", [values] if weights is None else [values, weights]):
        given = as_float(values, "values")
        total, count = metric_variable([], "total"), metric_variable([], "count")
        weighted, counts = _counted(given, weights)
        update_total = variable_ops.assign_add(total, reductions.reduce_sum(weighted))
        # Both variables change after the values are there, or neither does.
        with get_default_graph().control_dependencies([weighted]):
            update_count = variable_ops.assign_add(count, reductions.reduce_sum(counts))
        value = quotient_or_zero(total, gen_ops.identity(count), "value")
        update = quotient_or_zero(update_total, update_count, "update_op")
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update


@public("metrics.mean_tensor")
@takes(**_OF_VALUES)
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of each element over all steps so far.

    Parameters
    ----------
    values
        Values of a known shape, the same in every step.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The means, of the shape of `values`, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.mean_tensor([1.0, 2.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update).tolist()
    [1.0, 2.0]
    """
    with variable_scope(name, "mean", [values] if weights is None else [values, weights]):
        given = as_float(values, "values")
        total = metric_variable(given.shape, "total_tensor")
        count = metric_variable(given.shape, "count_tensor")
        weighted, counts = _counted(given, weights)
        update_total = variable_ops.assign_add(total, weighted)
        with get_default_graph().control_dependencies([weighted]):
            update_count = variable_ops.assign_add(count, counts)
        value = quotient_or_zero(total, gen_ops.identity(count), "value")
        update = quotient_or_zero(update_total, update_count, "update_op")
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update


@public("metrics.accuracy")
@takes(**COMMON)
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """How often predictions are equal to labels.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The accuracy, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.accuracy([1, 2, 3, 4], [1, 2, 3, 0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.75
    """
    wanted, found, factors = fitted(labels, predictions, weights)
    is_right = gen_ops.equal(math_ops.cast(found, wanted.dtype), wanted)
    return mean(
        as_float(is_right), factors, metrics_collections, updates_collections, name or "accuracy"
    )


@public("metrics.mean_absolute_error")
@takes(**COMMON)
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of the absolute differences of labels and predictions.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The error, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.mean_absolute_error([1.0, 2.0], [2.0, 5.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    2.0
    """
    wanted, found, factors = fitted(labels, predictions, weights)
    error = gen_ops.abs(found - wanted)
    label = name or "mean_absolute_error"
    return mean(error, factors, metrics_collections, updates_collections, label)


@public("metrics.mean_squared_error")
@takes(**COMMON)
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of the squared differences of labels and predictions.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The error, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.mean_squared_error([1.0, 2.0], [2.0, 5.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    5.0
    """
    wanted, found, factors = fitted(labels, predictions, weights)
    error = gen_ops.squared_difference(found, wanted)
    label = name or "mean_squared_error"
    return mean(error, factors, metrics_collections, updates_collections, label)


@public("metrics.root_mean_squared_error")
@takes(**COMMON)
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The root of the mean of the squared differences of labels and predictions.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The error, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.root_mean_squared_error([1.0, 2.0], [3.0, 4.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    2.0
    """
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    root, update_root = gen_ops.sqrt(value), gen_ops.sqrt(update)
    collect(root, metrics_collections)
    collect(update_root, updates_collections)
    return root, update_root


@public("metrics.mean_relative_error")
@takes(**COMMON, normalizer=TENSOR)
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of the absolute differences of labels and predictions, each divided by a number.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    normalizer
        What each difference is divided by; where it is 0 the error is 0.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The error, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.mean_relative_error([1.0, 2.0], [2.0, 5.0], [1.0, 2.0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    1.25
    """
    wanted, found, factors = fitted(labels, predictions, weights)
    divisor = math_ops.cast(convert_to_tensor(normalizer, name="normalizer"), found.dtype)
    found, divisor, _ = fitted(found, divisor, None)
    error = quotient_or_zero(gen_ops.abs(wanted - found), divisor)
    label = name or "mean_relative_error"
    return mean(error, factors, metrics_collections, updates_collections, label)


@public("metrics.mean_cosine_distance")
@takes(**COMMON, dim=INTEGER)
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """One minus the mean cosine between labels and predictions, which have length one already.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes, normalized along `dim`.
    dim
        The dimension of the vectors.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`; there is a value for each vector.

    Returns
    -------
    tuple
        The distance, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.mean_cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], 1)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    1.0
    """
    wanted, found, factors = fitted(labels, predictions, weights)
    cosine = reductions.reduce_sum(wanted * found, [dim], keepdims=True)
    value, update = mean(cosine, factors, None, None, name or "mean_cosine_distance")
    distance, update_distance = 1.0 - value, 1.0 - update
    collect(distance, metrics_collections)
    collect(update_distance, updates_collections)
    return distance, update_distance


@public("metrics.percentage_below")
@takes(**_OF_VALUES, threshold=NUMBER)
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """How large a part of the values is below a threshold.

    Parameters
    ----------
    values
        Values of any shape.
    threshold
        The threshold.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The part, between 0 and 1, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.percentage_below([1.0, 2.0, 3.0, 4.0], 2.0)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.25
    """
    is_below = as_float(gen_ops.less(convert_to_tensor(values, name="values"), threshold))
    label = name or "percentage_below_threshold"
    return mean(is_below, weights, metrics_collections, updates_collections, label)
