"""What a process finds out about its cluster from its environment."""

from __future__ import annotations

import json
from typing import Any

import pytest

import millstream as tf
from millstream._impl.cluster import slurm_nodes

CLUSTER = {"ps": ["p0:1"], "worker": ["w0:1", "w1:2"]}


def _tf_config(**config: Any) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps(config)}


def _place(task: Any) -> tuple[str, int, dict[str, Any]]:
    return task.job_name, task.task_index, task.cluster.as_dict()


def test_tf_config_names_cluster_and_task() -> None:
    found = tf.cluster.from_environment(
        _tf_config(cluster=CLUSTER, task={"type": "worker", "index": "1"}, environment="cloud")
    )
    assert _place(found) == ("worker", 1, CLUSTER)
    assert not found.is_chief
    assert not found.is_ps
    again = tf.cluster.from_environment({"TF_CONFIG": found.as_tf_config()})
    assert _place(again) == _place(found)
    sparse = {"worker": {"1": "w1:2"}}
    found = tf.cluster.from_environment(
        _tf_config(cluster=sparse, task={"type": "worker", "index": 1})
    )
    assert found.cluster.task_address("worker", 1) == "w1:2"


def test_tf_config_comes_from_the_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", tf.cluster.Task(CLUSTER, "ps", 0).as_tf_config())
    found = tf.cluster.from_environment()
    assert _place(found) == ("ps", 0, CLUSTER)
    assert found.is_ps


@pytest.mark.parametrize(
    ("jobs", "job", "index", "expected"),
    [
        (("worker", "ps"), "worker", 0, True),
        (("worker", "ps"), "ps", 0, False),
        (("chief", "worker"), "chief", 0, True),
        (("chief", "worker"), "worker", 0, False),
        (("master", "worker"), "master", 0, True),
        (("worker",), "evaluator", 0, False),
    ],
)
def test_one_task_is_the_chief(jobs: Any, job: str, index: int, expected: bool) -> None:
    cluster = {name: [f"{name}:1"] for name in jobs}
    assert tf.cluster.Task(cluster, job, index).is_chief == expected


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"cluster": {"ps": 3}}', '{"cluster": [1]}',
     '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": "x"}}',
     '{"cluster": {"ps": ["a:1"]}, "task": 3}',
     '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 1}}',
     '{"cluster": {"ps": ["a:1"]}, "task": {"type": "worker"}}'],
)  # fmt: skip
def test_a_damaged_tf_config_is_an_error_that_shows_it(text: str) -> None:
    with pytest.raises(ValueError, match="TF_CONFIG: expected") as caught:
        tf.cluster.from_environment({"TF_CONFIG": text})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TF_CONFIG": ""},
        {"TF_CONFIG": "{}"},
        {"JOB_COMPLETION_INDEX": "3"},  # a job of pods that know nothing of each other
        {"SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "n[1-9]"},  # a batch script, not a step
        {
            "SLURM_STEP_ID": "0",
            "SLURM_PROCID": "0",
            "SLURM_STEP_NODELIST": "n1",
            "SLURM_STEP_TASKS_PER_NODE": "1",
        },
    ],
)
def test_without_a_cluster_one_process_does_all(environment: dict[str, str]) -> None:
    task = tf.cluster.from_environment(environment)
    assert not task.cluster
    assert task.is_chief
    assert not task.is_ps
    assert task.start_server() is None
    assert (task.target, task.device_setter()) == ("", None)
    with tf.Graph().as_default(), tf.device(task.device_setter()):
        variable = tf.Variable(2.0)
        with tf.Session(task.target) as session:
            session.run(variable.initializer)
            assert session.run(variable) == 2.0
    with pytest.raises(ValueError, match="nothing to serve"):
        task.serve()


@pytest.mark.parametrize("address", ["w0:65536", "w0:99999", "w0:-1", "[::1]:70000"])
def test_a_port_that_cannot_be_is_an_error_that_names_the_address(address: str) -> None:
    variables = _tf_config(
        cluster={"ps": ["p0:1"], "worker": ["w1:65535", address]}, task={"type": "ps"}
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="TF_CONFIG: ") as caught:
        tf.cluster.from_environment(variables)
    assert f"/job:worker/replica:0/task:1: the address {address} has" in caught.value.message


def test_ports_behind_the_last_one_are_an_error() -> None:
    variables = {
        "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NODELIST": "n1",
        "SLURM_STEP_TASKS_PER_NODE": "2", "MILLSTREAM_CLUSTER_PORT": "65535",
    }  # fmt: skip
    with pytest.raises(tf.errors.InvalidArgumentError, match="the address n1:65536 has"):
        tf.cluster.from_environment(variables)


def test_addresses_without_a_port_are_taken() -> None:
    addresses = ["host", "unix:/a/path:99999", "host:http", "host:", "host:00080"]
    task = tf.cluster.Task({"worker": addresses}, "worker", 0)
    assert task.cluster.job_tasks("worker") == addresses


def test_tasks_of_an_indexed_job_have_hosts_by_number() -> None:
    variables = {
        "JOB_COMPLETION_INDEX": "3",
        "MILLSTREAM_CLUSTER_TASKS": "4",
        "MILLSTREAM_CLUSTER_HOSTS": "train-{}.train",
        "MILLSTREAM_CLUSTER_PS": "2",
        "MILLSTREAM_CLUSTER_PORT": "3000",
    }
    cluster = {
        "ps": ["train-0.train:3000", "train-1.train:3000"],
        "worker": ["train-2.train:3000", "train-3.train:3000"],
    }
    assert _place(tf.cluster.from_environment(variables)) == ("worker", 1, cluster)
    variables["JOB_COMPLETION_INDEX"] = "1"
    assert _place(tf.cluster.from_environment(variables)) == ("ps", 1, cluster)
    for name, value, what in (
        ("JOB_COMPLETION_INDEX", "4", "there are 4 tasks"),
        ("JOB_COMPLETION_INDEX", "-1", "JOB_COMPLETION_INDEX: expected a number"),
        ("MILLSTREAM_CLUSTER_PS", "4", "less than 4"),
        ("MILLSTREAM_CLUSTER_HOSTS", "train", "for the number"),
    ):
        with pytest.raises(ValueError, match=what):
            tf.cluster.from_environment({**variables, name: value})


def _slurm(**more: str) -> dict[str, str]:
    return {
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": "0",
        "SLURM_JOB_NODELIST": "n[08-10]",
        "SLURM_TASKS_PER_NODE": "2(x2),1",
        **more,
    }


def test_tasks_of_slurm_are_placed_in_blocks() -> None:
    hosts = ["n08:2222", "n08:2223", "n09:2222", "n09:2223", "n10:2222"]
    assert _place(tf.cluster.from_environment(_slurm())) == ("worker", 0, {"worker": hosts})
    found = tf.cluster.from_environment(
        _slurm(SLURM_PROCID="4", MILLSTREAM_CLUSTER_PS="2", SLURM_DISTRIBUTION="block:cyclic,Pack")
    )
    assert _place(found) == ("worker", 2, {"ps": hosts[:2], "worker": hosts[2:]})


def test_tasks_of_slurm_are_placed_in_turn_and_on_reserved_ports() -> None:
    found = tf.cluster.from_environment(
        _slurm(SLURM_DISTRIBUTION="cyclic", SLURM_STEP_RESV_PORTS="12000,12004-12005")
    )
    assert found.cluster.job_tasks("worker") == [
        *("n08:12000", "n09:12000", "n10:12000"),
        *("n08:12004", "n09:12004"),
    ]
    with pytest.raises(ValueError, match="expected 2 ports"):
        tf.cluster.from_environment(_slurm(SLURM_STEP_RESV_PORTS="12000"))
    with pytest.raises(ValueError, match="'plane'"):
        tf.cluster.from_environment(_slurm(SLURM_DISTRIBUTION="plane"))
    with pytest.raises(ValueError, match="SLURM_STEP_NODELIST or SLURM_JOB_NODELIST"):
        tf.cluster.from_environment({"SLURM_STEP_ID": "0", "SLURM_PROCID": "0"})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a"]),
        ("a,b-1", ["a", "b-1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[008-010,7]x,login", ["n008x", "n009x", "n010x", "n7x", "login"]),
        ("r[1-2]n[0,5]", ["r1n0", "r1n5", "r2n0", "r2n5"]),
        ("[1-2]", ["1", "2"]),
    ],
)
def test_lists_of_hosts(text: str, hosts: list[str]) -> None:
    assert slurm_nodes.expand_hosts(text) == hosts


@pytest.mark.parametrize(
    "text", ["", "a,,b", "n[", "n]", "n[1-]", "n[a-b]", "n[3-1]", "n[0-99999999]", "n[]", "n[[1]]",
             "n[0-65535][1-2]"]
)  # fmt: skip
def test_damaged_lists_of_hosts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"hosts|range|brackets"):
        slurm_nodes.expand_hosts(text)


def test_lists_of_counts() -> None:
    assert slurm_nodes.expand_counts("2(x3),1") == [2, 2, 2, 1]
    for text in ("", "x", "2(3)", "1(x99999999)"):
        with pytest.raises(ValueError, match="numbers of tasks"):
            slurm_nodes.expand_counts(text)
    with pytest.raises(ValueError, match="for each host"):
        slurm_nodes.place_tasks(["a"], [1, 1], "block")
