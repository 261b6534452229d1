"""What variables start from."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as tf

_OF_FLOATS = [
    tf.random_normal_initializer,
    tf.truncated_normal_initializer,
    tf.uniform_unit_scaling_initializer,
    tf.variance_scaling_initializer,
    tf.initializers.identity,
]


@pytest.mark.parametrize("dtype", [tf.int32, tf.string, tf.bool, tf.complex64])
@pytest.mark.parametrize("initializer", _OF_FLOATS)
def test_random_floats_have_a_floating_point_type(initializer: Any, dtype: tf.DType) -> None:
    with pytest.raises(ValueError, match=f"Expected floating point type, got {dtype.name}"):
        initializer(dtype=dtype)


@pytest.mark.parametrize("initializer", _OF_FLOATS)
def test_random_floats_are_of_any_floating_point_type(initializer: Any) -> None:
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        assert initializer(dtype=dtype).dtype is dtype
