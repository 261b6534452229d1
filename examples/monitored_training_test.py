"""Training in parts gives the same bits as training in one go, and learns."""

from __future__ import annotations

import pathlib

import numpy as np

import millstream as tf
from examples import monitored_training


def _train(folder: pathlib.Path, steps: int) -> float:
    with tf.Graph().as_default():
        return monitored_training.main([f"--folder={folder}", f"--steps={steps}"])


def test_training_in_parts_gives_the_same_bits(tmp_path: pathlib.Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    loss = _train(whole, 1500)
    assert loss < 0.1
    assert [_train(parts, steps) for steps in (400, 1500)][-1] == loss
    saved = tf.train.list_variables(str(whole))
    assert len(saved) == 15  # four weights and biases, each with two slots; two powers, the step
    for name, _ in saved:
        one, other = (tf.train.load_variable(str(folder), name) for folder in (whole, parts))
        np.testing.assert_array_equal(one, other)
