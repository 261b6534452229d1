"""What objects of graphs look like in a shell."""

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


def test_graphs_say_how_large_they_are(graph: tf.Graph) -> None:
    tf.constant(1)
    assert repr(graph) == "<tf.Graph with 1 operations>"
    graph.finalize()
    assert repr(graph) == "<tf.Graph with 1 operations, finalized>"


def test_sessions_say_whether_they_are_open(graph: tf.Graph) -> None:
    session = tf.Session()
    assert repr(session) == f"<tf.Session of {graph!r}>"
    session.close()
    assert repr(session) == f"<closed tf.Session of {graph!r}>"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.placeholder(tf.int32, name="x").op, "<tf.Operation 'x' type=Placeholder>"),
        (
            lambda: tf.placeholder(tf.int32, [None, 2], name="x"),
            "<tf.Tensor 'x:0' shape=(?, 2) dtype=int32>",
        ),
        (
            lambda: tf.placeholder(tf.int32, name="x"),
            "<tf.Tensor 'x:0' shape=<unknown> dtype=int32>",
        ),
        (lambda: tf.Variable([1.0], name="v"), "<tf.Variable 'v:0' shape=(1,) dtype=float32>"),
        (
            lambda: tf.IndexedSlices(tf.ones([1], name="v"), tf.zeros([1], tf.int32, name="i")),
            "<tf.IndexedSlices values=<tf.Tensor 'v:0' shape=(1,) dtype=float32> "
            "indices=<tf.Tensor 'i:0' shape=(1,) dtype=int32>>",
        ),
        (lambda: tf.DeviceSpec(job="w", task=2), "<tf.DeviceSpec '/job:w/task:2'>"),
        (lambda: tf.TensorShape([None, 2]), "TensorShape([Dimension(None), Dimension(2)])"),
        (lambda: tf.TensorShape(None), "TensorShape(None)"),
        (lambda: tf.float32, "tf.float32"),
        (lambda: tf.GraphDef.DESCRIPTOR, "<Descriptor millstream.GraphDef>"),
        (lambda: tf.NodeDef(name="n"), 'name: "n"\n'),
        (lambda: tf.zeros_initializer(), "Zeros(dtype='float32')"),
        (lambda: tf.train.AdamOptimizer(), "<tf.train.AdamOptimizer 'Adam'>"),
        (lambda: tf.get_variable_scope(), "<tf.VariableScope '' reuse=False>"),
    ],
)
def test_objects_name_themselves(make: Any, text: str) -> None:
    assert repr(make()) == text
