"""Sessions that call hooks around each step, recover when they are lost, and end well."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import LIST, NUMBER, PATH, TEXT, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored import termination
from millstream._impl.monitored.copies import CopyHook
from millstream._impl.monitored.kinds import CREATOR, SCAFFOLD
from millstream._impl.monitored.recovery import CoordinatedCreator, RecoverableSession
from millstream._impl.monitored.scaffold import Scaffold
from millstream._impl.monitored.session_creators import ChiefSessionCreator, SessionCreator
from millstream._impl.monitored.session_layers import CoordinatedSession
from millstream._impl.monitored.session_layers import StepContext as _StepContext

_logger = logging.getLogger("millstream")


class _MonitoredSession:
    """What both kinds have in common."""

    StepContext = _StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[Any] | None,
        should_recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        termination.check()
        self._graph = get_default_graph()
        self._graph_was_finalized = self._graph.finalized
        self._hooks = hooks or []
        # `should_stop` has said no, and no step has run since: one may, though SIGTERM comes.
        self._may_run = False
        self._sess: RecoverableSession | CoordinatedSession | None = None
        if session_creator is None:
            session_creator = ChiefSessionCreator()
        for hook in self._hooks:
            if isinstance(hook, CopyHook):
                hook.is_chiefs = False  # it may have been in another session
        if isinstance(session_creator, ChiefSessionCreator):
            session_creator._use_copies(self._hooks)
        try:
            for hook in self._hooks:
                hook.begin()
            creator = CoordinatedCreator(session_creator, self._hooks, stop_grace_period_secs)
            self._sess = RecoverableSession(creator) if should_recover else creator.create_session()
        except BaseException:
            self._release_graph()
            raise
        termination.watch(self)

    def _release_graph(self) -> None:
        if not self._graph_was_finalized:
            self._graph._unsafe_unfinalize()

    @property
    def graph(self) -> Any:
        """The graph that it runs; None after `close`."""
        return None if self._sess is None else self._graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run a step with hooks; the arguments are those of ``Session.run``.

        Raises
        ------
        RuntimeError
            The session is closed or has been asked to stop, or a tensor is fed twice.
        SystemExit
            SIGTERM has come, and the program does not look at `should_stop` before each step.
        """
        return self._running().run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Callable[[_StepContext], Any]) -> Any:
        """Call a function that runs steps of its own, with and without hooks.

        Parameters
        ----------
        step_fn
            Takes an argument ``step_context``, a `StepContext`. It is called again with a new
            session if that of the first call was lost.

        Returns
        -------
        Any
            What the function returns.

        Raises
        ------
        ValueError
            The function has other arguments.
        StopIteration
            The function has called ``step_context.request_stop()``. The ``with`` block of the
            session takes it for its end.
        """
        names = _positional(step_fn)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. "
                f"Got {names} instead."
            )
        return self._running().run_step_fn(step_fn)

    def _tf_sess(self) -> Any:
        """The session, without hooks; None after `close`. Programs know it by this name."""
        return None if self._sess is None else self._sess.session

    def _running(self) -> RecoverableSession | CoordinatedSession:
        if not self._may_run:
            termination.check()
        self._may_run = False
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess

    def should_stop(self) -> bool:
        """Whether the program shall run no further step: a hook, a thread or SIGTERM wants that."""
        if self._sess is None or termination.is_requested():
            return True
        stops = self._sess.should_stop()
        self._may_run = not stops
        return stops

    def close(self) -> None:
        """Let the hooks do what they do at the end, and close the session.

        Raises
        ------
        RuntimeError
            It is closed already.
        Exception
            A hook has failed, or a thread before.
        """
        self._close(is_end=True)

    def _close(self, is_end: bool) -> None:
        session = self._sess
        if session is None:
            raise RuntimeError("Session is already closed.")
        if termination.is_requested():
            _logger.warning("SIGTERM: the session ends")
        try:
            if is_end and session.session is not None:  # None: lost, and not made again
                for hook in self._hooks:
                    hook.end(session.session)
        finally:
            try:
                session.close()
            finally:
                self._sess = None
                termination.unwatch(self)
                self._release_graph()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        is_end = kind in (None, errors.OutOfRangeError, StopIteration)
        self._close(is_end=is_end or kind is termination.Terminated)
        return is_end


def _positional(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's positional arguments, without a bound ``self``."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters
    return tuple(name for name, each in parameters.items() if each.kind in kinds)


@public("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session that calls hooks, and is made again when it is lost.

    It makes and initializes its session, and finalizes the graph until it is closed. When a step
    raises AbortedError or UnavailableError, the session is made again, restored as its creator
    does, and the step is run again. A ``with`` block ends well at OutOfRangeError and
    StopIteration; other exceptions close the session without the `end` of hooks. It is not the
    default session.

    SIGTERM makes `should_stop` true, or ends the program at the next step, after the `end` of
    hooks, if the program has no handler for it and has made the session in its main thread.

    Parameters
    ----------
    session_creator
        Makes the session, by default a `ChiefSessionCreator`.
    hooks
        A list of `SessionRunHook` objects.
    stop_grace_period_secs
        How many seconds closing waits for threads.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> add = v.assign_add(1.0)
    >>> with tf.train.MonitoredSession() as session:
    ...     float(session.run(add))
    2.0
    """

    @takes(session_creator=CREATOR, hooks=or_none(LIST), stop_grace_period_secs=NUMBER)
    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@public("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session that calls hooks, and is not made again when it is lost.

    All else is as for `MonitoredSession`. Its session may be used by functions such as
    ``Saver.save``.

    Parameters
    ----------
    hooks
        A list of `SessionRunHook` objects.
    scaffold
        The `Scaffold`, by default a new one.
    master
        The execution engine; "" is this process.
    config
        A ``ConfigProto``.
    checkpoint_dir
        The folder whose newest checkpoint is restored.
    stop_grace_period_secs
        How many seconds closing waits for threads.
    checkpoint_filename_with_path
        A checkpoint, in place of the folder.

    Examples
    --------
    >>> import tempfile
    >>> v = tf.Variable(1.0, name="v")
    >>> saver = tf.train.Saver()
    >>> with tf.train.SingularMonitoredSession() as session:
    ...     path = saver.save(session.raw_session(), tempfile.mkdtemp() + "/model")
    >>> float(tf.train.load_variable(path, "v"))
    1.0
    """

    @takes(
        hooks=or_none(LIST),
        scaffold=SCAFFOLD,
        master=or_none(TEXT),
        checkpoint_dir=PATH,
        stop_grace_period_secs=NUMBER,
        checkpoint_filename_with_path=PATH,
    )
    def __init__(
        self,
        hooks: Sequence[Any] | None = None,
        scaffold: Scaffold | None = None,
        master: str | None = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session, without hooks; None after `close`."""
        return self._tf_sess()
