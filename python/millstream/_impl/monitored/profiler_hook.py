"""A hook that writes timelines of steps."""

from __future__ import annotations

import logging
import os
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, PATH, takes
from millstream._impl.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millstream._impl.monitored.step_reads import step_read, step_to_come
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.session.timeline import Timeline
from millstream._impl.summary.event_writer import FileWriterCache

_logger = logging.getLogger("millstream")


@public("train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Traces a step every so many steps or seconds: for Chrome, and for TensorBoard.

    The files are ``timeline-STEP.json``.

    Parameters
    ----------
    save_steps
        Steps between two times.
    save_secs
        Seconds between two times.
    output_dir
        The folder; "" is the working folder.
    show_dataflow
        Whether arrows lead from each node to those that read it.
    show_memory
        Whether the memory of nodes is counted.

    Examples
    --------
    >>> import os, tempfile
    >>> step = tf.train.get_or_create_global_step()
    >>> count, folder = step.assign_add(1), tempfile.mkdtemp()
    >>> hook = tf.train.ProfilerHook(save_steps=2, output_dir=folder)
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     for _ in range(3):
    ...         _ = session.run(count)
    >>> [name for name in os.listdir(folder) if "timeline" in name]
    ['timeline-2.json']
    """

    @takes(save_steps=NUMBER, save_secs=NUMBER, output_dir=PATH)
    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._output_dir = os.fsdecode(output_dir) or "."
        self._writer = FileWriterCache.get(self._output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._traced: set[int] = set()

    def begin(self) -> None:
        """Find the global step."""
        self._next_step: int | None = None
        self._global_step_tensor = step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for a trace when it is due; the first step, which is slow, is never traced."""
        if self._next_step is None:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            self._next_step = step + 1
            self._request_summary = False
        else:
            self._request_summary = self._timer.should_trigger_for_step(self._next_step)
        options = None
        if self._request_summary:
            kind = protos.message_class("RunOptions")
            options = kind(trace_level=kind.FULL_TRACE)
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace."""
        session = run_context.session
        if not self._request_summary:
            seen = run_values.results["global_step"]
            self._next_step = step_to_come(session, self._global_step_tensor, seen, self._timer)
            return
        step = session.run(self._global_step_tensor)
        self._timer.update_last_triggered_step(step)
        self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        _logger.info("Saving timeline for %d into '%s'.", step, path)
        timeline = Timeline(run_metadata.step_stats)
        text = timeline.generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if step not in self._traced:  # after a recovery a step may come again
            self._traced.add(step)
            self._writer.add_run_metadata(run_metadata, f"step_{step}")
