"""From the losses of many elements to one that is trained: weights, reductions, collections."""

from __future__ import annotations

from typing import Any, ClassVar

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, TENSOR_ITSELF, TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import (
    array_creation,
    array_join,
    array_ops,
    check_ops,
    math_ops,
    reductions,
)
from millstream._impl.values import dtypes


@public("losses.Reduction")
class Reduction:
    """How the losses of elements become one.

    Attributes
    ----------
    NONE
        They stay as they are, each times its weight.
    SUM
        Their weighted sum.
    MEAN
        That divided by the sum of the weights.
    SUM_OVER_BATCH_SIZE
        That divided by the number of losses.
    SUM_BY_NONZERO_WEIGHTS, SUM_OVER_NONZERO_WEIGHTS
        That divided by the number of losses whose weight is not zero.

    Examples
    --------
    >>> total = tf.losses.Reduction.SUM
    >>> tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0], reduction=total).eval()
    5.0
    """

    NONE: ClassVar[str] = "none"
    SUM: ClassVar[str] = "weighted_sum"
    SUM_OVER_BATCH_SIZE: ClassVar[str] = "weighted_sum_over_batch_size"
    MEAN: ClassVar[str] = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS: ClassVar[str] = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS: ClassVar[str] = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise ValueError where `key` is no reduction."""
        if key not in cls.all():
            raise ValueError(
                f"Invalid ReductionKey {key}: a reduction is one of "
                + ", ".join(dict.fromkeys(cls.all()))
            )


def quotient_or_zero(total: Any, count: Any, name: str | None = None) -> Tensor:
    """``total / count``, and 0 where `count` is 0, with gradients of 0 there."""
    number = convert_to_tensor(count)
    is_zero = gen_ops.equal(number, array_creation.zeros_like(number))
    divisor = array_ops.where(is_zero, array_creation.ones_like(number), number)
    value = convert_to_tensor(total) / divisor
    return array_ops.where(is_zero, array_creation.zeros_like(value), value, name=name)


def check_weights(weights: Tensor, values: Tensor) -> Operation | None:
    """An operation that fails unless the weights can be broadcast to the values.

    They are a scalar, or have size 1 or that of the values along each dimension. None where that
    is known; ValueError where the opposite is.
    """
    if weights.shape.ndims == 0:
        return None
    if weights.shape.ndims is not None and values.shape.ndims is not None:
        _check_static(weights, values)
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined():
            return None
    with scopes.name_scope(None, "assert_broadcastable", [weights, values]):
        own, wanted = gen_ops.shape(weights), gen_ops.shape(values)
        rank, wanted_rank = gen_ops.rank(weights), gen_ops.rank(values)
        # As many sizes as the values have, whatever the rank of the weights is.
        ones = array_creation.ones_like(wanted)
        sizes = array_join.concat([own, ones], 0)[:wanted_rank]
        fits = gen_ops.logical_or(gen_ops.equal(sizes, wanted), gen_ops.equal(sizes, 1))
        is_valid = gen_ops.logical_or(
            gen_ops.equal(rank, 0),
            gen_ops.logical_and(gen_ops.equal(rank, wanted_rank), reductions.reduce_all(fits)),
        )
        what = "weights can not be broadcast to values."
        data = [what, f"values.shape of {values.name}:", wanted]
        return check_ops.Assert(is_valid, [*data, f"weights.shape of {weights.name}:", own])


def _check_static(weights: Tensor, values: Tensor) -> None:
    own, wanted = weights.shape.as_list(), values.shape.as_list()
    fits = len(own) == len(wanted) and all(
        size in (1, other) or size is None or other is None
        for size, other in zip(own, wanted, strict=True)
    )
    if not fits:
        raise ValueError(
            f"weights can not be broadcast to values. values.shape={values.shape}, "
            f"weights.shape={weights.shape}"
        )


def num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """How many losses have a weight other than zero: in all, or in each row of the batch."""
    with scopes.name_scope(None, "num_present", [losses, weights]) as scope:
        zero = array_creation.zeros_like(weights)
        one = array_creation.ones_like(weights)
        present = array_ops.where(gen_ops.equal(weights, 0.0), zero, one)
        everywhere = present * array_creation.ones_like(losses)
        if not per_batch:
            return reductions.reduce_sum(everywhere, name=scope)
        return reductions.reduce_sum(everywhere, _all_but_first(losses), keepdims=True, name=scope)


def _all_but_first(values: Tensor) -> Any:
    """The dimensions after the first."""
    rank = values.shape.ndims
    return math_ops.range(1, gen_ops.rank(values)) if rank is None else list(range(1, rank))


def sum_of_each(values: Tensor) -> Tensor:
    """The sum of each row of the batch, with its dimensions kept."""
    return reductions.reduce_sum(values, _all_but_first(values), keepdims=True)


@public("losses.add_loss")
@takes(loss=TENSOR_ITSELF, loss_collection=or_none(TEXT))
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Let a loss be one of those that `get_total_loss` adds up.

    Parameters
    ----------
    loss
        The loss.
    loss_collection
        The collection that it joins; None for none.

    Examples
    --------
    >>> tf.losses.add_loss(tf.constant(2.0))
    >>> tf.losses.get_total_loss().eval()
    2.0
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


@public("losses.get_losses")
@takes(scope=or_none(TEXT), loss_collection=TEXT)
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses that were added.

    Parameters
    ----------
    scope
        A pattern that their names begin with, by default any.
    loss_collection
        The collection that they are in.

    Examples
    --------
    >>> loss = tf.losses.absolute_difference([1.0], [3.0])
    >>> tf.losses.get_losses() == [loss]
    True
    """
    return get_default_graph().get_collection(loss_collection, scope)


@public("losses.get_regularization_losses")
@takes(scope=or_none(TEXT))
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that regularizers of variables gave.

    Parameters
    ----------
    scope
        A pattern that their names begin with, by default any.

    Examples
    --------
    >>> v = tf.get_variable("v", [2], regularizer=tf.nn.l2_loss)
    >>> len(tf.losses.get_regularization_losses())
    1
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public("losses.get_regularization_loss")
@takes(scope=or_none(TEXT))
def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of the losses that regularizers gave; 0 where there are none.

    Parameters
    ----------
    scope
        A pattern that their names begin with, by default any.
    name
        Name of the sum.

    Examples
    --------
    >>> tf.losses.get_regularization_loss().eval()
    0.0
    """
    losses = get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name) if losses else convert_to_tensor(0.0)


@public("losses.get_total_loss")
@takes(scope=or_none(TEXT))
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of the losses that were added, and of those of regularizers.

    Parameters
    ----------
    add_regularization_losses
        Whether the losses of regularizers are in it.
    name
        Name of the sum.
    scope
        A pattern that the names of the losses begin with, by default any.

    Raises
    ------
    ValueError
        There are no losses.

    Examples
    --------
    >>> loss = tf.losses.absolute_difference([1.0], [3.0])
    >>> tf.losses.get_total_loss().eval()
    2.0
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name)


@public("losses.compute_weighted_loss")
@takes(losses=TENSOR, weights=TENSOR, scope=or_none(TEXT), loss_collection=or_none(TEXT))
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """One loss from those of many elements.

    Parameters
    ----------
    losses
        The losses of the elements, of any shape.
    weights
        What each is multiplied by: a scalar, or a tensor whose size along each dimension is 1 or
        that of `losses`.
    scope
        Name of the scope.
    loss_collection
        The collection that the result joins; None for none.
    reduction
        A `Reduction`.

    Returns
    -------
    Tensor
        Of the type of `losses`: a scalar, or with ``Reduction.NONE`` of the shape of `losses`.

    Raises
    ------
    ValueError
        `reduction` is none, or `weights` cannot be broadcast to `losses`.

    Examples
    --------
    >>> tf.losses.compute_weighted_loss([1.0, 2.0, 4.0], [1.0, 0.0, 0.5]).eval()
    1.5
    """
    Reduction.validate(reduction)
    with scopes.name_scope(scope, "weighted_loss", [losses, weights]):
        given = convert_to_tensor(losses, name="losses")
        # Weights count in float32, also those of losses in a smaller type.
        values = math_ops.cast(given, dtypes.float32)
        factors = math_ops.cast(convert_to_tensor(weights, name="weights"), dtypes.float32)
        check = check_weights(factors, values)
        with get_default_graph().control_dependencies([] if check is None else [check]):
            values = gen_ops.mul(values, factors)
        loss = _reduced(values, factors, reduction)
        loss = math_ops.cast(loss, given.dtype)
        add_loss(loss, loss_collection)
        return loss


def _reduced(values: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == Reduction.NONE:
        return values
    total = reductions.reduce_sum(values)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reductions.reduce_sum(array_creation.ones_like(values) * weights)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = math_ops.cast(gen_ops.size(values), dtypes.float32)
    else:
        count = num_present(values, weights)
    return quotient_or_zero(total, count, "value")
