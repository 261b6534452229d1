"""Checks of types and ranks while the graph is built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, LIST, TENSOR, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Operation
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.control_ops import no_op
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType


@public("assert_type", "debugging.assert_type")
@takes(tensor=TENSOR, tf_type=DTYPE, message=TEXT)
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """Raise TypeError unless a tensor has a dtype.

    Parameters
    ----------
    tensor
        A tensor, or what becomes one.
    tf_type
        The dtype.
    message
        Put before the error's own message.
    name
        Name of the operation that is returned.

    Returns
    -------
    Operation
        One that does nothing.

    Raises
    ------
    TypeError
        The tensor has another dtype, or `tf_type` is none.

    Examples
    --------
    >>> tf.assert_type(tf.constant(1.0), tf.float32).type
    'NoOp'
    """
    wanted = dtypes.as_dtype(tf_type)
    with scopes.name_scope(name, "assert_type", [tensor]):
        found = convert_to_tensor(tensor, name="tensor")
        if found.dtype != wanted:
            raise TypeError(
                f"{_prefix(message)}tensor: expected {wanted.name}, got {found.dtype.name} of "
                f"{found!r}"
            )
        return no_op("statically_determined_correct_type")


@public("assert_integer", "debugging.assert_integer")
@takes(x=TENSOR, message=TEXT)
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Raise TypeError unless a tensor has integer elements.

    Parameters
    ----------
    x
        A tensor, or what becomes one.
    message
        Put before the error's own message.
    name
        Name of the scope of the operation that is returned.

    Returns
    -------
    Operation
        One that does nothing.

    Raises
    ------
    TypeError
        The elements are no integers.

    Examples
    --------
    >>> tf.assert_integer([1, 2]).type
    'NoOp'
    """
    with scopes.name_scope(name, "assert_integer", [x]):
        found = convert_to_tensor(x, name="x")
        if not found.dtype.is_integer:
            raise TypeError(
                f"{_prefix(message)}Expected an integer type for x, got {found.dtype.name} of "
                f"{found!r}"
            )
        return no_op("statically_determined_was_integer")


def _prefix(message: str | None) -> str:
    return f"{message}  " if message else ""


@public("assert_scalar", "debugging.assert_scalar")
@takes(tensor=TENSOR, message=TEXT)
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """Raise ValueError unless a tensor is known to have rank 0.

    Parameters
    ----------
    tensor
        A tensor, or what becomes one.
    name
        Name of the scope.
    message
        Put before the error's own message.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        The rank is another, or not known.

    Examples
    --------
    >>> tf.assert_scalar(tf.constant(3)).dtype.name
    'int32'
    """
    with scopes.name_scope(name, "assert_scalar", [tensor]):
        found = convert_to_tensor(tensor)
        if found.shape.ndims != 0:
            raise ValueError(
                f"{_prefix(message)}tensor: expected a scalar, got the shape {found.shape} of "
                f"{found!r}"
            )
        return found


@public("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError unless a value is an iterable that is meant to be iterated over.

    Parameters
    ----------
    values
        A list, tuple or other iterable: no tensor, text, bytes or array.

    Raises
    ------
    TypeError
        It is none.

    Examples
    --------
    >>> tf.assert_proper_iterable([tf.constant(1)])
    """
    single = (TensorLike, str, bytes, dict)
    is_array = hasattr(values, "__array__")
    if isinstance(values, single) or is_array or not isinstance(values, Iterable):
        kind = "iterable" if not isinstance(values, Iterable) else "a proper iterable"
        raise TypeError(
            f"values: expected argument to be {kind}, as a list of tensors, got {values!r}"
        )


@public("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether a value is a tensor of numbers.

    Parameters
    ----------
    tensor
        Any value.

    Examples
    --------
    >>> [tf.is_numeric_tensor(x) for x in (tf.constant(1), tf.constant("a"), 1)]
    [True, False, False]
    """
    if not isinstance(tensor, TensorLike):
        return False
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_quantized


@public("assert_same_float_dtype", "debugging.assert_same_float_dtype")
@takes(tensors=LIST, dtype=DTYPE)
def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: Any = None) -> DType:
    """The floating-point dtype that several tensors share.

    Parameters
    ----------
    tensors
        Tensors, of which None ones do not count.
    dtype
        The dtype that they must have, or None.

    Returns
    -------
    DType
        Their dtype; float32 when there is neither a tensor nor a `dtype`.

    Raises
    ------
    ValueError
        The dtypes differ, or are not floating-point.

    Examples
    --------
    >>> tf.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])])
    tf.float32
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    for tensor in tensors or ():
        if tensor is None:
            continue
        if not isinstance(tensor, (TensorLike, IndexedSlices)):
            raise TypeError(f"tensors: expected tensors, got {tensor!r}")
        found = tensor.dtype.base_dtype
        if wanted is not None and found != wanted:
            raise ValueError(f"tensors: expected {wanted.name}, got {found.name} of {tensor!r}")
        wanted = found
    if wanted is None:
        return dtypes.float32
    if not wanted.is_floating:
        raise ValueError(f"dtype: expected floating-point numbers, got {wanted.name}")
    return wanted
