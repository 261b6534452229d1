"""Public architectures give TensorFlow's numbers, also when their variables have become constants.

``expected.json`` has numbers that TensorFlow computed (``expected.py``).
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from testing.architectures import networks
from testing.architectures.expected import PAGE, summary

# A float32 network of 50 to 100 layers, summed in another order: the relative error of a sum of n
# terms of one size grows as n * 2^-24 at most and as its root in practice; layers add up.
_TOLERANCE: dict[str, Any] = {"rtol": 2e-3, "atol": 1e-6}


@functools.cache
def built(name: str) -> networks.Built:
    return networks.build_and_freeze(tf, name)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_the_numbers_are_those_of_tensorflow(name: str) -> None:
    expected = json.loads(Path(PAGE).read_text(encoding="utf-8"))[name]
    got = [summary(one) for one in built(name).outputs]
    assert [one["shape"] for one in got] == [one["shape"] for one in expected]
    for have, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(have["elements"], want["elements"], **_TOLERANCE)
        np.testing.assert_allclose(have["sum_of_squares"], want["sum_of_squares"], rtol=2e-3)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_a_frozen_network_gives_the_same_numbers(name: str) -> None:
    first = built(name)
    again = networks.run_frozen(tf, copied(first.frozen), name)
    for have, want in zip(again, first.outputs, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-5)


def copied(graph_def: Any) -> Any:
    """The graph through its bytes."""
    return tf.GraphDef.FromString(graph_def.SerializeToString())


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_no_variable_is_left_in_a_frozen_network(name: str) -> None:
    kinds = {node.op for node in built(name).frozen.node}
    assert not kinds & {"VarHandleOp", "VariableV2", "ReadVariableOp"}
    assert "Const" in kinds
