"""A hook that copies what each parameter server holds to another one."""

from __future__ import annotations

import logging
import threading
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.cluster.peer_copies import PeerCopies, by_task
from millstream._impl.graph.arguments import NUMBER, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.monitored.copies import CopyHook, CopyLostError
from millstream._impl.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunValues
from millstream._impl.monitored.step_reads import step_read
from millstream._impl.monitored.timers import SecondOrStepTimer
from millstream._impl.train.global_step import get_global_step
from millstream._impl.train.save_items import save_items
from millstream._impl.train.save_nodes import Item
from millstream._impl.train.save_objects import split_objects

_LOG = logging.getLogger("millstream")


@public("cluster.PeerCopyHook")
class PeerCopyHook(CopyHook):
    """Copies what each parameter server holds to the next one, every so many steps or seconds.

    When the session is lost and made again, all variables go back to the last complete copy, if no
    checkpoint is newer. A parameter server that was started again gets its variables from its peer.
    So at most the steps since that copy are lost. If a parameter server and its peer are both gone,
    the session begins from the checkpoint.

    What a saver saves is copied: all global variables, slots of optimizers and parts among them,
    and tables. Each copy is made in one step of the graph; the tensors go from server to server.
    There are two copies in turn, each on the server itself and on its peer, so the variables take
    five times the memory, and more for the moment of a copy. The copies are freed at the end of the
    training.

    It is for the chief, and does nothing in other processes and where there is no cluster. A chief
    that is started again begins from the checkpoint. A session has one such hook at most.

    Parameters
    ----------
    copy_secs
        Seconds between two copies.
    copy_steps
        Steps between two copies.

    Raises
    ------
    ValueError
        Both are given, or neither; or the one is not positive.

    Examples
    --------
    >>> workers, servers = tf.test.create_local_cluster(num_workers=1, num_ps=2)
    >>> with tf.Graph().as_default():
    ...     with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
    ...         w = tf.get_variable("w", initializer=1.0)
    ...         step = tf.train.get_or_create_global_step()
    ...         train = tf.train.AdamOptimizer(0.1).minimize(w * w, global_step=step)
    ...     hook = tf.cluster.PeerCopyHook(copy_steps=2)
    ...     with tf.train.MonitoredTrainingSession(
    ...             workers[0].target, chief_only_hooks=[hook]) as session:
    ...         for _ in range(5):
    ...             session.run(train)
    ...         print(hook.copied_step)
    4
    """

    @takes(copy_secs=NUMBER, copy_steps=NUMBER)
    def __init__(self, copy_secs: float | None = None, copy_steps: int | None = None) -> None:
        given = {"copy_secs": copy_secs, "copy_steps": copy_steps}
        chosen = {name: value for name, value in given.items() if value is not None}
        if len(chosen) != 1:
            raise ValueError(f"copy_secs, copy_steps: expected exactly one of them, got {given}")
        for name, value in chosen.items():
            if not value > 0:
                raise ValueError(f"{name}: expected a positive number, got {value!r}")
        self._timer = SecondOrStepTimer(every_secs=copy_secs, every_steps=copy_steps)
        self._copies: PeerCopies | None = None
        self._read: Any = None
        self._copying = threading.RLock()  # a session may be used by several threads

    def begin(self) -> None:
        """Add the nodes that copy.

        Raises
        ------
        RuntimeError
            The graph has no global step.
        ValueError
            A variable is on no task, or all are on one.
        """
        self._copies = None
        graph = get_default_graph()
        tasks = by_task(_items(graph)) if self.is_chiefs else {}
        if not tasks:
            _LOG.info(
                "PeerCopyHook copies nothing: %s",
                "there is no cluster" if self.is_chiefs else "it is not in the chief's session",
            )
            return
        self._read = step_read("PeerCopyHook", graph)
        self._timer.reset()
        self._copies = PeerCopies(graph, tasks, get_global_step(graph), self.has_short_transfers)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Copy at once: a task that was started again has no copies."""
        if self._copies is not None:
            with self._copying:
                self._copy(self._copies, session)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the global step."""
        return None if self._copies is None else SessionRunArgs(self._read)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Copy when it is due; what came with the step may be the value before it."""
        if self._copies is None or not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        with self._copying:
            step = run_context.session.run(self._read)
            if self._timer.should_trigger_for_step(step):
                self._copy(self._copies, run_context.session)

    def end(self, session: Any) -> None:
        """Free the copies."""
        if self._copies is not None:
            self._copies.drop(session)

    @property
    def copied_step(self) -> int | None:
        """The global step of the last complete copy, or None."""
        return None if self._copies is None else self._copies.step

    def restore(self, session: Any) -> None:
        """Give all variables the values of the last complete copy.

        A session that is made again calls it.

        Parameters
        ----------
        session
            The new session.

        Raises
        ------
        CopyLostError
            The copy is not complete any more.
        """
        if self._copies is None:
            raise CopyLostError("there is no copy")
        self._copies.restore(session)

    def _copy(self, copies: PeerCopies, session: Any) -> None:
        self._timer.update_last_triggered_step(copies.copy(session))


def _items(graph: Graph) -> list[Item]:
    """What a saver saves that is told nothing."""
    chosen = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    chosen += graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
    variables, objects = split_objects(chosen)
    return [*save_items(variables), *objects]
