"""Manifests and scripts that start clusters elsewhere say what tasks need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millstream as tf

IMAGE = "example.org/train:1"
COMMAND = ["python3", "train.py"]


def _indexed_job(**arguments: Any) -> tuple[Any, Any]:
    manifest = tf.cluster.kubernetes.indexed_job("train", IMAGE, COMMAND, **arguments)
    assert json.loads(json.dumps(manifest)) == manifest
    service, job = manifest["items"]
    return service, job


def test_each_pod_of_an_indexed_job_finds_its_place() -> None:
    service, job = _indexed_job(credentials="train-tls", ps=2, workers=3, port=3000)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    places = [
        tf.cluster.from_environment({**variables, "JOB_COMPLETION_INDEX": str(index)})
        for index in range(job["spec"]["completions"])
    ]
    assert [(one.job_name, one.task_index) for one in places] == [
        *(("ps", 0), ("ps", 1)),
        *(("worker", 0), ("worker", 1), ("worker", 2)),
    ]
    # Kubernetes names the pod NAME-NUMBER, in the domain of the service.
    domain = f"{pod['subdomain']}:{service['spec']['ports'][0]['port']}"
    assert places[0].cluster.task_address("worker", 0) == f"{job['metadata']['name']}-2.{domain}"
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    # The job is done when the chief is.
    (rule,) = job["spec"]["successPolicy"]["rules"]
    assert places[int(rule["succeededIndexes"])].is_chief
    assert variables["MILLSTREAM_CLUSTER_CREDENTIALS"] == container["volumeMounts"][0]["mountPath"]
    assert pod["volumes"][0]["secret"] == {"secretName": "train-tls"}
    assert "MILLSTREAM_CLUSTER_INSECURE" not in variables


def test_without_credentials_tasks_are_told_so() -> None:
    _, job = _indexed_job(credentials=None, resources={"limits": {"cpu": 4}})
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "MILLSTREAM_CLUSTER_INSECURE", "value": "1"} in container["env"]
    assert container["resources"] == {"limits": {"cpu": 4}}
    assert "volumes" not in pod


def test_a_tf_job_has_the_names_that_its_operator_looks_for() -> None:
    manifest = tf.cluster.kubernetes.tf_job("train", IMAGE, COMMAND, "train-tls", ps=1, workers=2)
    assert (manifest["apiVersion"], manifest["kind"]) == ("kubeflow.org/v1", "TFJob")
    for spec in manifest["spec"]["tfReplicaSpecs"].values():
        (container,) = spec["template"]["spec"]["containers"]
        assert container["name"] == "tensorflow"
        assert container["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]
    alone = tf.cluster.kubernetes.tf_job("train", IMAGE, COMMAND, None)
    assert list(alone["spec"]["tfReplicaSpecs"]) == ["Worker"]


@pytest.mark.parametrize("name", ["", "Train", "1train", "train-", "a" * 53, "a.b"])
def test_names_that_are_no_names_of_hosts_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name: expected at most 52"):
        tf.cluster.kubernetes.tf_job(name, IMAGE, COMMAND, None)


def test_wrong_numbers_and_options_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        _indexed_job(credentials=None, workers=0)
    with pytest.raises(ValueError, match="expected a program"):
        tf.cluster.kubernetes.indexed_job("train", IMAGE, [], None)
    with pytest.raises(ValueError, match="at least one worker"):
        tf.cluster.slurm.script(COMMAND, None, workers=0)
    with pytest.raises(ValueError, match="expected options of sbatch"):
        tf.cluster.slurm.script(COMMAND, None, options=["rm"])


# What `srun` does with the script's last lines, on one host: starts all tasks, passes their output
# on, and ends with the highest status.
_SRUN = """#!/usr/bin/python3
import os, subprocess, sys
start = sys.argv.index("bash")
count = int(os.environ["SLURM_NTASKS"])
tasks = []
for number in range(count):
    variables = {
        "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number), "SLURM_STEP_NODELIST": "localhost",
        "SLURM_STEP_TASKS_PER_NODE": str(count), "SLURM_DISTRIBUTION": "block",
    }
    tasks.append(subprocess.Popen(sys.argv[start:], env={**os.environ, **variables}))
sys.exit(max(task.wait() for task in tasks))
"""
_PROGRAM = """
import os, signal, sys
import millstream as tf
task = tf.cluster.from_environment()
told = (task.job_name, task.task_index, task.cluster.num_tasks("worker"), *sys.argv[1:])
# Tasks share the output: a line is one write.
os.write(1, (" ".join(map(str, told)) + "\\n").encode())
if task.is_ps:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    open("fifo", "w").close()
    while True:
        signal.pause()
if task.is_chief and "ps" in task.cluster.jobs:
    open("fifo").read()  # until the parameter server is ready
sys.exit(int(os.environ.get("STATUS", "0")) if task.is_chief else 0)
"""


@pytest.mark.parametrize("status", [0, 3])
def test_the_script_of_slurm_runs_all_tasks_and_ends_them(tmp_path: Path, status: int) -> None:
    srun = tmp_path / "srun"
    srun.write_text(_SRUN)
    srun.chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program), "a b"]
    # Where a task fails, srun ends the others; that of the test has no others to end.
    ps = 1 if status == 0 else 0
    text = tf.cluster.slurm.script(command, None, ps=ps, workers=2, options=["--nodes=1"])
    assert "#SBATCH --nodes=1" in text.splitlines()
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "SLURM_NTASKS": str(ps + 2),
        "SLURM_JOB_ID": "71",
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "STATUS": str(status),
    }
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    expected = {"worker 0 2 a b", "worker 1 2 a b", *(["ps 0 2 a b"] * ps)}
    assert set(done.stdout.splitlines()) == expected
    assert list(tmp_path.glob("*.done")) == []
