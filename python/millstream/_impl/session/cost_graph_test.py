"""What sessions report of graphs as ``GraphOptions`` asks: shapes, and what nodes cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def _config(**options: Any) -> Any:
    return tf.ConfigProto(graph_options=tf.GraphOptions(**options))


def test_a_graph_def_has_shapes_where_they_are_asked_for() -> None:
    tf.constant([1.0, 2.0], name="c")
    with tf.Session() as session:
        assert "_output_shapes" not in session.graph_def.node[0].attr
    with tf.Session(config=_config(infer_shapes=True)) as session:
        (shape,) = session.graph_def.node[0].attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [2]


def _reporting(session: tf.Session, fetch: Any, feed: Any, count: int) -> list[int]:
    """Which of `count` steps report costs."""
    found = []
    for step in range(count):
        metadata = tf.RunMetadata()
        session.run(fetch, feed, run_metadata=metadata)
        if metadata.HasField("cost_graph"):
            found.append(step)
        assert metadata.HasField("cost_graph") == metadata.HasField("step_stats")
        assert len(metadata.partition_graphs) == 0
    return found


def test_every_so_manieth_step_of_a_kind_reports_costs() -> None:
    x = tf.placeholder(tf.float32, [])
    y, z = x + x, x * x
    with tf.Session(config=_config(build_cost_model=3)) as session:
        assert _reporting(session, y, {x: 1.0}, 10) == [2, 5, 8]
        assert _reporting(session, z, {x: 1.0}, 4) == [2]
        session.run(z, {x: 1.0})  # counts, and reports to nobody
        assert _reporting(session, z, {x: 1.0}, 2) == [0]
    with tf.Session(config=_config(build_cost_model=2, build_cost_model_after=3)) as session:
        assert _reporting(session, y, {x: 1.0}, 8) == [4, 6]
    with tf.Session(config=_config(build_cost_model_after=1)) as session:
        assert _reporting(session, y, {x: 1.0}, 4) == []


def test_a_cost_graph_has_nodes_edges_and_outputs() -> None:
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    product = tf.matmul(x, tf.ones([3, 4]), name="product")
    first = tf.negative(x, name="first")
    with tf.control_dependencies([first]):
        total = tf.identity(product, name="total")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    with tf.Session(config=_config(build_cost_model=1)) as session:
        session.run(total, {x: [[1.0] * 3] * 2}, options=options, run_metadata=metadata)
    nodes = {node.name: node for node in metadata.cost_graph.node}
    assert set(nodes) == {node.name for node in metadata.partition_graphs[0].node}
    assert len({node.id for node in nodes.values()}) == len(nodes)
    source = nodes["total"].input_info[0]
    assert (source.preceding_node, source.preceding_port) == (nodes["product"].id, 0)
    (output,) = nodes["product"].output_info
    assert [dim.size for dim in output.shape.dim] == [2, 4]
    assert (output.size, output.dtype) == (32, tf.float32.as_datatype_enum)
    assert nodes["total"].is_final
    assert not nodes["product"].is_final
    assert nodes["product"].device == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert list(nodes["total"].control_input) == [nodes["first"].id]
    assert not nodes["first"].is_final
