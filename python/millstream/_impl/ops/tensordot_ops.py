"""Products of tensors over chosen dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join


@public("tensordot", "linalg.tensordot")
@takes(a=TENSOR, b=TENSOR, axes=INTEGERS)
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over pairs of dimensions of two tensors.

    Parameters
    ----------
    a, b
        Tensors of one type and of known rank.
    axes
        A number n: the last n dimensions of `a` with the first n of `b`. Or two lists: dimensions
        of `a`, and as many of `b`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The dimensions of `a` that are left, then those of `b`.

    Raises
    ------
    ValueError
        A rank is not known, or the lists differ in length or name no dimension.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.tensordot(tf.ones([2, 3, 4]), tf.ones([4, 5]), 1).shape.as_list()
    [2, 3, 5]
    """
    with scopes.name_scope(name, "Tensordot", [a, b]) as scope:
        left = convert_to_tensor(a, name="a")
        right = convert_to_tensor(b, name="b")
        if left.shape.ndims is None or right.shape.ndims is None:
            raise ValueError("a and b: their ranks must be known")
        summed_left, summed_right = _axes(axes, left.shape.ndims, right.shape.ndims)
        free_left = [i for i in range(left.shape.ndims) if i not in summed_left]
        free_right = [i for i in range(right.shape.ndims) if i not in summed_right]
        rows = _matrix(left, free_left, summed_left)
        columns = _matrix(right, summed_right, free_right)
        dims = _dims(left, free_left) + _dims(right, free_right)
        return gen_ops.reshape(gen_ops.mat_mul(rows, columns), _shape(dims), scope)


def _axes(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(rank_a, rank_b):
            raise ValueError(f"axes: expected at most {min(rank_a, rank_b)}, got {axes}")
        return list(range(rank_a - axes, rank_a)), list(range(axes))
    pair = [np.atleast_1d(side).tolist() for side in axes]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise ValueError(f"axes: expected two lists of one length, got {axes!r}")
    for side, rank in zip(pair, (rank_a, rank_b), strict=True):
        if any(not -rank <= axis < rank for axis in side):
            raise ValueError(f"axes: expected dimensions in [{-rank}, {rank}), got {side}")
    return [axis % rank_a for axis in pair[0]], [axis % rank_b for axis in pair[1]]


def _dims(tensor: Tensor, axes: list[int]) -> list[Any]:
    """Sizes of dimensions: numbers where they are known, else scalar tensors."""
    dynamic = None
    sizes: list[Any] = []
    for axis in axes:
        size = tensor.shape[axis].value
        if size is None:
            if dynamic is None:
                dynamic = gen_ops.shape(tensor)
            size = dynamic[axis]
        sizes.append(size)
    return sizes


def _shape(dims: list[Any]) -> Any:
    if all(isinstance(size, int) for size in dims):
        return np.array(dims, np.int32)
    if sum(not isinstance(size, int) for size in dims) == 1:
        return np.array([size if isinstance(size, int) else -1 for size in dims], np.int32)
    return array_join.stack(dims)


def _matrix(tensor: Tensor, row_axes: list[int], column_axes: list[int]) -> Tensor:
    """The tensor as a matrix whose rows and columns run over the given dimensions."""
    order = row_axes + column_axes
    if order != list(range(len(order))):
        tensor = gen_ops.transpose(tensor, np.array(order, np.int32))
    sizes: list[Any] = []
    for axes in (range(len(row_axes)), range(len(row_axes), len(order))):
        known = [tensor.shape[axis].value for axis in axes]
        if any(size is None for size in known):
            sizes.append(_product(tensor, list(axes)))
        else:
            sizes.append(int(np.prod([size or 0 for size in known], dtype=np.int64)))
    return gen_ops.reshape(tensor, _shape(sizes))


def _product(tensor: Tensor, axes: list[int]) -> Tensor:
    sizes = gen_ops.gather_v2(gen_ops.shape(tensor), np.array(axes, np.int32), 0)
    return gen_ops.prod(sizes, 0)
