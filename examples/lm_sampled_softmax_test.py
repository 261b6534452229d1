"""A cluster learns a language whose words are spread over its parameter servers."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import millstream as tf
from examples import lm_sampled_softmax
from examples.lm_sampled_softmax import Model, places_of


def test_servers_with_parts_of_the_words_learn(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    assert lm_sampled_softmax.main(["--short", f"--logdir={tmp_path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    pattern = r"perplexity of words (\d+\.\d) .* (\d+\.\d) by frequency"
    (found,) = [one for line in lines if (one := re.search(pattern, line))]
    assert float(found[1]) < 0.8 * float(found[2])
    assert any("| step " in line for line in lines)


def test_a_place_has_the_words_before_it() -> None:
    places = places_of(np.arange(10, 17))
    assert places.contexts.tolist() == [[10, 11, 12, 13], [11, 12, 13, 14], [12, 13, 14, 15]]
    assert places.targets.tolist() == [14, 15, 16]


def test_the_full_softmax_is_that_of_the_whole_weights() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        model = Model(500, 3)
        session.run(tf.global_variables_initializer())
        feed = {model.contexts: [[1, 2, 3, 4], [0, 499, 9, 8]], model.targets: [5, 499]}
        values = {v.op.name: v for v in tf.trainable_variables()}
        weights, biases = [
            np.concatenate(session.run([v for name, v in values.items() if kind in name]))
            for kind in ("model/weights", "model/biases")
        ]
        hidden = session.run("dense/Tanh:0", feed)
        logits = hidden.astype(np.float64) @ weights.T + biases
        expected = np.log(np.exp(logits).sum(1)) - logits[[0, 1], [5, 499]]
        found = session.run(model.full_losses, feed)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_products_are_where_the_servers_are() -> None:
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    with (
        tf.Graph().as_default() as graph,
        tf.device(tf.train.replica_device_setter(cluster=cluster)),
    ):
        Model(400, 2)
        products = [one for one in graph.get_operations() if one.type == "MatMul"]
        on_servers = [one.device for one in products if one.device.startswith("/job:ps")]
        assert on_servers == ["/job:ps/task:0", "/job:ps/task:1"]
