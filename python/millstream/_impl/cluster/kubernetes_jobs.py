"""Manifests for Kubernetes: a cluster as an Indexed Job, or as a TFJob of Kubeflow.

A manifest is a dictionary. ``json.dumps`` makes a file of it that ``kubectl apply`` takes.
Reference: the API of Kubernetes, batch/v1 (success policies: 1.31 and later), and kubeflow.org/v1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.cluster import environment
from millstream._impl.graph.arguments import INTEGER, LIST, MAPPING, TEXT, or_none, takes

# Names of jobs become parts of the names of hosts, with a number behind them.
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
_CREDENTIALS_FOLDER = "/etc/millstream"
# What the operator of TFJobs looks for.
_TF_JOB_CONTAINER = "tensorflow"
_TF_JOB_PORT = {"name": "tfjob-port", "containerPort": environment.DEFAULT_PORT}

_TAKES = {
    "name": TEXT,
    "image": TEXT,
    "command": LIST,
    "credentials": or_none(TEXT),
    "ps": INTEGER,
    "workers": INTEGER,
    "resources": or_none(MAPPING),
}


@public("cluster.kubernetes.indexed_job")
@takes(**_TAKES, restarts=INTEGER, port=INTEGER)
def indexed_job(
    name: str,
    image: str,
    command: Sequence[str],
    credentials: str | None,
    ps: int = 0,
    workers: int = 1,
    resources: Mapping[str, Any] | None = None,
    restarts: int = 6,
    port: int = environment.DEFAULT_PORT,
) -> dict[str, Any]:
    """The manifest of a cluster as an Indexed Job, with the service that names its pods.

    The job is done when its chief, the first worker, is; the other pods are ended then.

    Parameters
    ----------
    name
        Name of the job and of the service; ``NAME-0.NAME`` is the host of the first task.
    image
        The container's image, with Millstream and the program in it.
    command
        The program and its arguments. It finds its place by `from_environment`.
    credentials
        Name of a secret with certificates for ``*.NAME``, and a token if there is one. None: there
        are none, because the network of the pods is closed and trusted.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    resources
        What each container asks for, as ``{"limits": {"cpu": 4}}``.
    restarts
        How often pods may fail, all together.
    port
        At which the tasks listen.

    Returns
    -------
    dict
        A list of two objects.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> manifest = tf.cluster.kubernetes.indexed_job(
    ...     "train", "example.org/train:1", ["python3", "train.py"], "train-tls", ps=2, workers=3
    ... )
    >>> [item["kind"] for item in manifest["items"]]
    ['Service', 'Job']
    >>> manifest["items"][1]["spec"]["completions"]
    5
    """
    _check(name, command, ps, workers)
    count = ps + workers
    variables = {
        environment.TASKS_VARIABLE: str(count),
        environment.HOSTS_VARIABLE: f"{name}-{{}}.{name}",
        environment.PS_VARIABLE: str(ps),
        environment.PORT_VARIABLE: str(port),
    }
    container = _container(name, image, command, credentials, resources, variables)
    container["ports"] = [{"name": "millstream", "containerPort": port}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",  # a name for each pod, and no address of its own
            "selector": {"job-name": name},
            "ports": [{"name": "millstream", "port": port}],
            "publishNotReadyAddresses": True,  # tasks wait for each other
        },
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            "backoffLimit": restarts,
            "successPolicy": {"rules": [{"succeededIndexes": str(ps)}]},
            "template": {
                "spec": {
                    "subdomain": name,
                    "restartPolicy": "OnFailure",
                    "containers": [container],
                    **_volumes(credentials),
                }
            },
        },
    }
    return {"apiVersion": "v1", "kind": "List", "items": [service, job]}


@public("cluster.kubernetes.tf_job")
@takes(**_TAKES)
def tf_job(
    name: str,
    image: str,
    command: Sequence[str],
    credentials: str | None,
    ps: int = 0,
    workers: int = 1,
    resources: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a cluster as a TFJob, whose operator sets ``TF_CONFIG``.

    Parameters
    ----------
    name
        Name of the job; ``NAME-worker-0.NAMESPACE.svc`` is the host of the first worker.
    image
        The container's image, with Millstream and the program in it.
    command
        The program and its arguments. It finds its place by `from_environment`.
    credentials
        Name of a secret with certificates for ``*.NAMESPACE.svc``, and a token if there is one.
        None: there are none, because the network of the pods is closed and trusted.
    ps
        How many parameter servers there are.
    workers
        How many workers there are.
    resources
        What each container asks for, as ``{"limits": {"cpu": 4}}``.

    Raises
    ------
    TypeError, ValueError
        An argument is not of this kind.

    Examples
    --------
    >>> manifest = tf.cluster.kubernetes.tf_job(
    ...     "train", "example.org/train:1", ["python3", "train.py"], "train-tls", ps=2, workers=3
    ... )
    >>> {job: spec["replicas"] for job, spec in manifest["spec"]["tfReplicaSpecs"].items()}
    {'PS': 2, 'Worker': 3}
    """
    _check(name, command, ps, workers)
    replicas = {"PS": ps, "Worker": workers} if ps else {"Worker": workers}
    specs = {}
    for job, count in replicas.items():
        container = _container(_TF_JOB_CONTAINER, image, command, credentials, resources, {})
        container["ports"] = [dict(_TF_JOB_PORT)]
        specs[job] = {
            "replicas": count,
            "restartPolicy": "OnFailure",
            "template": {"spec": {"containers": [container], **_volumes(credentials)}},
        }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "Running"}, "tfReplicaSpecs": specs},
    }


def _check(name: str, command: Sequence[str], ps: int, workers: int) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "name: expected at most 52 small letters, digits and hyphens, the first a letter and "
            f"the last no hyphen, got {name!r}"
        )
    if not command:
        raise ValueError("command: expected a program and its arguments, got nothing")
    if ps < 0 or workers < 1:
        raise ValueError(f"ps, workers: expected at least one worker, got {ps}, {workers}")


def _container(
    name: str,
    image: str,
    command: Sequence[str],
    credentials: str | None,
    resources: Mapping[str, Any] | None,
    variables: Mapping[str, str],
) -> dict[str, Any]:
    """The container of a task."""
    if credentials is None:
        variables = {**variables, "MILLSTREAM_CLUSTER_INSECURE": "1"}
    else:
        variables = {**variables, "MILLSTREAM_CLUSTER_CREDENTIALS": _CREDENTIALS_FOLDER}
    container: dict[str, Any] = {
        "name": name,
        "image": image,
        "command": list(command),
        "env": [{"name": variable, "value": value} for variable, value in variables.items()],
    }
    if credentials is not None:
        mount = {"name": "credentials", "mountPath": _CREDENTIALS_FOLDER, "readOnly": True}
        container["volumeMounts"] = [mount]
    if resources is not None:
        container["resources"] = dict(resources)
    return container


def _volumes(credentials: str | None) -> dict[str, Any]:
    """The part of a pod that gives its container the secret."""
    if credentials is None:
        return {}
    return {"volumes": [{"name": "credentials", "secret": {"secretName": credentials}}]}
