"""Meta graphs without what they may do without, and those with reference variables."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl import protos
from millstream.protos import text_format

_REFERENCES = """
node { name: "first" op: "Const"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value {
    tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 2 } } } }
node { name: "v" op: "OP"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "v/Assign" op: "Assign" input: "v" input: "first"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v/read" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
"""


def _attributes(message: Any, name: str) -> list[str]:
    [node] = [node for node in message.graph_def.node if node.name == name]
    return sorted(node.attr)


def test_attributes_with_default_values_are_left_out(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.constant([[1.0]], name="a")
        tf.matmul(a, a, name="plain")
        tf.matmul(a, a, transpose_a=True, name="turned")
        v = tf.Variable(1.0, name="v")
        whole = tf.train.export_meta_graph()
        assert _attributes(whole, "plain") == ["T", "transpose_a", "transpose_b"]
        assert not whole.meta_info_def.stripped_default_attrs
        stripped = tf.train.export_meta_graph(strip_default_attrs=True)
        assert _attributes(stripped, "plain") == ["T"]
        assert _attributes(stripped, "turned") == ["T", "transpose_a"]
        assert stripped.meta_info_def.stripped_default_attrs
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"), strip_default_attrs=True)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        assert saver is not None
        assert graph.get_operation_by_name("plain").get_attr("transpose_a") is False
        saver.restore(sess, path)
        assert sess.run("turned:0").tolist() == [[1.0]]


def test_functions_lose_their_default_values_too() -> None:
    message = tf.MetaGraphDef()
    function = message.graph_def.library.function.add()
    function.signature.name = "f"
    for nodes in (function.node_def, message.graph_def.node):
        node = nodes.add(name="n", op="MatMul")
        node.attr["transpose_a"].b = False
        node.attr["T"].type = 1
    call = message.graph_def.node.add(name="call", op="f")
    call.attr["transpose_a"].b = False
    with tf.Graph().as_default():
        made = tf.train.export_meta_graph(graph_def=message.graph_def, strip_default_attrs=True)
    assert sorted(made.graph_def.library.function[0].node_def[0].attr) == ["T"]
    assert [sorted(node.attr) for node in made.graph_def.node] == [["T"], ["transpose_a"]]


def test_other_savers_are_left_out() -> None:
    with tf.Graph().as_default() as graph:
        tf.Variable(1.0, name="v")
        first = tf.train.Saver()
        second = tf.train.Saver()
        graph.add_to_collection(tf.GraphKeys.SAVERS, first)
        graph.add_to_collection("kept", graph.get_tensor_by_name("v:0"))
        for name in ("save/Const:0", "save_1/Const:0"):
            graph.add_to_collection("prefixes", graph.get_tensor_by_name(name))
        whole = second.export_meta_graph()
        assert any(node.name.startswith("save/") for node in whole.graph_def.node)
        alone = second.export_meta_graph(clear_extraneous_savers=True)
        scopes = {node.name.partition("/")[0] for node in alone.graph_def.node}
        assert scopes == {"v", "save_1"}
        assert list(alone.collection_def["prefixes"].node_list.value) == ["save_1/Const:0"]
        assert list(alone.collection_def["kept"].node_list.value) == ["v:0"]
        [saver] = alone.collection_def["savers"].bytes_list.value
        assert tf.train.SaverDef.FromString(saver) == second.as_saver_def()
        none = tf.train.export_meta_graph(clear_extraneous_savers=True)
        assert {node.name.partition("/")[0] for node in none.graph_def.node} == {"v"}
        assert "prefixes" not in none.collection_def
        assert "savers" not in none.collection_def
    with tf.Graph().as_default(), tf.Session() as sess:
        assert tf.train.import_meta_graph(alone) is not None
        sess.run(tf.global_variables_initializer())


@pytest.mark.parametrize("op", ["VariableV2", "Variable"])
@pytest.mark.parametrize("scope", [None, "in"])
def test_reference_variables_are_imported(tmp_path: Path, op: str, scope: str | None) -> None:
    message = tf.MetaGraphDef()
    text_format.Merge(_REFERENCES.replace("OP", op), message.graph_def)
    definition = protos.message_class("VariableDef")(
        variable_name="v:0",
        initializer_name="v/Assign",
        snapshot_name="v/read:0",
        trainable=True,
    )
    for key in ("variables", "trainable_variables"):
        message.collection_def[key].bytes_list.value.append(definition.SerializeToString())
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(message, import_scope=scope)
        [v] = tf.trainable_variables()
        start = f"{scope}/" if scope else ""
        assert tf.global_variables() == [v]
        assert (v.name, v.op.type, v.shape.as_list()) == (f"{start}v:0", op, [2])
        assert v.initial_value.name == f"{start}first:0"
        sess.run(tf.global_variables_initializer())
        assert saver is not None
        path = saver.save(sess, str(tmp_path / "model"), write_meta_graph=False)
        assert path is not None
        assert tf.train.list_variables(path) == [(f"{start}v", [2])]
        sess.run(tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(v)))
        assert sess.run(v).tolist() == [0.5, 1.5]
        assert sess.run(v.assign_add([1.0, 1.0])).tolist() == [1.5, 2.5]
        saver.restore(sess, path)
        assert sess.run(graph.get_tensor_by_name(f"{start}v/read:0")).tolist() == [1.0, 2.0]
        written = v.to_proto(scope)
        assert not written.is_resource
        assert written.variable_name == "v:0"


def test_what_is_no_variable_is_refused() -> None:
    with tf.Graph().as_default():
        tf.constant(1.0, name="c")
        definition = protos.message_class("VariableDef")(variable_name="c:0")
        with pytest.raises(ValueError, match=r"expected .* VarHandleOp, got 'c', a Const"):
            tf.Variable.from_proto(definition)


def test_several_global_steps_are_none(caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default() as graph, caplog.at_level(logging.ERROR, "millstream"):
        step = tf.train.create_global_step()
        assert tf.train.get_global_step() is step
        assert caplog.messages == []
        graph.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(0, name="other"))
        assert tf.train.get_global_step() is None
        assert caplog.messages == ["Multiple tensors in global_step collection."]


@pytest.mark.parametrize("op", ["VariableV2", "Variable"])
def test_what_works_on_reference_variables_is_exported_on_references(op: str) -> None:
    with tf.Graph().as_default() as graph:
        message = tf.MetaGraphDef()
        text_format.Merge(_REFERENCES.replace("OP", op), message.graph_def)
        definition = protos.message_class("VariableDef")(
            variable_name="v:0", initializer_name="v/Assign", snapshot_name="v/read:0"
        )
        message.collection_def["variables"].bytes_list.value.append(definition.SerializeToString())
        tf.train.import_meta_graph(message)
        [v] = tf.global_variables()
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        train = optimizer.minimize(tf.reduce_sum(v), var_list=[v])
        names = [
            train.name,
            v.assign_add([1.0, 1.0]).name,
            v.scatter_add(tf.IndexedSlices(tf.constant([4.0]), tf.constant([1]))).name,
            tf.gather(v, [1]).name,
            tf.is_variable_initialized(v).name,
        ]
        exported = graph.as_graph_def()
    ops = {node.op for node in exported.node}
    assert {"ApplyGradientDescent", "AssignAdd", "ScatterAdd", "IsVariableInitialized"} <= ops
    assert not [op for op in ops if "Resource" in op or "VariableOp" in op]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(exported, name="")
        sess.run("v/Assign")
        found = [sess.run(name) for name in names]
        assert found[0] is None
        assert [value.tolist() for value in found[1:]] == [[1.5, 2.5], [1.5, 6.5], [6.5], True]
