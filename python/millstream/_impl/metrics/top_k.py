"""Metrics of the k best predictions of each row, where a row may have several right classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.metrics.counting import (
    COLLECTIONS,
    COMMON,
    OPTIONAL,
    broadcast_weights,
    collect,
    metric_variable,
)
from millstream._impl.nn.loss_reduction import quotient_or_zero
from millstream._impl.nn.top_k import top_k
from millstream._impl.ops import array_creation, array_ops, math_ops, reductions
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes
from millstream._impl.variables import variable_ops

_Pair = tuple[Tensor, Tensor]
# The types of the arguments of metrics of given places.
_OF_PLACES = {
    "labels": TENSOR,
    "predictions_idx": TENSOR,
    "k": or_none(INTEGER),
    "class_id": or_none(INTEGER),
    "weights": OPTIONAL,
    "metrics_collections": COLLECTIONS,
    "updates_collections": COLLECTIONS,
}


class _Ids(NamedTuple):
    """The classes of each row.

    Attributes
    ----------
    ids
        int64, shape [..., n].
    counts
        Which of them count: the different ones, each once.
    """

    ids: Tensor
    counts: Tensor


# ---- The classes of rows ----


def _different(ids: Tensor, is_there: Tensor, class_id: int | None) -> _Ids:
    """The classes with marks at the first place of each, or of one class alone."""
    places = math_ops.range(gen_ops.shape(ids)[-1])
    is_before = gen_ops.less(array_ops.expand_dims(places, 0), array_ops.expand_dims(places, 1))
    same = gen_ops.equal(array_ops.expand_dims(ids, -1), array_ops.expand_dims(ids, -2))
    same = gen_ops.logical_and(same, array_ops.expand_dims(is_there, -2))
    comes_again = reductions.reduce_any(gen_ops.logical_and(same, is_before), -1)
    counts = gen_ops.logical_and(is_there, gen_ops.logical_not(comes_again))
    if class_id is not None:
        wanted = convert_to_tensor(class_id, dtypes.int64)
        counts = gen_ops.logical_and(counts, gen_ops.equal(ids, wanted))
    return _Ids(ids, counts)


def _predicted(predictions_idx: Any, class_id: int | None) -> _Ids:
    ids = math_ops.cast(convert_to_tensor(predictions_idx, name="predictions_idx"), dtypes.int64)
    return _different(ids, array_creation.ones_like(ids, dtype=dtypes.bool), class_id)


def _labelled(labels: Any, rank: int | None, class_id: int | None) -> _Ids:
    """The right classes of each row: of a tensor, or of a sparse tensor with rows of any length."""
    if isinstance(labels, SparseTensor):
        ids, is_there = _from_sparse(labels)
    else:
        ids = math_ops.cast(convert_to_tensor(labels, name="labels"), dtypes.int64)
        is_there = array_creation.ones_like(ids, dtype=dtypes.bool)
    if rank is not None and ids.shape.ndims == rank - 1:
        ids, is_there = array_ops.expand_dims(ids, -1), array_ops.expand_dims(is_there, -1)
    return _different(ids, is_there, class_id)


def _from_sparse(labels: SparseTensor) -> _Pair:
    """The elements in the shape of the whole tensor, and where there are some."""
    shape, cell = labels.dense_shape, labels.indices[:, 0]
    rank = labels.shape.ndims
    if rank is None:
        raise ValueError("labels: expected a sparse tensor of a known number of dimensions")
    for axis in range(1, rank):
        cell = cell * shape[axis] + labels.indices[:, axis]
    size = reductions.reduce_prod(shape)
    ids = math_ops.cast(labels.values, dtypes.int64)
    spread = [
        array_ops.reshape(gen_ops.unsorted_segment_sum(values, cell, size), shape)
        for values in (ids, array_creation.ones_like(ids))
    ]
    return spread[0], gen_ops.greater(spread[1], array_creation.zeros_like(spread[1]))


def _is_among(first: _Ids, second: _Ids) -> Tensor:
    """Whether each class of the first is one of the second."""
    own, others = array_ops.expand_dims(first.ids, -1), array_ops.expand_dims(second.ids, -2)
    same = gen_ops.equal(own, others)
    counted = gen_ops.logical_and(same, array_ops.expand_dims(second.counts, -2))
    result: Tensor = reductions.reduce_any(counted, -1)
    return result


def _sum_of(truths: Tensor) -> Tensor:
    """How many of each row are true, in float64."""
    return reductions.reduce_sum(math_ops.cast(truths, dtypes.float64), -1)


def _as_double(weights: Any, values: Tensor) -> Tensor:
    result: Tensor = math_ops.cast(broadcast_weights(weights, values), dtypes.float64)
    return result


# ---- Precision and recall ----


def _name_at(name: str, k: int | None, class_id: int | None) -> str:
    """The name of a metric: "recall_at_5", "recall_at_k_class2"."""
    place = "k" if k is None else str(int(k))
    return f"{name}_at_{place}" + ("" if class_id is None else f"_class{int(class_id)}")


def _count(each: Tensor, weights: Any, name: str) -> _Pair:
    """The sum over all rows so far, and the update."""
    if weights is not None:
        each = each * _as_double(weights, each)
    total = metric_variable([], name, dtypes.float64)
    update = variable_ops.assign_add(total, reductions.reduce_sum(each))
    return gen_ops.identity(total), update


def _part(
    what: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
) -> _Pair:
    """The true positives as part of the predictions ("precision") or of the labels ("recall")."""
    found = _predicted(predictions_idx, class_id)
    wanted = _labelled(labels, found.ids.shape.ndims, class_id)
    right = gen_ops.logical_and(wanted.counts, _is_among(wanted, found))
    if what == "recall":
        wrong = gen_ops.logical_and(wanted.counts, gen_ops.logical_not(right))
        others = "false_negative"
    else:
        wrong = gen_ops.logical_and(found.counts, gen_ops.logical_not(_is_among(found, wanted)))
        others = "false_positive"
    positives = _count(_sum_of(right), weights, _name_at("true_positive", k, class_id))
    negatives = _count(_sum_of(wrong), weights, _name_at(others, k, class_id))
    value = gen_ops.real_div(positives[0], positives[0] + negatives[0])
    update = gen_ops.real_div(positives[1], positives[1] + negatives[1], name="update")
    return value, update


_TEXTS = {
    "recall": "The part of the right classes that is among the k best predictions of their row",
    "precision": "The part of the k best predictions of each row that is right",
}
_LABELS = """The right classes of each row: integers of the shape of the predictions but for the
        last dimension, which is their number; without that dimension, if each row has one; or a
        `SparseTensor`, if rows have different numbers. Equal ones of a row count once."""
_COMMON_TEXT = """class_id
        Count only this class; None for all.
    weights
        What each row counts; None for 1.
    metrics_collections, updates_collections, name
        See `metrics.mean`."""
_RETURNS = """tuple
        The part, float64, NaN where nothing was counted; and an update, see `metrics.mean`."""


def _of_scores(what: str) -> Callable[..., _Pair]:
    @takes(**COMMON, k=INTEGER, class_id=or_none(INTEGER))
    def metric(
        labels: Any,
        predictions: Any,
        k: int,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> _Pair:
        with scopes.name_scope(name, _name_at(what, k, class_id), [predictions, labels, weights]):
            best = top_k(predictions, k).indices
            value, update = _part(what, labels, best, k, class_id, weights)
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update

    metric.__name__ = metric.__qualname__ = f"{what}_at_k"
    metric.__doc__ = f"""{_TEXTS[what]}.

    Parameters
    ----------
    labels
        {_LABELS}
    predictions
        A score for each class, shape [..., classes].
    k
        How many predictions a row has.
    {_COMMON_TEXT}

    Returns
    -------
    {_RETURNS}

    Examples
    --------
    >>> value, update = tf.metrics.{what}_at_k([[0, 1]], [[0.6, 0.1, 0.3]], 2)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.5
    """
    return metric


def _of_places(what: str) -> Callable[..., _Pair]:
    @takes(**_OF_PLACES)
    def metric(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> _Pair:
        values = [predictions_idx, labels, weights]
        with scopes.name_scope(name, _name_at(what, k, class_id), values):
            value, update = _part(what, labels, predictions_idx, k, class_id, weights)
        collect(value, metrics_collections)
        collect(update, updates_collections)
        return value, update

    metric.__name__ = metric.__qualname__ = f"{what}_at_top_k"
    metric.__doc__ = f"""{_TEXTS[what]}, which are given.

    Parameters
    ----------
    labels
        {_LABELS}
    predictions_idx
        The predicted classes, integers of shape [..., k].
    k
        Their number, for names only.
    {_COMMON_TEXT}

    Returns
    -------
    {_RETURNS}

    Examples
    --------
    >>> value, update = tf.metrics.{what}_at_top_k([[0, 1]], [[0, 2]])
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.5
    """
    return metric


recall_at_k = public("metrics.recall_at_k")(_of_scores("recall"))
recall_at_top_k = public("metrics.recall_at_top_k")(_of_places("recall"))
precision_at_k = public("metrics.precision_at_k", "metrics.sparse_precision_at_k")(
    _of_scores("precision")
)
precision_at_top_k = public("metrics.precision_at_top_k")(_of_places("precision"))


# ---- Average precision ----


@public("metrics.average_precision_at_k", "metrics.sparse_average_precision_at_k")
@takes(**COMMON, k=INTEGER)
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> _Pair:
    """The mean over all rows of the average precision of their k best predictions.

    The average precision of a row is the sum of the precisions at the places of right predictions,
    divided by the number of right classes, or by k if that is smaller.

    Parameters
    ----------
    labels
        The right classes of each row, see `metrics.recall_at_k`.
    predictions
        A score for each class, shape [..., classes].
    k
        How many predictions a row has.
    weights
        What each row counts; None for 1.
    metrics_collections, updates_collections, name
        See `metrics.mean`.

    Returns
    -------
    tuple
        The mean, float64, and an update; see `metrics.mean`.

    Examples
    --------
    >>> value, update = tf.metrics.average_precision_at_k([[2]], [[0.6, 0.1, 0.3]], 2)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.local_variables_initializer())
    >>> sess.run(update)
    0.5
    """
    values = [predictions, labels, weights]
    with scopes.name_scope(name, _name_at("average_precision", k, None), values):
        each = _average_precisions(labels, top_k(predictions, k).indices, int(k))
        total = metric_variable([], "total", dtypes.float64)
        count = metric_variable([], "max", dtypes.float64)
        counts = array_creation.ones_like(each)
        if weights is not None:
            counts = _as_double(weights, each)
            each = each * counts
        update_total = variable_ops.assign_add(total, reductions.reduce_sum(each))
        # Both variables change after the values are there, or neither does.
        with get_default_graph().control_dependencies([each]):
            update_count = variable_ops.assign_add(count, reductions.reduce_sum(counts))
        value = quotient_or_zero(gen_ops.identity(total), gen_ops.identity(count), "mean")
        update = quotient_or_zero(update_total, update_count, "update")
    collect(value, metrics_collections)
    collect(update, updates_collections)
    return value, update


def _average_precisions(labels: Any, best: Tensor, k: int) -> Tensor:
    """The average precision of each row."""
    found = _predicted(best, None)
    wanted = _labelled(labels, found.ids.shape.ndims, None)
    is_right = math_ops.cast(_is_among(found, wanted), dtypes.float64)
    # How many of the first 1, 2, ... k predictions are right, by a product with a triangle of ones.
    flat = array_ops.reshape(is_right, [-1, k])
    right_so_far = gen_ops.mat_mul(flat, np.triu(np.ones([k, k])))
    precisions = right_so_far / np.arange(1.0, k + 1) * flat
    sums = array_ops.reshape(reductions.reduce_sum(precisions, 1), gen_ops.shape(is_right)[:-1])
    if isinstance(labels, SparseTensor):
        relevant = _sum_of(wanted.counts)
    else:
        size = math_ops.cast(gen_ops.shape(wanted.ids)[-1], dtypes.float64)
        relevant = array_creation.ones_like(sums) * size
    return sums / gen_ops.minimum(relevant, np.float64(k))
