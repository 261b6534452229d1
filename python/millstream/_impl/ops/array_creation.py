"""Making tensors: constants by shape, placeholders, one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import DTYPE, INTEGER, SHAPE, TENSOR, takes
from millstream._impl.graph.convert import (
    constant,
    convert_to_tensor,
    dtype_of_tensor_in,
    holds_tensor,
)
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import dtypes, tensor_shape
from millstream._impl.values.dtypes import DType

lin_space = public("lin_space", "linspace")(gen_ops.lin_space)


def _dims_tensor(shape: Any) -> Tensor:
    if isinstance(shape, TensorLike):
        return shape.as_tensor()
    if isinstance(shape, tensor_shape.TensorShape):
        shape = shape.as_list()
    if not isinstance(shape, (list, tuple, np.ndarray)):
        shape = [shape]
    if holds_tensor(shape):
        dtype = dtype_of_tensor_in(shape)
        return convert_to_tensor(shape, dtype, "shape/packed")
    return convert_to_tensor(shape, dtypes.int32, "shape")


@public("zeros")
@takes(shape=SHAPE, dtype=DTYPE)
def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (empty strings, False).

    Parameters
    ----------
    shape
        A shape, list of integers and scalar tensors, or a vector tensor.
    dtype
        Type of the elements.
    name
        Name of the result.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.zeros([2, 3]).shape.as_list()
    [2, 3]
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    zero: Any = "" if wanted == dtypes.string else False if wanted.is_bool else 0
    return _filled(shape, zero, wanted, name, "zeros")


@public("ones")
@takes(shape=SHAPE, dtype=DTYPE)
def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True).

    Parameters
    ----------
    shape
        A shape, list of integers and scalar tensors, or a vector tensor.
    dtype
        Type of the elements.
    name
        Name of the result.

    Examples
    --------
    >>> tf.ones([2, 2], tf.int32).eval().tolist()
    [[1, 1], [1, 1]]
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    return _filled(shape, True if wanted.is_bool else 1, wanted, name, "ones")


def _filled(shape: Any, value: Any, dtype: DType, name: str | None, default_name: str) -> Tensor:
    with scopes.name_scope(name, default_name) as scope:
        known = _known_dims(shape)
        if known is not None and int(np.prod(known, dtype=np.int64)) < 1000:
            return constant(value, dtype, known, scope)
        return gen_ops.fill(_dims_tensor(shape), constant(value, dtype), name=scope)


def _known_dims(shape: Any) -> list[int] | None:
    """The dimensions of a shape argument that holds no tensor, None when it does."""
    if isinstance(shape, TensorLike) or holds_tensor(shape):
        return None
    dims = tensor_shape.as_shape(
        np.asarray(shape).tolist() if isinstance(shape, np.ndarray) else shape
    )
    if not dims.is_fully_defined():
        raise ValueError(f"shape: expected known dimensions, got {dims}")
    return [size or 0 for size in dims.as_list()]


@public("zeros_like")
@takes(tensor=TENSOR, dtype=DTYPE)
@for_ragged("elements")
def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """A tensor of zeros with the shape of another.

    Parameters
    ----------
    tensor
        The other tensor, which may be ragged.
    dtype
        Type of the elements, by default that of `tensor`.
    name
        Name of the result.
    optimize
        Not used: the runtime folds constants by itself.

    Examples
    --------
    >>> tf.zeros_like([[5, 6]]).eval()
    array([[0, 0]], dtype=int32)
    """
    with scopes.name_scope(name, "zeros_like", [tensor]) as scope:
        value = convert_to_tensor(tensor, name="tensor")
        if dtype is not None and value.dtype.base_dtype != dtypes.as_dtype(dtype):
            return zeros(gen_ops.shape(value), dtype, scope)
        return gen_ops.zeros_like(value, scope)


@public("ones_like")
@takes(tensor=TENSOR, dtype=DTYPE)
@for_ragged("elements")
def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """A tensor of ones with the shape of another.

    Parameters
    ----------
    tensor
        The other tensor, which may be ragged.
    dtype
        Type of the elements, by default that of `tensor`.
    name
        Name of the result.
    optimize
        Not used: the runtime folds constants by itself.

    Examples
    --------
    >>> tf.ones_like([[5, 6]]).eval()
    array([[1, 1]], dtype=int32)
    """
    with scopes.name_scope(name, "ones_like", [tensor]) as scope:
        value = convert_to_tensor(tensor, name="tensor")
        wanted = value.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype)
        if value.shape.is_fully_defined():
            return ones(value.shape, wanted, scope)
        return ones(gen_ops.shape(value), wanted, scope)


@public("fill")
@takes(dims=SHAPE, value=TENSOR)
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor whose elements are all one value.

    Parameters
    ----------
    dims
        Its dimensions.
    value
        The value, a scalar.
    name
        Name of the result.

    Examples
    --------
    >>> tf.fill([2, 2], 7).eval().tolist()
    [[7, 7], [7, 7]]
    """
    return gen_ops.fill(dims, value, name)


@public("placeholder")
@takes(dtype=DTYPE, shape=SHAPE)
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each step is fed.

    Parameters
    ----------
    dtype
        Type of the elements.
    shape
        What is known of the shape; None when nothing is.
    name
        Name of the operation.

    Raises
    ------
    TypeError
        `dtype` is no data type, or `shape` no shape.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.placeholder(tf.float32, [None, 784]).shape.as_list()
    [None, 784]
    """
    return gen_ops.placeholder(dtypes.as_dtype(dtype), tensor_shape.as_shape(shape), name=name)


@public("placeholder_with_default")
@takes(input=TENSOR, shape=SHAPE)
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor that has a value unless a step is fed another.

    Parameters
    ----------
    input
        The value.
    shape
        What is known of the shape of what may be fed.
    name
        Name of the operation.

    Examples
    --------
    >>> x = tf.placeholder_with_default([1.0], [None])
    >>> x.eval().tolist(), x.eval({x: [2.0, 3.0]}).tolist()
    ([1.0], [2.0, 3.0])
    """
    return gen_ops.placeholder_with_default(input, tensor_shape.as_shape(shape), name=name)


@public("one_hot")
@takes(indices=TENSOR, depth=TENSOR, on_value=TENSOR, off_value=TENSOR, axis=INTEGER, dtype=DTYPE)
@for_ragged("one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Vectors that have one value at an index and another elsewhere.

    Parameters
    ----------
    indices
        The indices, which may be ragged; those outside [0, depth) give no such place.
    depth
        Length of the vectors.
    on_value, off_value
        The values, by default 1 and 0.
    axis
        Where the new dimension is, by default last.
    dtype
        Type of the elements, by default that of the values, else float32.
    name
        Name of the result.

    Examples
    --------
    >>> tf.one_hot([1, 0], 3).eval().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    with scopes.name_scope(name, "one_hot", [indices]) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        on, off = _on_and_off(on_value, off_value, wanted)
        return gen_ops.one_hot(indices, depth, on, off, -1 if axis is None else axis, scope)


def _on_and_off(on_value: Any, off_value: Any, dtype: DType | None) -> tuple[Tensor, Tensor]:
    """The two values of `one_hot` in one type: that which is wanted, else that of the values."""
    given = {"on_value": on_value, "off_value": off_value}
    found = {
        name: convert_to_tensor(value, name=name, preferred_dtype=dtype)
        for name, value in given.items()
        if value is not None
    }
    for name, tensor in found.items():
        if dtype is None:
            dtype = tensor.dtype
        elif tensor.dtype != dtype:
            expected = "the wanted one" if len(found) == 1 else "that of both values"
            raise TypeError(
                f"{name}: expected the dtype {dtype.name}, {expected}, got {tensor.dtype.name}"
            )
    for name, default in (("on_value", 1), ("off_value", 0)):
        if name not in found:
            found[name] = convert_to_tensor(default, dtype or dtypes.float32, name)
    return found["on_value"], found["off_value"]
