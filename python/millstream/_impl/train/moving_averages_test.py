"""Moving averages follow their variables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_averages_start_from_first_values_and_follow(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    step = tf.placeholder_with_default(1000, [])
    average = tf.train.ExponentialMovingAverage(0.75, num_updates=step)
    move = average.apply([v])
    assert move.type == "NoOp"
    session.run(tf.global_variables_initializer())
    shadow = average.average(v)
    assert shadow is not None
    assert session.run(shadow).tolist() == [1.0, 2.0]
    session.run(v.assign([5.0, 10.0]))
    session.run(move)
    assert session.run(shadow).tolist() == [2.0, 4.0]
    session.run(move, {step: 0})  # the decay is 1 / 10
    np.testing.assert_allclose(session.run(shadow), [4.7, 9.4], rtol=1e-6)


def test_averages_of_tensors_start_from_zero_and_may_be_corrected(session: tf.Session) -> None:
    x = tf.placeholder_with_default([4.0, 8.0], [2], name="x")
    plain = tf.train.ExponentialMovingAverage(0.5)
    corrected = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="Corrected")
    moves = [plain.apply([x]), corrected.apply([x])]
    session.run(tf.global_variables_initializer())
    session.run(moves)
    assert session.run(plain.average(x)).tolist() == [2.0, 4.0]
    assert session.run(corrected.average(x)).tolist() == [4.0, 8.0]
    session.run(moves, {x: [1.0, 2.0]})
    assert session.run(plain.average(x)).tolist() == [1.5, 3.0]
    np.testing.assert_allclose(session.run(corrected.average(x)), [2.0, 4.0], rtol=1e-6)
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == [
        "x/ExponentialMovingAverage",
        "x/Corrected",
        "x/Corrected/biased",
        "x/Corrected/local_step",
    ]


def test_names_collections_and_what_to_restore() -> None:
    with tf.variable_scope("net"):
        v = tf.get_variable("v", [2])
    other = tf.Variable(1.0, name="other", trainable=False)
    average = tf.train.ExponentialMovingAverage(0.9)
    assert average.average(v) is None
    assert average.average_name(v) == "net/v/ExponentialMovingAverage"
    average.apply()
    shadow = average.average(v)
    assert shadow is not None
    assert shadow.op.name == average.average_name(v) == "net/v/ExponentialMovingAverage"
    assert tf.moving_average_variables() == [v]
    assert tf.trainable_variables() == [v]
    assert average.variables_to_restore() == {
        "net/v/ExponentialMovingAverage": shadow,
        "other": other,
    } | {"net/v/ExponentialMovingAverage": v}
    assert average.variables_to_restore([]) == {
        "net/v": v,
        "other": other,
        "net/v/ExponentialMovingAverage": shadow,
    }


def test_only_floating_point_numbers_have_averages() -> None:
    count = tf.Variable(1, name="count")
    average = tf.train.ExponentialMovingAverage(0.9)
    with pytest.raises(TypeError, match="must be half, float, or double: count:0"):
        average.apply([count])
