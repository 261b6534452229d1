"""Codes of 32 numbers say more of an image than as many principal components."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import millstream as tf
from examples import autoencoder


def test_a_short_training_beats_the_best_linear_codes(tmp_path: Path) -> None:
    tf.reset_default_graph()
    errors = autoencoder.main(["--short", "--logdir", str(tmp_path)])
    assert errors["autoencoder"] < errors["principal components"] < errors["mean image"]
    assert (tmp_path / "reconstructions.png").read_bytes().startswith(b"\x89PNG")


def test_principal_components_draw_what_varies_in_so_many_directions() -> None:
    random = np.random.RandomState(0)
    directions = random.normal(size=(autoencoder.CODE, 784))
    images = (random.normal(size=(500, autoencoder.CODE)) @ directions).astype(np.float32)
    mean, linear = autoencoder.linear_errors(images, images[:100])
    assert mean > 1.0
    # What is left is the rounding of 784 float32 sums of 500 products.
    assert linear < 1e-6 * mean
