"""Sparse tensors joined, cut, sorted and in other shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    INTEGER,
    NUMBER,
    TENSOR,
    TENSOR_ITSELF,
    TENSORS,
    one_of,
    or_none,
    takes,
)
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, check_ops
from millstream._impl.ops.sparse_math import sparse_argument
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes


@public("sparse_reorder", "sparse.reorder")
@takes(sp_input=TENSOR_ITSELF)
def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The sparse tensor with its elements in row-major order.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.SparseTensor([[1], [0]], [5, 6], [2])
    >>> tf.sparse_reorder(x).values.eval().tolist()
    [6, 5]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    indices, values = gen_ops.sparse_reorder(
        sparse.indices, sparse.values, sparse.dense_shape, name
    )
    return SparseTensor(indices, values, sparse.dense_shape)


@public("sparse_reshape", "sparse.reshape")
@takes(sp_input=TENSOR_ITSELF, shape=TENSOR)
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in another shape.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    shape
        The new shape, in which one size may be -1.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])
    >>> tf.sparse_reshape(x, [-1]).indices.eval().tolist()
    [[1], [3]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    wanted = convert_to_tensor(shape, dtypes.int64, "shape")
    indices, new_shape = gen_ops.sparse_reshape(sparse.indices, sparse.dense_shape, wanted, name)
    known, old = constant_value(wanted), constant_value(sparse.dense_shape)
    if known is not None and (old is not None or (known >= 0).all()):
        sizes = np.array(known, np.int64)
        if (sizes == -1).sum() == 1:
            others = int(np.prod(sizes[sizes != -1], dtype=np.int64))
            sizes[sizes == -1] = int(np.prod(old, dtype=np.int64)) // max(others, 1)
        return SparseTensor(indices, sparse.values, _as_constant(new_shape, sizes))
    return SparseTensor(indices, sparse.values, new_shape)


def _as_constant(computed: Tensor, sizes: Any) -> Any:
    """The sizes as a constant that comes after they are computed, which checks them."""
    with scopes.control_dependencies([computed]):
        return convert_to_tensor(sizes, dtypes.int64, "shape")


@public("sparse_concat", "sparse.concat")
@takes(axis=INTEGER, sp_inputs=TENSORS, concat_dim=INTEGER)
def sparse_concat(
    axis: int,
    sp_inputs: Sequence[Any],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors joined along a dimension.

    Parameters
    ----------
    axis
        The dimension.
    sp_inputs
        Sparse tensors.
    name
        Name of the result.
    expand_nonconcat_dim
        Old name of `expand_nonconcat_dims`.
    concat_dim
        Old name of `axis`.
    expand_nonconcat_dims
        Give all the largest size of each other dimension first. Otherwise these sizes are equal.

    Examples
    --------
    >>> x = tf.SparseTensor([[0]], [5], [2])
    >>> tf.sparse_concat(0, [x, x]).indices.eval().tolist()
    [[0], [2]]
    """
    along = axis if concat_dim is None else one_of(None, concat_dim, "axis", "concat_dim")
    inputs = [sparse_argument(value, "sp_inputs") for value in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    if not inputs:
        raise ValueError("sp_inputs: expected at least one sparse tensor, got none")
    shapes = [sparse.dense_shape for sparse in inputs]
    if expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims:
        largest = gen_ops.max(array_join.stack(shapes), 0)
        rank = gen_ops.size(largest)
        is_joined = gen_ops.equal(gen_ops.range(0, rank, 1), gen_ops.floor_mod(along, rank))
        shapes = [gen_ops.select_v2(is_joined, shape, largest) for shape in shapes]
    return SparseTensor(
        *gen_ops.sparse_concat(
            [sparse.indices for sparse in inputs],
            [sparse.values for sparse in inputs],
            shapes,
            along,
            name,
        )
    )


class KeywordRequired:
    """Stands for an argument that is not given by position."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


@public("sparse_split", "sparse.split")
@takes(sp_input=TENSOR_ITSELF, num_split=INTEGER, axis=NUMBER, split_dim=NUMBER)
def sparse_split(
    keyword_required: Any = KeywordRequired(),  # noqa: B008
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Parts of a sparse tensor along a dimension; the first ones are larger by one if needed.

    Parameters
    ----------
    keyword_required
        Not used: all arguments have names.
    sp_input
        A `SparseTensor`.
    num_split
        How many parts there are.
    axis
        The dimension.
    name
        Name of the results.
    split_dim
        Old name of `axis`.

    Examples
    --------
    >>> x = tf.SparseTensor([[0], [2]], [5, 6], [3])
    >>> [part.indices.eval().tolist() for part in tf.sparse_split(sp_input=x, num_split=2, axis=0)]
    [[[0]], [[0]]]
    """
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function: sp_input=, num_split=")
    along = one_of(axis, split_dim, "axis", "split_dim")
    for argument, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", along)):
        if value is None:
            raise ValueError(f"{argument}: Must specify it")
    assert num_split is not None
    sparse = sparse_argument(sp_input, "sp_input")
    indices, values, shapes = gen_ops.sparse_split(
        convert_to_tensor(along, dtypes.int64, "axis"),
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        num_split,
        name,
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes, strict=True)]


@public("sparse_slice", "sparse.slice")
@takes(sp_input=TENSOR_ITSELF, start=TENSOR, size=TENSOR)
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A part of a sparse tensor.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    start
        Where the part begins.
    size
        How many elements of each dimension it has, or as many as there are.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.SparseTensor([[0], [2]], [5, 6], [3])
    >>> tf.sparse_slice(x, [1], [2]).indices.eval().tolist()
    [[1]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    with scopes.name_scope(name, "SparseSlice", [sparse]) as scope:
        begin = convert_to_tensor(start, dtypes.int64, "start")
        count = convert_to_tensor(size, dtypes.int64, "size")
        return SparseTensor(
            *gen_ops.sparse_slice(
                sparse.indices, sparse.values, sparse.dense_shape, begin, count, scope
            )
        )


@public("sparse_retain", "sparse.retain")
@takes(sp_input=TENSOR_ITSELF, to_retain=TENSOR)
def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Some of the elements of a sparse tensor.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    to_retain
        A boolean for each element: whether it stays.

    Examples
    --------
    >>> x = tf.SparseTensor([[0], [2]], [5, 6], [3])
    >>> tf.sparse_retain(x, [False, True]).values.eval().tolist()
    [6]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    chosen = convert_to_tensor(to_retain, dtypes.bool, "to_retain")
    chosen.shape.with_rank(1)[0].assert_is_compatible_with(sparse.values.shape[0])
    kept = gen_ops.reshape(gen_ops.where(chosen), [-1])
    return SparseTensor(
        gen_ops.gather_v2(sparse.indices, kept, 0),
        gen_ops.gather_v2(sparse.values, kept, 0),
        sparse.dense_shape,
    )


@public("sparse_reset_shape", "sparse.reset_shape")
@takes(sp_input=TENSOR_ITSELF, new_shape=or_none(TENSOR))
def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements at the same places in a larger shape, or in the least that has them.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    new_shape
        The shape, no size of which is below that of the tensor; by default the least.

    Raises
    ------
    InvalidArgumentError
        In a step, for a shape that is smaller.

    Examples
    --------
    >>> x = tf.SparseTensor([[0], [2]], [5, 6], [9])
    >>> tf.sparse_reset_shape(x).dense_shape.eval().tolist()
    [3]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    if new_shape is None:
        # Of no element, the largest index is the least number of the type.
        largest = gen_ops.maximum(gen_ops.max(sparse.indices, 0), np.int64(-1))
        return SparseTensor(sparse.indices, sparse.values, gen_ops.add(largest, np.int64(1)))
    wanted = convert_to_tensor(new_shape, dtypes.int64, "new_shape")
    sparse.dense_shape.shape.assert_is_compatible_with(wanted.shape.with_rank(1))
    checks = [
        check_ops.assert_equal(gen_ops.shape(sparse.dense_shape), gen_ops.shape(wanted)),
        check_ops.assert_less_equal(sparse.dense_shape, wanted),
    ]
    with scopes.control_dependencies(checks):
        wanted = gen_ops.identity(wanted)
    return SparseTensor(sparse.indices, sparse.values, wanted)


@public("sparse_fill_empty_rows", "sparse.fill_empty_rows")
@takes(sp_input=TENSOR_ITSELF, default_value=TENSOR)
def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The sparse tensor with an element in each row that had none.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    default_value
        The element that such a row gets in its first place.
    name
        Name of the result.

    Returns
    -------
    SparseTensor, Tensor
        The filled tensor, and a boolean for each row: whether it had no element.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 1]], [5], [2, 3])
    >>> filled, was_empty = tf.sparse_fill_empty_rows(x, 7)
    >>> filled.values.eval().tolist(), was_empty.eval().tolist()
    ([5, 7], [False, True])
    """
    sparse = sparse_argument(sp_input, "sp_input")
    filler = convert_to_tensor(default_value, sparse.dtype, "default_value")
    indices, values, is_empty, _ = gen_ops.sparse_fill_empty_rows(
        sparse.indices, sparse.values, sparse.dense_shape, filler, name
    )
    return SparseTensor(indices, values, sparse.dense_shape), is_empty


@public("sparse_transpose", "sparse.transpose")
@takes(sp_input=TENSOR_ITSELF, perm=or_none(TENSOR))
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor with its dimensions in another order.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    perm
        For each new dimension, which one it was; by default the reverse order.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.SparseTensor([[0, 2]], [5], [1, 3])
    >>> tf.sparse_transpose(x).indices.eval().tolist()
    [[2, 0]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    with scopes.name_scope(name, "SparseTranspose", [sparse]):
        if perm is None:
            rank = sparse.shape.ndims
            perm = (
                np.arange(rank, dtype=np.int32)[::-1]
                if rank is not None
                else gen_ops.range(gen_ops.size(sparse.dense_shape) - 1, -1, -1)
            )
        sizes: Any = gen_ops.gather_v2(sparse.dense_shape, perm, 0)
        if sparse.shape.is_fully_defined() and not isinstance(perm, Tensor):
            known = np.array(sparse.shape.as_list(), np.int64)
            sizes = known[np.array(perm, np.int64)]
        indices = gen_ops.gather_v2(sparse.indices, perm, 1)
        return sparse_reorder(SparseTensor(indices, sparse.values, sizes))


@public("sparse.expand_dims")
@takes(sp_input=TENSOR_ITSELF, axis=or_none(INTEGER))
def sparse_expand_dims(
    sp_input: Any, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """A sparse tensor with one more dimension, of size 1.

    Parameters
    ----------
    sp_input
        A `SparseTensor`.
    axis
        Where the dimension is; by default the last.
    name
        Name of the result.

    Examples
    --------
    >>> x = tf.SparseTensor([[2]], [5], [3])
    >>> tf.sparse.expand_dims(x, 0).indices.eval().tolist()
    [[0, 2]]
    """
    sparse = sparse_argument(sp_input, "sp_input")
    place = -1 if axis is None else axis
    rank = sparse.shape.ndims
    if rank is None:
        raise ValueError("sp_input: its rank must be known")
    if not -rank - 1 <= place <= rank:
        raise ValueError(f"axis: expected one in [{-rank - 1}, {rank}], got {place}")
    place %= rank + 1
    with scopes.name_scope(name, "expand_dims", [sparse]):
        sizes = sparse.dense_shape
        ones = np.ones([1], np.int64)
        shape = array_join.concat([sizes[:place], ones, sizes[place:]], 0)
        count = gen_ops.reshape(gen_ops.size(sparse.values, dtypes.int64), [1])
        zeros = gen_ops.fill(array_join.concat([count, ones], 0), np.int64(0))
        columns = [sparse.indices[:, :place], zeros, sparse.indices[:, place:]]
        return SparseTensor(array_join.concat(columns, 1), sparse.values, shape)
