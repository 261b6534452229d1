"""A hook that saves checkpoints, and what listens to it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, NUMBER, PATH, TEXT, or_none, takes
from millstream._impl.graph.graph_io import write_graph
from millstream._impl.monitored.hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from millstream._impl.monitored.kinds import SAVER, SCAFFOLD
from millstream._impl.monitored.step_reads import step_read
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.summary.event_writer import FileWriterCache
from millstream._impl.train.meta_graphs import export_meta_graph

_logger = logging.getLogger("millstream")


@public("train.CheckpointSaverListener")
class CheckpointSaverListener:
    """What derived classes do before and after each checkpoint of a `CheckpointSaverHook`.

    Examples
    --------
    >>> class Notice(tf.train.CheckpointSaverListener):
    ...     def after_save(self, session, global_step_value):
    ...         print("saved step", global_step_value)
    >>> import tempfile
    >>> count = tf.train.get_or_create_global_step().assign_add(1)
    >>> folder = tempfile.mkdtemp()
    >>> hook = tf.train.CheckpointSaverHook(
    ...     folder, save_secs=60, saver=tf.train.Saver(), listeners=[Notice()])
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     _ = session.run(count)
    saved step 0
    saved step 1
    """

    def begin(self) -> None:
        """Called when the hook begins. Here, and only here, it may change the graph."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written.

        Parameters
        ----------
        session
            The session, without hooks.
        global_step_value
            The global step.
        """

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called when a checkpoint is written.

        Parameters
        ----------
        session
            The session, without hooks.
        global_step_value
            The global step.

        Returns
        -------
        bool or None
            Whether the monitored session shall stop.
        """

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of the session, after the last checkpoint.

        Parameters
        ----------
        session
            The session, without hooks.
        global_step_value
            The global step.
        """


@public("train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint when a session begins, every so many steps or seconds, and at the end.

    Parameters
    ----------
    checkpoint_dir
        The folder, made if it is not there.
    save_secs
        Seconds between two checkpoints.
    save_steps
        Steps between two checkpoints.
    saver
        The saver.
    checkpoint_basename
        What the names of the files begin with.
    scaffold
        A `Scaffold` whose saver is used. Without either, it is the one in the graph's collection.
    listeners
        `CheckpointSaverListener` objects.

    Raises
    ------
    ValueError
        Both `saver` and `scaffold` are given; or both, or neither, of `save_secs` and `save_steps`.

    Examples
    --------
    >>> import tempfile
    >>> count = tf.train.get_or_create_global_step().assign_add(1)
    >>> folder = tempfile.mkdtemp()
    >>> hook = tf.train.CheckpointSaverHook(folder, save_steps=100, saver=tf.train.Saver())
    >>> with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...     _ = session.run(count)
    >>> int(tf.train.load_variable(folder, "global_step"))
    1
    """

    @takes(
        checkpoint_dir=PATH,
        save_secs=NUMBER,
        save_steps=NUMBER,
        saver=SAVER,
        checkpoint_basename=TEXT,
        scaffold=SCAFFOLD,
        listeners=or_none(LIST),
    )
    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        _logger.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._checkpoint_dir = os.fsdecode(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []
        self._saving = threading.RLock()  # a session may be used by several threads

    def begin(self) -> None:
        """Find the global step and the event file."""
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write the graph, which is complete now, and the first checkpoint."""
        step = session.run(self._global_step_tensor)
        graph = session.graph
        saver = self._get_saver()
        nodes = graph.as_graph_def(add_shapes=True)
        write_graph(nodes, self._checkpoint_dir, "graph.pbtxt")
        self._summary_writer.add_graph(nodes)
        saver_def = saver.saver_def if saver is not None else None
        message = export_meta_graph(graph=graph, graph_def=nodes, saver_def=saver_def)
        self._summary_writer.add_meta_graph(message)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save when it is due; what came with the step may be the value before it."""
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        with self._saving:
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save what no checkpoint has yet."""
        step = session.run(self._global_step_tensor)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Save a checkpoint; whether a listener wants the session to stop."""
        _logger.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=int(step))
        log = protos.message_class("SessionLog")
        self._summary_writer.add_session_log(
            log(status=log.CHECKPOINT, checkpoint_path=self._save_path), step
        )
        should_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                _logger.info("A CheckpointSaverListener asked for a stop: %r", listener)
                should_stop = True
        return should_stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = self._global_step_tensor.graph.get_collection(GraphKeys.SAVERS)
        if not found:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection "
                "or provide a saver or scaffold."
            )
        if len(found) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one "
                "to use by passing it to the constructor."
            )
        self._saver = found[0]
        return self._saver
