"""Message classes: fields, presence, wire and text."""

from __future__ import annotations

import copy
import pickle

import pytest

import millstream as tf
from millstream import protos


def test_nested_fields_are_there_when_asked_for() -> None:
    config = tf.ConfigProto(intra_op_parallelism_threads=2)
    assert not config.HasField("graph_options")
    assert config.graph_options.optimizer_options.opt_level == 0
    assert not config.HasField("graph_options")
    config.graph_options.optimizer_options.opt_level = -1
    assert config.HasField("graph_options")
    again = tf.ConfigProto.FromString(config.SerializeToString())
    assert again == config
    assert again.graph_options.optimizer_options.opt_level == -1


def test_constructor_takes_maps_lists_and_dictionaries() -> None:
    config = tf.ConfigProto(device_count={"CPU": 3}, gpu_options={"allow_growth": True})
    assert config.device_count["CPU"] == 3
    assert config.gpu_options.allow_growth
    summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.25)])
    assert summary.value[0].tag == "loss"


def test_oneof_holds_one_field() -> None:
    value = tf.AttrValue(i=3)
    assert value.WhichOneof("value") == "i"
    value.list.i.extend([1, 2])
    assert value.WhichOneof("value") == "list"
    value.b = False
    assert value.WhichOneof("value") == "b"
    assert value.i == 0
    with pytest.raises(ValueError, match="oneof"):
        value.WhichOneof("nothing")


def test_maps_of_messages_make_their_entries() -> None:
    node = tf.NodeDef(name="n")
    node.attr["T"].type = 1
    again = tf.NodeDef.FromString(node.SerializeToString())
    assert again.attr["T"].type == 1
    assert "U" not in again.attr


def test_numbers_of_every_kind_survive_the_wire() -> None:
    tensor = protos.message_class("TensorProto")(
        dtype="DT_INT32",
        int_val=[-1, 0, 2**31 - 1],
        double_val=[0.5, float("inf")],
        bool_val=[True, False],
        uint64_val=[2**64 - 1],
        string_val=[b"\xff\0"],
        tensor_content=b"\1\2",
    )
    again = protos.message_class("TensorProto").FromString(tensor.SerializeToString())
    assert again == tensor
    assert list(again.int_val) == [-1, 0, 2**31 - 1]
    assert again.uint64_val[0] == 2**64 - 1
    assert again.dtype == 3


def test_text_is_read_and_written() -> None:
    graph = tf.GraphDef.from_text("node { name: 'a' op: 'NoOp' attr { key: 'k' value { i: 7 } } }")
    assert graph.node[0].attr["k"].i == 7
    assert tf.GraphDef.from_text(str(graph)) == graph
    assert 'op: "NoOp"' in str(graph)


def test_unknown_fields_survive() -> None:
    data = tf.NodeDef(name="n").SerializeToString() + b"\xf8\x3f\x05"
    assert tf.NodeDef.FromString(data).SerializeToString() == data


def test_wrong_values_are_refused() -> None:
    config = tf.ConfigProto()
    with pytest.raises(TypeError, match="intra_op_parallelism_threads"):
        config.intra_op_parallelism_threads = "two"
    with pytest.raises(ValueError, match="intra_op_parallelism_threads"):
        config.intra_op_parallelism_threads = 2**40
    with pytest.raises(AttributeError, match="no_such_field"):
        config.no_such_field = 1
    with pytest.raises(ValueError, match="no_such_field"):
        tf.ConfigProto(no_such_field=1)


def test_copies_are_independent() -> None:
    config = tf.ConfigProto(device_count={"CPU": 1})
    for made in (copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert made == config
        made.device_count["CPU"] = 2
        assert config.device_count["CPU"] == 1


def test_enums_and_nested_types_are_attributes() -> None:
    assert tf.OptimizerOptions.L0 == -1
    assert tf.Summary.Value(tag="t").tag == "t"
    assert protos.enum_values("DataType")["DT_FLOAT"] == 1


def test_every_message_can_be_made_and_read() -> None:
    for name in protos.message_names():
        made = protos.message_class(name)()
        assert made.SerializeToString() == b""
        assert protos.message_class(name).FromString(b"") == made
