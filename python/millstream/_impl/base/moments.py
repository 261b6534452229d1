"""Moments: dates for people, and times of a clock that nobody sets."""

from __future__ import annotations

import time
from typing import NamedTuple


class Moment(NamedTuple):
    """When something happened. Files have dates; intervals are measured by the steady time.

    Parameters
    ----------
    date
        Seconds since 1970 by the system's clock, which may be set while a program runs.
    steady
        Seconds of ``time.monotonic``.
    """

    date: float
    steady: float

    @staticmethod
    def now() -> Moment:
        """Return the present moment."""
        return Moment(time.time(), time.monotonic())

    @staticmethod
    def at(date: float) -> Moment:
        """The moment that has a date, if the system's clock was not set since."""
        now = Moment.now()
        return Moment(date, now.steady - (now.date - date))
