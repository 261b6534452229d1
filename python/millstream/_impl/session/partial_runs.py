"""Runs in parts: a step whose feeds come, and whose fetches are asked for, one after the other.

Each part is a step of its own. What it computes and later parts may need is kept and fed to these,
so that no operation with state runs twice. Operations without state may run again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from millstream._impl.base import errors
from millstream._impl.graph.op_defs import op_def
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.session.feeds import check_dict, fed_tensor, flat_feeds, flat_key
from millstream._impl.session.fetches import Fetches
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph

_numbers = itertools.count()


class PartialRuns:
    """The part of a session that runs in parts."""

    _graph: Graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step."""
        raise NotImplementedError

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Prepare a run in parts.

        Parameters
        ----------
        fetches
            All that the parts will fetch, as for `run`.
        feeds
            The tensors that they will feed. A sparse or ragged tensor, or indexed slices, stand for
            their parts.

        Returns
        -------
        str
            A handle for `partial_run`.

        Raises
        ------
        TypeError, ValueError
            `fetches` or `feeds` is not of this kind or of this graph.
        InvalidArgumentError
            There is nothing to fetch.

        Examples
        --------
        >>> import millstream as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        ...     first = a + 1.0
        ...     second = first * b
        ...     handle = sess.partial_run_setup([first, second], [a, b])
        ...     one = sess.partial_run(handle, first, {a: 2.0})
        ...     print(float(sess.partial_run(handle, second, {b: one * 10.0})))
        90.0
        """
        if feeds is not None and not isinstance(feeds, (list, tuple)):
            raise TypeError(f"feeds: expected a list of tensors, got {feeds!r}")
        wanted = Fetches(self._graph, fetches)
        fed = [fed_tensor(self._graph, key) for key in flat_key(tuple(feeds or ()))]
        if not wanted.tensors and not wanted.targets:
            raise _refused("Must specify at least one target to fetch or execute.")
        handle = f"partial_run_{next(_numbers)}"
        self._runs_in_parts[handle] = _Run(wanted, fed)
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Run the next part.

        Parameters
        ----------
        handle
            What `partial_run_setup` returned.
        fetches
            Some of its fetches, as for `run`; each can be fetched once.
        feed_dict
            Values for some of its feeds; each can be fed once.

        Returns
        -------
        Any
            As of `run`.

        Raises
        ------
        InvalidArgumentError
            There is no such handle; something was not prepared, was fetched or fed before, or
            depends on a feed that has not come.
        UnimplementedError
            An operation with state would have to run twice.
        """
        run = self._runs_in_parts.get(handle)
        if run is None:
            raise _refused(
                "Must run 'setup' before performing partial runs! "
                f"handle: {handle!r} is none of partial_run_setup, or its run is over"
            )
        if feed_dict is not None:
            check_dict(feed_dict)
        given = {
            fed_tensor(self._graph, key): value
            for key, value in flat_feeds(feed_dict or {}).items()
        }
        wanted = Fetches(self._graph, fetches)
        part = run.next_part(wanted, given)
        result, kept = self.run([fetches, part.kept], part.feeds)
        run.note(wanted, part, kept)
        if run.is_over():
            self._runs_in_parts.pop(handle, None)
        return result

    @property
    def _runs_in_parts(self) -> dict[str, _Run]:
        runs: dict[str, _Run] = self.__dict__.setdefault("_partial_runs", {})
        return runs


class _Part:
    """One part: what it feeds, which operations it runs, and what later parts may need of it."""

    def __init__(self, feeds: dict[Tensor, Any], runs: set[Operation], kept: list[Tensor]) -> None:
        self.feeds = feeds
        self.runs = runs
        self.kept = kept


class _Run:
    """A run in parts, and how far it has come."""

    def __init__(self, wanted: Fetches, feeds: list[Tensor]) -> None:
        self._fetches = {*wanted.tensors, *wanted.targets}
        self._feeds = set(feeds)
        self._fetched: set[Any] = set()
        self._values: dict[Tensor, Any] = {}  # that were fed, or that parts have computed
        self._fed: set[Tensor] = set()
        self._has_run: set[Operation] = set()
        self._all = _needed(self._fetches, self._feeds)
        self._may_be_dead = _may_be_dead(self._all)

    def is_over(self) -> bool:
        """Whether all was fetched."""
        return self._fetched == self._fetches

    def next_part(self, wanted: Fetches, given: Mapping[Tensor, Any]) -> _Part:
        """The part that fetches something, given further values."""
        for tensor in given:
            if tensor not in self._feeds:
                raise _refused(f"feed_dict: {tensor.name} is not among the feeds of the run")
            if tensor in self._fed:
                raise _refused(f"feed_dict: {tensor.name} has already been fed")
        fetches: list[Any] = [*wanted.tensors, *wanted.targets]
        for fetch in fetches:
            if fetch not in self._fetches:
                raise _refused(
                    f"The fetch {fetch.name} was not specified in partial_run_setup: it is not "
                    "among the fetches of the run"
                )
            if fetch in self._fetched:
                raise _refused(f"fetches: {fetch.name} has already been fetched")
        known = {**self._values, **given}
        missing = self._feeds - set(known)
        runs = _needed(fetches, set(known))
        for tensor in missing:
            if tensor.op in runs and _reads(runs, fetches, tensor):
                names = ", ".join(fetch.name for fetch in fetches)
                raise _refused(
                    f"Fetch {names} can't be computed from the feeds that have been fed so far: it "
                    f"depends on {tensor.name}, which has not been fed so far"
                )
        for operation in runs & self._has_run:
            if _has_state(operation):
                raise errors.UnimplementedError(
                    operation.node_def,
                    operation,
                    f"{operation.name} has state, and would run a second time in this part",
                )
        feeds = {
            tensor: value
            for tensor, value in known.items()
            if tensor in given or _reads(runs, fetches, tensor)
        }
        return _Part(feeds, runs, self._kept(runs, known))

    def _kept(self, runs: set[Operation], known: Mapping[Tensor, Any]) -> list[Tensor]:
        """What a part computes and others may need."""
        kept: dict[Tensor, None] = {}
        for operation in self._all - runs - self._has_run:
            for tensor in operation.inputs:
                is_new = tensor.op in runs and tensor not in known
                if is_new and tensor.op not in self._may_be_dead and _is_plain(tensor):
                    kept[tensor] = None
        return list(kept)

    def note(self, wanted: Fetches, part: _Part, values: list[Any]) -> None:
        """Note that a part has run."""
        self._fetched.update(wanted.tensors, wanted.targets)
        self._fed.update(self._feeds & set(part.feeds))
        self._values.update(part.feeds)
        self._values.update(zip(part.kept, values, strict=True))
        self._has_run |= part.runs


def _needed(fetches: Iterable[Any], known: set[Tensor]) -> set[Operation]:
    """The operations that run for the fetches when some tensors are fed."""
    found: set[Operation] = set()
    waiting = [
        fetch if isinstance(fetch, Operation) else fetch.op
        for fetch in fetches
        if fetch not in known
    ]
    while waiting:
        operation = waiting.pop()
        if operation in found:
            continue
        found.add(operation)
        waiting.extend(tensor.op for tensor in operation.inputs if tensor not in known)
        waiting.extend(operation.control_inputs)
    return found


def _may_be_dead(operations: set[Operation]) -> set[Operation]:
    """Those whose outputs may have no value, because they are on a branch that is not taken."""
    found: set[Operation] = set()
    waiting = [operation for operation in operations if "Switch" in operation.type]
    while waiting:
        operation = waiting.pop()
        if operation in found:
            continue
        found.add(operation)
        for tensor in operation.outputs:
            waiting.extend(
                reader
                for reader in tensor.consumers()
                if reader in operations and reader.type not in ("Merge", "RefMerge")
            )
    return found


def _reads(runs: set[Operation], fetches: list[Any], tensor: Tensor) -> bool:
    return tensor in fetches or any(reader in runs for reader in tensor.consumers())


def _has_state(operation: Operation) -> bool:
    """Whether a second run would not be the same; handles are names alone."""
    if all(tensor.dtype == dtypes.resource for tensor in operation.outputs) and operation.outputs:
        return False
    if operation.type.startswith("Placeholder"):
        return False
    stateful: bool = op_def(operation.type).is_stateful
    return stateful


def _is_plain(tensor: Tensor) -> bool:
    """Whether its value can be fetched and fed."""
    return tensor.dtype.base_dtype not in (dtypes.resource, dtypes.variant)


def _refused(cause: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, cause)
