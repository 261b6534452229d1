"""Random numbers that are functions of a seed: their limits. Golden cases have their bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

# What 2.21 draws with the seed [3, -7].
_WORDS = [3773266123, 1131767832, 879219307, 544013499, 1333424453]
_PAIRS = [
    4860905828878088395,
    2336520187666748011,
    7478671020207534405,
    930391669015916971,
    12474446327966032471,
]


@pytest.mark.parametrize(
    ("dtype", "drawn"),
    [
        (tf.int32, np.array(_WORDS, np.uint32).view(np.int32)),
        (tf.uint32, np.array(_WORDS, np.uint32)),
        (tf.int64, np.array(_PAIRS, np.uint64).view(np.int64)),
        (tf.uint64, np.array(_PAIRS, np.uint64)),
    ],
)
def test_integers_without_limits_are_any_of_their_type(dtype: tf.DType, drawn: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        seed = tf.placeholder(tf.int32, [2])
        numbers = tf.random.stateless_uniform([5], seed, None, None, dtype)
        assert (numbers.dtype, numbers.shape.as_list()) == (dtype, [5])
        values = session.run(numbers, {seed: [3, -7]})
        assert values.dtype == drawn.dtype
        assert values.tolist() == drawn.tolist()
        grid = tf.random.stateless_uniform([2, 2], [3, -7], None, None, dtype, name="grid")
        assert grid.op.name == "grid"
        assert session.run(grid).ravel().tolist() == drawn[:4].tolist()


@pytest.mark.parametrize(
    ("minval", "maxval", "dtype", "argument"),
    [
        (0, None, tf.int64, "maxval"),
        (None, 5, tf.int64, "minval"),
        (None, 5.0, tf.float32, "minval"),
        (None, None, tf.float32, "minval"),
    ],
)
def test_one_limit_alone_is_refused(
    minval: Any, maxval: Any, dtype: tf.DType, argument: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{argument}: expected"):
        tf.random.stateless_uniform([5], [1, 2], minval, maxval, dtype)


def test_numbers_are_within_their_limits() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        whole = tf.random.stateless_uniform([100], [1, 2], -3, 4, tf.int32)
        part = tf.random.stateless_uniform([100], [1, 2], 2.0, 4.0)
        integers, floats = session.run([whole, part])
        assert set(integers.tolist()) == set(range(-3, 4))
        assert 2 <= floats.min() < floats.max() < 4
