"""Run metadata: what a traced step reports, and its timeline."""

import json
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.session.timeline import Timeline


def traced_step(session: tf.Session, fetches: object, feeds: object = None) -> tf.RunMetadata:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    return metadata


def product() -> tuple[tf.Tensor, tf.Tensor]:
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    # With constant weights both would be one node, a dense layer.
    weights = tf.fill([64, 32], tf.reduce_max(x))
    return x, tf.nn.relu(tf.matmul(x, weights, name="product"), name="positive")


def test_every_node_that_ran_is_reported_with_times_and_memory() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = product()
        metadata = traced_step(session, y, {x: np.ones([4, 64])})
        (device,) = metadata.step_stats.dev_stats
        assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
        nodes = {node.node_name: node for node in device.node_stats}
        assert {"product", "positive"} <= set(nodes)
        matmul = nodes["product"]
        assert matmul.all_start_micros > 1_600_000_000_000_000  # since 1970
        assert matmul.all_start_nanos // 1000 == matmul.all_start_micros
        assert 0 <= matmul.op_end_rel_nanos <= matmul.all_end_rel_nanos
        assert nodes["positive"].all_start_nanos >= matmul.all_start_nanos
        assert matmul.timeline_label.startswith("product = MatMul(x, ")
        (output,) = matmul.output
        assert [dim.size for dim in output.tensor_description.shape.dim] == [4, 32]
        assert output.tensor_description.allocation_description.requested_bytes == 4 * 32 * 4
        (memory,) = nodes["positive"].memory
        assert memory.total_bytes == 4 * 32 * 4  # the fetched tensor has memory of its own


def test_a_step_that_asks_for_nothing_reports_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = product()
        metadata = tf.RunMetadata()
        feeds = {x: np.ones([8, 64])}
        session.run(y, feeds, run_metadata=metadata)
        assert metadata == tf.RunMetadata()
        session.run(y, feeds, options=tf.RunOptions(), run_metadata=metadata)
        assert metadata == tf.RunMetadata()


def test_a_traced_step_gives_the_same_values() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = product()
        feeds = {x: np.arange(128).reshape(2, 64)}
        plain = session.run(y, feeds)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        traced = session.run(y, feeds, options=options, run_metadata=tf.RunMetadata())
        assert plain.tobytes() == traced.tobytes()


def test_partition_graphs_are_what_each_device_runs() -> None:
    with tf.Graph().as_default():
        x, y = product()
        with tf.device("/cpu:1"):
            z = tf.negative(y, name="z")
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(output_partition_graphs=True)
            session.run(z, {x: np.ones([1, 64])}, options=options, run_metadata=metadata)
    first, second = metadata.partition_graphs
    assert {node.device[-5:] for node in first.node} == {"CPU:0"}
    assert {node.device[-5:] for node in second.node} == {"CPU:1"}
    assert {"product", "positive"} <= {node.name for node in first.node}
    assert "z" in {node.name for node in second.node}
    assert metadata.step_stats == tf.RunMetadata().step_stats


def test_the_timeline_has_a_slice_a_node_and_arrows_between_devices() -> None:
    with tf.Graph().as_default():
        x, y = product()
        with tf.device("/cpu:1"):
            z = tf.negative(y, name="z")
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            metadata = traced_step(session, z, {x: np.ones([1, 64])})
    text = Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    events = json.loads(text)["traceEvents"]
    slices = {event["args"]["name"]: event for event in events if event["ph"] == "X"}
    assert slices["product"]["name"] == "MatMul"
    assert slices["product"]["pid"] != slices["z"]["pid"]
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in slices.values())
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "t"}
    assert starts
    assert starts.keys() == ends.keys()
    assert [event for event in events if event["ph"] == "C"]
    processes = [event for event in events if event["name"] == "process_name"]
    assert [event["args"]["name"][-5:] for event in processes] == ["CPU:0", "CPU:1"]


def traced(name: str, start: int, end: int, thread: int, reads: str = "") -> dict[str, Any]:
    """Return the fields of a traced node; times are nanoseconds."""
    return {
        "node_name": name,
        "all_start_nanos": start,
        "all_end_rel_nanos": end - start,
        "thread_id": thread,
        "timeline_label": f"{name} = Op({reads})",
    }


def arrows_of(*nodes: dict[str, Any]) -> list[tuple[str, str]]:
    """Return which slices arrows start and end in, each checked to be where viewers look."""
    stats = tf.RunMetadata().step_stats
    device = stats.dev_stats.add(device="/device:SIM:0")
    for node in nodes:
        device.node_stats.add(**node)
    events = json.loads(Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]

    def slice_of(end: dict[str, Any]) -> str:
        (found,) = (
            event["args"]["name"]
            for event in slices
            if event["tid"] == end["tid"] and event["ts"] <= end["ts"] <= event["ts"] + event["dur"]
        )
        return str(found)

    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "t"}
    assert all(starts[number]["ts"] <= ends[number]["ts"] for number in starts)
    return [(slice_of(starts[number]), slice_of(ends[number])) for number in starts]


def test_arrows_start_inside_of_slices_whatever_the_rounding() -> None:
    rng = np.random.default_rng(1)
    ends = np.cumsum(rng.integers(1, 100_000_000, 200)).tolist()
    nodes = [
        traced(f"n{i}", ends[i], ends[i + 1] - 1, i % 2, f"n{i - 1}") for i in range(len(ends) - 1)
    ]
    expected = [(f"n{i - 1}", f"n{i}") for i in range(1, len(nodes))]
    assert arrows_of(*nodes) == expected


def test_an_arrow_ends_at_the_end_of_who_waited() -> None:
    arrows = arrows_of(traced("y", 100, 900, 1, "x"), traced("x", 200, 800, 2))
    assert arrows == [("x", "y")]


def test_arrows_pass_by_who_only_told_a_stream_what_to_do() -> None:
    arrows = arrows_of(
        traced("product", 500, 900, 1),
        traced("send", 10, 20, 2, "product"),
        traced("receive", 950, 990, 3, "send"),
    )
    assert arrows == [("product", "receive")]


def two_tasks() -> Any:
    """Two tasks of a cluster, of which one sends a tensor that both have a constant for."""
    stats = tf.RunMetadata().step_stats
    worker = stats.dev_stats.add(device="/job:worker/replica:0/task:0/device:CPU:0")
    ps = stats.dev_stats.add(device="/job:ps/replica:0/task:0/device:CPU:0")
    clock = stats.dev_stats.add(device="/job:ps/replica:0/task:0/clock")
    ps.node_stats.add(**traced("c", 0, 10, 1))
    ps.node_stats.add(**traced("v", 20, 30, 1, "c"))
    # By the clock's error, the tensor seems to be there before it was sent.
    ps.node_stats.add(**traced("v/_Send_0", 3000, 3010, 1, "v"))
    worker.node_stats.add(**traced("c", 5, 15, 2))
    worker.node_stats.add(**traced("v/_Recv_0", 100, 2900, 2, "v/_Send_0"))
    worker.node_stats.add(**traced("y", 2910, 2950, 2, "v/_Recv_0, c"))
    clock.node_stats.add(**traced("clock", 0, 0, 0, "ahead_ns=-1500, error_ns=250"))
    return stats


def test_transfers_between_tasks_have_arrows_and_clocks_a_label() -> None:
    events = json.loads(Timeline(two_tasks()).generate_chrome_trace_format())["traceEvents"]
    labels = [event for event in events if event["name"] == "process_labels"]
    assert [(label["pid"], label["args"]["labels"]) for label in labels] == [
        (1, "clock ahead by -1.5 µs, known to 0.2 µs")
    ]
    assert {event["pid"] for event in events} == {0, 1}
    transfers = [event for event in events if event.get("cat") == "Transfer"]
    assert [(event["ph"], event["pid"], event["ts"]) for event in transfers] == [
        ("s", 1, 3.009),
        ("t", 0, 2.899),
    ]
    flows = [event for event in events if event.get("cat") == "DataFlow"]
    starts = sorted((event["pid"], event["ts"]) for event in flows if event["ph"] == "s")
    # Each reads the constant of its own task.
    assert starts == [(0, 0.014), (0, 2.899), (1, 0.009), (1, 0.029)]


def test_a_node_that_stands_for_several_tells_what_it_does() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4], name="x")
        y = tf.nn.relu((x + x) * x, name="y")
        metadata = traced_step(session, y, {x: np.ones(4)})
    (device,) = metadata.step_stats.dev_stats
    (node,) = device.node_stats
    assert node.timeline_label == "y = _FusedElementwise(AddV2,Mul,Relu)(x)"
    events = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())["traceEvents"]
    (event,) = (event for event in events if event["ph"] == "X")
    assert event["name"] == "_FusedElementwise(AddV2,Mul,Relu)"
    assert event["args"]["inputs"] == ["x"]


def test_wrong_types_are_refused_with_the_arguments_name() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = product()
        with pytest.raises(TypeError, match="options"):
            session.run(y, {x: np.ones([1, 64])}, options=3)
        with pytest.raises(TypeError, match="run_metadata"):
            session.run(y, {x: np.ones([1, 64])}, run_metadata="none")
    with pytest.raises(TypeError, match="step_stats"):
        Timeline(None)
