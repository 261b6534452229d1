"""A graph of references that the reference wrote runs as there, and is written as it came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf

_FOLDER = Path("testdata/conformance/files/written_by_tf")

# Parts of the file that need ops which are not there yet.
_LEFT_OUT = ("save/", "gradients/", "train")


@pytest.fixture(name="graph_def")
def _graph_def() -> Any:
    graph_def = tf.GraphDef.from_text((_FOLDER / "graph.pbtxt").read_text())
    kept = [node for node in graph_def.node if not node.name.startswith(_LEFT_OUT)]
    del graph_def.node[:]
    graph_def.node.extend(kept)
    return graph_def


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_variables_have_the_values_of_the_reference(graph_def: Any) -> None:
    tf.import_graph_def(graph_def, name="")
    given = np.load(_FOLDER / "graph.in.npz")
    wanted = np.load(_FOLDER / "graph.out.npz")
    with tf.Session() as sess:
        sess.run("init")
        got = sess.run(["y:0", "layer/w:0"], {"x:0": given["x"]})
    np.testing.assert_allclose(got[0], wanted["y"], rtol=1e-6)
    np.testing.assert_array_equal(got[1], wanted["layer|w"])


def test_the_step_of_an_optimizer_changes_them(graph: tf.Graph, graph_def: Any) -> None:
    step = tf.GraphDef.from_text(
        """
        node { name: "grad" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "rate" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "step" op: "ApplyAdam"
          input: "layer/w" input: "layer/w/Adam" input: "layer/w/Adam_1"
          input: "beta1_power/read" input: "beta2_power/read" input: "rate"
          input: "beta1_power" input: "beta2_power" input: "rate" input: "grad"
          attr { key: "T" value { type: DT_FLOAT } } }
        """
    )
    graph_def.node.extend(step.node)
    tf.import_graph_def(graph_def, name="")
    rate, grad = np.float32(0.125), np.full([2, 2], 0.5, np.float32)
    with tf.Session() as sess:
        sess.run("init")
        w, beta1, beta2 = sess.run(["layer/w:0", "beta1_power:0", "beta2_power:0"])
        got = sess.run("step:0", {"grad:0": grad, "rate:0": rate})
        m, v = sess.run(["layer/w/Adam:0", "layer/w/Adam_1:0"])
    np.testing.assert_allclose(m, (1 - beta1) * grad, rtol=1e-5)
    np.testing.assert_allclose(v, (1 - beta2) * grad * grad, rtol=1e-4)
    corrected = rate * np.sqrt(1 - beta2) / (1 - beta1)
    np.testing.assert_allclose(got, w - corrected * m / (np.sqrt(v) + rate), rtol=1e-5)


def test_the_graph_is_written_as_it_came(graph: tf.Graph, graph_def: Any) -> None:
    tf.import_graph_def(graph_def, name="")
    written = graph.as_graph_def().node
    assert [node.name for node in written] == [node.name for node in graph_def.node]
    for node, came in zip(written, graph_def.node, strict=True):
        assert (node.op, list(node.input), node.device) == (came.op, list(came.input), came.device)
        kept = {key: node.attr[key] for key in came.attr if key != "_output_shapes"}
        assert kept == {key: came.attr[key] for key in came.attr if key != "_output_shapes"}
