"""Timers: at which steps hooks do something."""

from __future__ import annotations

import time

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, takes

_Elapsed = tuple[float | None, int | None]


@public("train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Is due at the first step, and then every so many seconds or steps.

    Seconds are those of ``time.monotonic``: setting the system's clock changes nothing.

    Parameters
    ----------
    every_secs
        Seconds between two times.
    every_steps
        Steps between two times.

    Raises
    ------
    ValueError
        Both are given, or neither.

    Examples
    --------
    >>> timer = tf.train.SecondOrStepTimer(every_steps=3)
    >>> due = []
    >>> for step in range(8):
    ...     if timer.should_trigger_for_step(step):
    ...         due.append(step)
    ...         _ = timer.update_last_triggered_step(step)
    >>> due
    [0, 3, 6]
    """

    @takes(every_secs=NUMBER, every_steps=NUMBER)
    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Be as new."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is due at a step, of which it has not been told yet.

        Parameters
        ----------
        step
            Number of the step.
        """
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        assert self._every_steps is not None
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> _Elapsed:
        """Tell it that something was done at a step.

        Parameters
        ----------
        step
            Number of the step.

        Returns
        -------
        tuple
            Seconds and steps since the last time; None and None the first time.
        """
        now = time.monotonic()
        elapsed: _Elapsed = (None, None)
        if self._last_step is not None:
            elapsed = (now - self._last_time, step - self._last_step)
        self._last_time = now
        self._last_step = step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step at which something was done last, or None."""
        return self._last_step


class NeverTimer(SecondOrStepTimer):
    """A timer that is never due."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is due: no."""
        return False

    def update_last_triggered_step(self, step: int) -> _Elapsed:
        """Nothing: there was no time before."""
        return None, None
