"""Hooks that look at the global step: the last one, the first one, and how fast it counts."""

from __future__ import annotations

import logging
import time
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, PATH, or_none, takes
from millstream._impl.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millstream._impl.monitored.kinds import WRITER
from millstream._impl.monitored.step_reads import step_read
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.summary.event_writer import FileWriterCache
from millstream._impl.train.global_step import get_global_step

_logger = logging.getLogger("millstream")

_WAIT_SECONDS = 0.5  # between two looks at the global step
_LOG_EVERY_STEPS = 1000
_MOST_WARNINGS = 5


@public("train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Stops the session after a number of steps, or at a step.

    Parameters
    ----------
    num_steps
        How many steps to do from where the global step is when the first session is made.
    last_step
        The value of the global step at which to stop. A session that begins there or beyond does
        one step.

    Raises
    ------
    ValueError
        Both are given, or neither.

    Examples
    --------
    >>> step = tf.train.get_or_create_global_step()
    >>> count = step.assign_add(1)
    >>> with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
    ...     while not session.should_stop():
    ...         print(session.run(count))
    1
    2
    3
    """

    @takes(num_steps=NUMBER, last_step=NUMBER)
    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        self._global_step_tensor = step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Note the last step; the first time only, so that a recovery adds none."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop when the global step is there; what came with the step may be the value before."""
        if (
            run_values.results + 1 >= self._last_step
            and run_context.session.run(self._global_step_tensor) >= self._last_step
        ):
            run_context.request_stop()


@public("train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first step until other processes have brought the global step to a number.

    Parameters
    ----------
    wait_until_step
        The number.

    Examples
    --------
    >>> step = tf.train.get_or_create_global_step()
    >>> with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(0)]) as session:
    ...     int(session.run(step))
    0
    """

    @takes(wait_until_step=NUMBER)
    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Find the global step."""
        self._has_waited = False
        self._global_step_tensor = step_read("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait, the first time."""
        if self._has_waited:
            return
        if self._wait_until_step > 0:
            _logger.info("Waiting for global step %d before the first step", self._wait_until_step)
            self._wait(run_context.session)
        self._has_waited = True

    def _wait(self, session: Any) -> None:
        logged = 0
        while (step := session.run(self._global_step_tensor)) < self._wait_until_step:
            if step - logged > _LOG_EVERY_STEPS:
                _logger.info("Waiting for global step %d; it is %d", self._wait_until_step, step)
                logged = step
            time.sleep(_WAIT_SECONDS)


@public("train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs how many steps a second there are, and writes it as a summary.

    Parameters
    ----------
    every_n_steps
        Steps between two times.
    every_n_secs
        Seconds between two times; then `every_n_steps` must be None.
    output_dir
        Folder of the event file.
    summary_writer
        A `FileWriter` in its place.

    Raises
    ------
    ValueError
        Not exactly one of `every_n_steps` and `every_n_secs` is given.

    Examples
    --------
    >>> hook = tf.train.StepCounterHook(every_n_steps=None, every_n_secs=60)
    """

    @takes(
        every_n_steps=or_none(NUMBER),
        every_n_secs=NUMBER,
        output_dir=PATH,
        summary_writer=WRITER,
    )
    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_steps)
        self._output_dir = output_dir
        self._summary_writer = summary_writer
        self._step_before: int | None = None
        self._warnings = 0

    def begin(self) -> None:
        """Find the global step and the event file."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step_tensor = step_read("StepCounterHook")
        self._tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log when it is due, and warn when nothing counts."""
        seen = run_values.results
        if self._timer.should_trigger_for_step(seen + 1):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log_and_record(steps, seconds, step)
        if seen == self._step_before and self._warnings < _MOST_WARNINGS:
            self._warnings += 1
            _logger.warning(
                "It seems that global step (tf.train.get_global_step) has not been increased: it "
                "is %s, as it was a step before. Optimizers count when minimize() or "
                "apply_gradients() gets global_step=tf.train.get_global_step().",
                seen,
            )
        self._step_before = seen

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        """Log the speed, and write it. Derived classes may do something else with it."""
        speed = elapsed_steps / elapsed_time if elapsed_time > 0 else float("inf")
        if self._summary_writer is not None:
            summary = protos.message_class("Summary")()
            summary.value.add(tag=self._tag, simple_value=speed)
            self._summary_writer.add_summary(summary, global_step)
        _logger.info("%s: %g", self._tag, speed)
