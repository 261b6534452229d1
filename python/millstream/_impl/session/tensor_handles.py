"""Handles of tensors that a session keeps, as steps give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from millstream._impl.session.base_session import BaseSession
    from millstream._impl.values.dtypes import DType

OPS = frozenset({"GetSessionHandle"})  # their outputs are handles


class TensorHandle:
    """Stands for a tensor that a session keeps.

    Parameters
    ----------
    handle
        Its text.
    dtype
        Dtype of the tensor.
    session
        The session.
    """

    def __init__(self, handle: bytes, dtype: DType, session: BaseSession) -> None:
        self._handle = handle.decode()
        self._dtype = dtype
        self._session = session

    @property
    def handle(self) -> str:
        """The text by which the session finds the tensor."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """Dtype of the tensor."""
        return self._dtype

    def __str__(self) -> str:
        return self._handle

    def to_raw_string(self) -> str:
        """The text by which the session finds the tensor."""
        return self._handle

    def eval(self) -> Any:
        """The value of the tensor."""
        with self._session.graph.as_default():
            holder, value = kept_tensor(self, self._dtype)
        return self._session.run(value, {holder: self._handle})

    def delete(self) -> None:
        """Let the session forget the tensor."""
        with self._session.graph.as_default():
            holder, deleter = deleter_of(self)
        self._session.run(deleter, {holder: self._handle})


def kept_tensor(handle: Any, dtype: DType, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for a handle, and the tensor that it leads to."""
    with scopes.device(_device_of(handle)):
        holder = placeholder(dtypes.string, [])
        value: Tensor = gen_ops.get_session_tensor(holder, dtype, name=name)
    return holder, value


def deleter_of(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """A placeholder for a handle, and the operation that lets the session forget its tensor."""
    with scopes.device(_device_of(handle)):
        holder = placeholder(dtypes.string, [])
        deleter: Operation = gen_ops.delete_session_tensor(holder, name=name)
    return holder, deleter


def _device_of(handle: Any) -> str:
    """The device that the text of a handle names."""
    if isinstance(handle, TensorHandle):
        handle = handle.handle
    if isinstance(handle, bytes):
        handle = handle.decode()
    if not isinstance(handle, str):
        raise TypeError(f"handle: expected the text of a handle, got {handle!r}")
    parts = handle.split(";")
    if len(parts) != 3:
        raise ValueError(f"handle: expected the handle of a kept tensor, got {handle!r}")
    return parts[2]
