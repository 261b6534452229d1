"""TensorFlow, PyTorch and the wheel in one process, whichever comes first.

They carry libraries of the same origin (oneDNN, Protobuf, Abseil, RE2, OpenMP's run time), each in
another version.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

import python_environment
from wheel_contents import unpack

PINS = pathlib.Path("tools/requirements/coexistence.txt")

# Each imports its package and gives a function that convolves by oneDNN; ours uses RE2 before.
IMPORT = {
    "millstream": """
import millstream as ms
def convolve_millstream():
    with ms.Graph().as_default(), ms.Session() as session:
        assert session.run(ms.strings.regex_replace("abab", "a(b)", "c")) == b"cc"
        return session.run(ms.nn.conv2d(IMAGE, FILTER, strides=[1, 1, 1, 1], padding="VALID"))
""",
    "tensorflow": """
import tensorflow as tf
def convolve_tensorflow():
    return tf.nn.conv2d(IMAGE, FILTER, strides=[1, 1, 1, 1], padding="VALID").numpy()
""",
    "torch": """
import torch
def convolve_torch():
    image = torch.from_numpy(IMAGE.transpose(0, 3, 1, 2).copy())
    weights = torch.from_numpy(FILTER.transpose(3, 2, 0, 1).copy())
    return torch.nn.functional.conv2d(image, weights).numpy().transpose(0, 2, 3, 1)
""",
}

START = """
import numpy as np
random = np.random.default_rng(1)
IMAGE = random.standard_normal((2, 12, 12, 3), dtype=np.float32)
FILTER = random.standard_normal((3, 3, 3, 16), dtype=np.float32)
windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3), (1, 2))
EXPECTED = np.einsum("bhwcij,ijco->bhwo", windows, FILTER)
"""

# Twice: what the first calls set up must not spoil the second.
END = """
for _ in range(2):
    for name, convolve in list(globals().items()):
        if name.startswith("convolve_"):
            np.testing.assert_allclose(convolve(), EXPECTED, rtol=1e-4, atol=1e-4)
            print(name)
"""


@pytest.fixture(scope="module")
def python() -> str:
    return python_environment.PythonEnvironment(PINS, "coexistence").program("python")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return unpack(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize(
    "order",
    [
        ("millstream", "tensorflow"),
        ("tensorflow", "millstream"),
        ("millstream", "torch"),
        ("torch", "millstream"),
        ("torch", "millstream", "tensorflow"),
        ("tensorflow", "torch", "millstream"),
    ],
    ids="-".join,
)
def test_packages_work_side_by_side(
    python: str, site: pathlib.Path, order: tuple[str, ...]
) -> None:
    program = START + "".join(IMPORT[name] for name in order) + END
    done = subprocess.run(
        [python, "-B", "-c", program],
        env=dict(
            os.environ, PYTHONPATH=str(site), CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3"
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [f"convolve_{name}" for name in order] * 2
