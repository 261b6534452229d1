"""Dense tensors of sparse ones."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, TENSOR_ITSELF, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation
from millstream._impl.ops.sparse_tensor import SparseTensor


@public("sparse_to_dense")
@takes(sparse_indices=TENSOR, output_shape=TENSOR, sparse_values=TENSOR, default_value=TENSOR)
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor of which single elements are given.

    Parameters
    ----------
    sparse_indices
        The places of the elements: shape [n, rank], or [n] for a vector.
    output_shape
        The shape of the result.
    sparse_values
        The elements, shape [n], or one for all places.
    default_value
        All other elements.
    validate_indices
        Whether places must be in order, and each come once. Without it, the last value of a place
        counts.
    name
        Name of the result.

    Raises
    ------
    InvalidArgumentError
        In a step, for a place that is outside, or not in order.

    Examples
    --------
    >>> tf.sparse_to_dense([0, 2], [4], [5, 6]).eval().tolist()
    [5, 0, 6, 0]
    """
    values = convert_to_tensor(sparse_values, name="sparse_values")
    default = convert_to_tensor(default_value, values.dtype, "default_value")
    return gen_ops.sparse_to_dense(
        sparse_indices, output_shape, values, default, bool(validate_indices), name
    )


@public("sparse_tensor_to_dense", "sparse.to_dense")
@takes(sp_input=TENSOR_ITSELF, default_value=TENSOR)
def sparse_tensor_to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor of a sparse one.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    default_value
        The elements that are not given; by default 0, or an empty text.
    validate_indices
        See `sparse_to_dense`.
    name
        Name of the result.

    Raises
    ------
    TypeError
        `sp_input` is not sparse.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 1]], [7.0], [2, 2])
    >>> tf.sparse_tensor_to_dense(x).eval().tolist()
    [[0.0, 7.0], [0.0, 0.0]]
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"sp_input: Input must be a SparseTensor, got {sp_input!r}")
    if default_value is None:
        default_value = array_creation.zeros([], sp_input.values.dtype)
    return sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value,
        validate_indices,
        name,
    )
