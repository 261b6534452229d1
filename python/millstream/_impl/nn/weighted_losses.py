"""The losses of ``tf.losses``: each between labels and predictions, weighted and reduced to one."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, NUMBER, TENSOR, TEXT, one_of, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn import losses as cross_entropies
from millstream._impl.nn.loss_reduction import (
    Reduction,
    add_loss,
    check_weights,
    compute_weighted_loss,
    num_present,
    quotient_or_zero,
    sum_of_each,
)
from millstream._impl.ops import array_creation, array_ops, math_ops, reductions
from millstream._impl.values import dtypes

_SCOPE = or_none(TEXT)
# None is refused with a sentence of its own, which programs match.
_GIVEN = or_none(TENSOR)


def _must_be_given(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _both(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Labels and predictions as float32, of equal shapes."""
    wanted = math_ops.cast(convert_to_tensor(labels, name="labels"), dtypes.float32)
    found = math_ops.cast(convert_to_tensor(predictions, name="predictions"), dtypes.float32)
    found.shape.assert_is_compatible_with(wanted.shape)
    return wanted, found


@public("losses.absolute_difference")
@takes(
    labels=_GIVEN, predictions=_GIVEN, weights=TENSOR, scope=_SCOPE, loss_collection=or_none(TEXT)
)
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The absolute differences of labels and predictions.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.

    Examples
    --------
    >>> tf.losses.absolute_difference([1.0, 2.0], [2.0, 5.0]).eval()
    2.0
    """
    _must_be_given(labels=labels, predictions=predictions)
    with scopes.name_scope(scope, "absolute_difference", [predictions, labels, weights]) as name:
        wanted, found = _both(labels, predictions)
        values = gen_ops.abs(found - wanted)
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.mean_squared_error")
@takes(
    labels=_GIVEN, predictions=_GIVEN, weights=TENSOR, scope=_SCOPE, loss_collection=or_none(TEXT)
)
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The squared differences of labels and predictions.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.

    Examples
    --------
    >>> tf.losses.mean_squared_error([1.0, 2.0], [2.0, 5.0]).eval()
    5.0
    """
    _must_be_given(labels=labels, predictions=predictions)
    with scopes.name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as name:
        wanted, found = _both(labels, predictions)
        values = gen_ops.squared_difference(found, wanted)
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.huber_loss")
@takes(
    labels=_GIVEN,
    predictions=_GIVEN,
    weights=TENSOR,
    delta=NUMBER,
    scope=_SCOPE,
    loss_collection=or_none(TEXT),
)
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Half the squares of small differences, and large ones linearly: Huber's loss.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.
    delta
        The difference from which the loss is linear.

    Examples
    --------
    >>> tf.losses.huber_loss([0.0, 0.0], [1.0, 3.0]).eval()
    1.5
    """
    _must_be_given(labels=labels, predictions=predictions)
    with scopes.name_scope(scope, "huber_loss", [predictions, labels, weights]) as name:
        wanted, found = _both(labels, predictions)
        error = gen_ops.abs(found - wanted)
        threshold = convert_to_tensor(delta, dtypes.float32)
        quadratic = gen_ops.minimum(error, threshold)
        linear = error - quadratic
        values = 0.5 * quadratic * quadratic + threshold * linear
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.log_loss")
@takes(
    labels=_GIVEN,
    predictions=_GIVEN,
    weights=TENSOR,
    epsilon=NUMBER,
    scope=_SCOPE,
    loss_collection=or_none(TEXT),
)
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: Any = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The cross entropy of independent probabilities.

    Parameters
    ----------
    labels, predictions
        Probabilities, of equal shapes.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.
    epsilon
        Added to probabilities before their logarithm is taken.

    Examples
    --------
    >>> round(float(tf.losses.log_loss([1.0, 0.0], [0.5, 0.5]).eval()), 4)
    0.6931
    """
    _must_be_given(labels=labels, predictions=predictions)
    with scopes.name_scope(scope, "log_loss", [predictions, labels, weights]) as name:
        wanted, found = _both(labels, predictions)
        of_one = wanted * gen_ops.log(found + epsilon)
        of_zero = (1.0 - wanted) * gen_ops.log(1.0 - found + epsilon)
        return compute_weighted_loss(-of_one - of_zero, weights, name, loss_collection, reduction)


@public("losses.hinge_loss")
@takes(labels=_GIVEN, logits=_GIVEN, weights=TENSOR, scope=_SCOPE, loss_collection=or_none(TEXT))
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """How far logits are from being on their side of the margin.

    Parameters
    ----------
    labels
        0 or 1; a logit should be at most -1, or at least 1.
    logits
        Of the shape of `labels`.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.

    Examples
    --------
    >>> tf.losses.hinge_loss([1.0, 0.0], [0.5, -2.0]).eval()
    0.25
    """
    _must_be_given(labels=labels, logits=logits)
    with scopes.name_scope(scope, "hinge_loss", [logits, labels, weights]) as name:
        wanted, found = _both(labels, logits)
        values = gen_ops.relu(1.0 - (2.0 * wanted - 1.0) * found)
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.cosine_distance")
@takes(
    labels=_GIVEN,
    predictions=_GIVEN,
    axis=or_none(INTEGER),
    weights=TENSOR,
    scope=_SCOPE,
    loss_collection=or_none(TEXT),
    dim=or_none(INTEGER),
)
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: Any = None,
) -> Tensor:
    """One minus the cosine between labels and predictions, which have length one already.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes, normalized along `axis`.
    axis
        The dimension of the vectors.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`; there is a loss for each vector.
    dim
        Old name of `axis`.

    Examples
    --------
    >>> tf.losses.cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1).eval()
    1.0
    """
    axis = one_of(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _must_be_given(labels=labels, predictions=predictions)
    with scopes.name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as name:
        wanted, found = _both(labels, predictions)
        values = 1.0 - reductions.reduce_sum(wanted * found, [axis], keepdims=True)
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.mean_pairwise_squared_error")
@takes(
    labels=_GIVEN, predictions=_GIVEN, weights=TENSOR, scope=_SCOPE, loss_collection=or_none(TEXT)
)
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """How differently the pairs of elements of each row differ in labels and in predictions.

    Of each pair of elements of a row, the difference in `predictions` is compared with that in
    `labels`; squares of what remains are averaged over the pairs and summed over rows.

    Parameters
    ----------
    labels, predictions
        Tensors of equal shapes, a row for each example.
    weights, scope, loss_collection
        See `compute_weighted_loss`.

    Examples
    --------
    >>> tf.losses.mean_pairwise_squared_error([[0.0, 1.0]], [[0.0, 3.0]]).eval()
    4.0
    """
    _must_be_given(labels=labels, predictions=predictions)
    inputs = [predictions, labels, weights]
    with scopes.name_scope(scope, "mean_pairwise_squared_error", inputs):
        factors = math_ops.cast(convert_to_tensor(weights, name="weights"), dtypes.float32)
        wanted, found = _both(labels, predictions)
        check_weights(factors, wanted)
        difference = found - wanted
        count = num_present(difference, factors, per_batch=True)
        # Over n (n - 1) / 2 pairs, the squares of d_i - d_j sum to n Σ d² - (Σ d)².
        squares = sum_of_each(difference * difference)
        total = sum_of_each(difference)
        others = gen_ops.maximum(count - 1.0, 0.0)
        of_squares = 2.0 * quotient_or_zero(squares, others)
        of_sums = 2.0 * quotient_or_zero(total * total, gen_ops.maximum(count * others, 0.0))
        summed = reductions.reduce_sum((of_squares - of_sums) * factors)
        some = gen_ops.greater(reductions.reduce_sum(count), 0.0)
        loss = array_ops.where(some, summed, array_creation.zeros_like(summed), name="value")
        add_loss(loss, loss_collection)
        return loss


@public("losses.sigmoid_cross_entropy")
@takes(
    multi_class_labels=_GIVEN,
    logits=_GIVEN,
    weights=TENSOR,
    label_smoothing=NUMBER,
    scope=_SCOPE,
    loss_collection=or_none(TEXT),
)
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The cross entropy of classes that do not exclude each other.

    Parameters
    ----------
    multi_class_labels
        0 or 1 for each class, of the shape of `logits`.
    logits
        Unscaled logarithms of odds.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`.
    label_smoothing
        How far labels are moved to 1/2, between 0 and 1.

    Examples
    --------
    >>> round(float(tf.losses.sigmoid_cross_entropy([[1.0]], [[0.0]]).eval()), 4)
    0.6931
    """
    _must_be_given(multi_class_labels=multi_class_labels, logits=logits)
    inputs = [logits, multi_class_labels, weights]
    with scopes.name_scope(scope, "sigmoid_cross_entropy_loss", inputs) as name:
        scores = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(multi_class_labels, name="multi_class_labels")
        wanted = math_ops.cast(labels, scores.dtype)
        scores.shape.assert_is_compatible_with(wanted.shape)
        if label_smoothing > 0:
            wanted = wanted * (1 - label_smoothing) + 0.5 * label_smoothing
        values = cross_entropies.sigmoid_cross_entropy_with_logits(
            labels=wanted, logits=scores, name="xentropy"
        )
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.softmax_cross_entropy")
@takes(
    onehot_labels=_GIVEN,
    logits=_GIVEN,
    weights=TENSOR,
    label_smoothing=NUMBER,
    scope=_SCOPE,
    loss_collection=or_none(TEXT),
)
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The cross entropy of classes of which one is right.

    Parameters
    ----------
    onehot_labels
        Probabilities of the classes, along the last dimension. No gradients flow to them.
    logits
        Unscaled logarithms of probabilities, of the same shape.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`; there is a loss for each row.
    label_smoothing
        How far labels are moved to equal probabilities, between 0 and 1.

    Examples
    --------
    >>> round(float(tf.losses.softmax_cross_entropy([[1.0, 0.0]], [[0.0, 0.0]]).eval()), 4)
    0.6931
    """
    _must_be_given(onehot_labels=onehot_labels, logits=logits)
    inputs = [logits, onehot_labels, weights]
    with scopes.name_scope(scope, "softmax_cross_entropy_loss", inputs) as name:
        scores = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(onehot_labels, name="onehot_labels")
        wanted = math_ops.cast(labels, scores.dtype)
        scores.shape.assert_is_compatible_with(wanted.shape)
        if label_smoothing > 0:
            classes = math_ops.cast(gen_ops.shape(wanted)[-1], scores.dtype)
            wanted = wanted * (1.0 - label_smoothing) + label_smoothing / classes
        values = cross_entropies.softmax_cross_entropy_with_logits_v2(
            labels=gen_ops.stop_gradient(wanted), logits=scores, name="xentropy"
        )
        return compute_weighted_loss(values, weights, name, loss_collection, reduction)


@public("losses.sparse_softmax_cross_entropy")
@takes(labels=_GIVEN, logits=_GIVEN, weights=TENSOR, scope=_SCOPE, loss_collection=or_none(TEXT))
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The cross entropy of classes of which one is right, given by its number.

    Parameters
    ----------
    labels
        The number of the right class of each row; a last dimension of size 1 does not count.
    logits
        Unscaled logarithms of probabilities, with the classes along the last dimension.
    weights, scope, loss_collection, reduction
        See `compute_weighted_loss`; there is a loss for each row.

    Examples
    --------
    >>> round(float(tf.losses.sparse_softmax_cross_entropy([0], [[0.0, 0.0]]).eval()), 4)
    0.6931
    """
    _must_be_given(labels=labels, logits=logits)
    inputs = [logits, labels, weights]
    with scopes.name_scope(scope, "sparse_softmax_cross_entropy_loss", inputs) as name:
        scores = convert_to_tensor(logits, name="logits")
        numbers = convert_to_tensor(labels, name="labels")
        factors = convert_to_tensor(weights, name="weights")
        ranks = (numbers.shape.ndims, scores.shape.ndims)
        if None not in ranks and ranks[0] == ranks[1] and _ends_with_one(numbers):
            numbers = array_ops.squeeze(numbers, [-1])
        if factors.shape.ndims and factors.shape.ndims == scores.shape.ndims:
            factors = array_ops.squeeze(factors, [-1]) if _ends_with_one(factors) else factors
        values = cross_entropies.sparse_softmax_cross_entropy_with_logits(
            labels=numbers, logits=scores, name="xentropy"
        )
        return compute_weighted_loss(values, factors, name, loss_collection, reduction)


def _ends_with_one(tensor: Tensor) -> bool:
    """Whether the last dimension may be dropped."""
    return tensor.shape.dims is not None and tensor.shape.as_list()[-1] in (1, None)
