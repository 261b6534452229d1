"""Networks that TensorFlow froze load and give the numbers that it computed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import millstream as tf
import python_environment
from testing.architectures import networks

_PINS = Path("tools/requirements/coexistence.txt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("frozen")
    python = python_environment.PythonEnvironment(_PINS, "coexistence").program("python")
    command = [python, "-m", "testing.architectures.freeze_by_tensorflow", str(made)]
    environment = {**os.environ, "PYTHONPATH": ".", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return made


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_a_network_that_tensorflow_froze_gives_its_numbers(name: str, folder: Path) -> None:
    graph_def = tf.GraphDef.FromString((folder / f"{name}.pb").read_bytes())
    got = networks.run_frozen(tf, graph_def, name)
    with np.load(folder / f"{name}.npz") as expected:
        assert len(got) == len(expected.files)
        for have, key in zip(got, expected.files, strict=True):
            # The sums of 50 to 100 layers in another order, see networks_test.py.
            np.testing.assert_allclose(have, expected[key], rtol=2e-3, atol=1e-5)
