"""Checkpoints that TensorFlow wrote have the values that stand beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millstream as tf

_FOLDER = Path("testdata/conformance/files/written_by_tf")
_GOLDEN = np.load(_FOLDER / "checkpoint.npz")


@pytest.mark.parametrize("name", _GOLDEN.files)
def test_tensor_has_its_value(name: str) -> None:
    reader = tf.train.NewCheckpointReader(str(_FOLDER / "checkpoint" / "model-7"))
    expected = _GOLDEN[name]
    value = np.asarray(reader.get_tensor(name))
    if expected.dtype.kind == "U":
        value = np.array([each.decode("latin-1") for each in value.ravel()]).reshape(value.shape)
    assert value.shape == expected.shape
    np.testing.assert_array_equal(value.astype(expected.dtype), expected)


def test_folder_is_read_by_its_list() -> None:
    listed = dict(tf.train.list_variables(str(_FOLDER / "checkpoint")))
    assert set(listed) == set(_GOLDEN.files)
    assert all(tuple(listed[name]) == _GOLDEN[name].shape for name in listed)
