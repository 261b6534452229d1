"""Shapes of tensors, and parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGER,
    INTEGERS,
    SHAPE,
    TENSOR,
    TENSORS,
    one_of,
    takes,
)
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import slicing
from millstream._impl.ops.sparse_tensor import SparseTensor, SparseTensorValue
from millstream._impl.values import dtypes, tensor_shape

_SPARSE = (SparseTensor, SparseTensorValue)

newaxis = public("newaxis")(None)

identity = public("identity")(gen_ops.identity)
identity_n = public("identity_n")(gen_ops.identity_n)
stop_gradient = public("stop_gradient")(gen_ops.stop_gradient)
get_static_value = public("get_static_value")(constant_value)
broadcast_to = public("broadcast_to")(gen_ops.broadcast_to)
invert_permutation = public("invert_permutation", "math.invert_permutation")(
    gen_ops.invert_permutation
)
dynamic_partition = public("dynamic_partition")(gen_ops.dynamic_partition)
dynamic_stitch = public("dynamic_stitch")(gen_ops.dynamic_stitch)
bitcast = public("bitcast")(gen_ops.bitcast)
guarantee_const = public("guarantee_const")(gen_ops.guarantee_const)


@public("shape")
@takes(input=TENSOR, out_type=DTYPE)
def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002
    """The dimensions of a tensor, as a tensor.

    Parameters
    ----------
    input
        The tensor, which may be sparse.
    name
        Name of the result; for a sparse tensor, of the scope that the result is in.
    out_type
        int32 or int64.

    Returns
    -------
    Tensor
        Shape [rank].

    Examples
    --------
    >>> tf.shape([[1, 2, 3]]).eval()
    array([1, 3], dtype=int32)
    """
    if isinstance(input, _SPARSE):
        with scopes.name_scope(name, "Shape", [input.dense_shape]):
            return gen_ops.cast(input.dense_shape, out_type)
    return gen_ops.shape(input, out_type, name)


@public("shape_n")
@takes(input=TENSORS, out_type=DTYPE)
def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:  # noqa: A002
    """The dimensions of each of several tensors.

    Parameters
    ----------
    input
        The tensors.
    out_type
        int32 or int64.
    name
        Name of the result.

    Examples
    --------
    >>> [t.eval().tolist() for t in tf.shape_n([[1, 2], [3, 4, 5]])]
    [[2], [3]]
    """
    return gen_ops.shape_n(input, out_type, name)


@public("size")
@takes(input=TENSOR, out_type=DTYPE)
@for_ragged("size")
def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002
    """The number of elements of a tensor, as a scalar tensor.

    Parameters
    ----------
    input
        The tensor, which may be ragged or sparse; the elements of a sparse one that are not given
        count as well.
    name
        Name of the result.
    out_type
        int32 or int64.

    Examples
    --------
    >>> int(tf.size([[1, 2, 3]]).eval())
    3
    """
    if isinstance(input, _SPARSE):
        with scopes.name_scope(name, "Size", [input.dense_shape]) as scope:
            return gen_ops.prod(gen_ops.cast(input.dense_shape, out_type), 0, name=scope)
    return gen_ops.size(input, out_type, name)


@public("rank")
@takes(input=TENSOR)
@for_ragged("rank")
def rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The number of dimensions of a tensor, as a scalar tensor of int32.

    Parameters
    ----------
    input
        The tensor, which may be ragged or sparse.
    name
        Name of the result.

    Examples
    --------
    >>> int(tf.rank([[1, 2]]).eval())
    2
    """
    if isinstance(input, _SPARSE):
        return gen_ops.size(input.dense_shape, name=name or "Rank")
    return gen_ops.rank(input, name)


@public("reshape", "manip.reshape")
@takes(tensor=TENSOR, shape=SHAPE)
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of a tensor in another shape.

    Parameters
    ----------
    tensor
        The tensor.
    shape
        The dimensions; one may be -1, and is computed from the others.
    name
        Name of the result.

    Examples
    --------
    >>> tf.reshape([1, 2, 3, 4], [2, -1]).eval().tolist()
    [[1, 2], [3, 4]]
    """
    return gen_ops.reshape(tensor, shape, name)


@public("ensure_shape")
@takes(x=TENSOR, shape=SHAPE)
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that has the shape that a program says, or a step fails.

    Parameters
    ----------
    x
        The tensor.
    shape
        What is known of its shape. The static shape of the result knows it as well.
    name
        Name of the result.

    Examples
    --------
    >>> tf.ensure_shape(tf.placeholder(tf.float32), [None, 2]).shape.as_list()
    [None, 2]
    """
    return gen_ops.ensure_shape(x, tensor_shape.as_shape(shape), name)


@public("expand_dims")
@takes(input=TENSOR, axis=TENSOR, dim=TENSOR)
@for_ragged("expand_dims")
def expand_dims(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """A tensor with a dimension of size 1 inserted.

    Parameters
    ----------
    input
        The tensor, which may be ragged.
    axis
        Where to insert it; negative counts from the end.
    name
        Name of the result.
    dim
        Old name of `axis`.

    Examples
    --------
    >>> tf.expand_dims([1, 2], 0).eval()
    array([[1, 2]], dtype=int32)
    """
    axis = one_of(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("axis: expected where to insert a dimension")
    return gen_ops.expand_dims(input, axis, name)


@public("squeeze")
@takes(input=TENSOR, axis=INTEGERS, squeeze_dims=INTEGERS)
@for_ragged("squeeze")
def squeeze(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """A tensor without dimensions of size 1.

    Parameters
    ----------
    input
        The tensor, which may be ragged.
    axis
        Which dimensions to drop, by default all of size 1; of a ragged tensor they must be given.
    name
        Name of the result.
    squeeze_dims
        Old name of `axis`.

    Examples
    --------
    >>> tf.squeeze([[[1], [2]]]).eval()
    array([1, 2], dtype=int32)
    """
    axis = one_of(axis, squeeze_dims, "axis", "squeeze_dims")
    dims = [] if axis is None else list(np.atleast_1d(axis).tolist())
    return gen_ops.squeeze(input, dims, name)


@public("transpose")
@takes(a=TENSOR, perm=INTEGERS)
def transpose(
    a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """A tensor with its dimensions in another order.

    Parameters
    ----------
    a
        The tensor.
    perm
        Which dimension of `a` each dimension of the result is; by default the reverse order.
    name
        Name of the result.
    conjugate
        Take the complex conjugate as well; that of real numbers is the same.

    Examples
    --------
    >>> tf.transpose([[1, 2], [3, 4]]).eval().tolist()
    [[1, 3], [2, 4]]
    >>> tf.transpose([[1, 2j]], conjugate=True).eval().tolist()
    [[(1-0j)], [-2j]]
    """
    with scopes.name_scope(name, "transpose", [a]) as scope:
        value = convert_to_tensor(a, name="a")
        if perm is None:
            known = value.shape.ndims
            if known is not None:
                perm = np.arange(known, dtype=np.int32)[::-1]
            else:
                count = gen_ops.rank(value)
                perm = (count - 1) - gen_ops.range(0, count, 1)
        if conjugate and value.dtype.is_complex:
            return gen_ops.conjugate_transpose(value, perm, scope)
        return gen_ops.transpose(value, perm, scope)


@public("slice")
@takes(input_=TENSOR, begin=TENSORS, size=TENSORS)
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:  # noqa: A001
    """A box of a tensor.

    Parameters
    ----------
    input_
        The tensor.
    begin
        Its first index in each dimension.
    size
        Its size in each dimension; -1 takes all that is left.
    name
        Name of the result.

    Examples
    --------
    >>> tf.slice([10, 20, 30, 40], [1], [2]).eval()
    array([20, 30], dtype=int32)
    """
    return gen_ops.slice(input_, begin, size, name)


@public("strided_slice")
@takes(
    input_=TENSOR,
    begin=TENSORS,
    end=TENSORS,
    strides=TENSORS,
    begin_mask=INTEGER,
    end_mask=INTEGER,
    ellipsis_mask=INTEGER,
    new_axis_mask=INTEGER,
    shrink_axis_mask=INTEGER,
)
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """The elements of a box of a tensor at strides, as ``tensor[...]`` selects them.

    Parameters
    ----------
    input_
        The tensor.
    begin, end, strides
        Bounds and step of each position.
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
        A bit for each position: no lower bound, no upper bound, as many dimensions as are left, a
        new dimension, one index only.
    var
        A variable whose value `input_` is: then the result has a method ``assign``, which puts a
        value in its place in the variable.
    name
        Name of the result.

    Examples
    --------
    >>> tf.strided_slice([10, 20, 30, 40], [0], [4], [2]).eval()
    array([10, 30], dtype=int32)
    """
    if var is not None and not hasattr(var, "_assign_slice"):
        raise TypeError(f"var: expected a variable, got {var!r}")
    if strides is None:
        begin = convert_to_tensor(begin, name="begin")
        count = begin.shape.num_elements()
        # As a constant, so that the static shape of the result is known.
        strides = (
            gen_ops.ones_like(begin)
            if count is None
            else np.ones([count], begin.dtype.as_numpy_dtype)
        )
    bounds = [begin, end, strides]
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    taken = gen_ops.strided_slice(input_, *bounds, **masks, name=name)
    return slicing.slice_of(var, taken, bounds, masks)


@public("tile", "manip.tile")
@takes(input=TENSOR, multiples=TENSORS)
@for_ragged("tile")
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor repeated along each dimension.

    Parameters
    ----------
    input
        The tensor, which may be ragged.
    multiples
        How often, for each dimension.
    name
        Name of the result.

    Examples
    --------
    >>> tf.tile([1, 2], [2]).eval()
    array([1, 2, 1, 2], dtype=int32)
    """
    return gen_ops.tile(input, multiples, name)


@public("gather")
@takes(params=TENSOR, indices=TENSOR, axis=TENSOR, batch_dims=INTEGER)
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The parts of a tensor at given indices of a dimension.

    Parameters
    ----------
    params
        The tensor, which may be ragged, or a variable.
    indices
        The indices, of any shape; it takes the place of the dimension. They may be ragged.
    validate_indices
        Not used: indices are always checked.
    name
        Name of the result.
    axis
        The dimension, by default `batch_dims`.
    batch_dims
        How many leading dimensions `params` and `indices` share.

    Examples
    --------
    >>> tf.gather([10, 20, 30], [2, 0]).eval()
    array([30, 10], dtype=int32)
    """
    if axis is None:
        axis = batch_dims
    if hasattr(params, "_rows_at") and axis == 0:
        rows_at: Tensor = params._rows_at(indices)
        return rows_at
    if hasattr(indices, "with_flat_values") and isinstance(axis, int) and axis == 0:
        found: Tensor = indices.with_flat_values(gather(params, indices.flat_values, name=name))
        return found
    rows = getattr(params, "sparse_read", None)
    if rows is not None and isinstance(axis, int) and axis == 0 and batch_dims == 0:
        return rows(indices, name=name)
    return gen_ops.gather_v2(params, indices, axis, batch_dims, name)


@public("where")
@takes(condition=TENSOR, x=TENSOR, y=TENSOR)
@for_ragged("where")
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where a condition holds, of `y` elsewhere; or where it holds.

    Parameters
    ----------
    condition
        Truth values: of the shape of `x`, or a vector that chooses rows. Without `x` and `y` also
        numbers, of which those that are not 0 count.
    x, y
        Tensors of one type and shape; ragged, if the condition is, and else they may be.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The elements; without `x` and `y`, the indices of the true elements, one a row, of int64.

    Raises
    ------
    ValueError
        Only one of `x` and `y` is given.

    Examples
    --------
    >>> tf.where([True, False], [1, 2], [3, 4]).eval()
    array([1, 4], dtype=int32)
    >>> tf.where([False, True, True]).eval().tolist()
    [[1], [2]]
    """
    if x is None and y is None:
        return gen_ops.where(condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be given or both be left out")
    return gen_ops.select(condition, x, y, name)
