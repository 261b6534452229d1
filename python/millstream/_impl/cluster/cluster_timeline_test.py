"""One timeline of a step that runs in several tasks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

# What each kind of event must have (Trace Event Format, section "Event Descriptions").
_FIELDS = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
    "M": {"name", "pid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "t": {"name", "cat", "id", "ts", "pid", "tid"},
    "C": {"name", "ts", "pid", "args"},
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def _trace(fetch: tf.Tensor, feeds: dict[Any, Any], target: str) -> Any:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(target) as sess:
        sess.run(fetch, feeds)
        sess.run(fetch, feeds, options=options, run_metadata=metadata)
    return metadata.step_stats


def _events(stats: Any) -> list[dict[str, Any]]:
    """The events, each of which has what its kind must have."""
    text = tf.timeline.Timeline(stats).generate_chrome_trace_format(show_memory=True)
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    for event in events:
        assert _FIELDS[event["ph"]] <= event.keys(), event
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    return events


def test_a_step_of_three_tasks_has_one_timeline() -> None:
    cluster = tf.train.ClusterSpec({"ps": free_addresses(2), "worker": free_addresses(1)})
    servers = [tf.train.Server(cluster, "ps", 0), tf.train.Server(cluster, "ps", 1)]
    servers.append(tf.train.Server(cluster, "worker", 0))
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        with tf.device("/job:ps/task:0"):
            first = tf.matmul(x, x, name="first")
        with tf.device("/job:ps/task:1"):
            second = tf.matmul(first, first, name="second")
        with tf.device("/job:worker/task:0"):
            result = tf.reduce_sum(second, name="result")
        stats = _trace(result, {x: np.ones([64, 64])}, servers[2].target)
    events = _events(stats)
    names = {
        event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"
    }
    assert sorted(name.replace("/replica:0", "") for name in names.values()) == [
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:1/device:CPU:0",
        "/job:worker/task:0/device:CPU:0",
    ]
    slices = {event["args"]["name"]: event for event in events if event["ph"] == "X"}
    assert "/job:ps/replica:0/task:0/" in names[slices["first"]["pid"]]
    assert "/job:ps/replica:0/task:1/" in names[slices["second"]["pid"]]
    assert "/job:worker/" in names[slices["result"]["pid"]]

    def ops_at(end: dict[str, Any]) -> list[str]:
        """What runs where an arrow begins or ends."""
        return [
            one["name"]
            for one in events
            if one["ph"] == "X"
            and (one["pid"], one["tid"]) == (end["pid"], end["tid"])
            and one["ts"] <= end["ts"] <= one["ts"] + one["dur"]
        ]

    # The tensors' ways from task to task: each arrow from a Send to a Receive.
    transfers = [event for event in events if event.get("cat") == "Transfer"]
    starts = {event["id"]: event for event in transfers if event["ph"] == "s"}
    ends = {event["id"]: event for event in transfers if event["ph"] == "t"}
    assert starts.keys() == ends.keys()
    ways = {(names[starts[i]["pid"]], names[ends[i]["pid"]]) for i in starts}
    task = "/job:{}/replica:0/task:{}/device:CPU:0"
    assert (task.format("ps", 0), task.format("ps", 1)) in ways
    assert (task.format("ps", 1), task.format("worker", 0)) in ways
    for number in starts:
        assert ops_at(starts[number]) == ["_Send"]
        assert ops_at(ends[number]) == ["_Recv"]
    # How well the clocks of the two other tasks are known. All have the clock of this machine.
    labels = [event["args"]["labels"] for event in events if event["name"] == "process_labels"]
    assert len(labels) == 2
    for label in labels:
        words = label.split()
        assert words[:3] == ["clock", "ahead", "by"]
        assert abs(float(words[3])) <= float(words[7]) + 0.1


def test_partition_graphs_of_all_tasks_are_reported() -> None:
    cluster = tf.train.ClusterSpec({"worker": free_addresses(2)})
    servers = [tf.train.Server(cluster, "worker", i) for i in range(2)]
    metadata = tf.RunMetadata()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:worker/task:1"):
            y = tf.negative(x, name="y")
        with tf.device("/job:worker/task:0"):
            z = tf.exp(y, name="z")
        options = tf.RunOptions(output_partition_graphs=True)
        with tf.Session(servers[0].target) as sess:
            sess.run(z, {x: 1.0}, options=options, run_metadata=metadata)
    devices = [{node.device for node in graph.node} for graph in metadata.partition_graphs]
    assert sorted(len(one) for one in devices) == [1, 1]
    assert {name for one in devices for name in one} == {
        f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)
    }
    assert not metadata.step_stats.dev_stats
