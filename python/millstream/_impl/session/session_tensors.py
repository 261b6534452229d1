"""Tensors that a session keeps between steps, and their handles."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.session import tensor_handles
from millstream._impl.values.dtypes import as_dtype


@public("get_session_handle")
def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Keep a tensor in the session.

    A step that fetches the result gives a `TensorHandle`. Other steps of the session may feed it in
    the place of a value. Its text, `handle`, is for `tf.get_session_tensor`.

    Parameters
    ----------
    data
        The tensor.
    name
        Name of the operation.

    Raises
    ------
    TypeError
        `data` is no tensor.

    Examples
    --------
    >>> kept = tf.get_default_session().run(tf.get_session_handle(tf.constant([1.0, 2.0]) * 3.0))
    >>> kept.eval().tolist()
    [3.0, 6.0]
    >>> holder, value = tf.get_session_tensor(kept.handle, tf.float32)
    >>> (value + 1.0).eval({holder: kept.handle}).tolist()
    [4.0, 7.0]
    >>> kept.delete()
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"data: expected a tensor, got {data!r}")
    with scopes.colocate_with(data.op):
        handle: Tensor = gen_ops.get_session_handle(data, name=name)
        return handle


@public("get_session_tensor")
@takes(dtype=DTYPE)
def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A tensor that the session keeps.

    Parameters
    ----------
    handle
        The text of a handle, or a `TensorHandle`.
    dtype
        Its dtype.
    name
        Name of the operation.

    Returns
    -------
    tuple of Tensor
        A placeholder, to be fed with the text of any handle of that dtype, and the tensor.

    Raises
    ------
    InvalidArgumentError
        In a step: the session does not keep the tensor.

    Examples
    --------
    >>> kept = tf.get_default_session().run(tf.get_session_handle(tf.constant(3)))
    >>> holder, value = tf.get_session_tensor(kept.handle, tf.int32)
    >>> int(value.eval({holder: kept.handle}))
    3
    """
    return tensor_handles.kept_tensor(handle, as_dtype(dtype), name)


@public("delete_session_tensor")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """Let the session forget a tensor.

    Parameters
    ----------
    handle
        The text of a handle, or a `TensorHandle`.
    name
        Name of the operation.

    Returns
    -------
    tuple
        A placeholder, to be fed with the text of a handle, and the operation.

    Examples
    --------
    >>> kept = tf.get_default_session().run(tf.get_session_handle(tf.constant(3)))
    >>> holder, deleter = tf.delete_session_tensor(kept.handle)
    >>> deleter.run({holder: kept.handle})
    """
    return tensor_handles.deleter_of(handle, name)
