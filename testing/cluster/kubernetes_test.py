"""Manifests are what the models of Kubernetes' and Kubeflow's own packages take.

The models refuse values that the API does not allow. A field that they do not know is lost on the
way through them, so that the manifest comes back changed.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import pytest

import millstream as tf
import python_environment

PINS = pathlib.Path("tools/requirements/kubernetes.txt")

# Reads a list of pairs of a model's name and an object, and writes what the models make of them.
CHECK = """
import json, sys
import kubeflow.training, kubernetes.client
class Response:
    def __init__(self, value):
        self.data = json.dumps(value)
def passed(model, value):
    package = kubeflow.training if model.startswith("Kubeflow") else kubernetes.client
    api = package.ApiClient()
    made = api.deserialize(Response(value), model)
    return api.sanitize_for_serialization(made)
json.dump([passed(*pair) for pair in json.load(sys.stdin)], sys.stdout)
"""


def _pass(*pairs: tuple[str, Any]) -> Any:
    """What comes back of objects that go through their models."""
    python = python_environment.PythonEnvironment(PINS, "kubernetes").program("python")
    done = subprocess.run(
        [python, "-I", "-c", CHECK],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("credentials", ["train-tls", None])
def test_an_indexed_job_is_valid(credentials: str | None) -> None:
    resources = {"limits": {"cpu": "4", "memory": "8Gi"}}
    service, job = tf.cluster.kubernetes.indexed_job(
        "train", "example.org/train:1", ["python3", "train.py"], credentials, 2, 3, resources
    )["items"]
    assert _pass(("V1Service", service), ("V1Job", job)) == [service, job]


def test_a_tf_job_and_its_pods_are_valid() -> None:
    job = tf.cluster.kubernetes.tf_job(
        "train", "example.org/train:1", ["python3", "train.py"], "train-tls", ps=2, workers=3
    )
    pods = [spec["template"] for spec in job["spec"]["tfReplicaSpecs"].values()]
    assert _pass(*(("V1PodTemplateSpec", pod) for pod in pods)) == pods
    assert _pass(("KubeflowOrgV1TFJob", job)) == [job]


def test_a_field_that_is_not_there_is_found() -> None:
    service, _ = tf.cluster.kubernetes.indexed_job("train", "i", ["c"], None)["items"]
    service["spec"]["port"] = 1
    assert _pass(("V1Service", service)) != [service]
