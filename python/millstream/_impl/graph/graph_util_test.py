"""Graphs as data: sub-graphs, graphs without training nodes, frozen variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_RAW_OPS: Any = tf.raw_ops  # its functions are made when they are first used


def _ops(graph_def: Any) -> dict[str, str]:
    return {node.name: node.op for node in graph_def.node}


def _run(graph_def: Any, fetch: str, feeds: Any = None) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(fetch, feeds)


def test_sub_graph_keeps_control_inputs_and_the_order() -> None:
    with tf.Graph().as_default() as graph:
        first = tf.no_op(name="first")
        tf.constant(1.0, name="unused")
        with tf.control_dependencies([first]):
            tf.constant(2.0, name="c")
    found = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["c"])
    assert list(_ops(found)) == ["first", "c"]
    assert found.versions == graph.as_graph_def().versions


def test_sub_graph_names_the_node_that_is_not_there() -> None:
    with pytest.raises(AssertionError, match="nope is not in graph"):
        tf.graph_util.extract_sub_graph(tf.GraphDef(), ["nope"])
    with pytest.raises(TypeError, match="dest_nodes"):
        tf.graph_util.extract_sub_graph(tf.GraphDef(), "nope")
    with pytest.raises(TypeError, match="graph_def"):
        tf.graph_util.extract_sub_graph("nope", ["nope"])


def _training_graph() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        checked = tf.check_numerics(tf.identity(x, name="outer"), "m", name="check")
        waited = tf.identity(checked, name="waited")
        with tf.control_dependencies([waited]):
            late = tf.identity(checked, name="late")
        tf.negative(tf.identity(late, name="plain"), name="y")
    return graph.as_graph_def()


def test_training_nodes_leave_and_identities_with_control_edges_stay() -> None:
    short = tf.graph_util.remove_training_nodes(_training_graph())
    assert list(_ops(short)) == ["x", "waited", "late", "y"]
    inputs = {node.name: list(node.input) for node in short.node}
    assert inputs == {"x": [], "waited": ["x"], "late": ["x", "^waited"], "y": ["late"]}
    assert _run(short, "y:0", {"x:0": 3.0}) == -3.0


def test_protected_nodes_stay() -> None:
    short = tf.graph_util.remove_training_nodes(_training_graph(), ["plain", "check"])
    assert list(_ops(short)) == ["x", "check", "waited", "late", "plain", "y"]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(
    "value", [np.array([[1.5, -2.0]], np.float32), np.int64(7), np.bool_(True)]
)
def test_frozen_variables_give_the_values_of_the_session(use_resource: bool, value: Any) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variable = tf.Variable(np.zeros_like(value), name="v", use_resource=use_resource)
        tf.identity(variable, name="y")
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(variable, value))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert set(_ops(frozen).values()) == {"Const", "Identity"}
    found = _run(frozen, "y:0")
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, value)


def test_lists_say_which_variables_are_frozen() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.add(tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b"), name="y")
        session.run(tf.global_variables_initializer())
        convert = tf.graph_util.convert_variables_to_constants
        graph_def = graph.as_graph_def()
        only_a = _ops(convert(session, graph_def, ["y"], variable_names_whitelist=["a"]))
        not_a = _ops(convert(session, graph_def, ["y"], variable_names_blacklist=["a"]))
    assert only_a["a"] == "Const"
    assert only_a["b"] != "Const"
    assert not_a["a"] != "Const"
    assert not_a["b"] == "Const"


def test_a_handle_that_is_written_to_is_an_error() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variable = tf.Variable(1.0, name="v", use_resource=True)
        update = tf.assign_add(variable, 1.0)
        with tf.control_dependencies([update]):
            tf.no_op(name="y")
        session.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match=r"\(AssignAddVariableOp\) takes the handle"):
            tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_that_conditionals_and_loops_read_are_frozen(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        pred = tf.placeholder(tf.bool, [], name="pred")
        w = tf.get_variable("w", initializer=3.0, use_resource=use_resource)
        table = tf.get_variable("table", initializer=[5.0, 7.0], use_resource=use_resource)

        def loop() -> Any:
            return tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * w), [0, w])[1]

        y = tf.cond(pred, lambda: loop() + tf.cond(pred, lambda: 1.0 * w, lambda: 0.0), lambda: -w)
        z = tf.cond(pred, lambda: tf.gather(table, [1]), lambda: tf.gather(table, [0, 0]))
        tf.add(y, z, name="y")
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not {"VariableV2", "VarHandleOp", "ReadVariableOp"} & set(_ops(frozen).values())
    assert _run(frozen, "y:0", {"pred:0": True}).tolist() == [37.0]
    assert _run(frozen, "y:0", {"pred:0": False}).tolist() == [2.0, 2.0]


def test_a_handle_that_is_one_of_two_is_frozen_with_both() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        pred = tf.placeholder(tf.bool, [], name="pred")
        a, b = (tf.get_variable(name, initializer=1.0, use_resource=True) for name in "ab")
        handles = [
            _RAW_OPS.Switch(data=v.handle, pred=pred)[index] for index, v in enumerate((a, b))
        ]
        merged = _RAW_OPS.Merge(inputs=handles)
        _RAW_OPS.ReadVariableOp(resource=merged[0], dtype=tf.float32, name="y")
        session.run([a.assign(3.0), b.assign(5.0)])
        convert = tf.graph_util.convert_variables_to_constants
        frozen = convert(session, graph.as_graph_def(), ["y"])
        with pytest.raises(ValueError, match=r"may come from '[ab]', '[ab]'"):
            convert(session, graph.as_graph_def(), ["y"], variable_names_blacklist=["a"])
    assert _run(frozen, "y:0", {"pred:0": False}) == 3.0
    assert _run(frozen, "y:0", {"pred:0": True}) == 5.0


def test_an_uninitialized_variable_is_an_error() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.identity(tf.Variable(1.0, name="v"), name="y")
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])


def test_nodes_for_the_cpu() -> None:
    with tf.Graph().as_default():
        on_cpu = tf.graph_util.must_run_on_cpu
        assert on_cpu(tf.constant(1).op)
        assert on_cpu(tf.cast(tf.placeholder(tf.int32), tf.float32).op.node_def)
        assert not on_cpu(tf.cast(tf.placeholder(tf.float32), tf.int32).op)
        variable = tf.Variable(1.0).op
        assert not on_cpu(variable)
        assert on_cpu(variable, pin_variables_on_cpu=True)
        with pytest.raises(TypeError, match="node: expected"):
            on_cpu("x")
