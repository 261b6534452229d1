"""Sessions that begin from a checkpoint, or from first values."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, GRAPH, MAPPING, NUMBER, TEXT, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.monitored.kinds import FETCHES, OPTIONS, SAVER
from millstream._impl.session.session import Session
from millstream._impl.train.checkpoint_state import get_checkpoint_state

_logger = logging.getLogger("millstream")

# How long a process waits after its first look at a session; longer after each further one.
_FIRST_WAIT_SECS = 0.2

# Whether something is so, and if not, why.
_Verdict = tuple[bool, str | None]


@public("train.SessionManager")
class SessionManager:
    """Makes sessions whose variables have values: restored, initialized, or by another process.

    Parameters
    ----------
    local_init_op
        Run in each new session, once it is ready for that.
    ready_op
        A vector of strings that is empty when a session may be used; None: it may always.
    ready_for_local_init_op
        One that is empty when `local_init_op` may be run; None: it may always.
    graph
        The graph, by default the default one.
    recovery_wait_secs
        Seconds between two looks for a checkpoint that is not there, and at most so many between
        two looks at a session that is not ready.
    local_init_run_options
        A ``RunOptions`` for `local_init_op`.

    Raises
    ------
    ValueError
        `ready_for_local_init_op` is given without `local_init_op`.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    >>> with manager.prepare_session("", init_op=tf.global_variables_initializer()) as session:
    ...     float(session.run(v))
    1.0
    """

    @takes(
        local_init_op=FETCHES,
        ready_op=FETCHES,
        ready_for_local_init_op=FETCHES,
        graph=GRAPH,
        recovery_wait_secs=NUMBER,
        local_init_run_options=OPTIONS,
    )
    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph if graph is not None else get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    @takes(
        master=or_none(TEXT),
        init_op=FETCHES,
        saver=SAVER,
        max_wait_secs=NUMBER,
        init_feed_dict=or_none(MAPPING),
        init_fn=or_none(FUNCTION),
    )
    def prepare_session(
        self,
        master: str | None,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Session], Any] | None = None,
    ) -> Session:
        """A session that is restored from a checkpoint, or else initialized.

        Parameters
        ----------
        master
            The execution engine; "" is this process.
        init_op
            Run if there is no checkpoint.
        saver
            Restores the checkpoint; without it none is looked for.
        checkpoint_dir
            The folder whose newest checkpoint is restored.
        checkpoint_filename_with_path
            A checkpoint, in place of the folder.
        wait_for_checkpoint
            Whether to wait for a first checkpoint in the folder.
        max_wait_secs
            How long.
        config
            A ``ConfigProto``.
        init_feed_dict
            What to feed `init_op`.
        init_fn
            Called with the session after `init_op`.

        Raises
        ------
        RuntimeError
            The session is not ready afterwards, or there is nothing to initialize it with.
        ValueError
            Both a folder and a checkpoint are given, or the checkpoint is not there.
        """
        session, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        try:
            if not is_restored:
                self._initialize(session, init_op, init_feed_dict, init_fn)
            said = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            is_ready, why = self._run_local_init_op(session)
            if not is_ready:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {said}, "
                    f"error: {why}"
                )
            is_ready, why = self._is_ready(session)
            if not is_ready:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {said}, "
                    f"local_init_op: {_name(self._local_init_op)}, error: {why}"
                )
        except BaseException:
            session.close()
            raise
        return session

    def _initialize(
        self, session: Session, init_op: Any, init_feed_dict: Any, init_fn: Any
    ) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            session.run(init_op, feed_dict=init_feed_dict)
        if init_fn:
            init_fn(session)

    @takes(master=or_none(TEXT), saver=SAVER, max_wait_secs=NUMBER)
    def recover_session(
        self,
        master: str | None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session that is restored from a checkpoint, if there is one.

        Parameters
        ----------
        master, saver, checkpoint_dir, checkpoint_filename_with_path
            As for `prepare_session`.
        wait_for_checkpoint, max_wait_secs, config
            As for `prepare_session`.

        Returns
        -------
        tuple
            The session, and whether it is restored and ready.

        Raises
        ------
        ValueError
            Both a folder and a checkpoint are given, or the checkpoint is not there.
        """
        session, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        place = checkpoint_dir or checkpoint_filename_with_path
        is_ready, why = self._run_local_init_op(session)
        if not is_restored:
            return session, False
        if not is_ready:
            _logger.info(
                "Restoring model from %s did not make it ready for local init: %s", place, why
            )
            return session, False
        is_ready, why = self._is_ready(session)
        if not is_ready:
            _logger.info("Restoring model from %s did not make it ready: %s", place, why)
            return session, False
        _logger.info("Restored model from %s", place)
        return session, True

    @takes(master=or_none(TEXT), max_wait_secs=or_none(NUMBER))
    def wait_for_session(
        self, master: str | None, config: Any = None, max_wait_secs: float | None = float("inf")
    ) -> Session:
        """A session whose variables another process has given values.

        Parameters
        ----------
        master
            The execution engine; "" is this process.
        config
            A ``ConfigProto``.
        max_wait_secs
            How long to wait for it; None: without limit.

        Raises
        ------
        DeadlineExceededError
            It was not ready in time.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        deadline = time.monotonic() + limit
        pause = min(_FIRST_WAIT_SECS, self._recovery_wait_secs)
        while True:
            session = Session(master or "", graph=self._graph, config=config)
            try:
                is_ready, why = self._run_local_init_op(session)
                if is_ready:
                    is_ready, why = self._is_ready(session)
            except BaseException:
                session.close()
                raise
            if is_ready:
                return session
            session.close()
            if deadline - time.monotonic() < self._recovery_wait_secs:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {limit:g} secs. {why}"
                )
            _logger.info("Waiting for model to be ready: %s", why)
            time.sleep(pause)
            pause = min(2.0 * pause, self._recovery_wait_secs)

    def _restored(
        self,
        master: str | None,
        saver: Any,
        folder: str | None,
        checkpoint: str | None,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """A new session, and whether its variables have the values of a checkpoint."""
        if folder and checkpoint:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master or "", graph=self._graph, config=config)
        try:
            if not saver or not (folder or checkpoint):
                return session, False
            if checkpoint:
                saver.restore(session, os.fsdecode(checkpoint))
                return session, True
            assert folder is not None
            limit = max_wait_secs if wait_for_checkpoint else 0.0
            state = self._state(os.fsdecode(folder), limit)
            if state is None:
                return session, False
            saver.restore(session, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        except BaseException:
            session.close()
            raise
        return session, True

    def _state(self, folder: str, max_wait_secs: float) -> Any:
        """Which checkpoints the folder has; waits for a first one."""
        waited = 0.0
        while (state := get_checkpoint_state(folder)) is None:
            if waited >= max_wait_secs:
                return None
            _logger.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs
        return state

    def _run_local_init_op(self, session: Session) -> _Verdict:
        """Whether it was run, or there is none."""
        if self._local_init_op is None:
            return True, None
        is_ready, why = _is_empty(self._ready_for_local_init_op, session)
        if is_ready:
            _logger.info("Running local_init_op.")
            session.run(self._local_init_op, options=self._local_init_run_options)
            _logger.info("Done running local_init_op.")
        return is_ready, why

    def _is_ready(self, session: Session) -> _Verdict:
        return _is_empty(self._ready_op, session)


def _is_empty(op: Any, session: Session) -> _Verdict:
    """Whether there is nothing that is not ready."""
    if op is None:
        return True, None
    try:
        found = session.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return False, str(error)
    # An operation and int32 numbers are of old programs, in which an error told what is missing.
    values = np.ravel(found)
    if found is None or values.dtype == np.int32 or values.size == 0:
        return True, None
    names = ", ".join([os.fsdecode(name) for name in values.tolist()])
    return False, f"Variables not initialized: {names}"


def _name(op: Any) -> str:
    return str(getattr(op, "name", op))
