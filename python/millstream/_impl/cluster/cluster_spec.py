"""Which tasks make up a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.public import public

_LAST_PORT = 65535


@public("train.ClusterSpec")
class ClusterSpec:
    """The jobs of a cluster, and the addresses of their tasks.

    Parameters
    ----------
    cluster
        A dictionary from the names of jobs to lists of addresses, or to dictionaries from numbers
        of tasks to addresses; a ``ClusterDef``; or another `ClusterSpec`.

    Raises
    ------
    TypeError
        It is none of these.

    Examples
    --------
    >>> cluster = tf.train.ClusterSpec({"ps": ["ps0:2222"], "worker": {1: "w1:2222"}})
    >>> cluster.jobs
    ['ps', 'worker']
    >>> cluster.task_address("worker", 1)
    'w1:2222'
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, dict[int, str]] = {}
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, protos.message_class("ClusterDef")):
            for job in cluster.job:
                self._jobs[job.name] = {int(i): str(job.tasks[i]) for i in job.tasks}
        elif isinstance(cluster, Mapping):
            self._jobs = {_text(job): _tasks(job, tasks) for job, tasks in cluster.items()}
        else:
            raise TypeError(
                "cluster: expected a dictionary from names of jobs to addresses, a tf.train."
                f"ClusterDef or a tf.train.ClusterSpec, got {cluster!r}"
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, Any]:
        """The tasks of each job: a list of addresses, or a dictionary where numbers are missing.

        Returns
        -------
        dict
            By the name of the job.
        """
        return {
            job: self.job_tasks(job) if sorted(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """The cluster as ``ClusterDef``.

        Returns
        -------
        ClusterDef
            With the jobs in the order of their names.
        """
        message = protos.message_class("ClusterDef")()
        for job, tasks in sorted(self._jobs.items()):
            added = message.job.add()
            added.name = job
            for index, address in sorted(tasks.items()):
                added.tasks[index] = address
        return message

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has.

        Parameters
        ----------
        job_name
            Name of the job.

        Raises
        ------
        ValueError
            There is no such job.
        """
        return len(self._of_job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks.

        Parameters
        ----------
        job_name
            Name of the job.

        Raises
        ------
        ValueError
            There is no such job.
        """
        return sorted(self._of_job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Parameters
        ----------
        job_name
            Name of the job.
        task_index
            Number of the task.

        Raises
        ------
        ValueError
            There is no such task.
        """
        tasks = self._of_job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks by number, None where there is none.

        Parameters
        ----------
        job_name
            Name of the job.

        Raises
        ------
        ValueError
            There is no such job.
        """
        tasks = self._of_job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _of_job(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}; its jobs are {self.jobs}")
        return self._jobs[job]


def check_ports(cluster: ClusterSpec) -> None:
    """Look at the ports of all tasks, as the runtime does (distributed_runtime/address.h).

    The system would take the lower 16 bits of a larger number. A `ClusterSpec` alone opens no port,
    and takes any text for an address, as in 1.15.

    Parameters
    ----------
    cluster
        The jobs and their addresses.

    Raises
    ------
    InvalidArgumentError
        A number is no port; the message has the task and its address.
    """
    for job in cluster.jobs:
        for index in cluster.task_indices(job):
            address = cluster.task_address(job, index)
            port = address.rpartition(":")[2]
            if address.startswith("unix:") or port == address or _is_port(port):
                continue
            message = (
                f"/job:{job}/replica:0/task:{index}: the address {address} has the port {port}, "
                f"expected 0 to {_LAST_PORT}"
            )
            raise errors.make(None, errors.INVALID_ARGUMENT, message, "")


def _is_port(text: str) -> bool:
    """Whether a text is a port, or no number at all."""
    is_signed = text.startswith(("-", "+"))
    digits = text[1:] if is_signed else text
    if not (digits.isascii() and digits.isdecimal()):
        return True
    digits = digits.lstrip("0") or "0"
    # Python reads no number of thousands of digits.
    return not is_signed and len(digits) <= len(str(_LAST_PORT)) and int(digits) <= _LAST_PORT


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    """The tasks of one job, by number."""
    if isinstance(tasks, Mapping):
        numbered = list(tasks.items())
    elif isinstance(tasks, (list, tuple)):
        numbered = list(enumerate(tasks))
    else:
        raise TypeError(
            f"cluster: expected a list or dictionary of tasks of {job!r}, got {tasks!r}"
        )
    for index, _ in numbered:
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"cluster: expected numbers of tasks of {job!r}, got {index!r}")
    return {index: _text(address) for index, address in numbered}


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"cluster: expected names and addresses, got {value!r}")
    return value
