"""Imported loops whose nodes are on several devices."""

from __future__ import annotations

import pytest

import millstream as tf
from millstream import _runtime
from millstream._impl import protos

_DTYPE = 'attr { key: "T" value { type: DT_FLOAT } }'


def _node(name: str, op: str, inputs: str, attrs: str = _DTYPE, device: str = "/cpu:0") -> str:
    given = " ".join(f'input: "{one}"' for one in inputs.split())
    return f'node {{ name: "{name}" op: "{op}" {given} device: "{device}" {attrs} }}'


def _enter(name: str, data: str, is_constant: str = "false") -> str:
    attrs = f"""attr {{ key: "frame_name" value {{ s: "loop" }} }}
      attr {{ key: "is_constant" value {{ b: {is_constant} }} }}
      attr {{ key: "parallel_iterations" value {{ i: 10 }} }}"""
    return _node(name, "Enter", data, _DTYPE + attrs)


def _doubling(body_device: str) -> tf.GraphDef:
    """A loop that doubles x while x < limit; the addition is on a device of its own."""
    placeholder = 'attr { key: "dtype" value { type: DT_FLOAT } }'
    two_inputs = 'attr { key: "N" value { i: 2 } }'
    nodes = [
        _node("x", "Placeholder", "", placeholder),
        _node("limit", "Placeholder", "", placeholder),
        _enter("enter", "x"),
        _enter("enter_limit", "limit", "true"),
        _node("merge", "Merge", "enter next", _DTYPE + two_inputs),
        _node("less", "Less", "merge enter_limit"),
        _node("cond", "LoopCond", "less", ""),
        _node("switch", "Switch", "merge cond"),
        _node("twice", "Add", "switch:1 switch:1", device=body_device),
        _node("next", "NextIteration", "twice"),
        _node("exit", "Exit", "switch"),
    ]
    text = "\n".join(nodes) + "versions { producer: 27 }"
    return protos.message_class("GraphDef").FromString(
        _runtime.message_parse_text("GraphDef", text)
    )


@pytest.mark.parametrize("body_device", ["/cpu:0", "/cpu:1"])
def test_a_loop_gives_the_same_wherever_its_body_is(body_device: str) -> None:
    config = tf.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=30000)
    with tf.Graph().as_default():
        tf.import_graph_def(_doubling(body_device), name="")
        with tf.Session(config=config) as session:
            for x, limit, expected in [(1.0, 1000.0, 1024.0), (3.0, 3.0, 3.0), (3.0, 4.0, 6.0)]:
                assert session.run("exit:0", {"x:0": x, "limit:0": limit}) == expected


def test_each_device_of_a_loop_has_a_control_loop() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=30000)
    with tf.Graph().as_default():
        tf.import_graph_def(_doubling("/cpu:1"), name="")
        with tf.Session(config=config) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(output_partition_graphs=True)
            feeds = {"x:0": 1.0, "limit:0": 10.0}
            session.run("exit:0", feeds, options=options, run_metadata=metadata)
    parts = [{node.name for node in part.node} for part in metadata.partition_graphs]
    assert "twice" in parts[1]
    assert "twice" not in parts[0]
    for part in parts:
        assert {f"cond/_control_loop/{op}" for op in ("Enter", "Merge", "Switch")} <= part
