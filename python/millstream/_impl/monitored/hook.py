"""Hooks: what a monitored session calls around its steps, and what it tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from millstream._impl.base.public import public

if TYPE_CHECKING:
    from millstream._impl.session.base_session import BaseSession
    from millstream._impl.train.coordinator import Coordinator


@public("train.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """What a step is asked for, by the program or by a hook.

    Parameters
    ----------
    fetches
        As for ``Session.run``.
    feed_dict
        As for ``Session.run``.
    options
        A ``RunOptions``.

    Examples
    --------
    >>> tf.train.SessionRunArgs("loss:0")
    SessionRunArgs(fetches='loss:0', feed_dict=None, options=None)
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


@public("train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """What a step has given, for one hook.

    Parameters
    ----------
    results
        The values of what the hook asked for, in the same structure; None if it asked for nothing.
    options
        The ``RunOptions`` of the step.
    run_metadata
        The ``RunMetadata`` of the step.

    Examples
    --------
    >>> tf.train.SessionRunValues(0.5, options=None, run_metadata=None).results
    0.5
    """

    results: Any
    options: Any
    run_metadata: Any


@public("train.SessionRunContext")
class SessionRunContext:
    """One step of a monitored session, as its hooks see it.

    Parameters
    ----------
    original_args
        The `SessionRunArgs` of the program.
    session
        The session that runs the step, without hooks.

    Examples
    --------
    >>> context = tf.train.SessionRunContext(tf.train.SessionRunArgs("loss:0"), tf.Session())
    >>> context.request_stop()
    >>> context.stop_requested
    True
    """

    def __init__(self, original_args: SessionRunArgs, session: BaseSession) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> BaseSession:
        """The session that runs the step, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has called `request_stop`."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Let ``should_stop()`` of the monitored session be True after this step."""
        self._stop_requested = True


@public("train.SessionRunHook")
class SessionRunHook:
    """What derived classes do before, between and after the steps of a monitored session.

    The session calls the hooks in the order of its list, each method for all of them. An exception
    of a method goes through the session to the program.

    Examples
    --------
    >>> class PrintLoss(tf.train.SessionRunHook):
    ...     def before_run(self, run_context):
    ...         return tf.train.SessionRunArgs("loss:0")
    ...     def after_run(self, run_context, run_values):
    ...         print(float(run_values.results))
    >>> loss = tf.constant(0.5, name="loss")
    >>> with tf.train.MonitoredSession(hooks=[PrintLoss()]) as session:
    ...     _ = session.run(loss)
    0.5
    """

    def begin(self) -> None:
        """Called once, before the session is made. Here, and only here, it may change the graph."""

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """Called when the variables of a new session have values: also after each recovery.

        Parameters
        ----------
        session
            The new session, without hooks.
        coord
            The coordinator of the session's threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each step.

        Parameters
        ----------
        run_context
            The step.

        Returns
        -------
        SessionRunArgs or None
            What to fetch and feed in the same step.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each step that has not failed.

        Parameters
        ----------
        run_context
            The step.
        run_values
            The values of what `before_run` asked for.
        """

    def end(self, session: BaseSession) -> None:
        """Called at the end, before the session is closed; not after an exception.

        The exceptions OutOfRangeError and StopIteration are ends as good as any other.

        Parameters
        ----------
        session
            The session, without hooks.
        """
