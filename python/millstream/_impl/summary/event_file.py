"""The file behind a writer of events: what waits to be written, and the thread that writes it."""

from __future__ import annotations

import atexit
import os
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
    Records wait in a list. The thread takes all of it when `flush_secs` are over, when it is large,
    and to flush, so that adding a record seldom wakes it. Any thread may call any method.

    Parameters
    ----------
    path
        The file, which must not exist.
    max_queue
        How many records may be added to a large list before the thread takes it; when there are
        more, `add` waits. 0 for any number.
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
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._process = os.getpid()
        self._closing = threading.Lock()  # held by the call that closes
        self._lock = threading.Lock()
        self._due = threading.Condition(self._lock)  # the thread waits here
        self._progress = threading.Condition(self._lock)  # those wait here who wait for the thread
        # The lock guards the following.
        self._waiting: list[bytes] = []
        self._size = 0  # bytes in it
        self._late = 0  # records that were added to it when it was large already
        self._flushes = 0  # that were asked for
        self._flushed = 0  # of them those that are done
        self._closed = False  # nothing is added any more
        self._ended = False  # the thread takes nothing any more
        self._error: OSError | None = None
        self._thread = threading.Thread(
            target=self._work_alone, name="millstream-events", daemon=True
        )
        self._thread.start()
        _open_files.add(self)

    def add(self, data: bytes) -> None:
        """Append one record."""
        self._check_process()
        with self._lock:
            if self._size >= _LARGE and self._max_queue > 0:
                self._wait_for_room()
            self._check()
            waiting = self._waiting
            waiting.append(data)
            before = self._size
            self._size = before + len(data)
            # The first record starts the thread's clock.
            if len(waiting) == 1 or before < _LARGE <= self._size:
                self._due.notify()

    def _wait_for_room(self) -> None:
        """Return when one more record may be added."""
        while self._size >= _LARGE and self._late >= self._max_queue and not self._ended:
            self._progress.wait()
        if self._size >= _LARGE:
            self._late += 1

    def flush(self) -> None:
        """Return when the disk has everything that was added."""
        self._check_process()
        with self._lock:
            self._check()
            self._flushes += 1
            mine = self._flushes
            self._due.notify()
            while self._flushed < mine and not self._ended:
                self._progress.wait()
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """Flush, and end the thread. Idempotent."""
        if os.getpid() != self._process:
            return  # the file belongs to the parent of this process
        with self._closing:
            with self._lock:
                if self._closed:
                    return
                self._closed = True
                self._due.notify()
            self._thread.join()
            try:
                self._file.close()
            except OSError as error:
                self._error = self._error or error
        if self._error is not None:
            raise self._error

    def _check_process(self) -> None:
        """Raise RuntimeError in a process that was forked, whose thread does not go on."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self._path} was opened before this process was forked and belongs to its parent;"
                " make a FileWriter of its own in each process"
            )

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed or self._ended:
            raise RuntimeError(f"{self._path} is closed")

    def _work_alone(self) -> None:
        """Work; no step waits for what this thread does."""
        try:
            with waits.ends_only(lambda _: False):
                while self._write_next():
                    pass
        finally:
            with self._lock:
                self._ended = True
                self._progress.notify_all()

    def _write_next(self) -> bool:
        """Write the next records when it is time; whether there may be more."""
        with self._lock:
            self._await_records()
            records, self._waiting = self._waiting, []
            self._size = self._late = 0
            flushes, closed = self._flushes, self._closed
            self._progress.notify_all()
        self._write(b"".join(map(framed, records)), sync=closed or flushes > self._flushed)
        with self._lock:
            self._flushed = flushes
            self._progress.notify_all()
        return not closed

    def _await_records(self) -> None:
        """Return when it is time to write what waits."""
        while not self._waiting and not self._is_asked():
            self._due.wait()
        end = time.monotonic() + self._flush_secs
        while self._size < _LARGE and not self._is_asked():
            left = end - time.monotonic()
            if left <= 0.0:
                return
            self._due.wait(min(left, threading.TIMEOUT_MAX))

    def _is_asked(self) -> bool:
        return self._closed or self._flushes > self._flushed

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
