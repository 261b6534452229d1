"""Initial values that are computed from other variables.

One step initializes all variables, in no order. Where an initial value reads a variable, the
initializer computes it from a copy of the operations in between, which takes the variable's own
initial value as long as that variable has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Operation, Tensor


def without_uninitialized_reads(graph: Graph, value: Tensor, variable_name: str) -> Tensor:
    """The initial value in operations that find every variable initialized.

    Values in loops are returned as they are, and so are reads that wait for other operations.

    Parameters
    ----------
    graph
        The graph of the value.
    value
        The initial value.
    variable_name
        Name of the variable that starts from it, which ends the names of the copies.
    """
    if not value.op.inputs:
        return value
    copies = _Copies(graph, variable_name)
    for operation in _upstream(graph, value):
        if operation.type == "NextIteration":
            return value
        copies.add(operation)
    return copies.of(value)


def _upstream(graph: Graph, value: Tensor) -> list[Operation]:
    """The operations that a value needs, inputs before their readers.

    What `Variable.initialized_value` gave is not looked into.
    """
    found: dict[int, Operation] = {}
    waiting = [value]
    while waiting:
        tensor = waiting.pop()
        operation = tensor.op
        if operation.node not in found and not graph.is_initialized_value(tensor):
            found[operation.node] = operation
            waiting.extend(operation.inputs)
    return [found[node] for node in sorted(found)]


class _Copies:
    """Copies of operations, each made when one of its inputs has a copy."""

    def __init__(self, graph: Graph, variable_name: str) -> None:
        self._graph = graph
        self._suffix = "_" + variable_name
        self._tensors: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}  # of variables, by the handle

    def of(self, tensor: Tensor) -> Tensor:
        """What stands for a tensor."""
        return self._tensors.get(tensor.packed, tensor)

    def add(self, operation: Operation) -> None:
        """Copy an operation if that changes what it computes."""
        inputs = operation.inputs
        if operation.type == "ReadVariableOp" and not operation.control_inputs:
            self._replace(operation, self._value(inputs[0]))
        elif operation.type == "ResourceGather":
            value = self._value(inputs[0])
            if value is not None:
                rows = gen_ops.gather_v2(value, self.of(inputs[1]), 0, name=self._name(operation))
                self._replace(operation, rows)
        elif any(tensor.packed in self._tensors for tensor in inputs):
            copied = self._graph.create_op(
                operation.type,
                [self.of(tensor) for tensor in inputs],
                name=self._name(operation),
                attrs=operation.node_def.attr,
            )
            for tensor, copy in zip(operation.outputs, copied.outputs, strict=True):
                self._tensors[tensor.packed] = copy

    def _replace(self, operation: Operation, value: Tensor | None) -> None:
        if value is not None:
            self._tensors[operation.outputs[0].packed] = value

    def _name(self, operation: Operation) -> str:
        name = self._graph.handle.unique_name(operation.name + self._suffix, True)
        return f"{name}/"

    def _value(self, handle: Tensor) -> Tensor | None:
        """The initialized value of the variable behind a handle; None when there is none."""
        variable: Any = self._graph.variable_of(handle)
        if variable is None:
            return None
        if handle.packed not in self._values:
            self._values[handle.packed] = variable.initialized_value()
        return self._values[handle.packed]
