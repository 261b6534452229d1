"""The older way to train: a session with threads that save checkpoints and summaries."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    FUNCTION,
    GRAPH,
    MAPPING,
    NUMBER,
    PATH,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.graph_io import write_graph
from millstream._impl.monitored.kinds import FETCHES, MANAGER, OPTIONS, SAVER, WRITER
from millstream._impl.monitored.session_manager import SessionManager
from millstream._impl.monitored.supervisor_pieces import DEFAULT, SupervisorPieces, check_devices
from millstream._impl.monitored.supervisor_services import (
    CheckpointService,
    StepCounterService,
    SummaryService,
)
from millstream._impl.summary.event_writer import FileWriter
from millstream._impl.train.coordinator import Coordinator, LooperThread
from millstream._impl.train.global_step import global_step as value_of_step
from millstream._impl.train.meta_graphs import export_meta_graph

_logger = logging.getLogger("millstream")


@public("train.Supervisor")
class Supervisor(SupervisorPieces):
    """Makes a session that goes on from the newest checkpoint, with threads that save.

    New programs use `MonitoredTrainingSession`. The pieces whose default is 0 are taken from the
    graph's collections, or made; None is for none.

    Parameters
    ----------
    graph
        The graph, by default the default one. It is finalized.
    ready_op
        A vector of strings that is empty when the session may be used.
    ready_for_local_init_op
        One that is empty when `local_init_op` may be run.
    is_chief
        Whether this process initializes and saves; any other waits.
    init_op
        Gives the variables their first values.
    init_feed_dict
        What to feed `init_op`.
    local_init_op
        Run in each new session.
    logdir
        Folder of checkpoints and summaries.
    summary_op
        The summary to write; None: the program writes its own.
    saver
        The saver.
    global_step
        The tensor or variable that counts steps.
    save_summaries_secs
        Seconds between two summaries; 0 for none.
    save_model_secs
        Seconds between two checkpoints; 0 for none.
    recovery_wait_secs
        Seconds between two looks at a session that is not ready.
    stop_grace_secs
        How many seconds `stop` waits for threads.
    checkpoint_basename
        What the names of checkpoint files begin with.
    session_manager
        A `SessionManager`, by default one with the pieces.
    summary_writer
        A `FileWriter`, by default one for `logdir`; None for none.
    init_fn
        Called with the session after `init_op`.
    local_init_run_options
        A ``RunOptions`` for `local_init_op`.

    Examples
    --------
    >>> import tempfile
    >>> count = tf.train.get_or_create_global_step().assign_add(1)
    >>> supervisor = tf.train.Supervisor(logdir=tempfile.mkdtemp())
    >>> with supervisor.managed_session() as session:
    ...     while not supervisor.should_stop():
    ...         if session.run(count) >= 3:
    ...             supervisor.request_stop()
    """

    USE_DEFAULT = DEFAULT

    @takes(
        graph=GRAPH,
        ready_op=FETCHES,
        ready_for_local_init_op=FETCHES,
        init_op=FETCHES,
        init_feed_dict=or_none(MAPPING),
        local_init_op=FETCHES,
        logdir=PATH,
        summary_op=FETCHES,
        saver=SAVER,
        global_step=FETCHES,
        save_summaries_secs=or_none(NUMBER),
        save_model_secs=or_none(NUMBER),
        recovery_wait_secs=NUMBER,
        stop_grace_secs=NUMBER,
        checkpoint_basename=TEXT,
        session_manager=MANAGER,
        summary_writer=WRITER,
        init_fn=or_none(FUNCTION),
        local_init_run_options=OPTIONS,
    )
    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = DEFAULT,
        ready_for_local_init_op: Any = DEFAULT,
        is_chief: bool = True,
        init_op: Any = DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = DEFAULT,
        logdir: str | None = None,
        summary_op: Any = DEFAULT,
        saver: Any = DEFAULT,
        global_step: Any = DEFAULT,
        save_summaries_secs: float | None = 120,
        save_model_secs: float | None = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        graph = graph if graph is not None else get_default_graph()
        super().__init__(
            graph,
            {
                "ready_op": ready_op,
                "ready_for_local_init_op": ready_for_local_init_op,
                "init_op": init_op,
                "local_init_op": local_init_op,
                "saver": saver,
                "summary_op": summary_op,
                "global_step": global_step,
            },
        )
        self._graph = graph
        self._is_chief = is_chief
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._stop_grace_secs = stop_grace_secs
        self._coord = Coordinator()
        self._writes_graph = True
        # Only the chief writes.
        self._logdir = os.fsdecode(logdir) if logdir and is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path: str | None = None
        if self._logdir:
            self._save_path = os.path.join(self._logdir, checkpoint_basename)
        self._summary_writer: Any = None
        if is_chief:
            self._summary_writer = (
                self._new_writer() if summary_writer is DEFAULT else summary_writer
            )
        self._session_manager = session_manager
        if session_manager is None:
            local = self._pieces["local_init_op"]
            self._session_manager = SessionManager(
                local_init_op=local,
                ready_op=self.ready_op,
                ready_for_local_init_op=None if local is None else self.ready_for_local_init_op,
                graph=graph,
                recovery_wait_secs=recovery_wait_secs,
                local_init_run_options=local_init_run_options,
            )
        if not is_chief:
            check_devices(graph)
        graph.finalize()

    def _new_writer(self) -> FileWriter | None:
        return FileWriter(self._logdir) if self._logdir else None

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        """Makes the sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The coordinator of its threads."""
        return self._coord

    @property
    def init_feed_dict(self) -> Any:
        """What to feed `init_op`."""
        return self._init_feed_dict

    @property
    def summary_writer(self) -> Any:
        """The writer of summaries, or None."""
        return self._summary_writer

    @property
    def save_summaries_secs(self) -> float | None:
        """Seconds between two summaries."""
        return self._save_summaries_secs

    @property
    def save_model_secs(self) -> float | None:
        """Seconds between two checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """What the names of checkpoint files begin with, or None."""
        return self._save_path

    # ---- Sessions ----

    @takes(master=or_none(TEXT), max_wait_secs=NUMBER)
    def prepare_or_wait_for_session(
        self,
        master: str | None = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that is restored or initialized, or, if not the chief, was waited for.

        Parameters
        ----------
        master
            The execution engine; "" is this process.
        config
            A ``ConfigProto``.
        wait_for_checkpoint
            Whether to wait for a first checkpoint.
        max_wait_secs
            How long to wait.
        start_standard_services
            Whether to start the threads that save, and queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                _logger.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            _logger.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        nodes = self._graph.as_graph_def(add_shapes=True)
        if self._logdir:
            write_graph(nodes, self._logdir, "graph.pbtxt")
        if self._summary_writer and self._writes_graph:
            self._writes_graph = False
            self._summary_writer.add_graph(nodes)
            saver_def = self.saver.saver_def if self.saver else None
            message = export_meta_graph(graph=self._graph, graph_def=nodes, saver_def=saver_def)
            self._summary_writer.add_meta_graph(message)

    def start_standard_services(self, sess: Any) -> list[threading.Thread] | None:
        """Start the threads that save checkpoints and summaries.

        Parameters
        ----------
        sess
            The session.

        Raises
        ------
        RuntimeError
            This process is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            _logger.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self.global_step is not None and self._summary_writer:
            log = protos.message_class("SessionLog")
            step = value_of_step(sess, self.global_step)
            self._summary_writer.add_session_log(log(status=log.START), step)
        threads: list[threading.Thread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self.summary_op is not None:
                threads.append(SummaryService(self, sess))
            if self.global_step is not None:
                threads.append(StepCounterService(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(CheckpointService(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(
        self, sess: Any, queue_runners: Sequence[Any] | None = None
    ) -> list[threading.Thread]:
        """Start threads of queue runners.

        Parameters
        ----------
        sess
            The session.
        queue_runners
            The runners, by default all in the graph's collection.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection("queue_runners")
        threads: list[threading.Thread] = []
        for runner in queue_runners:
            threads += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function again and again; see `LooperThread`."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    # ---- The end ----

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads, and wait for them; the session stays open.

        Parameters
        ----------
        threads
            Further threads to wait for.
        close_summary_writer
            Whether to close the writer of summaries.
        ignore_live_threads
            Whether threads that have not ended in time are no error.

        Raises
        ------
        Exception
            What a thread has failed with.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer:
                log = protos.message_class("SessionLog")
                self._summary_writer.add_session_log(log(status=log.STOP))
                self._summary_writer.close()
                self._writes_graph = True

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop, because of an exception if there is one."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Within a ``with`` statement, exceptions ask to stop, and go no further."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop was asked for."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Write a summary of the program's own.

        Parameters
        ----------
        sess
            The session.
        summary
            The summary.
        global_step
            Number of the step, by default that of the session.

        Raises
        ------
        RuntimeError
            There is no writer of summaries.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = value_of_step(sess, self.global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str | None = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session for a ``with`` statement, whose end stops all threads and closes it.

        The block ends well at OutOfRangeError. Other exceptions of the block, and those of threads,
        are raised after it.

        Parameters
        ----------
        master
            The execution engine; "" is this process.
        config
            A ``ConfigProto``.
        start_standard_services
            Whether to start the threads that save, and queue runners.
        close_summary_writer
            Whether to close the writer of summaries at the end.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                # What steps of threads wait for may never come: closing the session ends them.
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    # The names of the first releases.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed
