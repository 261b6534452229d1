"""The loss of a batch, of the losses of its examples and of those of weights."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn import loss_reduction
from millstream._impl.ops import reductions


@public("nn.compute_average_loss")
@takes(per_example_loss=TENSOR, sample_weight=or_none(TENSOR), global_batch_size=or_none(TENSOR))
def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of the losses of the examples, divided by the size of the batch.

    Parameters
    ----------
    per_example_loss
        The losses; the first dimension is that of the examples.
    sample_weight
        What each loss is multiplied with.
    global_batch_size
        The size of the batch; without it the first dimension of `per_example_loss`.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> tf.nn.compute_average_loss([1.0, 2.0, 6.0], global_batch_size=6).eval()
    1.5
    """
    losses = convert_to_tensor(per_example_loss, name="per_example_loss")
    if global_batch_size is None:
        global_batch_size = gen_ops.shape(losses)[0]
    if sample_weight is not None:
        none = loss_reduction.Reduction.NONE
        losses = loss_reduction.compute_weighted_loss(
            losses, sample_weight, loss_collection=None, reduction=none
        )
    size = gen_ops.cast(convert_to_tensor(global_batch_size), losses.dtype)
    return reductions.reduce_sum(losses) / size


@public("nn.scale_regularization_loss")
@takes(regularization_loss=TENSOR)
def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of a regularization loss, divided by the number of replicas, of which there is one.

    Parameters
    ----------
    regularization_loss
        The losses of weights.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> tf.nn.scale_regularization_loss([1.0, 2.0]).eval()
    3.0
    """
    return reductions.reduce_sum(convert_to_tensor(regularization_loss))
