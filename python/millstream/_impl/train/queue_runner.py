"""Threads that fill queues."""

from __future__ import annotations

import functools
import logging
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph import error_codes
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.session import waits
from millstream._impl.session.base_session import BaseSession, get_default_session
from millstream._impl.train.coordinator import Coordinator

_logger = logging.getLogger("millstream")


@public("train.QueueRunner", "train.queue_runner.QueueRunner")
class QueueRunner:
    """Threads that fill a queue, one for each of several enqueue operations.

    A thread runs its operation again and again. When the input ends, the last thread closes the
    queue, so that consumers take what is left and then see the end.

    Parameters
    ----------
    queue
        The queue.
    enqueue_ops
        The operations, for a thread each.
    close_op
        Closes the queue when the input ends; by default one that lets waiting enqueues complete.
    cancel_op
        Closes the queue when the coordinator stops; by default one that cancels waiting enqueues.
    queue_closed_exception_types
        Types of exceptions that mean the input's end, by default OutOfRangeError alone.
    queue_runner_def
        A ``QueueRunnerDef`` in the place of all of these; its names are those of the default graph.
    import_scope
        The scope below which these names are.

    Raises
    ------
    ValueError
        Both, or neither, of a queue with its operations and a ``QueueRunnerDef`` are given.
    TypeError
        `queue_closed_exception_types` is no tuple of types of `tf.errors`.

    Examples
    --------
    >>> queue = tf.FIFOQueue(10, tf.float32)
    >>> runner = tf.train.QueueRunner(queue, [queue.enqueue(7.0)])
    >>> coord = tf.train.Coordinator()
    >>> threads = runner.create_threads(tf.get_default_session(), coord, start=True)
    >>> float(queue.dequeue().eval())
    7.0
    >>> coord.request_stop()
    >>> coord.join(threads)
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions: list[BaseException] = []
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops is not None:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
            return
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._end_types = _checked_types(queue_closed_exception_types)
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        if cancel_op is None:
            cancel_op = queue.close(cancel_pending_enqueues=True)
        self._cancel_op = cancel_op

    def _read(self, definition: Any, import_scope: str | None) -> None:
        """Takes over what a ``QueueRunnerDef`` says."""
        scope = f"{import_scope}/" if import_scope else ""

        def element(name: str) -> Any:
            return get_default_graph().as_graph_element(scope + name)

        self._queue = element(definition.queue_name)
        self._enqueue_ops = [element(name) for name in definition.enqueue_op_name]
        self._close_op = element(definition.close_op_name)
        self._cancel_op = element(definition.cancel_op_name)
        types = [
            error_codes.exception_type_from_error_code(code)
            for code in definition.queue_closed_exception_types
        ]
        self._end_types = _checked_types(tuple(types) or None)

    @property
    def queue(self) -> Any:
        """The queue; after `from_proto` the operation that makes its handle."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that the threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """Run when the input ends."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """Run when the coordinator stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """Types of exceptions that mean the input's end."""
        return self._end_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Exceptions of threads that no coordinator got."""
        return self._exceptions

    @property
    def name(self) -> str:
        """Name of the queue."""
        name: str = self._queue.name
        return name

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Make the threads for a session.

        Parameters
        ----------
        sess
            The session.
        coord
            A coordinator, which stops the threads and gets their exceptions. Without one,
            exceptions are in `exceptions_raised`.
        daemon
            Whether the process may exit while the threads run.
        start
            Whether the threads are started.

        Returns
        -------
        list of threading.Thread
            A thread for each operation, and with a coordinator one that waits for its stop. None if
            threads of this runner still run for the session.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions = []
        start_of_name = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(
                target=self._fill, args=(sess, op, coord), name=f"{start_of_name}-{op.name}"
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._cancel_after_stop,
                    args=(sess, coord),
                    name=f"{start_of_name}-close_on_stop",
                )
            )
        for thread in threads:
            thread.daemon = daemon
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _fill(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        """Runs an operation until the input ends or the coordinator stops."""
        at_end = False
        used = functools.cache(functools.partial(_names_used, enqueue_op))

        def may_end(waits_of_step: str) -> bool:
            names = used()
            return names is None or any(f"'{name}'" in waits_of_step for name in names)

        try:
            with waits.ends_only(may_end):
                enqueue = sess.make_callable(enqueue_op)
                while coord is None or not coord.should_stop():
                    enqueue()
        except self._end_types:
            at_end = True
        except Exception as error:
            if coord is None:
                _logger.error("Exception in QueueRunner: %s", error)
                with self._lock:
                    self._exceptions.append(error)
                raise
            if isinstance(error, errors.CancelledError) and coord.joined:
                # The session was closed after `join` had waited for the step.
                _logger.debug("A step of a queue runner was cancelled: %s", error)
            else:
                coord.request_stop(error)
        finally:
            with self._lock:
                self._runs[sess] -= 1
                is_last = self._runs[sess] == 0
            if at_end and is_last:
                self._run_quietly(sess, self._close_op)

    def _cancel_after_stop(self, sess: Any, coord: Coordinator) -> None:
        with waits.ends_only(lambda _: coord.should_stop()):
            coord.wait_for_stop()
        self._run_quietly(sess, self._cancel_op)

    @staticmethod
    def _run_quietly(sess: Any, op: Any) -> None:
        """Runs an operation that may fail, because the queue or the session is closed already."""
        try:
            sess.run(op)
        except Exception as error:  # whatever it is, the program goes on to its end
            _logger.debug("Ignored exception: %s", error)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``QueueRunnerDef`` of the runner, or None if its queue is not in a scope.

        Parameters
        ----------
        export_scope
            The scope, which is left out of names.
        """
        scope = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(scope):
            return None
        made = protos.message_class("QueueRunnerDef")()
        made.queue_name = self.name.removeprefix(scope)
        made.enqueue_op_name.extend(op.name.removeprefix(scope) for op in self._enqueue_ops)
        made.close_op_name = self._close_op.name.removeprefix(scope)
        made.cancel_op_name = self._cancel_op.name.removeprefix(scope)
        made.queue_closed_exception_types.extend(
            error_codes.error_code_from_exception_type(kind) for kind in self._end_types
        )
        return made

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner of a ``QueueRunnerDef``, in the default graph.

        Parameters
        ----------
        queue_runner_def
            The message.
        import_scope
            The scope below which its names are.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _names_used(operation: Any) -> frozenset[str] | None:
    """Names of queues and the like that an operation may fill or empty.

    They are those of all that it depends on. None: it may use any, because it calls a function, or
    meets others who are known by numbers.
    """
    names: set[str] = set()
    pending = [getattr(operation, "op", operation)]
    seen = set(pending)
    while pending:
        op = pending.pop()
        # The value of a constant may be large, and names nothing.
        attributes: Any = {} if op.type == "Const" else op.node_def.attr
        calls = any(value.HasField("func") or value.list.func for value in attributes.values())
        if calls or "PyFunc" in op.type or op.type.startswith("Collective"):
            return None
        names.add(op.name)
        if "shared_name" in attributes:
            names.add(attributes["shared_name"].s.decode(errors="replace"))
        before = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        pending += [each for each in before if each not in seen]
        seen.update(before)
    return frozenset(names - {""})


def _checked_types(types: Any) -> tuple[type[errors.OpError], ...]:
    if types is None:
        return (errors.OutOfRangeError,)
    if (
        not isinstance(types, tuple)
        or not types
        or not all(isinstance(kind, type) and issubclass(kind, errors.OpError) for kind in types)
    ):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
            f"saw: {types!r}"
        )
    return types


@public("train.add_queue_runner", "train.queue_runner.add_queue_runner")
@takes(collection=TEXT)
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to a collection of the default graph, from which programs start all.

    Parameters
    ----------
    qr
        The runner.
    collection
        Name of the collection.

    Examples
    --------
    >>> queue = tf.FIFOQueue(10, tf.float32)
    >>> tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
    >>> len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))
    1
    """
    get_default_graph().add_to_collection(collection, qr)


@public("train.start_queue_runners", "train.queue_runner.start_queue_runners")
@takes(collection=TEXT)
def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all runners of a session's graph.

    Parameters
    ----------
    sess
        The session, by default the default one.
    coord
        A coordinator, which stops the threads.
    daemon
        Whether the process may exit while the threads run.
    start
        Whether the threads are started, or made only.
    collection
        Name of the collection that has the runners.

    Returns
    -------
    list of threading.Thread
        Empty for a monitored session, which has started them.

    Raises
    ------
    ValueError
        There is no session.
    TypeError
        `sess` is no session.

    Examples
    --------
    >>> tf.train.start_queue_runners()
    []
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use "
                "`with sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
        return []  # it has started them
    if not isinstance(sess, BaseSession) and not hasattr(sess, "make_callable"):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        _logger.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    threads = []
    for runner in runners:
        threads += runner.create_threads(sess, coord, daemon, start)
    return threads
