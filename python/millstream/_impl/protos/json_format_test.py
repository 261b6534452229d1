"""Messages as JSON, and back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import millstream as tf
from millstream.protos import json_format, message_class


def attr(**value: Any) -> Any:
    """An attribute's value."""
    return tf.AttrValue(**value)


def test_names_and_values_follow_the_mapping() -> None:
    node = tf.NodeDef(name="n", input=["a", "b"])
    node.attr["dtype"].type = 1
    node.attr["text"].s = b"\xff\x00"
    node.attr["count"].i = -3
    node.attr["rate"].f = 0.1
    node.attr["flag"].b = False
    node.attr["shape"].shape.dim.add(size=2)
    node.attr["many"].list.i.extend([1, 2])
    assert json_format.MessageToDict(node) == {
        "name": "n",
        "input": ["a", "b"],
        "attr": {
            "dtype": {"type": "DT_FLOAT"},
            "text": {"s": "/wA="},
            "count": {"i": "-3"},
            "rate": {"f": 0.1},
            "flag": {"b": False},
            "shape": {"shape": {"dim": [{"size": "2"}]}},
            "many": {"list": {"i": ["1", "2"]}},
        },
    }


def test_names_are_in_lower_camel_case_or_as_defined() -> None:
    config = tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=2)
    assert json_format.MessageToDict(config) == {
        "allowSoftPlacement": True,
        "intraOpParallelismThreads": 2,
    }
    found = json_format.MessageToDict(config, preserving_proto_field_name=True)
    assert found == {"allow_soft_placement": True, "intra_op_parallelism_threads": 2}
    for text in (json.dumps(found), json_format.MessageToJson(config)):
        assert json_format.Parse(text, tf.ConfigProto()) == config


def test_options_of_writing() -> None:
    node = tf.NodeDef(op="o", name="n")
    found = json_format.MessageToDict(node, including_default_value_fields=True)
    assert found == {"name": "n", "op": "o", "input": [], "device": "", "attr": {}}
    assert json_format.MessageToJson(node) == '{\n  "name": "n",\n  "op": "o"\n}'
    assert json_format.MessageToJson(node, indent=None, sort_keys=True) == (
        '{"name": "n", "op": "o"}'
    )
    number = json_format.MessageToDict(attr(type=1), use_integers_for_enums=True)
    assert number == {"type": 1}
    assert json_format.MessageToDict(attr(f=1 / 3), float_precision=3) == {"f": 0.333}


@pytest.mark.parametrize(
    ("value", "text"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")]
)
def test_numbers_that_are_not_finite_are_texts(value: float, text: str) -> None:
    assert json_format.MessageToDict(attr(f=value)) == {"f": text}
    assert repr(json_format.ParseDict({"f": text}, attr()).f) == repr(value)


def test_a_graph_survives_the_way_there_and_back() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.matmul(x, [[0.1], [2.5]], name="y")
        graph_def = graph.as_graph_def()
    text = json_format.MessageToJson(graph_def)
    assert json_format.Parse(text, tf.GraphDef()) == graph_def
    assert json_format.Parse(text.encode(), tf.GraphDef()) == graph_def


def test_what_a_text_has_replaces_lists_and_null_unsets() -> None:
    node = tf.NodeDef(name="n", op="o", input=["a"])
    node.attr["a"].i = 1
    json_format.Parse('{"input": ["b"], "op": null, "attr": {"c": {"b": true}}}', node)
    assert (node.name, node.op, list(node.input), list(node.attr)) == ("n", "", ["b"], ["c"])


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"i": 3}, 3),
        ({"i": "3"}, 3),
        ({"i": 3.0}, 3),
        ({"f": 2}, 2.0),
        ({"f": "0.5"}, 0.5),
        ({"s": "_wA"}, b"\xff\x00"),
        ({"type": "DT_FLOAT"}, 1),
        ({"type": 1}, 1),
        ({"b": True}, True),
    ],
)
def test_values_have_several_forms(tree: Any, expected: Any) -> None:
    found = json_format.ParseDict(tree, attr())
    assert getattr(found, next(iter(tree))) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Failed to load JSON: Expecting"),
        ('{"i": 1, "i": 2}', "Failed to load JSON: duplicate key i"),
        ("[1]", "AttrValue: expected an object for AttrValue, got"),
        ('{"nope": 1}', 'nope: Message type "AttrValue" has no field named "nope"'),
        ('{"i": 1, "b": true}', 'should not have multiple "value" fields, got "i"'),
        ('{"i": "a"}', "i: expected int64: invalid literal"),
        ('{"i": 1.5}', "i: expected int64: 1.5 is no integer"),
        ('{"i": true}', "i: expected int64: got True"),
        ('{"i": 9223372036854775808}', "i: expected int64: .* does not fit int64"),
        ('{"f": "a"}', "f: expected float: could not convert"),
        ('{"f": 1e39}', r"f: expected float: 1e\+39 does not fit float"),
        ('{"f": NaN}', "f: expected float: nan is a text in JSON"),
        ('{"b": 1}', "b: expected bool: got 1"),
        ('{"s": "?"}', "s: expected bytes: no base64 in"),
        ('{"s": 1}', "s: expected bytes: got 1"),
        ('{"placeholder": 1}', "placeholder: expected string: got 1"),
        ('{"type": "DT_NOPE"}', "type: expected DataType: .*no enum value is called 'DT_NOPE'"),
        ('{"list": {"i": 1}}', "list.i: expected a list, got 1"),
        ('{"list": {"i": [1, null]}}', r"list.i\[1\]: null is not allowed in a list"),
        ('{"func": {"attr": [1]}}', "func.attr: expected an object for a map"),
        ('{"func": {"attr": {"a": {"b": 2}}}}', r"func.attr\['a'\].b: expected bool"),
    ],
)
def test_what_is_no_message_is_refused(text: str, words: str) -> None:
    with pytest.raises(json_format.ParseError, match=words):
        json_format.Parse(text, attr())


def test_unknown_names_may_be_ignored_and_depth_has_a_limit() -> None:
    found = json_format.Parse('{"nope": 1, "i": "2"}', attr(), ignore_unknown_fields=True)
    assert found == attr(i=2)
    deep = '{"func":{"attr":{"a":' * 60 + "{}" + "}}}" * 60
    with pytest.raises(json_format.ParseError, match="Max recursion depth is 100"):
        json_format.Parse(deep, attr())
    with pytest.raises(json_format.ParseError, match="Failed to load JSON"):
        json_format.Parse("[" * 1_000_000, attr())


def test_messages_in_any_have_their_type_beside_their_fields() -> None:
    held = message_class("google.protobuf.Any")()
    held.type_url = "type.googleapis.com/millstream.NodeDef"
    held.value = tf.NodeDef(name="n").SerializeToString()
    tree = json_format.MessageToDict(held)
    assert tree == {"@type": "type.googleapis.com/millstream.NodeDef", "name": "n"}
    assert json_format.ParseDict(tree, message_class("google.protobuf.Any")()) == held
    held.type_url = "type.googleapis.com/unknown.Type"
    with pytest.raises(json_format.SerializeToJsonError, match=r"by type_url: .*unknown.Type"):
        json_format.MessageToDict(held)
    flag = message_class("google.protobuf.BoolValue")(value=True)
    assert json_format.MessageToDict(flag) is True


@pytest.mark.parametrize("function", [json_format.MessageToDict, json_format.MessageToJson])
def test_what_is_no_message_cannot_be_written(function: Any) -> None:
    with pytest.raises(TypeError, match="message: expected a message, got 3"):
        function(3)
    with pytest.raises(TypeError, match="message: expected a message, got 3"):
        json_format.Parse("{}", 3)
    with pytest.raises(TypeError, match="text: expected a text, got 3"):
        json_format.Parse(3, tf.NodeDef())  # type: ignore[arg-type]
