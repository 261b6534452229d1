"""What metrics have in common: local variables, weights, shapes that are made to fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, NAMES, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.loss_reduction import check_weights
from millstream._impl.ops import array_creation, array_ops, check_ops, math_ops
from millstream._impl.ops.control_ops import with_dependencies
from millstream._impl.values import dtypes
from millstream._impl.variables.variables import Variable

OPTIONAL = or_none(TENSOR)
COLLECTIONS = or_none(NAMES)
# The types of the arguments that most metrics have.
COMMON = {
    "labels": TENSOR,
    "predictions": TENSOR,
    "weights": OPTIONAL,
    "metrics_collections": COLLECTIONS,
    "updates_collections": COLLECTIONS,
}


def metric_variable(shape: Any, name: str, dtype: Any = dtypes.float32) -> Any:
    """A counter: a local variable that starts from 0."""
    return Variable(
        lambda: array_creation.zeros(shape, dtype),  # outside of a branch that is being built
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
    )


def collect(value: Any, collections: Iterable[Any] | None) -> None:
    """Add a value or an update to collections."""
    if collections:
        get_default_graph().add_to_collections(collections, value)


def as_float(value: Any, name: str | None = None) -> Tensor:
    """The value as a tensor of float32."""
    result: Tensor = math_ops.cast(convert_to_tensor(value, name=name), dtypes.float32)
    return result


def as_bool(value: Any, name: str) -> Tensor:
    """The value as a tensor of truth values."""
    result: Tensor = math_ops.cast(convert_to_tensor(value, name=name), dtypes.bool)
    return result


def fitted(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    """The three with ranks that fit: a last dimension of size 1 that one has alone goes.

    Weights may lack it as well; then they get it.
    """
    wanted = convert_to_tensor(labels, name="labels")
    found = convert_to_tensor(predictions, name="predictions")
    ranks = wanted.shape.ndims, found.shape.ndims
    if ranks[0] is not None and ranks[1] is not None:
        if ranks[0] == ranks[1] + 1 and _may_end_with_one(wanted):
            wanted = array_ops.squeeze(wanted, [-1])
        elif ranks[1] == ranks[0] + 1 and _may_end_with_one(found):
            found = array_ops.squeeze(found, [-1])
    wanted.shape.assert_is_compatible_with(found.shape)
    return wanted, found, fitted_weights(weights, found)


def fitted_weights(weights: Any, values: Tensor) -> Any:
    """Weights of the rank of the values, or a scalar, or None."""
    if weights is None:
        return None
    factors = convert_to_tensor(weights, name="weights")
    rank, wanted = factors.shape.ndims, values.shape.ndims
    if rank in (None, 0) or wanted is None or rank is None:
        return factors
    if rank == wanted + 1 and _may_end_with_one(factors):
        return array_ops.squeeze(factors, [-1])
    if rank + 1 == wanted:
        return array_ops.expand_dims(factors, [-1])
    return factors


def _may_end_with_one(tensor: Tensor) -> bool:
    return tensor.shape.as_list()[-1] in (1, None)


def broadcast_weights(weights: Any, values: Tensor) -> Tensor:
    """Weights as float32 of the shape of the values."""
    factors = as_float(weights)
    check = check_weights(factors, values)
    if check is not None:
        factors = with_dependencies([check], factors)
    ones = array_creation.ones_like(values, dtype=dtypes.float32)
    return gen_ops.mul(factors, ones)


@public("confusion_matrix", "math.confusion_matrix")
@takes(
    labels=TENSOR,
    predictions=TENSOR,
    num_classes=or_none(INTEGER),
    dtype=DTYPE,
    weights=OPTIONAL,
)
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """How often each class was predicted for each label.

    Parameters
    ----------
    labels, predictions
        Numbers of classes.
    num_classes
        How many there are; by default one more than the largest number.
    dtype
        The data type of the result.
    name
        Name of the scope.
    weights
        What each prediction counts, by default 1.

    Returns
    -------
    Tensor
        A row for each label and a column for each prediction.

    Raises
    ------
    InvalidArgumentError
        In a step: a number is negative, or not below `num_classes`.

    Examples
    --------
    >>> tf.confusion_matrix([0, 1, 1], [0, 0, 1]).eval().tolist()
    [[1, 0], [1, 1]]
    """
    with scopes.name_scope(name, "confusion_matrix", [labels, predictions]):
        wanted, found, factors = fitted(labels, predictions, weights)
        rows = math_ops.cast(wanted, dtypes.int64)
        columns = math_ops.cast(found, dtypes.int64)
        size = _class_count(rows, columns, num_classes)
        checks = []
        for numbers, what in ((rows, "`labels`"), (columns, "`predictions`")):
            checks.append(
                check_ops.assert_non_negative(numbers, message=f"{what} contains negative values")
            )
            if num_classes is not None:
                checks.append(check_ops.assert_less(numbers, size, message=f"{what} out of bound"))
        cells = with_dependencies([check for check in checks if check is not None], rows)
        cells = cells * size + columns
        kind = dtypes.as_dtype(dtype)
        if factors is None:
            factors = array_creation.ones_like(cells, dtype=kind)
        counts = array_ops.reshape(math_ops.cast(factors, kind), [-1])
        flat = array_ops.reshape(cells, [-1])
        side = math_ops.cast(size, dtypes.int64)
        summed = gen_ops.unsorted_segment_sum(counts, flat, side * side)
        result: Tensor = array_ops.reshape(summed, gen_ops.pack([side, side]))
        if isinstance(num_classes, int):
            result.set_shape([num_classes, num_classes])
        return result


def _class_count(rows: Tensor, columns: Tensor, num_classes: Any) -> Tensor:
    if num_classes is not None:
        count: Tensor = math_ops.cast(convert_to_tensor(num_classes), dtypes.int64)
        return count
    largest = gen_ops.maximum(_largest(rows), _largest(columns))
    one_more: Tensor = largest + 1
    return one_more


def _largest(numbers: Tensor) -> Tensor:
    flat = array_ops.reshape(numbers, [-1])
    return gen_ops.max(flat, [0])
