"""Moments have dates of the system's clock and times of the steady one."""

from __future__ import annotations

import time

import pytest

from millstream._impl.base.moments import Moment


def _set_clocks(monkeypatch: pytest.MonkeyPatch, date: float, steady: float) -> None:
    monkeypatch.setattr(time, "time", lambda: date)
    monkeypatch.setattr(time, "monotonic", lambda: steady)


def test_an_interval_does_not_see_that_the_clock_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_clocks(monkeypatch, 1000.0, 50.0)
    first = Moment.now()
    _set_clocks(monkeypatch, 500.0, 53.0)
    second = Moment.now()
    assert (first.date, second.date) == (1000.0, 500.0)
    assert second.steady - first.steady == 3.0


def test_a_date_of_another_process_is_as_long_ago_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _set_clocks(monkeypatch, 1000.0, 50.0)
    assert Moment.at(930.0) == Moment(930.0, -20.0)
