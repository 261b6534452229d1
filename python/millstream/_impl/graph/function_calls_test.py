"""Imported graphs that call functions of their library."""

from __future__ import annotations

import numpy as np
import pytest

import millstream as tf
from millstream._impl.protos import text_format

# z = (x + y)^2 * x, called twice.
GRAPH = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node {
  name: "call" op: "PartitionedCall" input: "a" input: "a"
  attr { key: "Tin" value { list { type: DT_FLOAT type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func {
    name: "polynomial" attr { key: "T" value { type: DT_FLOAT } } } } }
}
node {
  name: "again" op: "polynomial" input: "call" input: "a"
  attr { key: "T" value { type: DT_FLOAT } }
}
library { function {
  signature {
    name: "polynomial"
    input_arg { name: "x" type_attr: "T" }
    input_arg { name: "y" type_attr: "T" }
    output_arg { name: "z" type_attr: "T" }
    attr { name: "T" type: "type" }
  }
  node_def { name: "sum" op: "AddV2" input: "x" input: "y"
    attr { key: "T" value { placeholder: "T" } } }
  node_def { name: "square" op: "Square" input: "sum:z:0"
    attr { key: "T" value { placeholder: "T" } } }
  node_def { name: "product" op: "Mul" input: "square:y:0" input: "x"
    attr { key: "T" value { placeholder: "T" } } }
  ret { key: "z" value: "product:z:0" }
} }
"""


@pytest.fixture
def tensors() -> list[tf.Tensor]:
    definition = text_format.Parse(GRAPH, tf.GraphDef())
    names = ["a:0", "call:0", "again:0"]
    with tf.Graph().as_default():
        found = tf.import_graph_def(definition, return_elements=names, name="in")
    assert found is not None
    return found


def test_calls_run(tensors: list[tf.Tensor]) -> None:
    a, call, again = tensors
    with tf.Session(graph=a.graph) as session:
        assert session.run([call, again], {a: [1.0, 2.0]})[0].tolist() == [4.0, 32.0]
        assert session.run(again, {call: [3.0], a: [1.0]}).tolist() == [48.0]


def test_gradients_go_through_the_body(tensors: list[tf.Tensor]) -> None:
    a, call, _ = tensors
    with a.graph.as_default(), tf.Session() as session:
        (gradient,) = tf.gradients(call, a)  # of 4 a^3
        np.testing.assert_allclose(session.run(gradient, {a: [1.0, 2.0]}), [12.0, 48.0])


def test_the_graph_is_written_with_calls_and_library(tensors: list[tf.Tensor]) -> None:
    definition = tensors[0].graph.as_graph_def()
    assert [(node.name, node.op) for node in definition.node] == [
        ("in/a", "Placeholder"),
        ("in/call", "PartitionedCall"),
        ("in/again", "polynomial"),
    ]
    assert list(definition.node[1].input) == ["in/a", "in/a"]
    assert definition.library.function[0].signature.name == "polynomial"


def test_a_call_of_a_function_that_is_not_there_is_refused() -> None:
    definition = text_format.Parse(
        GRAPH.replace('name: "polynomial"', 'name: "f"', 1), tf.GraphDef()
    )
    with pytest.raises(tf.errors.NotFoundError, match="no function 'f'"):
        tf.import_graph_def(definition)
