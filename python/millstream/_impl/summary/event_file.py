"""The file behind a writer of events: a queue, and the thread that empties it."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import threading
import time
import weakref

from millstream import _runtime
from millstream._impl.session import waits
from millstream._impl.summary.records import framed

_LARGE = 1 << 18  # bytes that are written without waiting for the next flush


class EventFile:
    """Appends records to a file in a thread of its own.

    Whole records are written at once, so that what a crash leaves behind can be read to its end.
    Any thread may call any method.

    Parameters
    ----------
    path
        The file, which must not exist.
    max_queue
        How many records may wait for the thread; when there are more, `add` waits. 0 for any
        number.
    flush_secs
        How many seconds a record may wait to be written.

    Raises
    ------
    OSError
        By any method: the file could not be written.
    """

    def __init__(self, path: str, max_queue: int, flush_secs: float) -> None:
        self._file = _runtime.File(path)
        self._path = path
        self._flush_secs = flush_secs
        self._process = os.getpid()
        # An event asks for a flush and hears of its end; None ends the thread.
        self._queue: queue.Queue[bytes | threading.Event | None] = queue.Queue(max_queue)
        self._closing = threading.Lock()
        self._closed = False
        self._error: OSError | None = None
        self._thread = threading.Thread(
            target=self._work_alone, name="millstream-events", daemon=True
        )
        self._thread.start()
        _open_files.add(self)

    def add(self, data: bytes) -> None:
        """Append one record."""
        self._check()
        self._queue.put(data)

    def flush(self) -> None:
        """Return when the disk has everything that was added."""
        self._check()
        done = threading.Event()
        self._queue.put(done)
        while not done.wait(0.5):
            self._check_thread()
        self._check()

    def close(self) -> None:
        """Flush, and end the thread. Idempotent."""
        if os.getpid() != self._process:
            return  # the file belongs to the parent of this process
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
            self._thread.join()
            try:
                self._file.close()
            except OSError as error:
                self._error = self._error or error
        if self._error is not None:
            raise self._error

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self._path} was opened before this process was forked and belongs to its parent;"
                " make a FileWriter of its own in each process"
            )
        if self._error is not None:
            raise self._error
        self._check_thread()

    def _check_thread(self) -> None:
        if not self._thread.is_alive():
            raise RuntimeError(f"{self._path} is closed")

    def _work_alone(self) -> None:
        """Work; no step waits for what this thread does."""
        with waits.ends_only(lambda _: False):
            self._work()

    def _work(self) -> None:
        waiting: list[bytes] = []
        size = 0
        oldest = 0.0
        while True:
            timeout = max(0.0, oldest + self._flush_secs - time.monotonic()) if waiting else None
            item: bytes | threading.Event | None = b""
            with contextlib.suppress(queue.Empty):
                item = self._queue.get(timeout=timeout)
            if isinstance(item, bytes) and item:
                if not waiting:
                    oldest = time.monotonic()
                waiting.append(framed(item))
                size += len(waiting[-1])
            due = bool(waiting) and time.monotonic() - oldest >= self._flush_secs
            if not isinstance(item, bytes) or size >= _LARGE or due:
                self._write(b"".join(waiting), sync=not isinstance(item, bytes))
                waiting, size = [], 0
            if isinstance(item, threading.Event):
                item.set()
            if item is None:
                return

    def _write(self, data: bytes, sync: bool) -> None:
        """Write unless that failed before: a record after a gap could not be found."""
        if self._error is not None:
            return
        try:
            self._file.append(data)
            if sync:
                self._file.sync()
        except OSError as error:
            self._error = error


_open_files: weakref.WeakSet[EventFile] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Write what programs leave in open writers."""
    for file in list(_open_files):
        file.close()
