"""The largest elements of rows."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor


@public("nn.top_k", "math.top_k")
@takes(input=TENSOR, k=TENSOR)
def top_k(
    input: Any,  # noqa: A002
    k: Any = 1,
    sorted: bool = True,  # noqa: A002
    name: str | None = None,
) -> Any:
    """The k largest elements of each row, a vector along the last dimension.

    Parameters
    ----------
    input
        Real numbers, of at least one dimension.
    k
        How many, an int32 scalar.
    sorted
        Whether the order has to be descending; it always is.
    name
        Name of the result.

    Returns
    -------
    tuple
        The elements, ``values``, and their places in their rows, ``indices``, which are int32. Of
        equal elements the one of the lower place comes first.

    Raises
    ------
    ValueError
        The rows are known to be shorter.
    InvalidArgumentError
        In a step, when they are.

    Examples
    --------
    >>> values, indices = tf.nn.top_k([3.0, 1.0, 4.0], k=2)
    >>> values.eval().tolist(), indices.eval().tolist()
    ([4.0, 3.0], [2, 0])
    """
    return gen_ops.top_kv2(convert_to_tensor(input, name="input"), k, sorted=sorted, name=name)


@public("nn.in_top_k", "math.in_top_k")
@takes(predictions=TENSOR, targets=TENSOR, k=TENSOR)
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether targets are among the k classes with the largest predictions.

    Parameters
    ----------
    predictions
        float32, shape [batch, classes].
    targets
        The class of each row, int32 or int64, shape [batch].
    k
        How many classes, a scalar.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Truth values, shape [batch]. Classes of equal predictions are all in or all out. False for
        a class that is not there, and for a row with a number that is not finite.

    Examples
    --------
    >>> tf.nn.in_top_k([[0.1, 0.7, 0.2], [0.1, 0.7, 0.2]], [2, 0], 2).eval().tolist()
    [True, False]
    """
    with scopes.name_scope(name, "in_top_k"):
        found: Tensor = gen_ops.in_top_kv2(predictions, targets, k, name=name)
        return found
