"""Operations of a group of devices, each of which has a node of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGER,
    INTEGERS,
    NUMBER,
    SHAPE,
    TENSOR,
    TEXT,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


def _check_size(function: str, group_size: int, least: int) -> None:
    if group_size < least:
        raise ValueError(
            f"Parameter group_size to {function} must be at least {least}, got {group_size}"
        )


@public("cluster.all_reduce")
@takes(
    t=TENSOR,
    group_size=INTEGER,
    group_key=INTEGER,
    instance_key=INTEGER,
    merge_op=TEXT,
    final_op=TEXT,
    subdiv_offsets=INTEGERS,
    communication_hint=TEXT,
)
def all_reduce(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
) -> Tensor:
    """Merge the tensors of all devices of a group, element by element.

    Each device has a node of its own, made under `tf.device`, and gets the result. A step that runs
    one waits until steps run all of them: the same step, or those of other sessions in a cluster.
    The bits of the result are the same on all devices and in each run.

    Parameters
    ----------
    t
        The device's tensor. All have one shape.
    group_size
        How many devices there are.
    group_key
        A number that the nodes of all operations of the group have.
    instance_key
        A number that the nodes of this operation have.
    merge_op
        ``"Add"``, ``"Mul"``, ``"Max"`` or ``"Min"``.
    final_op
        ``"Id"``, or ``"Div"``, which divides by `group_size`.
    subdiv_offsets, communication_hint
        Hints, not used.

    Raises
    ------
    ValueError
        `group_size` is below 1, or an operation has another name.

    Examples
    --------
    >>> results = []
    >>> for i in range(2):
    ...     with tf.device(f"/cpu:{i}"):
    ...         results.append(tf.cluster.all_reduce([1.0 + i], 2, 1, 1, "Add", "Id"))
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
    ...     [value.tolist() for value in session.run(results)]
    [[3.0], [3.0]]
    """
    _check_size("all_reduce", group_size, 1)
    return gen_ops.collective_reduce(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint,
    )


@public("cluster.all_gather")
@takes(
    t=TENSOR, group_size=INTEGER, group_key=INTEGER, instance_key=INTEGER, communication_hint=TEXT
)
def all_gather(
    t: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """Join the tensors of all devices of a group along their first dimension.

    The order is that of the devices' names. See `all_reduce` for groups.

    Parameters
    ----------
    t
        The device's tensor, of one dimension at least. All have one shape.
    group_size, group_key, instance_key, communication_hint
        As for `all_reduce`.

    Raises
    ------
    ValueError
        `group_size` is below 1, or `t` is a scalar.

    Examples
    --------
    >>> tf.cluster.all_gather([1.0, 2.0], 1, 1, 1).eval().tolist()
    [1.0, 2.0]
    """
    _check_size("all_gather", group_size, 1)
    return gen_ops.collective_gather(
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )


@public("cluster.reduce_scatter")
@takes(
    t=TENSOR,
    group_size=INTEGER,
    group_key=INTEGER,
    instance_key=INTEGER,
    merge_op=TEXT,
    final_op=TEXT,
    communication_hint=TEXT,
    timeout=NUMBER,
)
def reduce_scatter(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str,
    final_op: str,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Merge the tensors of all devices of a group; each device gets its part of the rows.

    Of `n` devices, the first one gets the first n-th of the rows. The order is that of the devices'
    names. A part has the bits of these rows of `all_reduce`. See there for groups.

    Parameters
    ----------
    t
        The device's tensor. All have one shape, whose first dimension `group_size` divides.
    group_size, group_key, instance_key, merge_op, final_op, communication_hint
        As for `all_reduce`.
    timeout
        For how many seconds a device waits for others before it gets `DeadlineExceededError`; 0: as
        long as its step.

    Raises
    ------
    ValueError
        `group_size` is below 1, an operation has another name, or `t` cannot be shared out.

    Examples
    --------
    >>> parts = []
    >>> for i in range(2):
    ...     with tf.device(f"/cpu:{i}"):
    ...         parts.append(tf.cluster.reduce_scatter([1.0, 2.0 + i], 2, 1, 1, "Add", "Id"))
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
    ...     [value.tolist() for value in session.run(parts)]
    [[2.0], [5.0]]
    """
    _check_size("reduce_scatter", group_size, 1)
    return gen_ops.collective_reduce_scatter_v2(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        ordering_token=[],
        merge_op=merge_op,
        final_op=final_op,
        communication_hint=communication_hint,
        timeout_seconds=timeout,
    )


@public("cluster.broadcast_send")
@takes(
    t=TENSOR,
    shape=SHAPE,
    dtype=DTYPE,
    group_size=INTEGER,
    group_key=INTEGER,
    instance_key=INTEGER,
    communication_hint=TEXT,
)
def broadcast_send(
    t: Any,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:
    """Give a tensor to all devices of a group, which call `broadcast_recv`; returns it.

    Parameters
    ----------
    t
        The tensor.
    shape, dtype
        Its shape and type, which it must have.
    group_size, group_key, instance_key, communication_hint
        As for `all_reduce`.

    Raises
    ------
    ValueError
        `group_size` is below 2, or `t` is of another shape or type.

    Examples
    --------
    >>> with tf.device("/cpu:0"):
    ...     sent = tf.cluster.broadcast_send([5.0], [1], tf.float32, 2, 1, 1)
    >>> with tf.device("/cpu:1"):
    ...     received = tf.cluster.broadcast_recv([1], tf.float32, 2, 1, 1)
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
    ...     session.run([sent, received])[1].tolist()
    [5.0]
    """
    _check_size("broadcast_send", group_size, 2)
    tensor = convert_to_tensor(t)
    wanted = TensorShape(shape)
    if tensor.dtype != dtypes.as_dtype(dtype):
        raise ValueError(
            f"Parameter dtype to broadcast_send was {dtypes.as_dtype(dtype).name}, but the tensor "
            f"has dtype {tensor.dtype.name}"
        )
    if not tensor.shape.is_compatible_with(wanted):
        raise ValueError(
            f"Shape of tensor {tensor.shape} not equal to the shape {wanted} of broadcast_send"
        )
    return gen_ops.collective_bcast_send(
        tensor,
        shape=wanted,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )


@public("cluster.broadcast_recv")
@takes(
    shape=SHAPE,
    dtype=DTYPE,
    group_size=INTEGER,
    group_key=INTEGER,
    instance_key=INTEGER,
    communication_hint=TEXT,
)
def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:
    """Get the tensor that one device of a group gives by `broadcast_send`.

    Parameters
    ----------
    shape, dtype
        Its shape and type.
    group_size, group_key, instance_key, communication_hint
        As for `all_reduce`.

    Raises
    ------
    ValueError
        `group_size` is below 2.

    Examples
    --------
    >>> tf.cluster.broadcast_recv([2, 3], tf.float32, 2, 1, 1).shape.as_list()
    [2, 3]
    """
    _check_size("broadcast_recv", group_size, 2)
    return gen_ops.collective_bcast_recv(
        dtypes.as_dtype(dtype),
        shape=TensorShape(shape),
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )
