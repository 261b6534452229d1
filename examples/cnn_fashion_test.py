"""The example learns, and its two networks are one but for what training changes."""

from __future__ import annotations

import pathlib

import numpy as np

import millstream as tf
from examples import cnn_fashion


def test_a_short_training_learns(tmp_path: pathlib.Path) -> None:
    tf.reset_default_graph()
    assert cnn_fashion.main(["--short", f"--logdir={tmp_path}"]) > 0.7
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_both_networks_have_the_same_variables() -> None:
    tf.reset_default_graph()
    cnn_fashion.Model(10)
    names = [variable.op.name for variable in tf.trainable_variables()]
    # A filter, a scale and an offset in a block; weights and a bias in a dense layer.
    assert len(names) == 3 * len(cnn_fashion.FILTERS) + 4
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2 * len(cnn_fashion.FILTERS)


def test_a_step_moves_the_averages_that_the_test_uses() -> None:
    tf.reset_default_graph()
    model = cnn_fashion.Model(10)
    random = np.random.RandomState(0)
    feed = {model.images: random.rand(8, 784), model.classes: np.arange(8)}
    averages = [v for v in tf.global_variables() if v.op.name.endswith("moving_mean")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        hits = session.run(model.hits, feed)
        assert session.run(model.hits, feed) == hits  # nothing is dropped
        session.run(model.train, feed)
        for value in session.run(averages):
            assert np.abs(value).max() > 0
