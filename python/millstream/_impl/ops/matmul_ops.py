"""Products of matrices."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes


@public("matmul", "linalg.matmul")
@takes(a=TENSOR, b=TENSOR)
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, or of many in pairs.

    Parameters
    ----------
    a, b
        Tensors of one type and at least rank 2: the last two dimensions are those of matrices, the
        others count them, and broadcast. Of float32 and bfloat16 the product is float32.
    transpose_a, transpose_b
        Take each matrix transposed.
    adjoint_a, adjoint_b
        Take it transposed and conjugated, which is the same for real numbers.
    a_is_sparse, b_is_sparse
        Hints, not used.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Shape [..., rows of a, columns of b].

    Raises
    ------
    TypeError
        The types differ.
    ValueError
        The inner dimensions differ, the others do not broadcast, or a rank is below 2, as far as
        known.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.matmul(tf.ones([2, 3]), tf.ones([3, 4])).shape.as_list()
    [2, 4]
    >>> tf.matmul(tf.ones([5, 2, 3]), tf.ones([3, 4])).shape.as_list()
    [5, 2, 4]
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("a matrix is either transposed or adjoint, not both")
    with scopes.name_scope(name, "MatMul", [a, b]) as scope:
        left = convert_to_tensor(a, name="a")
        right = convert_to_tensor(b, name="b")
        if {left.dtype, right.dtype} == {dtypes.float32, dtypes.bfloat16}:
            left, right = (gen_ops.cast(each, dtypes.float32) for each in (left, right))
        is_complex = left.dtype.is_complex
        in_batches = _may_be_batch(left) or _may_be_batch(right)
        if not in_batches and not (is_complex and (adjoint_a or adjoint_b)):
            return gen_ops.mat_mul(
                left, right, transpose_a or adjoint_a, transpose_b or adjoint_b, scope
            )
        if is_complex:
            # The op knows adjoints alone.
            left = _swap_last_two(left) if transpose_a else left
            right = _swap_last_two(right) if transpose_b else right
            return gen_ops.batch_mat_mul_v2(left, right, adjoint_a, adjoint_b, scope)
        return gen_ops.batch_mat_mul_v2(
            left, right, transpose_a or adjoint_a, transpose_b or adjoint_b, scope
        )


def _may_be_batch(tensor: Tensor) -> bool:
    rank = tensor.shape.ndims
    return rank is None or rank > 2


def _swap_last_two(tensor: Tensor) -> Tensor:
    """Each matrix of a batch transposed."""
    rank = tensor.shape.ndims
    if rank is not None:
        return gen_ops.transpose(tensor, [*range(rank - 2), rank - 1, rank - 2])
    count = gen_ops.rank(tensor)
    swapped = gen_ops.pack([count - 1, count - 2])
    return gen_ops.transpose(
        tensor, gen_ops.concat_v2([gen_ops.range(0, count - 2, 1), swapped], 0)
    )
