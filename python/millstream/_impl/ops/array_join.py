"""Joining tensors and taking them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import INTEGER, INTEGERS, TENSOR, TENSORS, takes
from millstream._impl.graph.convert import convert_to_tensor, dtype_of_tensor_in, holds_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes


@public("concat")
@takes(values=TENSOR, axis=TENSOR)
def concat(values: Any, axis: Any, name: str | None = "concat") -> Tensor:
    """Tensors one after the other along a dimension.

    Parameters
    ----------
    values
        The tensors, of one type and of shapes that differ in that dimension only; or ragged
        tensors. One that is not in a list is returned as it is.
    axis
        The dimension; negative counts from the end.
    name
        Name of the result.

    Examples
    --------
    >>> tf.concat([[[1, 2]], [[3, 4]]], axis=0).eval().tolist()
    [[1, 2], [3, 4]]
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    ragged = next((one for one in values if hasattr(one, "_side_by_side")), None)
    if ragged is not None:
        joined: Tensor = ragged._side_by_side(values, axis, name)
        return joined
    if len(values) == 1:
        with scopes.name_scope(name, "concat") as scope:
            convert_to_tensor(axis, dtypes.int32, "concat_dim").shape.assert_has_rank(0)
            return gen_ops.identity(values[0], scope)
    return gen_ops.concat_v2(list(values), axis, name or "concat")


@public("parallel_stack")
@takes(values=TENSORS)
def parallel_stack(values: Any, name: str | None = "parallel_stack") -> Tensor:
    """Tensors of one known shape one after the other along a new first dimension.

    Parameters
    ----------
    values
        The tensors. The static shape of the first must be known.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.parallel_stack([[1, 2], [3, 4]]).eval().tolist()
    [[1, 2], [3, 4]]
    """
    with scopes.name_scope(name, "parallel_stack"):
        rows = [convert_to_tensor(value, name="values") for value in values]
        shape = [len(rows), *rows[0].shape.as_list()]
        return gen_ops.parallel_concat([gen_ops.expand_dims(row, 0) for row in rows], shape=shape)


@public("stack")
@takes(values=TENSORS, axis=INTEGER)
@for_ragged("stack", in_lists=True)
def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Tensors of one shape, stacked along a new dimension.

    Parameters
    ----------
    values
        The tensors; or ragged tensors, whose rows may differ.
    axis
        Where the new dimension is; negative counts from the end.
    name
        Name of the result.

    Examples
    --------
    >>> tf.stack([[1, 2], [3, 4]], axis=1).eval().tolist()
    [[1, 3], [2, 4]]
    """
    if axis == 0 and not isinstance(values, TensorLike):
        if not holds_tensor(values):
            return convert_to_tensor(values, name=name or "stack")
        values = list(values)
    if isinstance(values, TensorLike):
        values = unstack(values)
    dtype = dtype_of_tensor_in(list(values))
    items = [convert_to_tensor(value, dtype) for value in values]
    if items and None not in (items[0].shape.ndims,):
        count = (items[0].shape.ndims or 0) + 1
        if not -count <= axis < count:
            raise ValueError(f"axis: expected one in [{-count}, {count}), got {axis}")
    return gen_ops.pack(items, axis, name or "stack")


@public("unstack")
@takes(value=TENSOR, num=INTEGER, axis=INTEGER)
def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along a dimension, which they lack.

    Parameters
    ----------
    value
        The tensor.
    num
        How many parts, where the static shape does not say it.
    axis
        The dimension; negative counts from the end.
    name
        Name of the results.

    Raises
    ------
    ValueError
        `num` is needed, or `axis` beyond the rank.

    Examples
    --------
    >>> [row.eval().tolist() for row in tf.unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    tensor = convert_to_tensor(value)
    if num is None:
        count = tensor.shape.ndims
        if count is None:
            raise ValueError("num: needed, because the rank of value is not known")
        if not -count <= axis < count:
            raise ValueError(f"axis: expected one in [{-count}, {count}), got {axis}")
        num = tensor.shape[axis].value
        if num is None:
            raise ValueError(f"num: needed, because dimension {axis} of {tensor.shape} is unknown")
    return gen_ops.unpack(tensor, num, axis, name or "unstack")


@public("split")
@takes(value=TENSOR, num_or_size_splits=INTEGERS, axis=TENSOR, num=INTEGER)
def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Parts of a tensor along a dimension.

    Parameters
    ----------
    value
        The tensor.
    num_or_size_splits
        The number of equal parts, or the size of each part, one of which may be -1 for the rest.
    axis
        The dimension.
    num
        How many parts, where the sizes are a tensor of unknown shape.
    name
        Name of the results.

    Examples
    --------
    >>> [part.eval().tolist() for part in tf.split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    """
    sizes = num_or_size_splits
    if isinstance(sizes, (int, np.integer)) and not isinstance(sizes, bool):
        return gen_ops.split(axis, value, int(sizes), name or "split")
    tensor = convert_to_tensor(sizes, preferred_dtype=dtypes.int32)
    if num is None:
        num = tensor.shape[0].value if tensor.shape.ndims == 1 else None
        if num is None:
            raise ValueError("num: needed, because the number of sizes is not known")
    return gen_ops.split_v(value, tensor, axis, num, name or "split")


# The first releases' names.
pack = public("pack")(stack)
unpack = public("unpack")(unstack)
