"""The replicas learn and stay equal."""

from __future__ import annotations

import pytest

import millstream as tf
from examples import mirrored_lenet


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_short_training_learns(capsys: pytest.CaptureFixture[str], replicas: int) -> None:
    tf.reset_default_graph()
    assert mirrored_lenet.main(["--short", f"--replicas={replicas}"]) > 0.7
    assert "replicas are equal in all bits" in capsys.readouterr().out
