"""Sets of integers or texts in the last dimension of tensors, dense or sparse."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, TENSOR_ITSELF, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.sparse_tensor import SparseTensor


@public("sets.set_size", "sets.size")
@takes(a=TENSOR_ITSELF)
def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many members the sets of a sparse tensor have.

    Parameters
    ----------
    a
        A `SparseTensor`. Its last dimension holds the members of the sets.
    validate_indices
        Whether indices must be in order, and each come once.

    Returns
    -------
    Tensor
        An int32 for each set. A member that comes several times counts once.

    Examples
    --------
    >>> a = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [7, 8, 9], [3, 2])
    >>> tf.sets.size(a).eval().tolist()
    [2, 1, 0]
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"a: Expected `SparseTensor`, got {a!r}")
    return gen_ops.set_size(a.indices, a.values, a.dense_shape, bool(validate_indices))


@public("sets.set_intersection", "sets.intersection")
@takes(a=TENSOR, b=TENSOR)
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The members that sets of two tensors have in common.

    Parameters
    ----------
    a, b
        Tensors or sparse tensors of integers or texts, whose shapes agree in all but the last
        dimension, which holds the members.
    validate_indices
        Whether indices of sparse tensors must be in order, and each come once.

    Returns
    -------
    SparseTensor
        The sets of members, sorted.

    Examples
    --------
    >>> tf.sets.intersection([[3, 1, 2]], [[2, 3, 5]]).values.eval().tolist()
    [2, 3]
    """
    return _operation(a, b, "intersection", validate_indices)


@public("sets.set_difference", "sets.difference")
@takes(a=TENSOR, b=TENSOR)
def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """The members that sets of one of two tensors have alone.

    Parameters
    ----------
    a, b
        See `tf.sets.intersection`.
    aminusb
        Whether to take the members of `a` that `b` lacks, rather than those of `b` that `a` lacks.
    validate_indices
        Whether indices of sparse tensors must be in order, and each come once.

    Returns
    -------
    SparseTensor
        The sets of members, sorted.

    Examples
    --------
    >>> tf.sets.difference([[3, 1, 2]], [[2, 3, 5]]).values.eval().tolist()
    [1]
    >>> tf.sets.difference([[3, 1, 2]], [[2, 3, 5]], aminusb=False).values.eval().tolist()
    [5]
    """
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


@public("sets.set_union", "sets.union")
@takes(a=TENSOR, b=TENSOR)
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The members that sets of either of two tensors have.

    Parameters
    ----------
    a, b
        See `tf.sets.intersection`.
    validate_indices
        Whether indices of sparse tensors must be in order, and each come once.

    Returns
    -------
    SparseTensor
        The sets of members, sorted.

    Examples
    --------
    >>> tf.sets.union([[3, 1, 2]], [[2, 3, 5]]).values.eval().tolist()
    [1, 2, 3, 5]
    """
    return _operation(a, b, "union", validate_indices)


def _operation(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    if isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):
            # The op has no form with the sparse operand first.
            swapped = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
            return _operation(b, a, swapped, validate_indices)
        found = gen_ops.sparse_to_sparse_set_operation(
            *(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape),
            operation,
            bool(validate_indices),
        )
        return SparseTensor(*found)
    first = convert_to_tensor(a, name="a")
    if isinstance(b, SparseTensor):
        found = gen_ops.dense_to_sparse_set_operation(
            first, b.indices, b.values, b.dense_shape, operation, bool(validate_indices)
        )
    else:
        second = convert_to_tensor(b, first.dtype, "b")
        found = gen_ops.dense_to_dense_set_operation(
            first, second, operation, bool(validate_indices)
        )
    return SparseTensor(*found)
