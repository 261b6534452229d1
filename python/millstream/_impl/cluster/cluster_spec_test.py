"""Clusters as data, and the devices that replicas ask for."""

from __future__ import annotations

import pytest

import millstream as tf

_CLUSTER = {"worker": ["w0:1", "w1:1"], "ps": {2: "p2:1"}}


def test_a_cluster_is_known_by_its_jobs_and_tasks() -> None:
    cluster = tf.train.ClusterSpec(_CLUSTER)
    assert cluster.jobs == ["worker", "ps"]
    assert cluster.as_dict() == _CLUSTER
    assert cluster.num_tasks("ps") == 1
    assert cluster.task_indices("ps") == [2]
    assert cluster.task_address("worker", 1) == "w1:1"
    assert cluster.job_tasks("ps") == [None, None, "p2:1"]
    assert bool(cluster)
    assert not tf.train.ClusterSpec({})


def test_a_cluster_goes_through_its_message() -> None:
    cluster = tf.train.ClusterSpec(_CLUSTER)
    again = tf.train.ClusterSpec(cluster.as_cluster_def())
    assert again == cluster
    assert tf.train.ClusterSpec(again) == cluster
    assert [job.name for job in cluster.as_cluster_def().job] == ["ps", "worker"]


def test_what_a_cluster_does_not_have_is_named() -> None:
    cluster = tf.train.ClusterSpec(_CLUSTER)
    with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
        cluster.num_tasks("chief")
    with pytest.raises(ValueError, match="No task with index 7 in job 'worker'"):
        cluster.task_address("worker", 7)
    for wrong in (3, {"ps": 3}, {"ps": {"a": "b"}}, {"ps": [3]}):
        with pytest.raises(TypeError, match="cluster: expected"):
            tf.train.ClusterSpec(wrong)


def test_variables_go_to_parameter_servers_in_turn() -> None:
    setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:3")
    with tf.Graph().as_default(), tf.device(setter):
        variables = [tf.Variable(float(i), use_resource=True) for i in range(3)]
        total = tf.add_n([v.read_value() for v in variables])
    assert [v.device for v in variables] == [f"/job:ps/task:{i}" for i in (0, 1, 0)]
    assert total.device == "/job:worker/task:3"


def test_a_strategy_chooses_and_devices_are_merged() -> None:
    setter = tf.train.replica_device_setter(ps_tasks=8, ps_strategy=lambda op: 5)
    with tf.Graph().as_default(), tf.device(setter), tf.device("/cpu:0"):
        variable = tf.Variable(1.0)
        sum_ = variable + 1.0
    assert variable.device == "/job:ps/task:5/device:CPU:0"
    assert sum_.device == "/job:worker/device:CPU:0"
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["w:1"]}) is None
