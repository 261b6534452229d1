"""Threads that stop together."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, or_none, takes

_logger = logging.getLogger("millstream")

# How long `join` waits at a time, so that Ctrl-C reaches the main thread.
_PATIENCE_SECONDS = 1.0


@public("train.Coordinator")
class Coordinator:
    """Stops threads together, and hands an exception of one of them over to the main thread.

    Any thread asks all others to stop by `request_stop`. Each of them calls `should_stop`
    regularly, and ends when it is true. The main thread waits for them in `join`, which raises the
    exception with which a thread asked, if there was one.

    Parameters
    ----------
    clean_stop_exception_types
        Types of exceptions that ask to stop and are no failure; by default OutOfRangeError alone,
        the end of the input.

    Examples
    --------
    >>> import threading
    >>> coord = tf.train.Coordinator()
    >>> def work():
    ...     while not coord.should_stop():
    ...         coord.request_stop()
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coord.join([thread])
    >>> coord.should_stop(), coord.joined
    (True, True)
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop.

        Parameters
        ----------
        ex
            The exception that is the reason, or the triple of ``sys.exc_info()``. The first one is
            raised by `join`. After `join` it is raised at once.
        """
        failure = self._failure_of(ex)
        with self._lock:
            if self._joined and failure is not None:
                raise failure
            if self._stop.is_set():
                return
            if failure is not None:
                _logger.info("Error reported to Coordinator: %s, %s", type(failure), failure)
                self._failure = failure
            self._stop.set()

    def _failure_of(self, ex: Any) -> BaseException | None:
        """The exception, unless it is one that is no failure."""
        failure = ex[1] if isinstance(ex, tuple) else ex
        if failure is None or isinstance(failure, self._clean):
            return None
        if not isinstance(failure, BaseException):
            raise TypeError(f"ex: expected an exception, got {ex!r}")
        return failure

    def clear_stop(self) -> None:
        """Forget that a stop was asked for, so that new threads can be started."""
        with self._lock:
            self._joined = False
            self._failure = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Within a ``with`` statement, exceptions ask to stop, and go no further."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop was asked for.

        Parameters
        ----------
        timeout
            For how many seconds at most; None: without limit.

        Returns
        -------
        bool
            Whether it was.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread for which `join` waits.

        Parameters
        ----------
        thread
            The thread.
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the threads, those given and those registered.

        It waits without limit until they have ended or a stop is asked for, and then for a limited
        time.

        Parameters
        ----------
        threads
            The threads to wait for, besides those that are registered.
        stop_grace_period_secs
            How many seconds to wait after a stop was asked for.
        ignore_live_threads
            Whether threads that have not ended by then are no error.

        Raises
        ------
        RuntimeError
            Threads have not ended in time.
        Exception
            What a thread gave to `request_stop`.
        """
        with self._lock:
            waited_for = self._threads.union(threads or ())
        while _alive(waited_for) and not self.wait_for_stop(_PATIENCE_SECONDS):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            while thread.is_alive() and time.monotonic() < deadline:
                thread.join(min(_PATIENCE_SECONDS, max(deadline - time.monotonic(), 0.0)))
        late = _alive(waited_for)
        with self._lock:
            self._joined = True
            self._threads.clear()
            failure = self._failure
        if failure is not None:
            raise failure
        names = " ".join(thread.name for thread in late)
        if late and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {names}")
        if late:
            _logger.info("Coordinator stopped with threads still running: %s", names)

    @property
    def joined(self) -> bool:
        """Whether `join` has ended since the last `clear_stop`."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception with which a stop was asked for, if there is one."""
        with self._lock:
            failure = self._failure
        if failure is not None:
            raise failure


def _alive(threads: Iterable[threading.Thread]) -> list[threading.Thread]:
    """The threads that run, or have not begun to."""
    return [thread for thread in threads if thread.is_alive()]


@public("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator stops.

    Exceptions of the function ask the coordinator to stop.

    Parameters
    ----------
    coord
        The coordinator. The thread is registered with it.
    timer_interval_secs
        Seconds from the beginning of one call to that of the next; None: without a pause.
    target
        The function. Without it, a derived class has the method `run_loop`.
    args, kwargs
        Its arguments.

    Raises
    ------
    ValueError
        `coord` is no coordinator, or arguments are given without a function.

    Examples
    --------
    >>> coord = tf.train.Coordinator()
    >>> calls = []
    >>> def work():
    ...     calls.append(1)
    ...     if len(calls) == 3:
    ...         coord.request_stop()
    >>> thread = tf.train.LooperThread.loop(coord, None, work)
    >>> coord.join()
    >>> len(calls)
    3
    """

    @takes(timer_interval_secs=or_none(NUMBER))
    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._interval = timer_interval_secs
        self._function = target
        self._arguments = tuple(args or ())
        self._by_name = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function; the arguments are those of the class."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """What the thread does."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(due - time.monotonic(), 0.0)):
                    due += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first call."""

    def stop_loop(self) -> None:
        """Called once after the last call."""

    def run_loop(self) -> None:
        """One call of the function."""
        if self._function is not None:
            self._function(*self._arguments, **self._by_name)
