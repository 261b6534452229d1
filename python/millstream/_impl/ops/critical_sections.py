"""Parts of graphs that one step runs at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TEXT, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.modes import init_scope
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops, nest
from millstream._impl.values import dtypes

# Nodes that pass a tensor on, into branches and loops.
_PASSING = frozenset({"Switch", "RefSwitch", "Enter", "RefEnter", "Identity"})


@dataclass(frozen=True)
class _Execution:
    """An execution of a section, which the graph keeps.

    Parameters
    ----------
    lock
        The operation that waits for the section.
    handle
        The section's mutex.
    resources
        What its operations work on.
    is_exclusive
        Whether no other section may work on these.
    """

    lock: Operation
    handle: Tensor
    resources: Sequence[Tensor]
    is_exclusive: bool


@public("CriticalSection")
class CriticalSection:
    """Operations that one step runs at a time, and that one step runs in turn.

    What `execute` makes waits until no other execution of the section is running, of any step of
    the session. A step that waits holds no thread. A step that fails leaves the section.

    Parameters
    ----------
    name
        Name of the section.
    shared_name
        A name by which several graphs and nodes of one session mean the same section.
    critical_section_def
        Must be None.
    import_scope
        Not used.

    Raises
    ------
    ValueError
        `critical_section_def` is given.

    Examples
    --------
    >>> v = tf.Variable(1.0, use_resource=True)
    >>> section = tf.CriticalSection()
    >>> def doubled():
    ...     value = v.read_value()
    ...     with tf.control_dependencies([value]):
    ...         return v.assign(value * 2.0)
    >>> doubled_once = section.execute(doubled)
    >>> session = tf.get_default_session()
    >>> session.run(v.initializer)
    >>> float(session.run(doubled_once)), float(session.run(doubled_once))
    (2.0, 4.0)
    """

    @takes(shared_name=or_none(TEXT))
    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            if shared_name:
                raise ValueError("critical_section_def and shared_name are mutually exclusive.")
            raise ValueError("critical_section_def is not supported.")
        with scopes.name_scope(name, "CriticalSection") as scope, init_scope():
            container = get_default_graph().state.container
            self._handle: Tensor = gen_ops.mutex_v2(
                container=container, shared_name=shared_name or scope.rstrip("/"), name=scope
            )

    @property
    def name(self) -> str:
        """Name of the operation that stands for the section."""
        return self._handle.op.name

    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """Run what a function makes in the section.

        Parameters
        ----------
        fn
            A function without parameters. The operations that it makes run in the section; what it
            uses from outside may run before.
        exclusive_resource_access
            Whether no other section may work on the variables and other resources of these
            operations.
        name
            Name of the scope.

        Returns
        -------
        Any
            What the function returns: tensors, operations, or a nested structure of them. They are
            there when the section has ended.

        Raises
        ------
        ValueError
            The function executes the section itself, which would wait for itself, or works on a
            resource of another section and one of both is to be the only one.

        Examples
        --------
        >>> section = tf.CriticalSection()
        >>> float(section.execute(lambda: tf.constant(2.0) * 3.0).eval())
        6.0
        """
        with scopes.name_scope(name, "critical_section_execute"):
            lock = gen_ops.mutex_lock(self._handle)
            graph = lock.graph
            first = graph.version
            with scopes.control_dependencies([lock]):
                result = fn()
            made = [graph.operation_of(node) for node in range(first, graph.version)]
            resources = _resources_of(made)
            if any(self._is_own(resource) for resource in resources):
                raise ValueError(
                    "The function fn attempts to directly access the CriticalSection in which it "
                    f"would be running: {self.name!r} would wait for itself"
                )
            is_exclusive = bool(exclusive_resource_access)
            self._check_others(graph, resources, is_exclusive)
            leaves = [_passed(leaf) for leaf in nest.flatten(result, expand_composites=True)]
            present = [leaf for leaf in leaves if leaf is not None]
            after = present or [lock]
            with scopes.control_dependencies(after), scopes.colocate_with(self._handle.op):
                consumed = gen_ops.consume_mutex_lock(lock)
            # Who fetches one of the results runs them all: there is one section for all.
            with scopes.control_dependencies([consumed]):
                given = [_passed(leaf) for leaf in leaves]
            graph.kept.append(_Execution(lock.op, self._handle, resources, is_exclusive))
            return nest.pack_sequence_as(result, given, expand_composites=True)

    def _is_own(self, tensor: Tensor) -> bool:
        """Whether a tensor is a handle of this section's mutex."""
        return tensor.op.type == "MutexV2" and _place(tensor) == _place(self._handle)

    def _check_others(self, graph: Any, resources: Sequence[Tensor], is_exclusive: bool) -> None:
        mine = set(resources)
        for other in [kept for kept in graph.kept if isinstance(kept, _Execution)]:
            if self._is_own(other.handle) or not (is_exclusive or other.is_exclusive):
                continue
            both = sorted(tensor.name for tensor in mine.intersection(other.resources))
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}. Either this lock "
                    f"(CriticalSection: {self.name!r}) or lock {other.lock.name!r} "
                    f"(CriticalSection: {other.handle.op.name!r}) requested exclusive resource "
                    "access of this resource. Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


def _place(handle: Tensor) -> tuple[Any, Any]:
    return handle.op.get_attr("container"), handle.op.get_attr("shared_name")


def _resources_of(operations: Sequence[Operation]) -> list[Tensor]:
    """The resources that operations work on, each as the tensor that is its handle."""
    found = {
        _origin(tensor): None
        for operation in operations
        for tensor in operation.inputs
        if tensor.dtype.base_dtype == dtypes.resource
    }
    return list(found)


def _origin(tensor: Tensor) -> Tensor:
    """The tensor that came into a branch or a loop, possibly through several."""
    while tensor.op.type in _PASSING:
        tensor = tensor.op.inputs[0]
    return tensor


def _passed(leaf: Any) -> Any:
    """A result of the function, as an operation that waits for the current control inputs."""
    if leaf is None:
        return None
    if isinstance(leaf, Operation):
        return control_ops.group(leaf)
    return gen_ops.identity(convert_to_tensor(leaf))
