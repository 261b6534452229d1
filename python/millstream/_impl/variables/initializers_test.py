"""What variables start from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_OF_FLOATS = [
    tf.random_normal_initializer,
    tf.truncated_normal_initializer,
    tf.uniform_unit_scaling_initializer,
    tf.variance_scaling_initializer,
    tf.initializers.identity,
    tf.orthogonal_initializer,
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


@pytest.mark.parametrize("shape", [[5, 3], [3, 5], [2, 3, 4], [3, 2, 4, 9]])
def test_an_orthogonal_matrix_has_rows_or_columns_that_are(shape: list[int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value = session.run(tf.orthogonal_initializer(2.0, seed=3)(shape))
    assert list(value.shape) == shape
    matrix = value.reshape(-1, shape[-1]) / 2
    matrix = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(matrix.shape[1]), atol=1e-6)


def test_an_orthogonal_matrix_needs_two_known_dimensions() -> None:
    with pytest.raises(ValueError, match="must be at least two-dimensional"):
        tf.initializers.orthogonal()([3])
    with pytest.raises(ValueError, match="expected known dimensions"):
        tf.initializers.orthogonal()([None, 3])


def test_an_orthogonal_initializer_is_made_again_of_its_configuration() -> None:
    config = tf.orthogonal_initializer(2.0, seed=3).get_config()
    assert config == {"gain": 2.0, "seed": 3, "dtype": "float32"}
    assert tf.orthogonal_initializer.from_config(config).get_config() == config
