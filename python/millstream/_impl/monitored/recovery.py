"""The outermost layer of a monitored session: one that is made again when it is lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored import termination
from millstream._impl.monitored.session_layers import (
    PREEMPTION_ERRORS,
    CoordinatedSession,
    HookedSession,
    StepContext,
)
from millstream._impl.train.coordinator import Coordinator
from millstream._impl.train.queue_runner import start_queue_runners

if TYPE_CHECKING:
    from millstream._impl.monitored.session_creators import SessionCreator

_Result = TypeVar("_Result")

_logger = logging.getLogger("millstream")

_SHORTEST_PAUSE_SECS = 0.1
_LONGEST_PAUSE_SECS = 5.0


class _Pauses:
    """Pauses between attempts: none before the second one, and then longer ones up to a bound."""

    def __init__(self) -> None:
        self._secs = 0.0

    def pause(self) -> None:
        """Pause before the next attempt."""
        if self._secs > 0:
            time.sleep(self._secs)
        self._secs = min(max(2 * self._secs, _SHORTEST_PAUSE_SECS), _LONGEST_PAUSE_SECS)


class CoordinatedCreator:
    """Makes sessions with hooks and threads.

    Parameters
    ----------
    session_creator
        Makes the sessions themselves.
    hooks
        The hooks.
    stop_grace_period_secs
        How long closing waits for threads.
    """

    def __init__(
        self, session_creator: SessionCreator, hooks: Sequence[Any], stop_grace_period_secs: float
    ) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self._graph = get_default_graph()

    def create_session(self) -> CoordinatedSession:
        """A new session, of which the hooks know."""
        with self._graph.as_default():  # also when a later step recovers
            session = self._session_creator.create_session()
            # No exception of a thread is to be lost, that of the end of an input among them.
            coord = Coordinator(clean_stop_exception_types=[])
            hooked = HookedSession(session, self._hooks)
            made = CoordinatedSession(hooked, coord, self._stop_grace_period_secs)
            try:
                if self._graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                    start_queue_runners(sess=session, coord=coord)
                for hook in self._hooks:
                    hook.after_create_session(session, coord)
            except BaseException:
                _close_after_failure(made)
                raise
        return made


def _close_after_failure(session: CoordinatedSession) -> None:
    """Close it; the error that comes first is the one to be told."""
    try:
        session.close()
    except Exception as error:
        _logger.info("Error of a thread as its session was closed: %s", error)


class RecoverableSession:
    """A session that is made again after errors that mean that it was lost.

    Parameters
    ----------
    creator
        Makes the sessions.
    """

    def __init__(self, creator: CoordinatedCreator) -> None:
        self._creator = creator
        self._sess: CoordinatedSession | None = self._created()

    def _created(self) -> CoordinatedSession:
        pauses = _Pauses()
        while True:
            termination.check()
            try:
                return self._creator.create_session()
            except PREEMPTION_ERRORS as error:
                _logger.warning(
                    "A session could not be made, another one will be tried. Error: %s", error
                )
            pauses.pause()

    @property
    def session(self) -> Any:
        """The session that there is now, without hooks, or None."""
        return None if self._sess is None else self._sess.session

    def should_stop(self) -> bool:
        """Whether a hook or a thread has asked for a stop, or a thread has failed."""
        if self._sess is None:
            return True
        try:
            return self._sess.should_stop()
        except PREEMPTION_ERRORS as error:
            self._lose(error)
            self._sess = self._created()
            return False
        except Exception:
            return True  # closing raises it

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step with hooks, in new sessions until one does not get lost."""
        return self._until_done(lambda session: session.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """Call a function with the session, with new ones until one does not get lost."""
        return self._until_done(lambda session: session.run_step_fn(step_fn))

    def _until_done(self, work: Callable[[CoordinatedSession], _Result]) -> _Result:
        pauses = _Pauses()
        while True:
            try:
                if self._sess is None:
                    self._sess = self._created()
                return work(self._sess)
            except PREEMPTION_ERRORS as error:
                self._lose(error)
            pauses.pause()

    def _lose(self, error: Exception) -> None:
        _logger.warning("The session was lost, and will be made again. Error: %s", error)
        self.close()

    def close(self) -> None:
        """Stop the threads, and close the session.

        Raises
        ------
        Exception
            What a thread has asked for a stop with.
        """
        session, self._sess = self._sess, None
        if session is None:
            return
        try:
            session.close()
        except PREEMPTION_ERRORS as error:
            _logger.error("An error occurred when the session was closed: %s", error)
