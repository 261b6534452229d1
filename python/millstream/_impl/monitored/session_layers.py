"""Layers around a session: its hooks, and its threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunValues
from millstream._impl.train.coordinator import Coordinator

# What another process or device that went away leaves behind: a new session may do better.
PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)


_NOTHING = SessionRunArgs(None)


class StepContext:
    """What a function of ``run_step_fn`` works with.

    Parameters
    ----------
    session
        The session, without hooks.
    run_with_hooks_fn
        Runs a step with hooks.

    Examples
    --------
    >>> two = tf.constant(2.0)
    >>> def step_fn(step_context):
    ...     return float(step_context.run_with_hooks(two))
    >>> with tf.train.MonitoredSession() as session:
    ...     session.run_step_fn(step_fn)
    2.0
    """

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step with hooks; the arguments are those of ``Session.run``."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """End the function, and the ``with`` block of the session, by raising StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class HookedSession:
    """A session whose steps are seen by hooks.

    Parameters
    ----------
    session
        The session.
    hooks
        The hooks, in the order in which they are called.
    """

    def __init__(self, session: Any, hooks: Sequence[Any]) -> None:
        self._sess = session
        self._hooks = hooks
        self._should_stop = False
        config = getattr(session, "_config", None)
        self._measures = config is not None and config.graph_options.build_cost_model > 0

    @property
    def session(self) -> Any:
        """The session."""
        return self._sess

    def should_stop(self) -> bool:
        """Whether a hook has asked for a stop."""
        return self._should_stop

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run a step with what the hooks add to it.

        Raises
        ------
        RuntimeError
            A hook has asked for a stop before, or a tensor is fed twice.
        """
        if self._should_stop:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        requests = [hook.before_run(context) or _NOTHING for hook in self._hooks]
        merged = _merged_options(options, requests)
        wanted = [request.fetches for request in requests if request.fetches is not None]
        all_fetches = [fetches, *wanted]
        feeds = _merged_feeds(feed_dict, requests)
        if self._measures or run_metadata is not None or merged.ByteSize():
            if run_metadata is None:
                run_metadata = protos.message_class("RunMetadata")()
            own, *others = self._sess.run(
                all_fetches, feed_dict=feeds, options=merged, run_metadata=run_metadata
            )
        else:  # a step that nobody asks about is a fast one
            run_metadata = protos.message_class("RunMetadata")()
            own, *others = self._sess.run(all_fetches, feed_dict=feeds)
        results = iter(others)
        for hook, request in zip(self._hooks, requests, strict=True):
            result = next(results) if request.fetches is not None else None
            hook.after_run(context, SessionRunValues(result, merged, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return own

    def close(self) -> None:
        """Close the session."""
        self._sess.close()


def _merged_feeds(feed_dict: Any, requests: Sequence[SessionRunArgs]) -> Any:
    """The feeds of the program and of hooks."""
    merged: dict[Any, Any] = {}
    for request in requests:
        if request.feed_dict:
            _check_apart(merged, request.feed_dict, "Same tensor is fed by two hooks.")
            merged.update(request.feed_dict)
    if not merged:
        return feed_dict
    if feed_dict:
        _check_apart(feed_dict, merged, "Same tensor is fed by a SessionRunHook and user.")
        merged.update(feed_dict)
    return merged


def _check_apart(one: Any, other: Any, message: str) -> None:
    both = [key for key in one if key in other]
    if both:
        raise RuntimeError(f"{message} Conflict(s): {both}")


def _merged_options(options: Any, requests: Sequence[SessionRunArgs]) -> Any:
    """A new ``RunOptions`` that asks for what the program and the hooks ask for."""
    merged = protos.message_class("RunOptions")()
    if options is not None:
        merged.CopyFrom(options)
    for request in requests:
        if request.options is not None:
            _merge_options(merged, request.options)
    return merged


def _merge_options(merged: Any, added: Any) -> None:
    merged.trace_level = max(merged.trace_level, added.trace_level)
    merged.timeout_in_ms = max(merged.timeout_in_ms, added.timeout_in_ms)
    for name in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(merged, name, getattr(merged, name) or getattr(added, name))
    watches = added.debug_options.debug_tensor_watch_opts
    if watches:
        merged.debug_options.debug_tensor_watch_opts.extend(watches)


class CoordinatedSession:
    """A session with the threads of a coordinator, whose exceptions reach the main thread.

    Parameters
    ----------
    hooked
        The session.
    coord
        The coordinator of its threads.
    stop_grace_period_secs
        How long `close` waits for threads.
    """

    def __init__(
        self, hooked: HookedSession, coord: Coordinator, stop_grace_period_secs: float
    ) -> None:
        self._sess = hooked
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._sess.session

    def should_stop(self) -> bool:
        """Whether a hook or a thread has asked for a stop.

        Raises
        ------
        Exception
            What a thread has asked with.
        """
        self._coord.raise_requested_exception()
        return self._coord.should_stop() or self._sess.should_stop()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step with hooks."""
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception:
            # The step may have failed because a thread did, in a way that can be recovered from.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:
                pass
            raise

    def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """Call a function with the session."""
        return step_fn(StepContext(self.session, self.run))

    def close(self) -> None:
        """Stop the threads, and close the session.

        Raises
        ------
        Exception
            What a thread has asked for a stop with.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            with contextlib.suppress(Exception):  # what matters is what threads have raised
                self._sess.close()
