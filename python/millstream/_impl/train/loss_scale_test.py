"""Losses that are scaled."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

experimental = tf.train.experimental


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_fixed_factor_never_changes(session: tf.Session) -> None:
    scale = experimental.FixedLossScale(128)
    update, should_apply = scale.update([tf.constant(np.inf)])
    assert should_apply is True
    session.run(update)
    assert session.run(scale()) == 128
    assert scale.get_config() == {"loss_scale_value": 128.0}
    assert repr(experimental.FixedLossScale.from_config(scale.get_config())) == repr(scale)
    for bad, text in (("a", "must be a Python int or float"), (0.5, "must be at least 1")):
        with pytest.raises(ValueError, match=text):
            experimental.FixedLossScale(bad)


def test_a_factor_grows_after_steps_in_a_row_and_shrinks_at_once(session: tf.Session) -> None:
    scale = experimental.DynamicLossScale(4, increment_period=2, multiplier=2)
    gradient = tf.placeholder(tf.float32, [2])
    rows = tf.IndexedSlices(tf.ones([1]), tf.constant([0]))
    update, should_apply = scale.update([gradient, None, rows])
    session.run(tf.global_variables_initializer())
    factors, applied = [], []
    for value in (1.0, 1.0, 1.0, np.nan, 1.0, np.inf, np.inf, np.inf, 1.0, 1.0):
        feeds = {gradient: [0.0, value]}
        applied.append(bool(session.run([should_apply, update], feeds)[0]))
        factors.append(float(session.run(scale())))
    assert factors == [4, 8, 8, 4, 4, 2, 1, 1, 1, 2]
    assert applied == [True, True, True, False, True, False, False, False, True, True]


def test_a_factor_does_not_become_infinite(session: tf.Session) -> None:
    scale = experimental.DynamicLossScale(3e38, increment_period=1)
    update, _ = scale.update([tf.constant(1.0)])
    session.run(tf.global_variables_initializer())
    session.run(update)
    assert session.run(scale()) == np.float32(3e38)


@pytest.mark.parametrize("loss_scale", [1024, "dynamic", experimental.DynamicLossScale])
def test_scaled_steps_are_those_of_the_optimizer(session: tf.Session, loss_scale: Any) -> None:
    values = []
    for is_scaled in (False, True):
        w = tf.Variable([1.0, -2.0])
        optimizer: Any = tf.train.AdamOptimizer(0.1)
        if is_scaled:
            scale = loss_scale() if callable(loss_scale) else loss_scale
            optimizer = experimental.MixedPrecisionLossScaleOptimizer(optimizer, scale)
        step = tf.Variable(0, trainable=False)
        train = optimizer.minimize(tf.reduce_sum(w**2), step)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        values.append(session.run(w))
        assert session.run(step) == 3
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(w, "m") in optimizer.variables()


def test_a_step_with_an_infinite_gradient_is_left_out(session: tf.Session) -> None:
    w, x = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    step = tf.Variable(0, trainable=False)
    descent = tf.train.GradientDescentOptimizer(0.5)
    optimizer = experimental.MixedPrecisionLossScaleOptimizer(descent, "dynamic")
    train = optimizer.minimize(w * x, step)
    session.run(tf.global_variables_initializer())
    session.run(train, {x: 1e38})
    assert session.run([w, step]) == [1.0, 0]
    session.run(train, {x: 1.0})
    assert session.run([w, step]) == [0.5, 1]


def test_gradients_that_vanish_in_16_bits_do_not(session: tf.Session) -> None:
    w = tf.Variable(1.0)
    loss = tf.cast(tf.cast(w, tf.float16) * 2.0**-14, tf.float32) * 2.0**-14
    descent = tf.train.GradientDescentOptimizer(1.0)
    scaled = experimental.MixedPrecisionLossScaleOptimizer(descent, 2.0**14)
    ((plain, _),) = descent.compute_gradients(loss)
    ((gradient, _),) = scaled.compute_gradients(loss)
    session.run(tf.global_variables_initializer())
    assert session.run(plain) == 0
    assert session.run(gradient) == 2.0**-28


def test_rows_of_a_table_stay_rows(session: tf.Session) -> None:
    table = tf.Variable(tf.ones([4, 2]))
    descent = tf.train.GradientDescentOptimizer(1.0)
    scaled = experimental.MixedPrecisionLossScaleOptimizer(descent, 8)
    ((gradient, _),) = scaled.compute_gradients(tf.reduce_sum(tf.gather(table, [1, 1])))
    assert isinstance(gradient, tf.IndexedSlices)
    session.run(tf.global_variables_initializer())
    session.run(scaled.apply_gradients([(gradient, table)]))
    assert session.run(table)[:, 0].tolist() == [1, -1, 1, 1]


def test_a_checkpoint_of_objects_holds_the_factor(
    session: tf.Session, tmp_path: pathlib.Path
) -> None:
    scale = experimental.DynamicLossScale(4, increment_period=1)
    checkpoint = tf.train.Checkpoint(scale=scale)
    update, _ = scale.update([tf.constant(1.0)])
    session.run(tf.global_variables_initializer())
    session.run(update)
    path = checkpoint.save(str(tmp_path / "c"))
    session.run(update)
    checkpoint.restore(path).run_restore_ops()
    assert session.run(scale()) == 8


def test_only_optimizers_are_scaled() -> None:
    descent = tf.train.GradientDescentOptimizer(1.0)
    with pytest.raises(ValueError, match='"opt" must be an instance of Optimizer'):
        experimental.MixedPrecisionLossScaleOptimizer(1, 8)
    with pytest.raises(ValueError, match="loss_scale cannot be None"):
        experimental.MixedPrecisionLossScaleOptimizer(descent, None)
    with pytest.raises(ValueError, match="expected a number, 'dynamic' or a LossScale"):
        experimental.MixedPrecisionLossScaleOptimizer(descent, "static")
