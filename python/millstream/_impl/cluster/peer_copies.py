"""Copies of what the tasks of a cluster hold, beside it and on their neighbours.

1. The tasks that hold variables form a ring. A copy has each tensor twice: on its own task, and on
   the next one, its peer. When a task has lost its memory, the others have all of the copy between
   them, unless one of them is its peer and has lost its memory too.
2. All tasks go back to the copy, so that their variables are of one step again. Those that still
   have their own go first: other processes go on when every variable has a value.
3. There are two slots. A copy overwrites the older one. It counts from the end of its step, so that
   one copy is complete at any time after the first, also while the next one is made.
4. Only the process that made a copy knows of it. So no program takes a copy of another one for its
   own, and a complete copy can only vanish with the memory of a task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.device_spec import DeviceSpec
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.variable_tensor import read
from millstream._impl.monitored.copies import CopyLostError
from millstream._impl.ops import control_ops, reductions
from millstream._impl.train.save_nodes import Item
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType

_SLOTS = 2


def by_task(items: Sequence[Item]) -> dict[str, list[Item]]:
    """What each task holds, by the device of its copies, in the order of the ring.

    Parameters
    ----------
    items
        What is copied.

    Returns
    -------
    dict
        Empty if no device names a job: there is no cluster.

    Raises
    ------
    ValueError
        A device names no task while others do, or one task holds everything.
    """
    specs = [DeviceSpec.from_string(item.device) for item in items]
    if all(spec.job is None for spec in specs):
        return {}
    tasks: dict[tuple[str, int], list[Item]] = {}
    for item, spec in zip(items, specs, strict=True):
        if spec.job is None or spec.task is None:
            raise ValueError(
                f"{item.tensors()[0].key}: to be copied, it must be on a device that names a task, "
                f"as tf.train.replica_device_setter gives it; it is on {item.device!r}"
            )
        tasks.setdefault((spec.job, spec.task), []).append(item)
    if len(tasks) == 1:
        ((job, task),) = tasks
        raise ValueError(
            f"/job:{job}/task:{task} holds all variables: copies need a second task that holds some"
        )
    return {_host(job, task): tasks[job, task] for job, task in sorted(tasks)}


def _host(job: str, task: int) -> str:
    return DeviceSpec(job=job, task=task, device_type="CPU", device_index=0).to_string()


class _Nodes(NamedTuple):
    """The nodes of one task's part of a copy at one place."""

    copied: Operation
    restored: Operation
    is_there: Tensor
    dropped: Operation


class PeerCopies:
    """Makes copies, and gives them back.

    Parameters
    ----------
    graph
        The graph, to which the nodes are added.
    tasks
        What `by_task` gives, of two tasks or more.
    step
        The global step, which is among the items.
    shortens
        Whether the session shortens numbers of float32 that go between tasks.

    Attributes
    ----------
    step
        Its value in the last complete copy; None: there is no such copy.
    """

    def __init__(
        self, graph: Graph, tasks: Mapping[str, Sequence[Item]], step: Any, shortens: bool
    ) -> None:
        self.step: int | None = None
        self._newest = _SLOTS - 1
        self._tasks = list(tasks)
        self._counter = step
        peers = [*self._tasks[1:], self._tasks[0]]
        with (
            graph.as_default(),
            graph.device(None),
            graph.control_dependencies(None),
            graph.name_scope("peer_copies"),
        ):
            # By slot and task: the nodes of what is on the task itself, and of what is on its peer.
            self._slots = [
                [
                    (
                        _nodes(graph, tasks[own], own, f"peer_copies/{slot}/own", False),
                        _nodes(graph, tasks[own], peer, f"peer_copies/{slot}/peer", shortens),
                    )
                    for own, peer in zip(self._tasks, peers, strict=True)
                ]
                for slot in range(_SLOTS)
            ]

    def copy(self, session: Any) -> int:
        """Make a copy in one step of the graph; its global step.

        Parameters
        ----------
        session
            The session.
        """
        slot = (self._newest + 1) % _SLOTS
        copied = [nodes.copied for both in self._slots[slot] for nodes in both]
        # The counter is fetched by the read that is copied, so that both have one value.
        _, step = session.run([copied, self._counter])
        self._newest = slot
        self.step = int(step)
        return self.step

    def restore(self, session: Any) -> None:
        """Give all variables the values of the last complete copy.

        Parameters
        ----------
        session
            The session.

        Raises
        ------
        CopyLostError
            A task and its peer have lost their memory, or there is no copy.
        """
        if self.step is None:
            raise CopyLostError("there is no copy")
        slot = self._slots[self._newest]
        found = session.run([[own.is_there, peer.is_there] for own, peer in slot])
        kept: list[Operation] = []
        lost: list[Operation] = []
        for task, (own, peer), (is_on_task, is_on_peer) in zip(
            self._tasks, slot, found, strict=True
        ):
            if is_on_task:
                kept.append(own.restored)
            elif is_on_peer:
                lost.append(peer.restored)
            else:
                self.step = None
                raise CopyLostError(f"{task} has lost its memory, and so has its peer")
        for restored in (kept, lost):
            if restored:
                session.run(restored)

    def drop(self, session: Any) -> None:
        """Free the memory of all copies.

        Parameters
        ----------
        session
            The session.
        """
        self.step = None
        session.run([nodes.dropped for slot in self._slots for both in slot for nodes in both])


def _nodes(graph: Graph, items: Sequence[Item], place: str, names: str, is_hidden: bool) -> _Nodes:
    """Add the nodes that copy items to `place`, under names that begin with `names`.

    If `is_hidden`, the bits of float32 go between tasks as integers, which no session shortens.
    """
    handles: list[Tensor] = []
    copied: list[Operation] = []
    restored: list[Operation] = []
    for item in items:
        values: list[Tensor] = []
        for tensor in item.tensors():
            hides = is_hidden and tensor.dtype.base_dtype == dtypes.float32
            given = _as_type(tensor.value, dtypes.int32, item) if hides else tensor.value
            with graph.device(place):
                handle = gen_ops.var_handle_op(
                    given.dtype.base_dtype,
                    given.shape,
                    shared_name=f"{names}/{tensor.key}:{tensor.spec}",
                )
                copied.append(gen_ops.assign_variable_op(handle, given))
            handles.append(handle)
            value = read(handle, given.dtype.base_dtype)
            values.append(_as_type(value, dtypes.float32, item) if hides else value)
        restored.append(item.restore_from(values, False))
    with graph.device(place):
        known = gen_ops.pack([gen_ops.var_is_initialized_op(handle) for handle in handles])
        return _Nodes(
            control_ops.group(*copied),
            control_ops.group(*restored),
            reductions.reduce_all(known),
            control_ops.group(*(gen_ops.destroy_resource_op(handle) for handle in handles)),
        )


def _as_type(value: Tensor, dtype: DType, item: Item) -> Tensor:
    """The same bits as numbers of another type, made where the item is."""
    with item.graph.device(item.device):
        made: Tensor = gen_ops.bitcast(value, dtype)
        return made
