"""Losses of classifiers, from logits: unscaled logarithms of probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, by_keyword_only, one_of, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops


def _both(labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError("labels and logits must both be given")


def _labels_like(labels: Any, scores: Tensor) -> Tensor:
    """Labels in the type of the logits; one-hot rows are often integers."""
    if not isinstance(labels, TensorLike):
        return convert_to_tensor(labels, scores.dtype, "labels")
    targets = convert_to_tensor(labels, name="labels")
    if targets.dtype.base_dtype == scores.dtype.base_dtype:
        return targets
    return gen_ops.cast(targets, scores.dtype)


@public("nn.softmax_cross_entropy_with_logits_v2")
@takes(labels=TENSOR, logits=TENSOR, axis=INTEGER, dim=INTEGER)
def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """The cross entropy of `softmax` with probabilities.

    Parameters
    ----------
    labels
        Probabilities of each class, summing to 1 along the dimension, of any type of numbers;
        gradients flow to them.
    logits
        Of as many rows, counted over all dimensions but that of the classes.
    axis
        The dimension of the classes, by default the last.
    name
        Name of the result.
    dim
        Old name of `axis`.

    Returns
    -------
    Tensor
        The shape of `logits` without that dimension.

    Examples
    --------
    >>> labels, logits = tf.constant([[1.0, 0.0]]), tf.constant([[0.0, 0.0]])
    >>> losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits)
    >>> losses.eval().round(3).tolist()
    [0.6930000185966492]
    """
    _both(labels, logits)
    axis = one_of(axis, dim, "axis", "dim")
    with scopes.name_scope(name, "softmax_cross_entropy_with_logits", [labels, logits]) as scope:
        scores = convert_to_tensor(logits, name="logits")
        targets = _labels_like(labels, scores)
        rank = scores.shape.ndims
        if axis is not None and axis != -1 and (rank is None or axis != rank - 1):
            if rank is None:
                raise ValueError("axis: the rank of logits must be known")
            if not -rank <= axis < rank:
                raise ValueError(f"axis: expected one in [{-rank}, {rank}), got {axis}")
            order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
            scores = gen_ops.transpose(scores, order)
            targets = gen_ops.transpose(targets, order)
        if rank == 2:
            op = gen_ops.softmax_cross_entropy_with_logits
            loss = op(scores, _as_matrix(targets), scope).loss
            loss.set_shape(scores.shape[:1])
            return loss
        return _of_any_rank(scores, targets, scope)


def _as_matrix(tensor: Tensor) -> Tensor:
    """A tensor with one row for each vector along its last dimension."""
    if tensor.shape.ndims == 2:
        return tensor
    classes = gen_ops.shape(tensor)[-1:]
    return gen_ops.reshape(tensor, gen_ops.concat_v2([np.array([-1], np.int32), classes], 0))


def _of_any_rank(scores: Tensor, targets: Tensor, scope: str) -> Tensor:
    """The loss where there are several batch dimensions, or their number is not known."""
    rows = _as_matrix(scores)
    loss = gen_ops.softmax_cross_entropy_with_logits(rows, _as_matrix(targets)).loss
    result = gen_ops.reshape(loss, gen_ops.shape(scores)[:-1], scope)
    if scores.shape.ndims is not None:
        result.set_shape(scores.shape[:-1])
    return result


@public("nn.softmax_cross_entropy_with_logits")
@takes(labels=TENSOR, logits=TENSOR, dim=INTEGER, axis=INTEGER)
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """The cross entropy of `softmax` with probabilities; no gradient flows to those.

    Parameters
    ----------
    labels
        Probabilities of each class, summing to 1 along the dimension, of any type of numbers.
    logits
        Of as many rows, counted over all dimensions but that of the classes.
    dim
        Old name of `axis`.
    name
        Name of the result.
    axis
        The dimension of the classes, by default the last.

    Returns
    -------
    Tensor
        The shape of `logits` without that dimension.

    Examples
    --------
    >>> losses = tf.nn.softmax_cross_entropy_with_logits(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> losses.eval().round(3).tolist()
    [0.6930000185966492]
    """
    by_keyword_only(_sentinel, "softmax_cross_entropy_with_logits")
    _both(labels, logits)
    with scopes.name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits]) as scope:
        fixed = gen_ops.stop_gradient(labels, "labels_stop_gradient")
        chosen = dim if axis is None else axis
        return softmax_cross_entropy_with_logits_v2(fixed, logits, chosen, scope)


@public("nn.sparse_softmax_cross_entropy_with_logits")
@takes(labels=TENSOR, logits=TENSOR)
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of `softmax` with classes.

    Parameters
    ----------
    labels
        Numbers of the classes, int32 or int64, of any shape.
    logits
        That shape and a dimension of the classes.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The shape of `labels`.

    Raises
    ------
    ValueError
        The shapes do not fit, as far as known.
    InvalidArgumentError
        In a step, for a class that is not there.

    Examples
    --------
    >>> losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]])
    >>> losses.eval().round(3).tolist()
    [0.6930000185966492]
    """
    by_keyword_only(_sentinel, "sparse_softmax_cross_entropy_with_logits")
    _both(labels, logits)
    with scopes.name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        classes = convert_to_tensor(labels)
        scores = convert_to_tensor(logits)
        op = gen_ops.sparse_softmax_cross_entropy_with_logits
        known = scores.shape.ndims
        if known == 0:
            raise ValueError("logits: expected at least rank 1, got a scalar")
        if known is not None and classes.shape.ndims not in (None, known - 1):
            raise ValueError(
                f"labels: Rank mismatch: expected rank {known - 1} for logits of rank {known}, "
                f"got the shape {classes.shape} with logits of shape {scores.shape}\n"
                "  hint: labels are numbers of classes, one for each row of logits; "
                "softmax_cross_entropy_with_logits takes one-hot rows"
            )
        if known == 2 or classes.shape.ndims == 1:
            return op(scores, classes, name).loss
        dims = gen_ops.shape(classes)
        count = gen_ops.shape(scores)[-1]
        rows = gen_ops.reshape(scores, array_join.stack([-1, count]))
        loss = op(rows, gen_ops.reshape(classes, [-1])).loss
        result = gen_ops.reshape(loss, dims)
        result.set_shape(classes.shape)
        return result


@public("nn.sigmoid_cross_entropy_with_logits")
@takes(labels=TENSOR, logits=TENSOR)
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of ``sigmoid(logits)`` with probabilities, class by class.

    With x = logits and z = labels it is max(x, 0) - x z + log(1 + exp(-abs(x))), which does not
    overflow.

    Parameters
    ----------
    labels
        Probabilities.
    logits
        Of the same shape and type.
    name
        Name of the result.

    Examples
    --------
    >>> losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0])
    >>> losses.eval().round(3).tolist()
    [0.6930000185966492]
    """
    by_keyword_only(_sentinel, "sigmoid_cross_entropy_with_logits")
    _both(labels, logits)
    with scopes.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, x.dtype, "labels")
        _same_shape("logits and labels", x, z)
        zeros = array_creation.zeros_like(x)
        positive = x >= zeros
        clipped = array_ops.where(positive, x, zeros)
        size = array_ops.where(positive, -x, x)
        tail = gen_ops.log(1.0 + gen_ops.exp(size))
        return math_ops.add(clipped - x * z, tail, name=scope)


@public("nn.weighted_cross_entropy_with_logits")
@takes(labels=TENSOR, logits=TENSOR, pos_weight=TENSOR, targets=TENSOR)
def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """The cross entropy of ``sigmoid(logits)`` in which what should be true counts more or less.

    With x = logits, z = labels and q = pos_weight it is
    q z (-log(sigmoid(x))) + (1 - z) (-log(1 - sigmoid(x))), computed so that it does not overflow.

    Parameters
    ----------
    labels
        Probabilities.
    logits
        Of the same shape and type.
    pos_weight
        The factor of the first term; its shape broadcasts.
    name
        Name of the result.
    targets
        Old name of `labels`.

    Raises
    ------
    ValueError
        One of `labels`, `logits` and `pos_weight` is missing, or the shapes differ.

    Examples
    --------
    >>> losses = tf.nn.weighted_cross_entropy_with_logits([1.0, 0.0], [0.0, 0.0], 2.0)
    >>> losses.eval().round(3).tolist()
    [1.3860000371932983, 0.6930000185966492]
    """
    labels = one_of(labels, targets, "labels", "targets")
    _both(labels, logits)
    if pos_weight is None:
        raise ValueError("pos_weight: expected a factor, got None")
    with scopes.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, x.dtype, "labels")
        _same_shape("logits and labels", x, z)
        weight = convert_to_tensor(pos_weight, x.dtype, "pos_weight")
        factor = 1 + (weight - 1) * z
        tail = gen_ops.log(1.0 + gen_ops.exp(-gen_ops.abs(x))) + gen_ops.relu(-x)
        return math_ops.add((1 - z) * x, factor * tail, name=scope)


@public("nn.log_poisson_loss")
@takes(targets=TENSOR, log_input=TENSOR)
def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """The negative logarithm of the probability of counts under Poisson distributions.

    With c = log_input and z = targets it is exp(c) - z c, without the term log(z!), which does not
    depend on the input.

    Parameters
    ----------
    targets
        Counts, as floating-point numbers.
    log_input
        Logarithms of the expected counts, of the same shape and type.
    compute_full_loss
        Whether log(z!) is added for counts above 1, by Stirling's approximation
        z log(z) - z + 0.5 log(2 pi z).
    name
        Name of the result.

    Raises
    ------
    ValueError
        The shapes differ.

    Examples
    --------
    >>> tf.nn.log_poisson_loss([3.0], [0.0]).eval().tolist()
    [1.0]
    """
    with scopes.name_scope(name, "log_poisson_loss", [log_input, targets]) as scope:
        c = convert_to_tensor(log_input, name="log_input")
        z = convert_to_tensor(targets, c.dtype, "targets")
        _same_shape("log_input and targets", c, z)
        loss = gen_ops.exp(c) - c * z
        if compute_full_loss:
            stirling = z * gen_ops.log(z) - z + 0.5 * gen_ops.log(2.0 * math.pi * z)
            small = gen_ops.logical_and(z >= 0.0, z <= 1.0)
            loss = loss + array_ops.where(small, array_creation.zeros_like(z), stirling)
        return gen_ops.identity(loss, scope)


def _same_shape(names: str, first: Tensor, second: Tensor) -> None:
    if not first.shape.is_compatible_with(second.shape):
        raise ValueError(f"{names} must have the same shape ({first.shape} vs {second.shape})")
