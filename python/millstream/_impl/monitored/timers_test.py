"""Timers are due at the first step, and then by steps or by seconds."""

from __future__ import annotations

import time

import pytest

import millstream as tf


def test_by_steps() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=10)
    assert timer.last_triggered_step() is None
    assert timer.should_trigger_for_step(5)
    assert timer.update_last_triggered_step(5) == (None, None)
    assert not timer.should_trigger_for_step(5)
    assert not timer.should_trigger_for_step(14)
    assert timer.should_trigger_for_step(15)
    seconds, steps = timer.update_last_triggered_step(17)
    assert seconds is not None
    assert seconds >= 0
    assert steps == 12
    assert timer.last_triggered_step() == 17


def test_by_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "time", lambda: -now[0])  # the system's clock is set back
    timer = tf.train.SecondOrStepTimer(every_secs=5)
    assert timer.update_last_triggered_step(1) == (None, None)
    now[0] += 4.5
    assert not timer.should_trigger_for_step(2)
    now[0] += 0.5
    assert not timer.should_trigger_for_step(1)  # not twice for one step
    assert timer.should_trigger_for_step(2)
    assert timer.update_last_triggered_step(3) == (5.0, 2)


def test_a_timer_that_is_reset_is_as_new() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=10)
    timer.update_last_triggered_step(1)
    timer.reset()
    assert timer.last_triggered_step() is None
    assert timer.should_trigger_for_step(2)


def test_exactly_one_of_both_is_given() -> None:
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.SecondOrStepTimer()
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        tf.train.SecondOrStepTimer(1.0, 1)
