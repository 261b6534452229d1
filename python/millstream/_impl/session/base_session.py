"""What all sessions have in common: steps, devices, memory, and the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base import error_text, errors
from millstream._impl.base.device_spec import DeviceAttributes, DeviceMemory
from millstream._impl.base.public import public
from millstream._impl.graph import default_graph, stacks
from millstream._impl.graph.graph import Graph
from millstream._impl.session import cost_graph, numeric_checks, plugins, waits
from millstream._impl.session.feeds import (
    Preparer,
    check_dict,
    fed_tensor,
    flat_feeds,
    flat_key,
    flat_value,
    has_parts,
)
from millstream._impl.session.fetches import Fetches, key_of
from millstream._impl.session.partial_runs import PartialRuns
from millstream._impl.values.session_config import session_bytes

# How many meanings of arguments of `run` a session keeps.
_MAX_CALLS = 512

_UNFED = "You must feed a value"  # how the error about a missing feed begins


class BaseSession(PartialRuns):
    """What `Session` and `InteractiveSession` have in common.

    Parameters
    ----------
    target
        The execution engine; "" is this process, ``"grpc://HOST:PORT"`` a server's cluster.
    graph
        The graph to run, by default the default one.
    config
        A ``ConfigProto``.

    Raises
    ------
    TypeError
        An argument is of another type.
    """

    _may_check = True  # whether `enable_check_numerics` counts for it

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is None:
            graph = default_graph.get_default_graph()
        if not isinstance(graph, Graph):
            raise TypeError(f"graph: expected a tf.Graph, got {graph!r}")
        check_target(target)
        given = numeric_checks.session_config(config) if self._may_check else config
        data = session_bytes(given)
        self._graph = graph
        self._config = config
        self._closed = False
        self._entered = False
        self._before_close: list[Callable[[], None]] = []
        # What `run` was told, by fetches and keys of feeds as the program wrote them: which tensors
        # these are and how to build the result. The runtime's session keeps the steps themselves.
        self._calls: dict[Any, _runtime.Callable] = {}
        self._costs = cost_graph.cost_models(config)
        plugins.find_packages()
        waits.report_vain_ones()
        self._target = target.decode() if isinstance(target, bytes) else target
        self._handle = _open(graph, data, self._target)

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as ``GraphDef``.

        With ``GraphOptions.infer_shapes``, each output's static shape is in ``_output_shapes``.
        """
        shapes = self._config is not None and self._config.graph_options.infer_shapes
        return self._graph.as_graph_def(add_shapes=shapes)

    @property
    def sess_str(self) -> str:
        """The execution engine that it was made for."""
        return self._target

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run one step.

        Parameters
        ----------
        fetches
            A tensor, operation, variable or name of one, or a nested structure of those: lists,
            tuples, named tuples, dictionaries.
        feed_dict
            Values for tensors: arrays, or what NumPy makes one of. Arrays are not copied. A nested
            tuple of tensors takes lists or tuples nested in the same way.
        options
            A ``RunOptions``: a time limit, and what `run_metadata` shall hold.
        run_metadata
            A ``RunMetadata`` to fill: ``step_stats``, times and memory of every node, with
            ``trace_level=RunOptions.FULL_TRACE``; ``partition_graphs``, what each device ran, with
            ``output_partition_graphs=True``; both the times and ``cost_graph``, what each node of
            ``partition_graphs`` costs, in the steps that ``GraphOptions.build_cost_model`` and
            ``build_cost_model_after`` name.

        Returns
        -------
        Any
            The structure of `fetches` with values in the place of tensors: NumPy arrays, NumPy
            scalars, bytes for scalar strings, None for operations.

        Raises
        ------
        TypeError, ValueError
            `fetches` or `feed_dict` is not of this kind or of this graph.
        RuntimeError
            The session is closed.
        OpError
            The step failed, and the error names the operation; or `Session.reset` has closed the
            session (FailedPreconditionError).

        Examples
        --------
        >>> import millstream as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     x = tf.placeholder(tf.float32, [2])
        ...     print(sess.run({"twice": x * 2.0}, {x: [1.0, 2.0]}))
        {'twice': array([2., 4.], dtype=float32)}
        """
        if feed_dict is None:
            feed_dict = {}
        elif type(feed_dict) is not dict:
            check_dict(feed_dict)
        key: Any = None
        call: _runtime.Callable | None = None
        try:
            key = (key_of(fetches), *feed_dict)
            call = self._calls.get(key)
        except TypeError:
            key = None
        if call is None or self._closed:
            flat = flat_feeds(feed_dict)
            if flat is not feed_dict:
                return self.run(fetches, flat, options, run_metadata)
            call = self._make_call(fetches, tuple(feed_dict))
            if key is not None:
                self._keep_call(key, call)
        is_measured = self._costs is not None and self._costs.is_due(key)
        if options is None and run_metadata is None:
            return call(*feed_dict.values())
        if run_metadata is not None:
            _check_message("run_metadata", run_metadata, "RunMetadata")
        is_measured = is_measured and run_metadata is not None
        given = _bytes_of(options)
        if is_measured:
            given = cost_graph.measuring(options).SerializeToString()
        result, metadata = call.run(given, *feed_dict.values())
        if run_metadata is not None:
            run_metadata.ParseFromString(metadata)
        if is_measured:
            cost_graph.add_cost_graph(run_metadata, options)
        return result

    def explain_placement(self, fetches: Any, feed_dict: Any = None) -> str:
        """Say where every node of a step would run, and why.

        Parameters
        ----------
        fetches
            What the step would fetch; see `run`.
        feed_dict
            Its feeds; only the keys count. Any iterable of tensors will do.

        Returns
        -------
        str
            A line a node: its name, op, device, and the reason.

        Raises
        ------
        TypeError, ValueError
            `fetches` or `feed_dict` is not of this kind or of this graph.
        InvalidArgumentError
            A node can be placed nowhere; the error lists its kernels and the devices.

        Examples
        --------
        >>> import millstream as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     with tf.device("/cpu:0"):
        ...         x = tf.placeholder(tf.float32, [2], name="x")
        ...         y = tf.negative(x, name="y")
        ...     print(sess.explain_placement(y, [x]).strip())
        y: (Neg): /job:localhost/replica:0/task:0/device:CPU:0 because there is no other device
        """
        return self._make_call(fetches, flat_key(tuple(feed_dict or ()))).placement()

    def _keep_call(self, key: Any, call: _runtime.Callable) -> None:
        # Other threads change the dictionary meanwhile, and so may whatever runs in this one: a
        # signal handler, the hash of a user's key. A lock would have these wait for themselves; so
        # only a copy is iterated, and what is to go may be gone.
        excess = len(self._calls) - _MAX_CALLS + 1
        if excess > 0:
            for oldest in list(self._calls.copy())[:excess]:
                self._calls.pop(oldest, None)
        self._calls[key] = call

    def _make_call(self, fetches: Any, feeds: Any) -> _runtime.Callable:
        if self._closed:
            raise _closed_error()
        graph = self._graph
        if graph.version == 0:
            raise RuntimeError(
                error_text.with_hint(
                    "The Session graph is empty. Add operations to it before run().",
                    "operations join the default graph; Session(graph=...) names another one",
                )
            )
        wanted = Fetches(graph, fetches, self)
        tensors = [fed_tensor(graph, key) for key in feeds]
        return self._handle.make_callable(
            [tensor.packed for tensor in tensors],
            [tensor.packed for tensor in wanted.tensors],
            [operation.node for operation in wanted.targets],
            wanted.structure,
            Preparer(tensors),
        )

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Any:
        """A function that runs one kind of step, with everything looked up beforehand.

        Parameters
        ----------
        fetches
            As for `run`.
        feed_list
            The tensors whose values the function takes, in this order; a nested tuple of tensors
            takes values nested in the same way.
        accept_options
            Not supported.

        Returns
        -------
        Callable
            Takes the values of `feed_list` by position, and gives what `run` gives. Once the
            session is closed it raises FailedPreconditionError.

        Raises
        ------
        TypeError
            `feed_list` is no list.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(f"feed_list: expected a list, got {feed_list!r}")
        if accept_options:
            raise NotImplementedError("accept_options: a callable takes no RunOptions")
        keys = tuple(feed_list or ())
        try:
            step = self._make_call(fetches, flat_key(keys))
        except errors.InvalidArgumentError as error:
            # As programs expect, the call is wrong and not the function.
            if _UNFED not in error.message:
                raise
            return _raising(error)
        if not any(has_parts(key) for key in keys):
            return step
        return lambda *values: step(*flat_value(keys, values))

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that it may use."""
        if self._closed:
            raise _closed_error()
        names = self._handle.list_devices().splitlines()
        return [DeviceAttributes(name) for name in names if name]

    def memory_use(self) -> dict[str, DeviceMemory]:
        """What this session has of each device's memory, by the device's name.

        Devices that work in the host's memory, as the CPU does, are not among them.

        Returns
        -------
        dict
            A `DeviceMemory` for each device with memory of its own.
        """
        if self._closed:
            raise _closed_error()
        return {
            name: DeviceMemory(**fields)
            for name, fields in json.loads(self._handle.memory()).items()
        }

    def trim(self) -> None:
        """Give memory back to the system that is only kept so that further steps are fast.

        That is the memory of steps, the steps that were compiled (but for those of
        `make_callable`), what of a device's memory is unused, and what the whole process has freed
        and kept. Variables stay, and running steps are not disturbed. The next step of a kind is
        compiled again, so that this is for pauses: after training and before serving, or before
        another program needs the memory.

        Raises
        ------
        RuntimeError
            The session is closed; FailedPreconditionError where `Session.reset` closed it.

        Examples
        --------
        >>> import millstream as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     x = tf.ones([1000, 1000])
        ...     total = sess.run(tf.reduce_sum(tf.matmul(x, x)))
        ...     sess.trim()
        """
        if self._closed:
            raise _closed_error()
        self._calls.clear()
        self._handle.trim()

    def close(self) -> None:
        """Free what the session holds: variables, plans, memory. Closing twice is harmless.

        The memory goes back to the system. Steps that run in other threads end with CancelledError,
        but for the writing of checkpoints in the background, which is waited for.
        """
        if self._closed:
            return
        for call in self._before_close:
            call()
        self._before_close.clear()
        self._closed = True
        self._calls.clear()
        self._handle.close()

    def call_before_close(self, call: Callable[[], None]) -> None:
        """Have `close` call a function first, once however often it is given.

        Parameters
        ----------
        call
            The function.
        """
        if call not in self._before_close:
            self._before_close.append(call)

    def as_default(self) -> _DefaultSession:
        """Make it the default session within a ``with`` block."""
        return _DefaultSession(self)

    def __repr__(self) -> str:
        state = "closed " if self._closed else ""
        return f"<{state}tf.{type(self).__name__} of {self._graph!r}>"


def _raising(error: Exception) -> Any:
    """A function that raises the error."""

    def step(*_: Any) -> None:
        raise error

    return step


def _closed_error() -> RuntimeError:
    hint = (
        "close() was called, or its `with` block has ended; its variables are gone, and another "
        "session begins anew"
    )
    return RuntimeError(error_text.with_hint("Attempted to use a closed Session.", hint))


def check_target(target: Any) -> None:
    """Raise TypeError if the name of an engine is no string."""
    if not isinstance(target, (str, bytes)):
        cause = f"target: expected a string, got {target!r}"
        if isinstance(target, Graph):
            cause = error_text.with_hint(cause, "Session(graph=...) takes the graph by its name")
        raise TypeError(cause)


def _open(graph: Graph, data: bytes, target: str) -> _runtime.Session:
    if not target:
        return _runtime.Session(graph.handle, data, _error_factory(graph))
    from millstream._impl.session import targets  # lazy: few programs have a cluster

    return targets.open_session(graph.handle, data, _error_factory(graph), target)


def _error_factory(graph: Graph) -> Any:
    def make(code: int, message: str, node: str) -> Exception:
        return errors.make(graph, code, message, node)

    return make


def _check_message(argument: str, value: Any, kind: str) -> None:
    if not isinstance(value, protos.message_class(kind)):
        raise TypeError(f"{argument}: expected a tf.{kind}, got {value!r}")


def _bytes_of(options: Any) -> bytes:
    if options is None:
        return b""
    _check_message("options", options, "RunOptions")
    serialized: bytes = options.SerializeToString()
    return serialized


class _DefaultSession:
    """A block in which a session is the default one."""

    def __init__(self, session: BaseSession) -> None:
        self._session = session

    def __enter__(self) -> BaseSession:
        stacks.push_session(self._session)
        return self._session

    def __exit__(self, *error: object) -> None:
        stacks.remove_session(self._session)


@public("get_default_session")
def get_default_session() -> BaseSession | None:
    """The session of the innermost ``with session:`` of this thread, or None.

    Examples
    --------
    >>> with tf.Session() as session:
    ...     tf.get_default_session() is session
    True
    """
    return stacks.STACKS.sessions[-1] if stacks.STACKS.sessions else None
