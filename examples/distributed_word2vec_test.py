"""A cluster learns vectors of words by tables that are spread over its parameter servers."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import millstream as tf
from examples import distributed_word2vec


def test_servers_with_parts_of_the_tables_learn(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    assert distributed_word2vec.main(["--short", f"--logdir={tmp_path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (found,) = [one for line in lines if (one := re.search(r"nearer than (0\.\d+)", line))]
    assert float(found[1]) > 0.55
    assert any("| step " in line for line in lines)
    checkpoint = tf.train.latest_checkpoint(str(tmp_path))
    assert checkpoint is not None
    # The parts are saved as one table.
    table = tf.train.load_variable(checkpoint, "model/embedding")
    assert table.shape[1] == 64


def test_the_tables_are_where_the_servers_are() -> None:
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    with (
        tf.Graph().as_default() as graph,
        tf.device(tf.train.replica_device_setter(cluster=cluster)),
    ):
        model = distributed_word2vec.Model(300, 2)
        parts = [one for one in tf.trainable_variables() if "embedding" in one.name]
        assert [part.device for part in parts] == ["/job:ps/task:0", "/job:ps/task:1"]
        assert [part.shape[0].value for part in parts] == [150, 150]
        products = [one for one in graph.get_operations() if one.type == "MatMul"]
        assert {"/job:ps/task:0", "/job:ps/task:1"} <= {one.device for one in products}
        assert model.cosines.shape.as_list() == [None, 300]


def test_cosines_are_those_of_the_whole_table() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        model = distributed_word2vec.Model(200, 3)
        session.run(tf.global_variables_initializer())
        parts = session.run([v for v in tf.trainable_variables() if "embedding" in v.name])
        table = np.concatenate(parts)
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        cosines = session.run(model.cosines, {model.centers: [4, 180]})
        np.testing.assert_allclose(cosines, table[[4, 180]] @ table.T, rtol=1e-5, atol=1e-6)
