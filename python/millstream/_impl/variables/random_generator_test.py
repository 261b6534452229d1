"""Generators of random numbers whose state is a variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_Generator = tf.random.experimental.Generator


def _run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetch) for fetch in fetches]


def test_a_generator_draws_what_one_of_the_same_seed_draws() -> None:
    with tf.Graph().as_default():
        drawn = [_Generator.from_seed(7).normal([3]) for _ in range(2)]
        first, other, again = _run(drawn[0], drawn[1], drawn[0])
    np.testing.assert_array_equal(first, other)
    assert (first != again).all()


def test_the_counter_moves_on_by_256_for_each_number() -> None:
    with tf.Graph().as_default():
        generator = _Generator.from_seed(7)
        drawn = generator.uniform([2, 3], minval=5, maxval=9, dtype=tf.int32)
        skipped = generator.skip(10)
        numbers, state, _, after = _run(drawn, generator.state, skipped, generator.state)
    assert ((numbers >= 5) & (numbers < 9)).all()
    assert state.tolist() == [7 + 6 * 256, 0, 0]
    assert after.tolist() == [7 + 16 * 256, 0, 0]


def test_generators_that_are_split_off_draw_others() -> None:
    with tf.Graph().as_default():
        generators = _Generator.from_seed(7).split(2)
        keys = [generator.key for generator in generators]
        drawn = [generator.uniform_full_int([2]) for generator in generators]
        first, second = _run(keys, drawn)
    assert first[0] != first[1]
    assert (second[0] != second[1]).all()


def test_a_state_is_set_and_copied() -> None:
    with tf.Graph().as_default():
        generator = _Generator.from_key_counter(5, [3, 4], 1)
        copy = _Generator(copy_from=generator)
        reset = generator.reset_from_seed(9)
        before, copied, _, after = _run(generator.state, copy.state, reset, generator.state)
        assert before.tolist() == copied.tolist() == [3, 4, 5]
        assert after.tolist() == [9, 0, 0]


def test_the_global_generator_belongs_to_the_graph() -> None:
    with tf.Graph().as_default():
        mine = _Generator.from_seed(1)
        tf.random.experimental.set_global_generator(mine)
        assert tf.random.experimental.get_global_generator() is mine
    with tf.Graph().as_default():
        other = tf.random.experimental.get_global_generator()
        assert other is not mine
        (seeds,) = _run(other.make_seeds(4))
        assert seeds.shape == (2, 4)


def test_what_is_no_algorithm_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="alg: 2 is no algorithm"):
        _Generator.from_seed(7, alg=2)


def test_binomial_numbers_have_the_chances_of_their_batches() -> None:
    with tf.Graph().as_default():
        generator = _Generator.from_seed(7)
        counts, chances = np.array([5.0, 100.0, 2000.0]), np.array([0.3, 0.9, 0.5])
        drawn = generator.binomial([20_000, 3], counts=counts, probs=chances)
        numbers, state = _run(drawn, generator.state)
    assert numbers.dtype == np.int32
    assert state.tolist() == [7 + 3 * 200 * 20_003 // 4 * 256, 0, 0]
    means = counts * chances
    variances = means * (1 - chances)
    # Five deviations of a mean of so many numbers, and a twentieth of the variance.
    assert (np.abs(numbers.mean(0) - means) < 5 * np.sqrt(variances / 20_000)).all()
    np.testing.assert_allclose(numbers.var(0), variances, rtol=0.05)


def test_binomial_numbers_of_one_parameter() -> None:
    with tf.Graph().as_default():
        drawn = _Generator.from_seed(7).binomial([2, 3], 4, 1.0, dtype=tf.float32)
        (numbers,) = _run(drawn)
    np.testing.assert_array_equal(numbers, np.full([2, 3], 4.0, np.float32))
