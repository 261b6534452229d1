"""The example's models learn on accelerators what they learn on the CPU.

The accelerators are simulated (docs/sim.md). Their kernels are the CPU's, one thread each, so what
may differ is the order of sums where the CPU has several threads.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

PLUGIN = pathlib.Path.cwd() / "device_plugins/sim/libmillstream_sim.so"
ONE = "/device:SIM:0"
SPLIT = "/device:SIM:0,/device:SIM:1,/cpu:0"
STEPS = {"mlp": 20, "lenet": 4}


def train(
    path: pathlib.Path, model: str, devices: str, switches: str = ""
) -> dict[str, np.ndarray]:
    """Train in a process of its own, and return all variables."""
    environment = dict(os.environ)
    environment["MILLSTREAM_PLUGIN_PATH"] = str(PLUGIN)
    environment["MILLSTREAM_PLUGIN_OPTIONS"] = f"sim:devices=2;memory_mb=256{switches}"
    command = [sys.executable, "-m", "examples.fashion_mnist", f"--model={model}"]
    command += [f"--steps={STEPS[model]}", f"--devices={devices}", f"--save={path}"]
    command.append(f"--logdir={path.parent / 'events'}")
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("devices", [ONE, SPLIT], ids=["one", "split"])
@pytest.mark.parametrize("model", ["mlp", "lenet"])
def test_a_model_learns_on_accelerators_what_it_learns_on_the_cpu(
    model: str, devices: str, tmp_path: pathlib.Path
) -> None:
    expected = train(tmp_path / "cpu", model, "/cpu:0")
    got = train(tmp_path / "sim", model, devices, ";delay_us=50")
    assert sorted(got) == sorted(expected)
    assert int(got["global_step"]) == STEPS[model]
    for name, values in expected.items():
        # Another order of n sums changes a result by some roundings, of 6e-8 each; a step of Adam
        # divides by the root of squares, so that small gradients count as large ones.
        scale = float(np.max(np.abs(values))) or 1.0
        np.testing.assert_allclose(got[name], values, rtol=0, atol=2e-4 * scale, err_msg=name)


@pytest.mark.parametrize("devices", [ONE, SPLIT], ids=["one", "split"])
@pytest.mark.parametrize("model", ["mlp", "lenet"])
def test_the_bits_are_the_same_whatever_the_delays(
    model: str, devices: str, tmp_path: pathlib.Path
) -> None:
    first = train(tmp_path / "first", model, devices)
    second = train(tmp_path / "second", model, devices, ";delay_us=300;seed=5;latency_us=20")
    for name, values in first.items():
        assert second[name].tobytes() == values.tobytes(), name
