"""Nodes of a graph and the tensors between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from millstream._impl import protos
from millstream._impl.base import error_text, errors
from millstream._impl.base.public import public
from millstream._impl.graph import op_defs
from millstream._impl.graph.operator_methods import OPERATOR_NAMES, Operators
from millstream._impl.graph.stacks import StepRunner, session_or_default
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.values import attr_values, dtypes, tensor_shape
from millstream._impl.values.tensor_shape import TensorShape
from millstream._runtime import StatusError

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.values.dtypes import DType


@public("Operation")
class Operation:
    """A node of a graph. Made by the functions that add operations, not by hand.

    Attributes
    ----------
    graph
        The graph that holds it.
    node
        Its number in the graph, by order of creation.
    name, type
        Its name in the graph, and the name of its op.
    outputs
        The tensors that it computes.

    Examples
    --------
    >>> total = tf.add(1.0, 2.0, name="total").op
    >>> total.type, [tensor.name for tensor in total.inputs]
    ('Add', ['total/x:0', 'total/y:0'])
    """

    __slots__ = ("__weakref__", "graph", "name", "node", "outputs", "pending_device", "type")

    def __init__(self, graph: Graph, described: tuple[int, ...], name: str, op_type: str) -> None:
        self.graph = graph
        self.node = described[0]
        self.name = name
        self.type = op_type
        self.pending_device: str | None = None  # while device functions look at it
        first = self.node << 32
        self.outputs: list[Tensor] = [
            Tensor(self, index, dtypes.of_number(described[index + 1]), first | index)
            for index in range(len(described) - 1)
        ]

    def values(self) -> list[Tensor]:
        """The tensors that it computes."""
        return self.outputs

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that it takes, all arguments one after the other."""
        tensor_of = self.graph.tensor_of
        return tuple(tensor_of(packed) for packed in self.graph.handle.node_inputs(self.node))

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that run before it though it takes nothing from them."""
        operation_of = self.graph.operation_of
        return [operation_of(node) for node in self.graph.handle.node_controls(self.node)]

    @property
    def device(self) -> str:
        """The device that it asks for, full, partial or empty."""
        if self.pending_device is not None:
            return self.pending_device
        return self.graph.handle.node_device(self.node)

    @property
    def node_def(self) -> Any:
        """The node as ``NodeDef``."""
        data = self.graph.handle.node_def(self.node)
        return protos.message_class("NodeDef").FromString(data)

    @property
    def op_def(self) -> Any:
        """The definition of its op as ``OpDef``."""
        return op_defs.op_def(self.type)

    @property
    def source(self) -> str:
        """The user's line that made it, as ``"train.py:12 in build"``."""
        return self.graph.handle.node_source(self.node)

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The user's line that made it, as one entry (file, line, function, text)."""
        place, _, function = self.source.rpartition(" in ")
        filename, _, line = place.rpartition(":")
        text = error_text.source_text(filename, int(line or 0))
        return [(filename, int(line or 0), function, text)]

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """As `traceback`, each entry with the first line of its function; -1, for none is kept."""
        return [(*entry, -1) for entry in self.traceback]

    def get_attr(self, name: str) -> Any:
        """The value of an attribute; ValueError when it has none of that name."""
        try:
            data = self.graph.handle.node_attr(self.node, name)
        except StatusError as error:
            raise ValueError(f"name: {error.args[1]}") from None
        return attr_values.decode(data)

    def colocation_groups(self) -> list[bytes]:
        """The groups of operations that share a device, as ``b"loc:@name"``."""
        try:
            found = self.get_attr("_class")
        except ValueError:
            found = []
        groups = [group for group in found if group.startswith(b"loc:@")]
        return groups or [b"loc:@" + self.name.encode()]

    def run(self, feed_dict: Any = None, session: StepRunner | None = None) -> None:
        """Run it in a session.

        Parameters
        ----------
        feed_dict
            Values of placeholders, as for `Session.run`.
        session
            The session, by default the default one.
        """
        session_or_default(session, self.graph, "Operation.run()").run(self, feed_dict)

    def _add_control_input(self, operation: Operation) -> None:
        graph = self.graph
        graph.grow(lambda: graph.handle.add_control_input(self.node, operation.node))

    def _set_device(self, device: str) -> None:
        self.graph.grow(lambda: self.graph.handle.set_device(self.node, device))

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


@public("Tensor")
class Tensor(Operators, TensorLike):
    """One output of an operation: a value that each step computes anew.

    Examples
    --------
    >>> x = tf.constant([[1.0, 2.0]], name="x")
    >>> x
    <tf.Tensor 'x:0' shape=(1, 2) dtype=float32>
    >>> (x * 2.0 + 1.0)[0, 1].eval().tolist()
    5.0
    """

    __slots__ = ("__weakref__", "_dtype", "_shape", "op", "packed", "value_index")

    is_tensor: ClassVar[bool] = True
    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]] = OPERATOR_NAMES
    __array_priority__ = 100  # NumPy's operators leave it to ours

    def __init__(self, op: Operation, value_index: int, dtype: DType, packed: int) -> None:
        self.op = op
        self.value_index = value_index
        self.packed = packed  # as the extension names it
        self._dtype = dtype
        self._shape: TensorShape | None = None

    def as_tensor(self) -> Tensor:
        """The tensor itself."""
        return self

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self.op.graph

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """Its name in the graph, as ``"MatMul:0"``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The device that its operation asks for."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of its shape without running anything."""
        if self._shape is None:
            dims = self.op.graph.handle.output_shape(self.packed)
            self._shape = tensor_shape.of_wire(dims)
        return self._shape

    def get_shape(self) -> TensorShape:
        """What is known of its shape: the property `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add what is known of the shape.

        Raises
        ------
        ValueError
            It contradicts what is known already.
        """
        merged = self.shape.merge_with(tensor_shape.as_shape(shape))
        dims = tensor_shape.to_wire(merged)
        if dims is None:
            return
        try:
            self.op.graph.handle.set_shape(self.packed, dims)
        except StatusError as error:
            raise ValueError(f"shape: {error.args[1]}") from None
        self._shape = None

    def forget_shape(self) -> None:
        """Ask the graph for the shape again, of which less is known now; for the package."""
        self._shape = None

    def consumers(self) -> list[Operation]:
        """The operations that take it."""
        return self.graph.consumers_of(self)

    def eval(self, feed_dict: Any = None, session: StepRunner | None = None) -> Any:
        """Its value in one step.

        Parameters
        ----------
        feed_dict
            Values of placeholders, as for `Session.run`.
        session
            The session, by default the default one.
        """
        return session_or_default(session, self.graph, "Tensor.eval()").run(self, feed_dict)

    def experimental_ref(self) -> Tensor:
        """A key for dictionaries: the tensor itself, which compares by identity."""
        return self

    ref = experimental_ref

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "A tensor of a graph has no truth value before a session runs it; use tf.cond or "
            "tf.where"
        )

    def __len__(self) -> NoReturn:
        raise TypeError("A tensor of a graph has no len(); use its static shape or tf.shape")

    def __iter__(self) -> Iterator[Tensor]:
        raise TypeError("A tensor of a graph cannot be iterated over; use tf.unstack")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{self.name} has no value before a session runs it")

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self._dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.shape.ndims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name})'


def describe_error(graph: Graph, error: StatusError) -> errors.OpError:
    """The typed error of a failed call."""
    code, message, node = error.args
    return errors.make(graph, code, message, node)
