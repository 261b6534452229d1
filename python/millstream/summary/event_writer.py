"""Event files: what TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from types import TracebackType
from typing import Any

from millstream import protos
from millstream.summary.record_writer import RecordWriter

_numbers = itertools.count()  # tells writers of one folder and second apart


class FileWriter:
    """Writes summaries and graphs to an event file in a folder.

    Parameters
    ----------
    logdir
        The folder, made if it is not there.
    graph
        A graph to write first.
    max_queue
        How many events may wait for a flush.
    flush_secs
        How many seconds an event may wait for a flush.
    graph_def
        A ``GraphDef`` to write first, instead of `graph`.
    filename_suffix
        End of the file's name.
    session
        Not there yet.

    Examples
    --------
    >>> import tempfile
    >>> import millstream as tf
    >>> folder = tempfile.mkdtemp()
    >>> value = tf.Summary.Value(tag="loss", simple_value=0.5)
    >>> with tf.summary.FileWriter(folder) as writer:
    ...     writer.add_summary(tf.Summary(value=[value]), global_step=1)
    >>> len(os.listdir(folder))
    1
    """

    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if session is not None:
            raise NotImplementedError("session: writing through a session is not there yet")
        self._logdir = os.fspath(logdir)
        self._suffix = filename_suffix or ""
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._lock = threading.Lock()
        self._writer: RecordWriter | None = None
        self._waiting = 0
        self._last_flush = time.monotonic()
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def _open(self) -> None:
        os.makedirs(self._logdir, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}"
        path = os.path.join(self._logdir, f"{name}.{os.getpid()}.{next(_numbers)}{self._suffix}")
        self._writer = RecordWriter(open(path, "wb"))  # noqa: SIM115  (closed by close())
        self._write(protos.message_class("Event")(wall_time=now, file_version="brain.Event:2"))
        self.flush()

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Append an ``Event``; RuntimeError after `close`."""
        self._write(event)

    def _write(self, event: Any) -> None:
        data = event.SerializeToString()
        with self._lock:
            if self._writer is None:
                raise RuntimeError("the FileWriter is closed; reopen() it to write more")
            self._writer.write(data)
            self._waiting += 1
            age = time.monotonic() - self._last_flush
            if self._waiting >= self._max_queue or age >= self._flush_secs:
                self._flush_locked()

    def _add(self, global_step: Any, **values: Any) -> None:
        event = protos.message_class("Event")(wall_time=time.time(), **values)
        if global_step is not None:
            event.step = int(global_step)
        self._write(event)

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Append a summary.

        Parameters
        ----------
        summary
            A ``Summary``, or its bytes as a step gives them.
        global_step
            Number of the step.
        """
        if isinstance(summary, bytes):
            summary = protos.message_class("Summary").FromString(summary)
        self._add(global_step, summary=summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Append a graph.

        Parameters
        ----------
        graph
            A graph.
        global_step
            Number of the step.
        graph_def
            A ``GraphDef``, instead of `graph`.
        """
        if graph is not None:
            graph_def = graph.as_graph_def(add_shapes=True) if hasattr(graph, "handle") else graph
        if graph_def is None:
            raise ValueError("graph: expected a graph or a GraphDef")
        if not hasattr(graph_def, "SerializeToString"):
            raise TypeError(f"graph: expected a graph or a GraphDef, got {graph_def!r}")
        self._add(global_step, graph_def=graph_def.SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Append a ``MetaGraphDef``."""
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Append a ``SessionLog``."""
        self._add(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Append a ``RunMetadata`` under a tag."""
        data = run_metadata.SerializeToString()
        self._add(global_step, tagged_run_metadata={"tag": tag, "run_metadata": data})

    def _flush_locked(self) -> None:
        if self._writer is not None:
            self._writer.flush()
        self._waiting = 0
        self._last_flush = time.monotonic()

    def flush(self) -> None:
        """Hand everything to the operating system."""
        with self._lock:
            self._flush_locked()

    def close(self) -> None:
        """Write what waits, and close the file."""
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def reopen(self) -> None:
        """Go on in a new file after `close`."""
        if self._writer is None:
            self._open()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
