"""The cluster that the environment of a process describes.

`from_environment` knows, in this order, ``TF_CONFIG`` (set by Kubeflow's TFJob, by ``millstream
cluster run`` and by hand), Kubernetes' Indexed Jobs and Slurm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.cluster import slurm_nodes
from millstream._impl.cluster.task import PS, Task
from millstream._impl.graph.arguments import Kind, or_none, takes

# The jobs of clusters whose tasks have numbers only: the first so many are parameter servers.
PS_VARIABLE = "MILLSTREAM_CLUSTER_PS"
# The port of each host's first task; further tasks of a host have the ports behind it.
PORT_VARIABLE = "MILLSTREAM_CLUSTER_PORT"
# Of an Indexed Job: how many tasks there are, and their hosts, "{}" standing for the number.
TASKS_VARIABLE = "MILLSTREAM_CLUSTER_TASKS"
HOSTS_VARIABLE = "MILLSTREAM_CLUSTER_HOSTS"
DEFAULT_PORT = 2222

_ENVIRONMENT = Kind("a dictionary of texts", lambda value: isinstance(value, Mapping))


@public("cluster.from_environment")
@takes(environment=or_none(_ENVIRONMENT))
def from_environment(environment: Mapping[str, str] | None = None) -> Task:
    """The place of this process in the cluster that its environment describes.

    The same program runs by itself, in a local cluster, and under Slurm and Kubernetes.

    Parameters
    ----------
    environment
        The variables, by default this process's: ``TF_CONFIG``; of an Indexed Job
        ``JOB_COMPLETION_INDEX``, ``MILLSTREAM_CLUSTER_TASKS`` and ``MILLSTREAM_CLUSTER_HOSTS``;
        those of a step of Slurm. The latter two also have ``MILLSTREAM_CLUSTER_PS``, the number
        of parameter servers, 0 by default, and ``MILLSTREAM_CLUSTER_PORT``.

    Returns
    -------
    Task
        Without a cluster where nothing describes one.

    Raises
    ------
    ValueError
        A variable says what cannot be.
    InvalidArgumentError
        An address has a port that is not from 0 to 65535.

    Examples
    --------
    >>> tf.cluster.from_environment({})
    <tf.cluster.Task without a cluster>
    >>> slurm = {
    ...     "SLURM_STEP_ID": "0", "SLURM_PROCID": "2", "SLURM_STEP_NODELIST": "n[1-2]",
    ...     "SLURM_STEP_TASKS_PER_NODE": "2,1", "MILLSTREAM_CLUSTER_PS": "1",
    ... }
    >>> task = tf.cluster.from_environment(slurm)
    >>> task.job_name, task.task_index, task.cluster
    ('worker', 1, ClusterSpec({'ps': ['n1:2222'], 'worker': ['n1:2223', 'n2:2222']}))
    """
    variables = os.environ if environment is None else environment
    if variables.get("TF_CONFIG"):
        return _of_tf_config(variables["TF_CONFIG"])
    if "JOB_COMPLETION_INDEX" in variables and TASKS_VARIABLE in variables:
        return _of_indexed_job(variables)
    if "SLURM_STEP_ID" in variables and "SLURM_PROCID" in variables:
        return _of_slurm(variables)
    return Task()


def _of_tf_config(text: str) -> Task:
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG: expected JSON, got {text!r}: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"TF_CONFIG: expected a JSON object, got {text!r}")
    cluster = config.get("cluster") or {}
    try:
        jobs = {job: _tasks_of(tasks) for job, tasks in cluster.items()}
        task = config.get("task") or {}
        return Task(jobs, str(task.get("type", "worker")), int(task.get("index", 0)))
    except errors.InvalidArgumentError as error:
        message = f"TF_CONFIG: {error.message}"
        raise errors.make(None, errors.INVALID_ARGUMENT, message, "") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            'TF_CONFIG: expected {"cluster": {JOB: [ADDRESS, ...]}, "task": {"type": JOB, '
            f'"index": NUMBER}}}}, got {text!r}: {error}'
        ) from None


def _tasks_of(tasks: Any) -> Any:
    """A job's tasks; numbers are texts in JSON."""
    return {int(i): address for i, address in tasks.items()} if isinstance(tasks, dict) else tasks


def _of_indexed_job(variables: Mapping[str, str]) -> Task:
    count = _number(variables, TASKS_VARIABLE)
    hosts = variables.get(HOSTS_VARIABLE, "")
    if "{}" not in hosts:
        raise ValueError(
            f"{HOSTS_VARIABLE}: expected a host's name with {{}} for the number, got {hosts!r}"
        )
    port = _number(variables, PORT_VARIABLE, DEFAULT_PORT)
    addresses = [f"{hosts.replace('{}', str(index))}:{port}" for index in range(count)]
    return _of_numbered(addresses, _number(variables, "JOB_COMPLETION_INDEX"), variables)


def _of_slurm(variables: Mapping[str, str]) -> Task:
    hosts = slurm_nodes.expand_hosts(
        _one_of(variables, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
    )
    counts = slurm_nodes.expand_counts(
        _one_of(variables, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
    )
    # "cyclic:block,Pack": over hosts, sockets and cores, and an option.
    distribution = variables.get("SLURM_DISTRIBUTION", "").split(",")[0].split(":")[0]
    if distribution in ("", "*"):
        distribution = "block"
    places = slurm_nodes.place_tasks(hosts, counts, distribution)
    if len(places) < 2:
        return Task()
    ports = _slurm_ports(variables, max(counts))
    addresses = [f"{host}:{ports[local]}" for host, local in places]
    return _of_numbered(addresses, _number(variables, "SLURM_PROCID"), variables)


def _slurm_ports(variables: Mapping[str, str], count: int) -> list[int]:
    """The ports of a host's tasks: those that ``srun --resv-ports`` reserved, or from the first."""
    reserved = variables.get("SLURM_STEP_RESV_PORTS", "")
    if reserved and PORT_VARIABLE not in variables:
        ports = [int(port) for port in slurm_nodes.expand_hosts(f"[{reserved}]")]
        if len(ports) < count:
            raise ValueError(f"SLURM_STEP_RESV_PORTS: expected {count} ports, got {reserved!r}")
        return ports
    first = _number(variables, PORT_VARIABLE, DEFAULT_PORT)
    return list(range(first, first + count))


def _of_numbered(addresses: list[str], number: int, variables: Mapping[str, str]) -> Task:
    """The place of task `number`: the first tasks are parameter servers."""
    ps = _number(variables, PS_VARIABLE, 0)
    if ps >= len(addresses):
        raise ValueError(f"{PS_VARIABLE}: expected less than {len(addresses)} tasks, got {ps}")
    if number >= len(addresses):
        raise ValueError(f"this process has number {number}, but there are {len(addresses)} tasks")
    jobs = {"worker": addresses[ps:]}
    if ps == 0:
        return Task(jobs, "worker", number)
    jobs = {PS: addresses[:ps], **jobs}
    return Task(jobs, PS, number) if number < ps else Task(jobs, "worker", number - ps)


def _number(variables: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = variables.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise ValueError(f"{name}: expected a number, got {text!r}")
    return int(text)


def _one_of(variables: Mapping[str, str], *names: str) -> str:
    for name in names:
        if name in variables:
            return variables[name]
    raise ValueError(f"expected the variable {' or '.join(names)} in a step of Slurm")
