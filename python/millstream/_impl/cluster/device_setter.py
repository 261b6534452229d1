"""Which task of a cluster has which operation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from millstream._impl.base.device_spec import DeviceSpec
from millstream._impl.base.public import public
from millstream._impl.cluster.cluster_spec import ClusterSpec
from millstream._impl.graph.arguments import FLAG, FUNCTION, INTEGER, NAMES, TEXT, or_none, takes

_LOG = logging.getLogger("millstream")

# What has state that all workers share.
_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
)


class _RoundRobin:
    """One parameter server after the other."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


@public("train.replica_device_setter")
@takes(
    ps_tasks=INTEGER,
    ps_device=or_none(TEXT),
    worker_device=or_none(TEXT),
    merge_devices=FLAG,
    ps_ops=or_none(NAMES),
    ps_strategy=or_none(FUNCTION),
)
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """A function for `tf.device` that puts variables on parameter servers.

    Parameters
    ----------
    ps_tasks
        How many parameter servers there are; `cluster` says it otherwise.
    ps_device
        The device of variables; the task is added.
    worker_device
        The device of everything else.
    merge_devices
        Complete devices that operations ask for. Without, such operations are left alone.
    cluster
        A `ClusterSpec` or what that takes; the job of `ps_device` says how many tasks there are.
    ps_ops
        The types of operations that go to parameter servers; by default variables and tables.
    ps_strategy
        A function from such an operation to the number of a task; by default, one after the other.

    Returns
    -------
    Callable or None
        The function; None where there is no parameter server.

    Raises
    ------
    TypeError
        An argument is of another type.

    Examples
    --------
    >>> cluster = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["w0:2222"]}
    >>> with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=cluster)):
    ...     [tf.Variable(1.0).device for _ in range(3)]
    ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:0']
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster)
        job = DeviceSpec.from_string(ps_device or "").job
        ps_tasks = jobs.num_tasks(job) if job is not None and job in jobs.jobs else 0
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _RoundRobin(ps_tasks)
    if not merge_devices:
        _LOG.warning("replica_device_setter: merge_devices=False leaves operations with a device")
    choose = _Chooser(
        DeviceSpec.from_string(ps_device or ""),
        DeviceSpec.from_string(worker_device or ""),
        merge_devices,
        frozenset(_PS_OPS if ps_ops is None else ps_ops),
        ps_strategy,
    )
    return choose.device_of


class _Chooser:
    """Says where an operation goes."""

    def __init__(
        self,
        ps_device: DeviceSpec,
        worker_device: DeviceSpec,
        merges: bool,
        ps_ops: frozenset[str],
        strategy: Callable[[Any], int],
    ) -> None:
        self._ps_device = ps_device
        self._worker_device = worker_device
        self._merges = merges
        self._ps_ops = ps_ops
        self._strategy = strategy

    def device_of(self, op: Any) -> str:
        """The device of an operation, completed."""
        asked = op.device or ""
        if asked and not self._merges:
            return asked
        current = DeviceSpec.from_string(asked)
        if op.type in self._ps_ops:
            device = self._ps_device
            if device.job and current.job in (None, device.job):
                device = device.replace(task=self._strategy(op))
            return device.make_merged_spec(current).to_string()
        return self._worker_device.make_merged_spec(current).to_string()
