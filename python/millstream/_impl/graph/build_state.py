"""Where in the program a graph is being built: scopes of names, devices and control inputs.

Each thread that builds a graph has a state of its own, so scopes of one thread do not reach into
what another builds.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from millstream._impl.base import device_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream._impl.graph.operation import Operation, Tensor


class ControlScope:
    """One ``with control_dependencies(...)`` block.

    Attributes
    ----------
    controls
        Nodes that everything made inside waits for.
    inside
        Nodes made inside.
    """

    __slots__ = ("controls", "inside")

    def __init__(self, controls: list[int]) -> None:
        self.controls = controls
        self.inside: set[int] = set()


class Branch(Protocol):
    """A part of the graph that is being built and runs only sometimes: a branch, a loop's body."""

    def inputs_of(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What a node of that name takes in the place of these tensors."""

    def controls_of(
        self, name: str, inputs: Sequence[Tensor], controls: Sequence[int]
    ) -> Sequence[int]:
        """The nodes that a node of that name waits for, by its inputs and control inputs."""

    def waits_of(self, name: str, needed: Sequence[int], controls: Sequence[int]) -> Sequence[int]:
        """What control inputs are for a node that is there and reads or waits for some nodes."""

    def note_made(self, node: int) -> None:
        """A node was made in it."""

    def note_gradient(self, node: int) -> None:
        """The runtime has made a node for a gradient, in it or around it."""


class BuildState(threading.local):
    """The scopes of one thread in one graph."""

    def __init__(self) -> None:
        self.scope = ""  # "" or "outer/inner/"
        self.controls: list[ControlScope] = []
        # Device strings and functions, outermost first. None hides what is outside of it.
        self.devices: list[Any] = []
        self.device: str | None = ""  # the merged strings; None when there is a function
        self.colocation: list[Operation] = []
        self.branch: Branch | None = None  # the innermost that is being built
        self.container = ""
        self.gradient_ops: dict[str, str] = {}  # whose gradients ops get, by their names
        self.variable_scope: Any = None  # the current VariableScope, once there is one
        # Attributes for every node, such as the operations that a function's body belongs to.
        self.attributes: list[tuple[str, str, Any]] = []

    def control_inputs(self, inputs: Sequence[int]) -> list[int]:
        """The nodes that a new node with those inputs must wait for.

        A block adds nothing where an input was made inside of it: that one waits already.
        """
        if not self.controls:
            return []
        nodes = [packed >> 32 for packed in inputs]
        found: list[int] = []
        for scope in self.controls:
            if not any(node in scope.inside for node in nodes):
                found.extend(control for control in scope.controls if control not in found)
        return [control for control in found if control not in nodes]

    def note_made(self, node: int) -> None:
        """A node was made in the current blocks."""
        for scope in self.controls:
            scope.inside.add(node)

    def colocation_class(self) -> list[bytes]:
        """The attribute ``_class`` of a new node: the groups that it stands with."""
        groups: list[bytes] = []
        for operation in self.colocation:
            groups.extend(group for group in operation.colocation_groups() if group not in groups)
        return groups

    def set_devices(self, devices: list[Any]) -> None:
        """Replace the stack of devices."""
        self.devices = devices
        visible = _after_last_none(devices)
        if any(callable(entry) for entry in visible):
            self.device = None
            return
        merged = ""
        for entry in visible:
            merged = device_spec.merge(merged, entry)
        self.device = merged

    def device_for(self, operation: Operation) -> str:
        """The device of an operation, where functions take part: innermost first."""
        device = ""
        for entry in reversed(_after_last_none(self.devices)):
            if callable(entry):
                operation.pending_device = device
                answer = entry(operation)
                device = device_spec.normalize(
                    answer.to_string() if hasattr(answer, "to_string") else answer or ""
                )
            else:
                device = device_spec.merge(entry, device)
        operation.pending_device = None
        return device


def _after_last_none(devices: list[Any]) -> list[Any]:
    for position in range(len(devices) - 1, -1, -1):
        if devices[position] is None:
            return devices[position + 1 :]
    return devices


class EnteredScope:
    """A block in which names start with a scope that is given as a whole."""

    __slots__ = ("_before", "_scope", "_state")

    def __init__(self, state: BuildState, scope: str) -> None:
        self._state = state
        self._scope = scope
        self._before = ""

    def __enter__(self) -> str:
        self._before = self._state.scope
        self._state.scope = self._scope
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._state.scope = self._before
