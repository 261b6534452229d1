"""Metrics of classifiers of two classes at thresholds: counts, precision, recall, areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, LIST, NUMBER, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.metrics.classification import KINDS, TEXTS, Pair, inputs, where
from millstream._impl.metrics.counting import (
    COMMON,
    as_bool,
    as_float,
    broadcast_weights,
    collect,
    fitted,
    metric_variable,
)
from millstream._impl.nn.loss_reduction import quotient_or_zero
from millstream._impl.ops import array_ops, check_ops, reductions
from millstream._impl.variables import variable_ops
from millstream._impl.variables.variable_scope import variable_scope


def _counts_at(
    labels: Any, predictions: Any, thresholds: list[float], weights: Any, kinds: Any
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """How many examples were of each kind when those above a threshold are positive.

    Values and updates by kind, each with one number for each threshold.
    """
    wanted, found, factors = fitted(as_bool(labels, "labels"), as_float(predictions), weights)
    low = check_ops.assert_greater_equal(found, 0.0, message="predictions must be in [0, 1]")
    high = check_ops.assert_less_equal(found, 1.0, message="predictions must be in [0, 1]")
    with get_default_graph().control_dependencies([x for x in (low, high) if x is not None]):
        row = array_ops.reshape(found, [1, -1])
    column = array_ops.reshape(convert_to_tensor(thresholds), [-1, 1])
    positive = gen_ops.greater(row, column)
    is_true = gen_ops.logical_and(
        array_ops.reshape(wanted, [1, -1]), gen_ops.greater_equal(column, -1.0)
    )
    counts = None
    if factors is not None:
        counts = array_ops.reshape(broadcast_weights(factors, found), [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        here = where(is_true, positive, kind)
        if counts is not None:
            here = here * counts
        total = metric_variable([len(thresholds)], kind)
        updates[kind] = variable_ops.assign_add(total, reductions.reduce_sum(here, 1))
        values[kind] = gen_ops.identity(total)
    return values, updates


def _counter_at(kind: str) -> Callable[..., Pair]:
    @takes(**COMMON, thresholds=LIST)
    def counter(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with variable_scope(name, kind, inputs(labels, predictions, weights)):
            values, updates = _counts_at(labels, predictions, list(thresholds), weights, [kind])
        collect(values[kind], metrics_collections)
        collect(updates[kind], updates_collections)
        return values[kind], updates[kind]

    counter.__name__ = counter.__qualname__ = f"{kind}_at_thresholds"
    counter.__doc__ = f"""How often {TEXTS[kind]}, when predictions above a threshold are true.

    Parameters
    ----------
    labels
        Truth values.
    predictions
        Probabilities, of the shape of `labels`.
    thresholds
        A list of numbers.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The count for each threshold, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.{kind}_at_thresholds(
    ...     [1, 1, 0, 0], [0.7, 0.3, 0.7, 0.3], [0.5]
    ... )
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update).tolist()
    [1.0]
    """
    return counter


true_positives_at_thresholds = public("metrics.true_positives_at_thresholds")(
    _counter_at("true_positives")
)
true_negatives_at_thresholds = public("metrics.true_negatives_at_thresholds")(
    _counter_at("true_negatives")
)
false_positives_at_thresholds = public("metrics.false_positives_at_thresholds")(
    _counter_at("false_positives")
)
false_negatives_at_thresholds = public("metrics.false_negatives_at_thresholds")(
    _counter_at("false_negatives")
)

# Added to divisors, so that nothing is divided by 0.
_SMALL = 1e-7


def _part_at(kind: str, others: str, text: str) -> Callable[..., Pair]:
    @takes(**COMMON, thresholds=LIST)
    def part(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with variable_scope(name, part.__name__, inputs(labels, predictions, weights)):
            kinds = ["true_positives", others]
            values, updates = _counts_at(labels, predictions, list(thresholds), weights, kinds)

            def ratio(counts: dict[str, Tensor], name: str) -> Tensor:
                right = counts["true_positives"]
                return gen_ops.real_div(right, right + counts[others] + _SMALL, name=name)

            value, update = ratio(values, "value"), ratio(updates, "update_op")
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update

    part.__name__ = part.__qualname__ = f"{kind}_at_thresholds"
    part.__doc__ = f"""The part of the positive {text}, when predictions above a threshold are true.

    Parameters
    ----------
    labels
        Truth values.
    predictions
        Probabilities, of the shape of `labels`.
    thresholds
        A list of numbers.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The part for each threshold, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.{kind}_at_thresholds(
    ...     [1, 1, 0, 0], [0.7, 0.3, 0.7, 0.3], [0.5]
    ... )
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update).round(3).tolist()
    [0.5]
    """
    return part


precision_at_thresholds = public("metrics.precision_at_thresholds")(
    _part_at("precision", "false_positives", "predictions that is right")
)
recall_at_thresholds = public("metrics.recall_at_thresholds")(
    _part_at("recall", "false_negatives", "labels that is found")
)


def _evenly(num_thresholds: int) -> list[float]:
    """Thresholds from below 0 to above 1."""
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [-_SMALL, *inner, 1.0 + _SMALL]


@public("metrics.auc")
@takes(
    **COMMON,
    num_thresholds=INTEGER,
    curve=TEXT,
    summation_method=TEXT,
    thresholds=or_none(LIST),
)
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Pair:
    """The area under the curve of true over false positives, or of precision over recall.

    The curve is approximated by its points at thresholds.

    Parameters
    ----------
    labels
        Truth values.
    predictions
        Probabilities, of the shape of `labels`.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.
    num_thresholds
        How many thresholds there are, spread evenly.
    curve
        "ROC" or "PR".
    summation_method
        "trapezoidal", "minoring" or "majoring" (areas below and above the points), or
        "careful_interpolation" (Davis, Goadrich: The relationship between precision-recall and ROC
        curves, 2006).
    thresholds
        Thresholds between 0 and 1 instead of even ones.

    Returns
    -------
    tuple
        The area, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.auc([0, 1, 1], [0.2, 0.7, 0.9])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> round(float(sess.run(update)), 4)
    1.0
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    methods = ("trapezoidal", "careful_interpolation", "minoring", "majoring")
    if summation_method not in methods:
        raise ValueError(f"Invalid summation_method: {summation_method}")
    if summation_method == "careful_interpolation" and curve != "PR":
        summation_method = "trapezoidal"
    with variable_scope(name, "auc", inputs(labels, predictions, weights)):
        if thresholds is None:
            points = _evenly(num_thresholds)
        else:
            points = [-_SMALL, *sorted(float(point) for point in thresholds), 1.0 + _SMALL]
        values, updates = _counts_at(labels, predictions, points, weights, KINDS)
        value = _area(values, curve, summation_method, "value")
        update = _area(updates, curve, summation_method, "update_op")
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update


def _area(counts: dict[str, Tensor], curve: str, method: str, name: str) -> Tensor:
    small = 1e-6
    right, missed = counts["true_positives"], counts["false_negatives"]
    wrong, refused = counts["false_positives"], counts["true_negatives"]
    if method == "careful_interpolation":
        return _interpolated_area(right, wrong, missed, name)
    found = (right + small) / (right + missed + small)
    if curve == "ROC":
        x, y = wrong / (wrong + refused + small), found
    else:
        x, y = found, (right + small) / (right + wrong + small)
    first, second = y[:-1], y[1:]
    if method == "trapezoidal":
        heights = (first + second) / 2.0
    elif method == "minoring":
        heights = gen_ops.minimum(first, second)
    else:
        heights = gen_ops.maximum(first, second)
    return reductions.reduce_sum((x[:-1] - x[1:]) * heights, name=name)


def _interpolated_area(right: Tensor, wrong: Tensor, missed: Tensor, name: str) -> Tensor:
    """Between two points true positives grow linearly with the positives, precision does not."""
    step = right[:-1] - right[1:]
    positives = right + wrong
    grown = positives[:-1] - positives[1:]
    slope = quotient_or_zero(step, gen_ops.maximum(grown, 0.0))
    intercept = right[1:] - slope * positives[1:]
    both = gen_ops.logical_and(
        gen_ops.greater(positives[:-1], 0.0), gen_ops.greater(positives[1:], 0.0)
    )
    ratio = quotient_or_zero(positives[:-1], gen_ops.maximum(positives[1:], 0.0))
    ones = gen_ops.ones_like(ratio)
    ratio = array_ops.where(both, ratio, ones)
    parts = quotient_or_zero(
        slope * (step + intercept * gen_ops.log(ratio)),
        gen_ops.maximum(right[1:] + missed[1:], 0.0),
    )
    return reductions.reduce_sum(parts, name=name)


# ---- One rate where the other is given ----


@public("metrics.sensitivity_at_specificity")
@takes(**COMMON, specificity=NUMBER, num_thresholds=INTEGER)
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The part of the positive labels that is found, at the threshold of a specificity.

    Parameters
    ----------
    labels
        Truth values.
    predictions
        Probabilities, of the shape of `labels`.
    specificity
        The part of the negative labels that is to be found, between 0 and 1.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.
    num_thresholds
        How many thresholds are tried, spread evenly.

    Returns
    -------
    tuple
        The sensitivity, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.sensitivity_at_specificity([0, 1, 1], [0.2, 0.1, 0.9], 0.9)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> round(float(sess.run(update)), 4)
    0.5
    """
    _check_rate(specificity, "specificity")
    with variable_scope(name, "sensitivity_at_specificity"):
        values, updates = _counts_at(labels, predictions, _evenly(num_thresholds), weights, KINDS)

        def rate(counts: dict[str, Tensor], name: str) -> Tensor:
            refused, wrong = counts["true_negatives"], counts["false_positives"]
            found = refused / (refused + wrong + _SMALL)
            best = gen_ops.arg_min(gen_ops.abs(found - specificity), 0)
            right = array_ops.gather(counts["true_positives"], best)
            missed = array_ops.gather(counts["false_negatives"], best)
            return gen_ops.real_div(right, right + missed + _SMALL, name=name)

        value, update = rate(values, "value"), rate(updates, "update_op")
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update


@public("metrics.specificity_at_sensitivity")
@takes(**COMMON, sensitivity=NUMBER, num_thresholds=INTEGER)
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The part of the negative labels that is found, at the threshold of a sensitivity.

    Parameters
    ----------
    labels
        Truth values.
    predictions
        Probabilities, of the shape of `labels`.
    sensitivity
        The part of the positive labels that is to be found, between 0 and 1.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.
    num_thresholds
        How many thresholds are tried, spread evenly.

    Returns
    -------
    tuple
        The specificity, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.specificity_at_sensitivity([0, 0, 1], [0.2, 0.9, 0.8], 0.9)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> round(float(sess.run(update)), 4)
    0.5
    """
    _check_rate(sensitivity, "sensitivity")
    with variable_scope(name, "specificity_at_sensitivity"):
        values, updates = _counts_at(labels, predictions, _evenly(num_thresholds), weights, KINDS)

        def rate(counts: dict[str, Tensor], name: str) -> Tensor:
            right, missed = counts["true_positives"], counts["false_negatives"]
            found = right / (right + missed + _SMALL)
            # Of thresholds of one sensitivity the highest one, which refuses most.
            distance = gen_ops.abs(found - sensitivity)
            nearest = gen_ops.equal(distance, reductions.reduce_min(distance))
            refused, wrong = counts["true_negatives"], counts["false_positives"]
            rates = refused / (refused + wrong + _SMALL)
            return reductions.reduce_max(as_float(nearest) * rates, name=name)

        value, update = rate(values, "value"), rate(updates, "update_op")
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update


def _check_rate(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be in the range [0, 1], got {value}")
