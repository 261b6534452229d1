"""Message classes: fields, presence, wire and text."""

from __future__ import annotations

import copy
import pickle

import pytest

import millstream as tf
from millstream._impl import protos
from millstream._impl.protos import text_format, wire
from millstream._impl.protos.message import DecodeError


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


@pytest.mark.parametrize(
    ("field", "wrong", "what"),
    [
        ("device_count", 3, "a dictionary"),
        ("device_count", ["CPU"], "a dictionary"),
        ("device_filters", 3, "a list"),
        ("device_filters", "/cpu:0", "a list"),
        ("session_inter_op_thread_pool", 3, "a list"),
        ("gpu_options", 3, "a GPUOptions or a dictionary"),
    ],
)
def test_constructor_names_the_field_of_a_wrong_value(field: str, wrong: object, what: str) -> None:
    with pytest.raises(TypeError, match=f"^field '{field}': expected {what}, got "):
        tf.ConfigProto(**{field: wrong})


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


def test_entries_of_maps_may_lack_what_is_default() -> None:
    node = tf.NodeDef.FromString(
        b"\x2a\x00" + b"\x2a\x05\x0a\x01k\x12\x00" + b"\x2a\x04\x12\x02\x18\x07"
    )
    assert dict(node.attr) == {"": tf.AttrValue(i=7), "k": tf.AttrValue()}
    config = tf.ConfigProto.FromString(b"\x0a\x05\x0a\x03CPU" + b"\x0a\x06\x10\x02\x10\x03\x58\x01")
    assert config.device_count == {"CPU": 0, "": 3}


def test_a_message_that_comes_in_parts_is_merged() -> None:
    parts = [tf.AttrValue(func={"name": "f"}), tf.AttrValue(func={"attr": {"k": {"i": 1}}})]
    value = tf.AttrValue.FromString(b"".join(part.SerializeToString() for part in parts))
    assert value == tf.AttrValue(func={"name": "f", "attr": {"k": {"i": 1}}})
    other = tf.AttrValue.FromString(value.SerializeToString() + b"\x18\x07")
    assert other == tf.AttrValue(i=7)


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


def test_presence_is_asked_only_of_what_has_it() -> None:
    assert not tf.AttrValue().HasField("i")
    assert tf.AttrValue(i=0).HasField("i")
    assert tf.AttrValue(i=0).HasField("value")
    for name in ("allow_soft_placement", "device_filters", "device_count", "no_such_field"):
        with pytest.raises(ValueError, match=name):
            tf.ConfigProto().HasField(name)


def test_clearing_a_field_detaches_what_was_in_it() -> None:
    config = tf.ConfigProto()
    options = config.graph_options
    options.build_cost_model = 1
    config.ClearField("graph_options")
    options.build_cost_model = 2
    assert not config.HasField("graph_options")
    assert config.graph_options.build_cost_model == 0
    value = tf.AttrValue(i=3)
    value.ClearField("value")
    assert value == tf.AttrValue()
    with pytest.raises(ValueError, match="no_such_field"):
        value.ClearField("no_such_field")


def test_lists_of_scalars_are_lists() -> None:
    names = tf.ConfigProto(device_filters=["c", "a", "b"]).device_filters
    names.sort(reverse=True)
    assert names == ["c", "b", "a"]
    names.remove("b")
    names.insert(0, "z")
    names[1:] = ["x", "y"]
    assert list(names) == ["z", "x", "y"]
    assert names[-1] == names.pop() == "y"
    del names[:1]
    names.MergeFrom(names)
    assert copy.deepcopy(names) == ["x", "x"]
    with pytest.raises(TypeError, match="device_filters"):
        names.append(3)
    with pytest.raises(IndexError):
        names[7]


def test_lists_of_messages_copy_what_they_take() -> None:
    graph = tf.GraphDef()
    node = tf.NodeDef(name="b")
    graph.node.append(node)
    node.name = "changed"
    graph.node.add(name="a").op = "NoOp"
    graph.node.sort(key=lambda one: one.name)
    assert [one.name for one in graph.node] == ["a", "b"]
    other = tf.GraphDef(node=[{"name": "c"}])
    other.node.extend(graph.node[:1])
    other.node.remove(graph.node[0])
    assert [one.name for one in other.node] == ["c"]
    del graph.node[:]
    assert not graph.node
    with pytest.raises(TypeError, match="NodeDef"):
        graph.node.append(tf.AttrValue())
    with pytest.raises(TypeError, match="in place"):
        other.node[0] = node


def test_maps_are_dictionaries() -> None:
    counts = tf.ConfigProto().device_count
    assert counts.get("CPU") is None
    assert "CPU" not in counts
    counts.update({"CPU": 2, "GPU": 1})
    assert counts.pop("GPU") == 1
    assert counts == {"CPU": 2}
    with pytest.raises(TypeError, match="key"):
        counts[3] = 1
    node = tf.NodeDef(attr={"T": {"type": "DT_FLOAT"}})
    assert node.attr["T"].type == 1
    with pytest.raises(ValueError, match="in place"):
        node.attr["T"] = tf.AttrValue()
    with pytest.raises(TypeError, match="attr"):
        tf.NodeDef(attr={"T": 3})


def test_merging_appends_and_copying_replaces() -> None:
    first = tf.NodeDef(name="a", input=["x"], attr={"k": {"i": 1}})
    second = tf.NodeDef(name="b", input=["y"], attr={"k": {"f": 2.0}})
    merged = copy.deepcopy(first)
    merged.MergeFrom(second)
    assert (merged.name, list(merged.input)) == ("b", ["x", "y"])
    assert merged.attr["k"].WhichOneof("value") == "f"
    first.CopyFrom(second)
    first.CopyFrom(first)
    assert first == second
    for method in (first.MergeFrom, first.CopyFrom):
        with pytest.raises(TypeError, match="NodeDef"):
            method(tf.GraphDef())


def test_bytes_and_texts_are_not_mixed_up() -> None:
    with pytest.raises(TypeError, match="'s'"):
        tf.AttrValue(s="text")
    assert tf.NodeDef(name=b"ascii").name == "ascii"
    with pytest.raises(DecodeError, match="utf-8"):
        tf.NodeDef.FromString(b"\x0a\x01\xff")
    with pytest.raises(TypeError, match="serialized"):
        tf.NodeDef().ParseFromString("text")


def test_damaged_bytes_are_decode_errors() -> None:
    # The last but two: a field that ends behind the node that it is in.
    for data in (
        b"\x10",
        b"\x00",
        b"\x0b",
        b"\x0f",
        b"\x0a\x05ab",
        b"\x0a\x02\x0a\x01a",
        b"\x0a\x01\xf8\x3f\x01",
        b"\xf3\x3f\x0f\xf4\x3f",
    ):
        with pytest.raises(DecodeError, match="GraphDef"):
            tf.GraphDef.FromString(data)
    deep = b""
    for _ in range(5000):  # a list of values within a list of values
        deep = b"\x0a" + wire.encode_delimited(b"\x9a\x03" + wire.encode_delimited(deep))
    with pytest.raises(DecodeError, match="nest more than 100"):
        protos.message_class("ListValue").FromString(deep)


def test_errors_of_messages_are_those_that_programs_catch() -> None:
    # protobuf's hierarchy: an `except ValueError` of a program does not take them.
    assert protos.message.DecodeError is DecodeError
    assert issubclass(DecodeError, protos.message.Error)
    assert not issubclass(DecodeError, ValueError)
    assert text_format.ParseError is DecodeError
    assert isinstance(tf.GraphDef(), protos.message.Message)
    with pytest.raises(ValueError, match="graph_def: 3 bytes are no GraphDef"):
        tf.import_graph_def(b"\x0a\xff\xff", return_elements=["a"])


def test_text_of_a_message_that_is_too_deep_is_refused() -> None:
    value = tf.AttrValue(i=1)
    for _ in range(60):
        value = tf.AttrValue(func=tf.NameAttrList(name="f", attr={"k": value}))
    with pytest.raises(tf.errors.InvalidArgumentError):
        str(value)


def test_groups_and_fields_of_another_wire_type_are_kept_as_unknown() -> None:
    data = b"\x0a\x01a" + b"\xf3\x3f\x08\x05\xf4\x3f" + b"\x10\x07"
    node = tf.NodeDef.FromString(data)
    assert node.name == "a"
    assert node.SerializeToString() == data
    copied = copy.deepcopy(node)
    copied.MergeFrom(copied)
    assert copied.SerializeToString() == b"\x0a\x01a" + 2 * data[3:]
    node.DiscardUnknownFields()
    assert node.SerializeToString() == b"\x0a\x01a"


def test_descriptors_name_types_fields_and_oneofs() -> None:
    described = tf.AttrValue.DESCRIPTOR
    assert (described.name, described.full_name) == ("AttrValue", "millstream.AttrValue")
    field = described.fields_by_name["i"]
    assert (field.number, field.type, field.label) == (3, field.TYPE_INT64, field.LABEL_OPTIONAL)
    assert field.containing_oneof is described.oneofs_by_name["value"]
    assert described.fields_by_name["list"].message_type.name == "ListValue"
    assert described.fields_by_name["type"].enum_type.values_by_name["DT_INT32"].number == 3
    assert tf.Summary.Value.DESCRIPTOR.containing_type is tf.Summary.DESCRIPTOR
    assert "Value" in tf.Summary.DESCRIPTOR.nested_types_by_name
    assert tf.RunOptions.DESCRIPTOR.enum_types_by_name["TraceLevel"].values[0].name == "NO_TRACE"
    ((found, value),) = tf.AttrValue(f=0.5).ListFields()
    assert (found.name, found.full_name, value) == ("f", "millstream.AttrValue.f", 0.5)
    assert "fields_by_name" in dir(described)
    assert "tensor" in dir(tf.AttrValue())


def test_enum_types_go_both_ways() -> None:
    levels = tf.OptimizerOptions.Level
    assert levels.Name(-1) == "L0"
    assert levels.Value("L1") == levels.L1 == 0
    assert levels.DESCRIPTOR.full_name == "millstream.OptimizerOptions.Level"
    with pytest.raises(ValueError, match="Level is 77"):
        levels.Name(77)
    with pytest.raises(TypeError, match="number"):
        levels.Name("L0")
    with pytest.raises(ValueError, match="L9"):
        levels.Value("L9")


def test_examples_hold_lists_of_each_kind() -> None:
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4])),
                "raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"\xff"])),
            }
        )
    )
    example.features.feature["score"].float_list.value.append(0.5)
    again = tf.train.Example.FromString(example.SerializeToString(deterministic=True))
    assert again == example
    assert again.features.feature["raw"].WhichOneof("kind") == "bytes_list"
    assert list(again.features.feature["ids"].int64_list.value) == [3, 4]


def test_text_format_reads_into_a_message() -> None:
    node = tf.NodeDef(input=["a"])
    assert text_format.Merge(b"input: 'b'", node) is node
    assert list(node.input) == ["a", "b"]
    assert text_format.Parse(text_format.MessageToString(node), tf.NodeDef()) == node
    with pytest.raises(text_format.ParseError, match="1:9"):
        text_format.Parse("nonsense: 1", tf.NodeDef())
    with pytest.raises(TypeError, match="message"):
        text_format.Parse("", "node")
    with pytest.raises(TypeError, match="text"):
        text_format.Parse(3, tf.NodeDef())  # type: ignore[arg-type]


def test_messages_are_no_keys_and_compare_by_type() -> None:
    assert tf.NodeDef() != tf.AttrValue()
    assert tf.NodeDef() != 3
    with pytest.raises(TypeError):
        hash(tf.NodeDef())
    with pytest.raises(TypeError):
        tf.NodeDef(3)
