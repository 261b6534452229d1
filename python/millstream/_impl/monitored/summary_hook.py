"""A hook that writes summaries."""

from __future__ import annotations

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
from millstream._impl.monitored.kinds import FETCHES, SCAFFOLD, WRITER
from millstream._impl.monitored.step_reads import step_read, step_to_come
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.summary.event_writer import FileWriterCache


@public("train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries to an event file: of the first step, and every so many steps or seconds.

    Parameters
    ----------
    save_steps
        Steps between two times.
    save_secs
        Seconds between two times.
    output_dir
        Folder of the event file.
    summary_writer
        A `FileWriter` in its place.
    scaffold
        A `Scaffold` whose summary is written.
    summary_op
        The summary, or a list of such, in its place.

    Raises
    ------
    ValueError
        Both are given, or neither, of `scaffold` and `summary_op`, or of `save_steps` and
        `save_secs`.

    Examples
    --------
    >>> import tempfile
    >>> count = tf.train.get_or_create_global_step().assign_add(1)
    >>> loss = tf.summary.scalar("loss", 0.5)
    >>> hook = tf.train.SummarySaverHook(
    ...     save_steps=10, output_dir=tempfile.mkdtemp(), summary_op=loss)
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     _ = session.run(count)
    """

    @takes(
        save_steps=NUMBER,
        save_secs=NUMBER,
        output_dir=PATH,
        summary_writer=WRITER,
        scaffold=SCAFFOLD,
        summary_op=FETCHES,
    )
    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._output_dir = output_dir
        self._summary_writer = summary_writer
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step and the event file."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step_tensor = step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the global step, and for the summary when it is due."""
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        fetches = {"global_step": self._global_step_tensor}
        if self._request_summary and (summaries := self._get_summary_op()):
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write it."""
        if self._summary_writer is None:
            return
        values = run_values.results
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
            if self._next_step is None:
                log = protos.message_class("SessionLog")
                self._summary_writer.add_session_log(log(status=log.START), step)
            self._timer.update_last_triggered_step(step)
            for summary in values.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
            self._next_step = step + 1
        else:
            self._next_step = step_to_come(
                run_context.session, self._global_step_tensor, values["global_step"], self._timer
            )

    def end(self, session: Any = None) -> None:
        """Let the disk have it all."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _get_summary_op(self) -> list[Any]:
        """What is fetched: of the scaffold it is known when the graph is finalized."""
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if found is None:
            return []
        return found if isinstance(found, list) else [found]
