"""The operations and tensors of a graph: how they are found, and which of them sessions reach."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from millstream import _runtime
from millstream._impl.base import error_text
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.graph.variable_tensor import VariableTensor
from millstream._impl.values import dtypes


def _foreign(obj: Any, operation: Operation) -> str:
    hint = "it is of another tf.Graph; make it in this one, or use its own one (tensor.graph)"
    return error_text.about(f"{obj!r} is not an element of this graph.", operation, hint)


class GraphElements:
    """Base of a graph: the objects that stand for its nodes, by number and by name."""

    handle: _runtime.Graph

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._variables: dict[int, Any] = {}  # by the handle, packed
        self._variable_tensors: dict[int, VariableTensor] = {}  # likewise
        self._initialized_values: set[int] = set()  # packed
        self._written: dict[int, Any] = {}  # by the tensor that an assignment gave, packed
        self._unfeedable: set[Any] = set()
        self._unfetchable: set[Any] = set()
        self._in_loops: set[int] = set()  # nodes
        self._in_branches: set[int] = set()  # nodes of conditionals
        self._lock = threading.RLock()

    def _make_operation(self, described: tuple[int, ...], name: str, op_type: str) -> Operation:
        """The object of a node."""
        raise NotImplementedError

    def _sync(self, end: int | None = None) -> None:
        """Makes the objects of nodes that the runtime added by itself."""
        with self._lock:
            if end is None:
                end = self.handle.num_nodes()
            for node in range(len(self._operations), end):
                name, op_type, described = self.handle.node_info(node)
                self._operations.append(self._make_operation(described, name, op_type))

    def get_operations(self) -> list[Operation]:
        """All operations in the order of their creation."""
        return list(self._operations)

    @property
    def version(self) -> int:
        """A number that grows with every operation."""
        return len(self._operations)

    def operation_of(self, node: int) -> Operation:
        """The operation of a node's number; for the package."""
        if node >= len(self._operations):
            self._sync()
        return self._operations[node]

    def check_outside(self, name: str, inputs: Sequence[Tensor]) -> None:
        """That a node which is made outside of all loops takes no tensor of one; for the package.

        Raises
        ------
        ValueError
            It does.
        """
        for tensor in inputs:
            if tensor.op.node in self._in_loops:
                inside = tensor.op.name
                cause = f"Cannot use {inside!r} as input to {name!r} because {inside!r} is in a "
                hint = "the body of a loop returns what is used behind the loop"
                raise ValueError(error_text.with_hint(f"{cause}while loop.", hint))

    def tensor_of(self, packed: int) -> Tensor:
        """The tensor of the extension's number; for the package."""
        return self.operation_of(packed >> 32).outputs[packed & 0xFFFFFFFF]

    def find_operation(self, name: str) -> Operation | None:
        """The operation of that name, or None."""
        node = self.handle.find_node(name)
        return None if node < 0 else self.operation_of(node)

    def note_variable(self, handle: Tensor, variable: Any) -> None:
        """Remember the variable behind a handle; for the package."""
        self._variables[handle.packed] = variable

    def variable_of(self, tensor: Tensor) -> Any:
        """The variable behind a handle, or None."""
        return self._variables.get(tensor.packed)

    def note_initialized_value(self, tensor: Tensor) -> None:
        """Remember that a tensor is the value of an initialized variable; for the package."""
        self._initialized_values.add(tensor.packed)

    def is_initialized_value(self, tensor: Tensor) -> bool:
        """Whether `Variable.initialized_value` gave the tensor; for the package."""
        return tensor.packed in self._initialized_values

    def note_written(self, tensor: Tensor, variable: Any) -> None:
        """Remember the variable whose value an assignment gave; for the package."""
        self._written[tensor.packed] = variable

    def variable_written(self, tensor: Tensor) -> Any:
        """The variable whose value the tensor is after an assignment, or None."""
        return self._written.get(tensor.packed)

    def read_of(self, tensor: Tensor) -> Tensor | None:
        """The read that stands for the variable behind a handle in fetches, or None.

        In imported graphs the name tells it.
        """
        variable = self.variable_of(tensor)
        if variable is not None:
            snapshot: Tensor = variable.graph_element
            return snapshot
        found = self.find_operation(tensor.op.name + "/read")
        if found is None or found.type != "ReadVariableOp" or found.inputs[0].op is not tensor.op:
            return None
        return found.outputs[0]

    def named_tensor(self, tensor: Tensor) -> Tensor:
        """What a tensor's name stands for: the tensor, or for a handle the variable."""
        if tensor.dtype is not dtypes.resource or tensor.op.type != "VarHandleOp":
            return tensor
        with self._lock:
            if tensor.packed not in self._variable_tensors:
                self._variable_tensors[tensor.packed] = VariableTensor(tensor)
            return self._variable_tensors[tensor.packed]

    def consumers_of(self, tensor: Tensor) -> list[Operation]:
        """The operations that take a tensor."""
        wanted = tensor.packed
        return [
            operation
            for operation in self._operations
            if wanted in self.handle.node_inputs(operation.node)
        ]

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name; KeyError when there is none."""
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of that name, as ``"add:0"``; KeyError when there is none."""
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The operation or tensor that `obj` is or names.

        Parameters
        ----------
        obj
            An operation, a tensor, a variable, or a name.
        allow_tensor, allow_operation
            Which of both is wanted.

        Raises
        ------
        KeyError
            The graph has nothing of that name.
        ValueError
            It belongs to another graph, or is a name of the kind that is not allowed.
        TypeError
            It is neither a tensor nor an operation, or of the kind that is not allowed.
        """
        if isinstance(obj, TensorLike) and not obj.is_tensor and hasattr(obj, "graph_element"):
            obj = obj.graph_element
        if isinstance(obj, (Tensor, Operation)):
            is_tensor = isinstance(obj, Tensor)
            if not (allow_tensor if is_tensor else allow_operation):
                expected = "a tensor" if allow_tensor else "an operation"
                raise TypeError(f"obj: expected {expected}, got {obj!r}")
            if obj.graph is not self:
                raise ValueError(_foreign(obj, obj if isinstance(obj, Operation) else obj.op))
            return obj
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._by_name(obj, allow_tensor, allow_operation)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a tensor or operation.")

    def _nearest(self, name: str, suffix: str = "") -> str:
        names = (operation.name for operation in self._operations)
        return error_text.nearest(name, names, suffix)

    def _by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        op_name, colon, index = name.partition(":")
        if not colon:
            operation = self.find_operation(name)
            if not allow_operation:
                known = " It is the name of an operation." if operation is not None else ""
                raise ValueError(
                    f"{name!r} is not a name of a tensor, which looks like '<op name>:<index>'."
                    f"{known}"
                )
            if operation is None:
                raise KeyError(f"The graph has no operation {name!r}.{self._nearest(name)}")
            return operation
        if not allow_tensor:
            raise ValueError(f"{name!r} is the name of a tensor, not of an operation.")
        if not index.isdigit():
            raise ValueError(f"{name!r} is not a name of a tensor.")
        operation = self.find_operation(op_name)
        if operation is None:
            near = self._nearest(op_name, f":{index}")
            raise KeyError(f"The graph has no operation {op_name!r}, so no tensor {name!r}.{near}")
        if int(index) >= len(operation.outputs):
            raise KeyError(f"{op_name!r} has {len(operation.outputs)} outputs, so no {name!r}.")
        return self.named_tensor(operation.outputs[int(index)])

    def _control_node(self, item: Any) -> int:
        given: Any = item
        owned = isinstance(item, TensorLike) and not isinstance(item, Tensor)
        element = self.as_graph_element(given.op if owned else given)
        operation = element.op if isinstance(element, Tensor) else element
        node: int = operation.node
        return node

    # ---- What a session may do ----

    def prevent_feeding(self, tensor: Any) -> None:
        """Refuse values for the tensor in sessions."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Any) -> bool:
        """Whether sessions accept values for the tensor."""
        op = getattr(tensor, "op", tensor)
        return tensor not in self._unfeedable and op.node not in self._in_loops

    def prevent_fetching(self, op: Any) -> None:
        """Refuse to fetch the operation or tensor in sessions."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Whether sessions fetch the operation or tensor."""
        op = getattr(tensor_or_op, "op", tensor_or_op)
        marked = tensor_or_op in self._unfetchable or op in self._unfetchable
        hidden = op.node in self._in_loops or op.node in self._in_branches
        return not (marked or hidden)

    def note_in_loop(self, node: int) -> None:
        """A node was made in a loop, where sessions cannot reach it; for the package."""
        self._in_loops.add(node)

    def note_in_branch(self, node: int) -> None:
        """A node was made in a branch of a conditional and may not run; for the package."""
        self._in_branches.add(node)
