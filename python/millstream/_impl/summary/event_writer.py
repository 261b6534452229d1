"""Event files: what TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, NUMBER, PATH, TEXT, takes
from millstream._impl.graph.meta_graph import meta_graph_bytes
from millstream._impl.summary import summary_bytes
from millstream._impl.summary.event_file import EventFile
from millstream._impl.summary.records import read_records

_numbers = itertools.count()  # tells writers of one folder and second apart


def _message(name: str, argument: str, value: Any) -> Any:
    """`value`, a message or its bytes, as a message.

    Raises
    ------
    TypeError
        It is neither.
    ValueError
        The bytes are no such message.
    """
    kind = protos.message_class(name)
    if isinstance(value, kind):
        return value
    if isinstance(value, bytes):
        return kind.FromString(value)
    if hasattr(value, "SerializeToString"):  # the same message, made by another package
        return kind.FromString(value.SerializeToString())
    raise TypeError(f"{argument}: expected a message {name} or its bytes, got {value!r}")


def _graph_def_bytes(graph: Any, graph_def: Any) -> bytes:
    """The ``GraphDef`` of a graph, or the one that is given as either argument, in bytes.

    Raises
    ------
    TypeError
        It is neither a graph nor a ``GraphDef``.
    ValueError
        None is given, or both are.
    """
    if graph is not None and graph_def is not None:
        raise ValueError("graph: give a graph or a graph_def, not both")
    name = "graph_def" if graph is None else "graph"
    if graph is not None:
        graph_def = graph.as_graph_def(add_shapes=True) if hasattr(graph, "handle") else graph
    if graph_def is None:
        raise ValueError("graph: expected a graph or a GraphDef")
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"{name}: expected a graph or a GraphDef, got {graph_def!r}")
    data: bytes = graph_def.SerializeToString()
    return data


@public("summary.FileWriter", "train.SummaryWriter")
class FileWriter:
    """Writes summaries and graphs to an event file in a folder.

    A thread of its own writes, so that adding costs a step little. What was added is on the disk
    after `flush` and `close`, and when the program ends. Any thread may call any method.

    Parameters
    ----------
    logdir
        The folder, made if it is not there.
    graph
        A graph to write first: an event with its ``GraphDef``, then one with a ``MetaGraphDef``.
    max_queue
        How many events may wait beyond the 256 KiB that the thread writes at once, while it is
        behind; adding one more waits for it. 0 for any number.
    flush_secs
        How many seconds an event may wait to be written.
    graph_def
        A ``GraphDef`` to write first, instead of `graph`.
    filename_suffix
        End of the file's name.
    session
        Not implemented yet.

    Raises
    ------
    OSError
        By any method: the file could not be written.

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

    @takes(logdir=PATH, max_queue=INTEGER, flush_secs=NUMBER, filename_suffix=TEXT)
    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if session is not None:
            raise NotImplementedError("session: writing through a session is not implemented yet")
        self._logdir = os.fspath(logdir)
        self._suffix = filename_suffix or ""
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._lock = threading.Lock()
        self._file: EventFile | None = self._new_file()
        self._described: set[bytes] = set()  # tags whose metadata is in the file
        self._run_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            data = _graph_def_bytes(graph, graph_def)
            owner = graph if hasattr(graph, "handle") else None
            self._add(None, graph_def=data)
            self._add(None, meta_graph_def=meta_graph_bytes(data, owner))

    def _new_file(self) -> EventFile:
        _runtime.make_folders(self._logdir)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}"
        path = os.path.join(self._logdir, f"{name}.{os.getpid()}.{next(_numbers)}{self._suffix}")
        file = EventFile(path, self._max_queue, self._flush_secs)
        version = protos.message_class("Event")(wall_time=now, file_version="brain.Event:2")
        file.add(version.SerializeToString())
        file.flush()
        return file

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Append an ``Event``, or its bytes.

        After `close` nothing is written, and a warning says so.
        """
        self._append(_message("Event", "event", event).SerializeToString())

    def _append(self, data: bytes) -> None:
        file = self._file
        if file is None:
            warnings.warn(
                f"the FileWriter of {self._logdir} is closed: nothing is written before reopen()",
                stacklevel=3,
            )
        else:
            file.add(data)

    def _add(self, global_step: Any, **values: Any) -> None:
        event = protos.message_class("Event")(wall_time=time.time(), **values)
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Append a summary.

        Parameters
        ----------
        summary
            A ``Summary``, or its bytes as a step gives them. What it says about how to show a tag
            is written the first time only.
        global_step
            Number of the step.
        """
        data = summary
        if not isinstance(summary, bytes):
            data = _message("Summary", "summary", summary).SerializeToString()
        described = summary_bytes.tags_with_metadata(data)
        if described:
            data = self._without_known_metadata(data, described)
        step = None if global_step is None else int(global_step)
        self._append(summary_bytes.event_of_summary(data, time.time(), step))

    def _without_known_metadata(self, summary: bytes, described: set[bytes]) -> bytes:
        """The summary; without the metadata that the file has already."""
        with self._lock:
            known = described & self._described
            self._described |= described
        if not known:
            return summary
        shortened = protos.message_class("Summary").FromString(summary)
        for value in shortened.value:
            if value.tag.encode() in known:
                value.ClearField("metadata")
        data: bytes = shortened.SerializeToString()
        return data

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
        self._add(global_step, graph_def=_graph_def_bytes(graph, graph_def))

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Append a ``MetaGraphDef``."""
        message = _message("MetaGraphDef", "meta_graph_def", meta_graph_def)
        self._add(global_step, meta_graph_def=message.SerializeToString())

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Append a ``SessionLog``."""
        message = _message("SessionLog", "session_log", session_log)
        self._add(global_step, session_log=message)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Append a ``RunMetadata`` under a tag of its own.

        Raises
        ------
        ValueError
            The tag was given before.
        """
        data = _message("RunMetadata", "run_metadata", run_metadata).SerializeToString()
        with self._lock:
            if tag in self._run_tags:
                raise ValueError(f"tag: {tag!r} was already used for another RunMetadata")
            self._run_tags.add(tag)
        self._add(global_step, tagged_run_metadata={"tag": tag, "run_metadata": data})

    def flush(self) -> None:
        """Return when the disk has everything that was added."""
        file = self._file
        if file is not None:
            file.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def reopen(self) -> None:
        """Go on in a new file after `close`."""
        with self._lock:
            if self._file is None:
                self._file = self._new_file()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@public("summary.FileWriterCache", "train.SummaryWriterCache")
class FileWriterCache:
    """One `FileWriter` a folder for the whole process.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.summary.FileWriterCache.get(folder) is tf.summary.FileWriterCache.get(folder)
    True
    >>> tf.summary.FileWriterCache.clear()
    """

    _lock = threading.Lock()
    _writers: dict[str, FileWriter] = {}  # noqa: RUF012  (shared on purpose)

    @classmethod
    def get(cls, logdir: str | os.PathLike[str]) -> FileWriter:
        """The writer of a folder, made by the first call."""
        with cls._lock:
            folder = os.fspath(logdir)
            if folder not in cls._writers:
                cls._writers[folder] = FileWriter(folder)
            return cls._writers[folder]

    @classmethod
    def clear(cls) -> None:
        """Close all writers, and forget them."""
        with cls._lock:
            writers = list(cls._writers.values())
            cls._writers.clear()
        for writer in writers:
            writer.close()


@public("train.summary_iterator")
@takes(path=PATH)
def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The ``Event`` messages of an event file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    DataLossError
        The file is damaged or cut off; what stands before was given.

    Examples
    --------
    >>> import os, tempfile
    >>> import millstream as tf
    >>> folder = tempfile.mkdtemp()
    >>> tf.summary.FileWriter(folder).close()
    >>> (name,) = os.listdir(folder)
    >>> [event.file_version for event in tf.train.summary_iterator(os.path.join(folder, name))]
    ['brain.Event:2']
    """
    kind = protos.message_class("Event")
    with open(path, "rb") as file:
        for data in read_records(file):
            yield kind.FromString(data)
