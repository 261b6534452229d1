"""Ops that plugins bring: their functions, attributes, gradients and errors."""

from __future__ import annotations

import inspect
import os
import pathlib
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import millstream as tf

FIXTURES = pathlib.Path.cwd() / "framework/plugin/testing"


@pytest.fixture(scope="module")
def acme() -> ModuleType:
    return tf.load_op_library(FIXTURES / "libops.so")


def test_a_library_is_a_module_of_its_ops(acme: ModuleType) -> None:
    assert acme.__name__ == "libops.so"
    public = [name for name in vars(acme) if not name.startswith("_")]
    assert public == ["acme_cube", "acme_chain", "acme_throws"]
    again = tf.plugins.load_plugin(str(FIXTURES / "libops.so"))
    assert [name for name in vars(again) if not name.startswith("_")] == public


def test_functions_have_the_ops_arguments_and_documentation(acme: ModuleType) -> None:
    assert str(inspect.signature(acme.acme_cube)) == "(x, scale=1, name=None)"
    assert str(inspect.signature(acme.acme_chain)) == "(xs, mode='ring', name=None)"
    lines = inspect.getdoc(acme.acme_cube).splitlines()  # type: ignore[union-attr]
    assert lines[0] == "The third power of x, times scale."
    assert lines[2] == "Element by element."
    assert lines[lines.index("x") + 1] == "    A tensor of float32, float64."
    assert acme.acme_cube.__name__ == "acme_cube"


def test_an_op_runs_with_its_attributes_and_name(acme: ModuleType) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y = acme.acme_cube([1.0, 2.0, -3.0], scale=0.5, name="mine")
        assert y.name == "mine:0"
        assert y.shape.as_list() == [3]
        assert y.op.type == "AcmeCube"
        assert y.op.get_attr("scale") == 0.5
        np.testing.assert_array_equal(session.run(y), [0.5, 4, -13.5])
        twice = acme.acme_cube(tf.constant([2.0], tf.float64))
        assert twice.dtype == tf.float64
        np.testing.assert_array_equal(session.run(twice), [8])


def test_lists_and_several_outputs_are_named(acme: ModuleType) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = acme.acme_chain([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], mode="line")
        assert [len(made.sums), made.total.shape.as_list()] == [3, [2]]
        sums, total = session.run([made.sums, made.total])
        np.testing.assert_array_equal(sums, [[4, 6], [8, 10], [6, 8]])
        np.testing.assert_array_equal(total, [9, 12])


def test_a_gradient_flows_through_the_op(acme: ModuleType) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None])
        y = acme.acme_cube(x * x, scale=2.0)
        (dx,) = tf.gradients(y, [x])
        got = session.run(dx, {x: [1.0, 2.0]})
        np.testing.assert_array_equal(got, [12.0, 12.0 * 32])


def test_ops_without_gradient_are_told_from_those_that_have_none(acme: ModuleType) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        with pytest.raises(LookupError) as caught:
            tf.gradients(acme.acme_chain([x]).total, [x])
    assert "no gradient function is registered for op AcmeChain" in str(caught.value)
    assert "in test_ops_without_gradient_are_told" in str(caught.value), "the user's line"


def test_a_variable_is_trained_through_the_op(acme: ModuleType) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable([0.5, 2.0])
        loss = tf.reduce_sum(tf.square(acme.acme_cube(w) - 1.0))
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(500):
            session.run(step)
        np.testing.assert_allclose(session.run(w), [1, 1], rtol=1e-3)


def test_wrong_arguments_name_the_op(acme: ModuleType) -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="AcmeCube: argument 'x' has type int32"):
            acme.acme_cube(tf.constant(1))
        with pytest.raises(ValueError, match="AcmeChain"):
            acme.acme_chain([1.0], mode="spiral")
        with pytest.raises(ValueError, match="AcmeChain"):
            acme.acme_chain([[1.0], [1.0, 2.0]])
        with pytest.raises(tf.errors.InternalError, match="thrown by the shape function"):
            acme.acme_throws(1.0)


def test_what_is_no_library_is_refused() -> None:
    with pytest.raises(TypeError, match="library_filename: expected a path, got 3"):
        tf.load_op_library(3)  # type: ignore[arg-type]
    with pytest.raises(tf.errors.NotFoundError, match=r"absent\.so"):
        tf.load_op_library("absent.so")


def test_graphs_with_the_op_are_exported_and_imported(acme: ModuleType) -> None:
    with tf.Graph().as_default() as graph:
        acme.acme_cube(tf.placeholder(tf.float32, name="x"), scale=3.0, name="y")
    definition = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        assert session.run("y:0", {"x:0": 2.0}) == 24


def test_definitions_are_listed_with_those_of_the_runtime(acme: ModuleType) -> None:
    with tf.Graph().as_default():
        operation = acme.acme_cube(1.0).op
    assert operation.op_def.summary == "The third power of x, times scale."
    listed = {plugin.name: plugin for plugin in tf.plugins.list_plugins()}
    assert listed["ops"].ops == ("AcmeCube", "AcmeChain", "AcmeThrows")


def test_an_op_that_differs_is_skipped_and_changes_nothing(acme: ModuleType) -> None:
    other = tf.load_op_library(str(FIXTURES / "libops_differ.so"))
    assert not hasattr(other, "acme_cube")
    assert hasattr(other, "acme_chain")
    listed = {plugin.name: plugin for plugin in tf.plugins.list_plugins()}
    reasons = [text for text in listed["ops_differ"].skipped if "ops_differ differs" in text]
    assert len(reasons) == 1, listed["ops_differ"].skipped
    assert listed["ops_differ"].kernels_skipped > 0
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(acme.acme_cube(2.0)) == 8


def test_ops_that_were_not_loaded_are_not_there() -> None:
    program = """
import millstream as tf
try:
    tf.load_op_library("framework/plugin/testing/libops_fail.so")
except tf.errors.InternalError as error:
    print(error.message)
definition = tf.GraphDef()
definition.node.add(name="y", op="AcmeCube")
try:
    tf.import_graph_def(definition)
except tf.errors.NotFoundError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert "libops_fail.so" in first
    assert "the fixture's registration fails in the end" in first
    assert "AcmeCube" in second
