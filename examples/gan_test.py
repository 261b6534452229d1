"""Drawn images come closer to real ones, by the score of a classifier of real images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millstream as tf
from examples import gan


def test_a_short_training_draws_more_than_noise(tmp_path: Path) -> None:
    tf.reset_default_graph()
    scores = gan.main(["--short", "--logdir", str(tmp_path)])
    assert scores["real"] > 5.0
    assert scores["noise"] < 1.2
    assert scores["drawn"] > 1.5
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")


def test_each_adversary_changes_its_own_variables_alone() -> None:
    tf.reset_default_graph()
    real = tf.placeholder(tf.float32, [None, 784])
    adversaries = gan.Adversaries(real)
    scopes = ["discriminator", "generator"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {real: np.random.RandomState(0).uniform(size=(8, 784))}
        for number, scope in enumerate(scopes):
            other = tf.trainable_variables(scopes[1 - number])
            own = tf.trainable_variables(scope)
            before = session.run([own, other])
            session.run(adversaries.train[number], feed)
            after = session.run([own, other])
            assert any(np.any(a != b) for a, b in zip(before[0], after[0], strict=True))
            assert all(np.all(a == b) for a, b in zip(before[1], after[1], strict=True))


def test_the_score_counts_the_classes_that_are_told_apart() -> None:
    sharp = np.eye(10, dtype=np.float32)
    assert gan.score(np.repeat(sharp, 5, axis=0)) == pytest.approx(10.0)
    assert gan.score(np.repeat(sharp[:3], 5, axis=0)) == pytest.approx(3.0)
    assert gan.score(np.full((20, 10), 0.1, np.float32)) == pytest.approx(1.0)
