"""How a monitored session makes its session, at the beginning and after each recovery."""

from __future__ import annotations

import abc
import logging
import os
from collections.abc import Sequence
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, PATH, TEXT, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.monitored.copies import CopyHook, CopyLostError
from millstream._impl.monitored.kinds import CONFIG, SCAFFOLD
from millstream._impl.monitored.scaffold import Scaffold
from millstream._impl.monitored.session_manager import SessionManager
from millstream._impl.session.session import Session
from millstream._impl.train.checkpoint_reader import CheckpointReader
from millstream._impl.train.checkpoint_state import latest_checkpoint
from millstream._impl.train.global_step import get_global_step

_logger = logging.getLogger("millstream")


@public("train.SessionCreator")
class SessionCreator(metaclass=abc.ABCMeta):
    """Makes sessions; derived classes say how.

    Examples
    --------
    >>> class Plain(tf.train.SessionCreator):
    ...     def create_session(self):
    ...         return tf.Session()
    >>> one = tf.constant(1.0)
    >>> with tf.train.MonitoredSession(Plain()) as session:
    ...     float(session.run(one))
    1.0
    """

    @abc.abstractmethod
    def create_session(self) -> Any:
        """A new session whose variables have values."""


class _ManagedCreator(SessionCreator):
    """Has a scaffold, and a manager of sessions for it."""

    def __init__(self, scaffold: Scaffold | None, master: str | None, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._manager: SessionManager | None = None
        self._master = master
        self._config = config

    def _finalized_manager(self) -> SessionManager:
        scaffold = self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(
                local_init_op=scaffold.local_init_op,
                ready_op=scaffold.ready_op,
                ready_for_local_init_op=scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._manager


@public("train.ChiefSessionCreator")
class ChiefSessionCreator(_ManagedCreator):
    """Makes sessions that are restored from the newest checkpoint, or initialized.

    Parameters
    ----------
    scaffold
        The `Scaffold`, by default a new one.
    master
        The execution engine; "" is this process.
    config
        A ``ConfigProto``.
    checkpoint_dir
        The folder whose newest checkpoint is restored.
    checkpoint_filename_with_path
        A checkpoint, in place of the folder.

    Examples
    --------
    >>> v = tf.Variable(1.0)
    >>> with tf.train.MonitoredSession(tf.train.ChiefSessionCreator()) as session:
    ...     float(session.run(v))
    1.0
    """

    @takes(
        scaffold=SCAFFOLD,
        master=or_none(TEXT),
        config=CONFIG,
        checkpoint_dir=PATH,
        checkpoint_filename_with_path=PATH,
    )
    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str | None = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint = checkpoint_filename_with_path
        self._copies: list[CopyHook] = []

    def _use_copies(self, hooks: Sequence[Any]) -> None:
        """Begin sessions from the copies that hooks keep, unless a checkpoint is newer.

        Raises
        ------
        ValueError
            Several hooks keep copies.
        """
        self._copies = [hook for hook in hooks if isinstance(hook, CopyHook)]
        if len(self._copies) > 1:
            raise ValueError(
                "hooks: expected at most one that copies variables, because they would overwrite "
                f"each other's copies, got {self._copies}"
            )
        options = None if self._config is None else self._config.graph_options
        for hook in self._copies:
            hook.is_chiefs = True
            hook.has_short_transfers = options is not None and options.enable_bfloat16_sendrecv

    def create_session(self) -> Session:
        """A new session, restored or initialized."""
        manager = self._finalized_manager()
        scaffold = self._scaffold
        copied = self._session_from_copy(manager)
        if copied is not None:
            return copied
        return manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )

    def _session_from_copy(self, manager: SessionManager) -> Session | None:
        """A new session that begins from the copy of a hook, or None."""
        for hook in self._copies:
            step = hook.copied_step
            if step is None or step < self._checkpoint_step():
                continue
            try:
                session = manager.prepare_session(
                    self._master, config=self._config, init_fn=hook.restore
                )
            except CopyLostError as error:
                _logger.info("The copy of step %d is lost: %s", step, error)
                continue
            _logger.info("Restored model from the copy of step %d", step)
            return session
        return None

    def _checkpoint_step(self) -> int:
        """The global step of the checkpoint that would be restored; -1 where nothing says it."""
        path = self._checkpoint
        if path is None and self._checkpoint_dir is not None:
            path = latest_checkpoint(os.fsdecode(self._checkpoint_dir))
        counter = get_global_step()
        if path is None or counter is None:
            return -1
        reader = CheckpointReader(os.fsdecode(path))
        name = counter.op.name
        return int(reader.get_tensor(name)) if reader.has_tensor(name) else -1


@public("train.WorkerSessionCreator")
class WorkerSessionCreator(_ManagedCreator):
    """Makes sessions whose variables another process, the chief, gives values.

    Parameters
    ----------
    scaffold
        The `Scaffold`, by default a new one.
    master
        The execution engine; "" is this process.
    config
        A ``ConfigProto``.
    max_wait_secs
        How long to wait for the chief.

    Examples
    --------
    >>> one = tf.constant(1.0)
    >>> creator = tf.train.WorkerSessionCreator()
    >>> with tf.train.MonitoredSession(creator) as session:  # a graph without variables
    ...     float(session.run(one))
    1.0
    """

    @takes(scaffold=SCAFFOLD, master=or_none(TEXT), config=CONFIG, max_wait_secs=NUMBER)
    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str | None = "",
        config: Any = None,
        max_wait_secs: float = 1800,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        """A new session, which has waited for the chief."""
        manager = self._finalized_manager()
        return manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
