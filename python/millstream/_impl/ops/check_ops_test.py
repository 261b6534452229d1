"""Checks that run with the step fail it when values are not as they should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_assert_fails_the_step_and_shows_the_data(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [None], name="x")
    check = tf.Assert(tf.reduce_all(x > 0), ["not positive:", x], summarize=2, name="positive")
    assert check.name == "positive/Assert"
    session.run(check, {x: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(check, {x: [1, -2, 3]})
    assert caught.value.op is check
    assert "assertion failed: [not positive:] [1 -2...]" in caught.value.message


def test_what_waits_for_a_failed_check_does_not_run(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    session.run(v.initializer)
    with tf.control_dependencies([tf.assert_positive(x)]):
        change = v.assign(x)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(change, {x: -1.0})
    assert session.run(v) == 1.0
    session.run(change, {x: 2.0})
    assert session.run(v) == 2.0


@pytest.mark.parametrize(
    ("check", "fine", "wrong"),
    [
        (tf.assert_equal, [7, 7], [7, 8]),
        (tf.assert_none_equal, [6, 8], [6, 7]),
        (tf.assert_less, [6, 5], [6, 7]),
        (tf.assert_less_equal, [6, 7], [7, 8]),
        (tf.assert_greater, [8, 9], [7, 9]),
        (tf.assert_greater_equal, [7, 9], [6, 9]),
    ],
)
def test_relations_are_checked_in_steps_and_before(
    session: tf.Session, check: Any, fine: list[int], wrong: list[int]
) -> None:
    x = tf.placeholder(tf.int32, [2])
    operation = check(x, 7, message="wrong x")
    session.run(operation, {x: fine})
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong x"):
        session.run(operation, {x: wrong})
    assert check(fine, 7).type == "NoOp"
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong x"):
        check(wrong, 7, message="wrong x")


@pytest.mark.parametrize(
    ("check", "fine", "wrong"),
    [
        (tf.assert_positive, 1.0, 0.0),
        (tf.assert_non_negative, 0.0, -1.0),
        (tf.assert_negative, -1.0, 0.0),
        (tf.assert_non_positive, 0.0, 1.0),
    ],
)
def test_signs_are_checked(session: tf.Session, check: Any, fine: float, wrong: float) -> None:
    x = tf.placeholder(tf.float32, [])
    session.run(check(x), {x: fine})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(check(x), {x: wrong})
    with pytest.raises(tf.errors.InvalidArgumentError):
        check(wrong)


def test_near_has_tolerances(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    session.run(tf.assert_near(x, 1.0), {x: 1.0 + 1e-6})
    with pytest.raises(tf.errors.InvalidArgumentError, match="near"):
        session.run(tf.assert_near(x, 1.0), {x: 1.001})
    session.run(tf.assert_near(x, 1.0, atol=0.01), {x: 1.001})
    with pytest.raises(TypeError, match="floating-point"):
        tf.assert_near(tf.constant(1), 1)


def test_ranks_are_checked_where_they_are_known_and_else_in_steps(session: tf.Session) -> None:
    known, unknown = tf.zeros([2, 2]), tf.placeholder(tf.float32)
    assert tf.assert_rank(known, 2).type == "NoOp"
    assert tf.assert_rank_at_least(known, 1).type == "NoOp"
    with pytest.raises(ValueError, match=r"must have rank 1, got rank 2, shape \(2, 2\)"):
        tf.assert_rank(known, 1)
    with pytest.raises(ValueError, match="must have rank at least 3"):
        tf.assert_rank_at_least(known, 3)
    session.run(tf.assert_rank(unknown, 1), {unknown: [1.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
        session.run(tf.assert_rank(unknown, 1), {unknown: [[1.0]]})


def test_numbers_that_are_none_fail_the_step(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    y = tf.check_numerics(x, "bad loss", name="checked")
    assert session.run(y, {x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
    for wrong, what in (
        ([1.0, np.nan], "NaN"),
        ([np.inf, 1.0], "Inf"),
        ([np.inf, np.nan], "Inf and NaN"),
    ):
        words = f"bad loss : Tensor had {what} values"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words) as caught:
            session.run(y, {x: wrong})
        assert caught.value.op is y.op
    verified = tf.verify_tensor_all_finite(x, "bad x")
    assert session.run(verified, {x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad x"):
        session.run(verified, {x: [np.inf, 1.0]})


def test_gradients_are_checked_like_the_values(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.sqrt(tf.check_numerics(x, "bad root"))
    (gradient,) = tf.gradients(y, x)
    assert session.run(gradient, {x: 4.0}) == 0.25
    assert session.run(y, {x: 0.0}) == 0.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad root"):
        session.run(gradient, {x: 0.0})


def test_a_rank_is_one_of_several() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match=r"m  Tensor .* must have rank in \(0, 2\)"):
            tf.assert_rank_in([1.0], [0, 2], message="m")
        tf.assert_rank_in([1.0], [0, 1]).run()
        fed = tf.placeholder(tf.float32)
        check = tf.assert_rank_in(fed, [0, 2])
        sess.run(check, {fed: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank in"):
            sess.run(check, {fed: [1.0]})


def test_order_is_that_of_rows() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        for values in ([[1, 2], [2, 3]], [[1, 2], [3, 4]], [3, 1], [5], []):
            flat = np.array(values, np.float32).reshape(-1)
            steps = np.diff(flat)
            assert sess.run(tf.is_non_decreasing(flat)) == (steps >= 0).all()
            assert sess.run(tf.is_strictly_increasing(flat)) == (steps > 0).all()
