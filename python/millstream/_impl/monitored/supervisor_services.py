"""Threads of a supervisor: summaries, steps a second, checkpoints."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.train.coordinator import LooperThread
from millstream._impl.train.global_step import global_step

if TYPE_CHECKING:
    from millstream._impl.monitored.supervisor import Supervisor

_logger = logging.getLogger("millstream")

_MOST_LOGGED = 10


class SummaryService(LooperThread):
    """Writes the summary."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        """Write it once."""
        supervisor = self._supervisor
        step = None
        if supervisor.global_step is None:
            summary = self._session.run(supervisor.summary_op)
        else:
            summary, step = self._session.run([supervisor.summary_op, supervisor.global_step])
        if supervisor.summary_writer:
            _logger.info("Recording summary at step %s.", step)
            supervisor.summary_writer.add_summary(summary, step)


class StepCounterService(LooperThread):
    """Writes how many steps a second there are."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session
        self._counter = supervisor.global_step
        self._tag = f"{self._counter.op.name}/sec"
        self._logged = 0

    def start_loop(self) -> None:
        """Note where it begins."""
        self._time = time.monotonic()
        self._step = global_step(self._session, self._counter)

    def run_loop(self) -> None:
        """Measure once."""
        step = global_step(self._session, self._counter)
        now = time.monotonic()
        elapsed = now - self._time
        speed = (step - self._step) / elapsed if elapsed > 0.0 else float("inf")
        self._time, self._step = now, step
        if self._supervisor.summary_writer:
            summary = protos.message_class("Summary")()
            summary.value.add(tag=self._tag, simple_value=speed)
            self._supervisor.summary_writer.add_summary(summary, step)
        if self._logged < _MOST_LOGGED:
            self._logged += 1
            _logger.info("%s: %g", self._tag, speed)


class CheckpointService(LooperThread):
    """Saves checkpoints."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_model_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        """Save once."""
        supervisor = self._supervisor
        _logger.info("Saving checkpoint to path %s", supervisor.save_path)
        supervisor.saver.save(
            self._session, supervisor.save_path, global_step=supervisor.global_step
        )
        if supervisor.summary_writer and supervisor.global_step is not None:
            log = protos.message_class("SessionLog")
            supervisor.summary_writer.add_session_log(
                log(status=log.CHECKPOINT, checkpoint_path=supervisor.save_path),
                global_step(self._session, supervisor.global_step),
            )
