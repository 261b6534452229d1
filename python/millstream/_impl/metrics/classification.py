"""Metrics of classifiers of two classes: counts of right and wrong, precision, recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import takes
from millstream._impl.graph.operation import Tensor
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
from millstream._impl.ops import reductions
from millstream._impl.variables import variable_ops
from millstream._impl.variables.variable_scope import variable_scope

Pair = tuple[Tensor, Tensor]
# Of each count: its name, and whether labels and predictions are true.
KINDS = {
    "true_positives": (True, True),
    "true_negatives": (False, False),
    "false_positives": (False, True),
    "false_negatives": (True, False),
}
TEXTS = {
    "true_positives": "labels and predictions are both true",
    "true_negatives": "labels and predictions are both false",
    "false_positives": "predictions are true and labels are not",
    "false_negatives": "labels are true and predictions are not",
}


def inputs(labels: Any, predictions: Any, weights: Any) -> list[Any]:
    return [item for item in (predictions, labels, weights) if item is not None]


def where(labels: Tensor, predictions: Tensor, kind: str) -> Tensor:
    """1 where an example counts, else 0."""
    of_label, of_prediction = KINDS[kind]
    wanted = labels if of_label else gen_ops.logical_not(labels)
    found = predictions if of_prediction else gen_ops.logical_not(predictions)
    return as_float(gen_ops.logical_and(wanted, found))


def _count(labels: Any, predictions: Any, weights: Any, kind: str, name: str | None) -> Pair:
    """How many examples were of a kind, and the update."""
    with variable_scope(name, kind, inputs(labels, predictions, weights)):
        wanted, found, factors = fitted(
            as_bool(labels, "labels"), as_bool(predictions, "predictions"), weights
        )
        values = where(wanted, found, kind)
        if factors is not None:
            values = values * broadcast_weights(factors, values)
        count = metric_variable([], "count")
        update = variable_ops.assign_add(count, reductions.reduce_sum(values))
        return gen_ops.identity(count), update


def _counter(kind: str) -> Callable[..., Pair]:
    @takes(**COMMON)
    def counter(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        value, update = _count(labels, predictions, weights, kind, name)
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update

    counter.__name__ = counter.__qualname__ = kind
    counter.__doc__ = f"""How often {TEXTS[kind]}.

    Parameters
    ----------
    labels, predictions
        Truth values, or numbers of which 0 is false, of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The count, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.{kind}([1, 1, 0, 0], [1, 0, 1, 0])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    1.0
    """
    return counter


true_positives = public("metrics.true_positives")(_counter("true_positives"))
true_negatives = public("metrics.true_negatives")(_counter("true_negatives"))
false_positives = public("metrics.false_positives")(_counter("false_positives"))
false_negatives = public("metrics.false_negatives")(_counter("false_negatives"))


def _part_of_counts(
    labels: Any, predictions: Any, weights: Any, others: str, label: str, name: str | None
) -> Pair:
    """True positives as part of these and the others."""
    with variable_scope(name, label, inputs(labels, predictions, weights)):
        right, update_right = _count(labels, predictions, weights, "true_positives", None)
        wrong, update_wrong = _count(labels, predictions, weights, others, None)
        value = quotient_or_zero(right, right + wrong, "value")
        update = quotient_or_zero(update_right, update_right + update_wrong, "update_op")
        return value, update


@public("metrics.precision")
@takes(**COMMON)
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The part of the positive predictions that is right; 0 where there are none.

    Parameters
    ----------
    labels, predictions
        Truth values, or numbers of which 0 is false, of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The precision, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.precision([1, 1, 0], [1, 0, 1])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.5
    """
    value, update = _part_of_counts(
        labels, predictions, weights, "false_positives", "precision", name
    )
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update


@public("metrics.recall")
@takes(**COMMON)
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The part of the positive labels that is found; 0 where there are none.

    Parameters
    ----------
    labels, predictions
        Truth values, or numbers of which 0 is false, of equal shapes.
    weights, metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The recall, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.recall([1, 1, 0], [1, 0, 1])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.5
    """
    value, update = _part_of_counts(labels, predictions, weights, "false_negatives", "recall", name)
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update
