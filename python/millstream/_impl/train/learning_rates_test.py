"""Learning rates that change with the count of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize(
    ("decay", "formula"),
    [
        (tf.train.exponential_decay, lambda n: 0.3**n),
        (tf.train.natural_exp_decay, lambda n: math.exp(-0.3 * n)),
        (tf.train.inverse_time_decay, lambda n: 1.0 / (1.0 + 0.3 * n)),
    ],
)
def test_decay_follows_its_formula(
    decay: Any, formula: Callable[[float], float], dtype: tf.DType, staircase: bool
) -> None:
    step = tf.placeholder(tf.int64, [])
    rate = decay(tf.constant(0.1, dtype), step, 10, 0.3, staircase)
    assert rate.dtype == dtype
    for count in (0, 1, 5, 10, 25):
        periods = count // 10 if staircase else count / 10
        expected = 0.1 * formula(periods)
        assert float(rate.eval({step: count})) == pytest.approx(expected, rel=1e-6)


def test_decay_counts_with_a_variable() -> None:
    counter = tf.train.create_global_step()
    rate = tf.train.exponential_decay(1.0, counter, 1, 0.5, name="rate")
    w = tf.Variable(0.0)
    train = tf.train.GradientDescentOptimizer(rate).minimize(-w, global_step=counter)
    tf.global_variables_initializer().run()
    assert rate.op.name == "rate"
    seen = []
    for _ in range(4):
        seen.append(float(rate.eval()))
        train.run()
    assert seen == [1.0, 0.5, 0.25, 0.125]
    assert float(w.eval()) == sum(seen)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_pieces_end_with_their_boundaries(dtype: tf.DType) -> None:
    step = tf.placeholder(dtype, [])
    rate = tf.train.piecewise_constant(step, [100, 200], [1.0, 0.5, 0.25], name="rate")
    assert rate.op.name == "rate"
    found = [float(rate.eval({step: count})) for count in (-5, 100, 101, 200, 201, 999)]
    assert found == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]


def test_pieces_of_wrong_number_or_dtype_are_refused() -> None:
    x = tf.placeholder(tf.int32, [])
    for boundaries, values in (([1, 2], [1.0, 2.0]), ([1], [1.0]), ([], [1.0])):
        with pytest.raises(ValueError, match="values: expected one more than boundaries"):
            tf.train.piecewise_constant(x, boundaries, values)
    with pytest.raises(
        ValueError, match=r"boundaries: expected ascending numbers, got \[1, 3, 2\]"
    ):
        tf.train.piecewise_constant(x, [1, 3, 2], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="boundaries: expected the dtype of x, int32, got float32"):
        tf.train.piecewise_constant(x, [1.5], [1.0, 2.0])
    with pytest.raises(ValueError, match="values: expected one dtype, got int32 and float32"):
        tf.train.piecewise_constant(x, [1], [1, 2.5])
