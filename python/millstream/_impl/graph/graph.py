"""Graphs: what is built once and run many times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from millstream import _runtime
from millstream._impl import protos
from millstream._impl.base import device_spec, error_text, errors, source_location
from millstream._impl.base.public import public
from millstream._impl.graph import build_state, op_defs, stacks
from millstream._impl.graph.collection_store import CollectionStore
from millstream._impl.graph.graph_elements import GraphElements
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike

_OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*\Z")
_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\-/]*\Z")
_INVALID_ARGUMENT = errors.INVALID_ARGUMENT

# Names that were found legal, so that they are not matched again.
_LEGAL_NAMES: set[str] = set()


@public("Graph")
class Graph(GraphElements, CollectionStore):
    """Operations and the tensors between them.

    New operations join the default graph (``with graph.as_default():``). A graph only grows; after
    `finalize` it does not.

    Attributes
    ----------
    handle
        The runtime's graph; private to the package.
    seed
        Seed of the random operations, see `set_random_seed`.
    kept
        What lives as long as the graph, such as functions that its operations call; private to the
        package.
    left_out
        Nodes that exports lack, because others stand for them; private to the package.
    expansions
        By nodes that stand for others: these, which run in their place; private to the package.

    Examples
    --------
    >>> import millstream as tf
    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     total = tf.constant(1.0) + 2.0
    >>> [operation.type for operation in graph.get_operations()]
    ['Const', 'Const', 'AddV2']
    """

    def __init__(self) -> None:
        GraphElements.__init__(self)
        CollectionStore.__init__(self)
        self.handle = _runtime.Graph()
        self.seed: int | None = None
        self.state = build_state.BuildState()
        self.kept: list[Any] = []
        self._finalized = False
        self.left_out: set[int] = set()  # nodes that others stand for; exports lack them
        self.expansions: dict[int, list[int]] = {}

    # ---- Growing ----

    def add(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[Tensor],
        counts: Sequence[int],
        attrs: Sequence[tuple[str, str, Any]],
        controlled: bool = True,
    ) -> Operation:
        """Add a node; for the package.

        Parameters
        ----------
        op_type
            Name of the op.
        name
            Full name, from `op_name`.
        inputs
            The arguments' tensors, one after the other.
        counts
            How many each argument got.
        attrs
            (name, kind, value) as the extension takes them.
        controlled
            Whether it waits for the current blocks' control inputs.

        Raises
        ------
        ValueError
            The op refuses the inputs or attributes.
        RuntimeError
            The graph is finalized.
        """
        if self._finalized:
            raise self._finalized_error(f"to add {name!r} (op {op_type})")
        state = self.state
        branch = state.branch
        if branch is not None:
            inputs = branch.inputs_of(name, inputs)
        elif self._in_loops and op_type != "Exit":
            self.check_outside(name, inputs)
        packed = [tensor.packed for tensor in inputs]
        controls: Sequence[int] = ()
        if controlled and state.controls:
            controls = state.control_inputs(packed)
        if branch is not None:
            controls = branch.controls_of(name, inputs, controls)
        if state.colocation:
            attrs = [*attrs, ("_class", "S", state.colocation_class())]
        if op_type in state.gradient_ops:
            attrs = [*attrs, ("_gradient_op_type", "s", state.gradient_ops[op_type].encode())]
        with self._lock:
            try:
                described = self.handle.add_node(
                    op_type,
                    name,
                    packed,
                    counts,
                    controls,
                    attrs,
                    state.device or "",
                    source_location.current(),
                )
            except _runtime.StatusError as error:
                raise self._build_error(error) from None
            if described[0] != len(self._operations):
                self._sync(described[0])
            operation = self._make_operation(described, name, op_type)
            self._operations.append(operation)
        if controlled and state.controls:
            state.note_made(operation.node)
        if branch is not None:
            branch.note_made(operation.node)
        if state.device is None:
            self.handle.set_device(operation.node, state.device_for(operation))
        return operation

    def _make_operation(self, described: tuple[int, ...], name: str, op_type: str) -> Operation:
        return Operation(self, described, name, op_type)

    def _build_error(self, error: _runtime.StatusError) -> Exception:
        """A refused argument is a ValueError, as of any Python function."""
        code, message, node = error.args
        if code in (errors.INVALID_ARGUMENT, errors.ALREADY_EXISTS, errors.OUT_OF_RANGE):
            return ValueError(error_text.with_source(message))
        return errors.make(self, code, message, node)

    def _finalized_error(self, what: str) -> RuntimeError:
        hint = f"it was tried {what}; do so before finalize(), and before the training loop"
        return RuntimeError(
            error_text.with_hint("Graph is finalized and cannot be modified.", hint)
        )

    def grow(self, function: Callable[[], Any]) -> Any:
        """Call something that adds nodes or changes them; for the package.

        Raises
        ------
        ValueError, OpError
            What the runtime refuses.
        RuntimeError
            The graph is finalized.
        """
        if self._finalized:
            raise self._finalized_error("to change it")
        # Without the lock: a gradient function that it calls may wait for another thread.
        try:
            return function()
        except _runtime.StatusError as error:
            raise self._build_error(error) from None
        finally:
            self._sync()

    def op_name(self, name: str) -> str:
        """The full name of a node to be: unique, in the current scope; for the package.

        A name that ends with "/" is a scope that was made for the node, and is taken as it is.
        """
        if not isinstance(name, str):
            raise TypeError(f"name: expected a name, got {name!r}")
        if name.endswith("/"):
            return name[:-1]
        scope = self.state.scope
        if name not in _LEGAL_NAMES:
            if not _OP_NAME.match(scope + name):
                raise ValueError(f"name: {scope + name!r} is not a valid name of an operation")
            if not scope:
                _LEGAL_NAMES.add(name)
        return self.handle.unique_name(scope + name, True)

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Any = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add a node of any op.

        Parameters
        ----------
        op_type
            Name of the op.
        inputs
            The arguments' tensors, one after the other.
        name
            Name of the node, by default the op's.
        attrs
            ``AttrValue`` messages by name.
        dtypes, input_types, op_def, compute_shapes, compute_device
            Not used: the op registry knows.
        """
        wire = [(key, "p", value.SerializeToString()) for key, value in (attrs or {}).items()]
        counts = op_defs.input_counts(op_type, attrs or {}, len(inputs))
        return self.add(op_type, self.op_name(name or op_type), inputs, counts, wire)

    def finalize(self) -> None:
        """Refuse every further operation."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Take operations again: what a monitored session does to its graph at its end."""
        self._finalized = False

    @property
    def finalized(self) -> bool:
        """Whether the graph refuses further operations."""
        return self._finalized

    @property
    def building_function(self) -> bool:
        """Whether the graph is the body of a function: always False."""
        return False

    # ---- Scopes ----

    def as_default(self) -> AbstractContextManager[Graph]:
        """Make it the default graph within a ``with`` block."""
        return stacks.graph_as_default(self)

    def enter_scope(self, scope: str) -> build_state.EnteredScope:
        """Within the block, names start with `scope`, which is "" or ends with "/"."""
        return build_state.EnteredScope(self.state, scope)

    def name_scope(self, name: str | None) -> build_state.EnteredScope:
        """Within the block, names start with the scope `name`, made unique.

        Parameters
        ----------
        name
            Name of the scope; one that ends with "/" is entered as it is; None or "" leaves all
            scopes.

        Raises
        ------
        ValueError
            The name is not valid.
        """
        return self.enter_scope(self.scope_name(name))

    def scope_name(self, name: str | None, mark_as_used: bool = True) -> str:
        """What `name_scope` enters: "" or a name that ends with "/"; for the package.

        Raises
        ------
        ValueError
            The name is not valid.
        """
        if not name or name.endswith("/"):
            return name or ""
        outer = self.state.scope
        pattern = _SCOPE_NAME if outer else _OP_NAME
        if not isinstance(name, str) or not pattern.match(name):
            raise ValueError(f"name: {name!r} is not a valid scope name")
        return self.handle.unique_name(outer + name, mark_as_used) + "/"

    def get_name_scope(self) -> str:
        """The current scope, without the "/" at its end."""
        return self.state.scope[:-1]

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name like `name` that nothing in the current scope has.

        Parameters
        ----------
        name
            The name wanted.
        mark_as_used
            Whether nothing else gets it from now on.
        """
        return self.handle.unique_name(self.state.scope + name, mark_as_used)

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Within the block, new operations run after the given ones.

        Parameters
        ----------
        control_inputs
            Operations, tensors and variables; None leaves all such blocks, and the branch of a
            conditional that is being built. A variable stands for the operation that owns it,
            which reads nothing.

        Raises
        ------
        TypeError
            Something else is given.
        """
        before = self.state.controls, self.state.branch
        if control_inputs is None:
            self.state.controls, self.state.branch = [], None
        else:
            nodes = [self._control_node(item) for item in control_inputs]
            scope = build_state.ControlScope(list(dict.fromkeys(nodes)))
            self.state.controls = [*before[0], scope]
        try:
            yield
        finally:
            self.state.controls, self.state.branch = before

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Within the block, new operations ask for a device.

        Parameters
        ----------
        device_name_or_function
            A name, full or partial, that is merged with the outer blocks' names; a function from an
            operation to a name; or None, which leaves all such blocks.

        Raises
        ------
        ValueError
            The name is none of a device.
        """
        entry = device_name_or_function
        if entry is not None and not callable(entry):
            entry = device_spec.normalize(entry)
        before = self.state.devices
        self.state.set_devices([*before, entry])
        try:
            yield
        finally:
            self.state.set_devices(before)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Within the block, new operations stand on the device of `op`.

        Parameters
        ----------
        op
            An operation, tensor or variable; None with `ignore_existing` leaves all such blocks.
        ignore_existing
            Leave the outer blocks of this kind.

        Raises
        ------
        TypeError
            `op` is none of these.
        ValueError
            It is None, and `ignore_existing` is not set.
        """
        if op is None and not ignore_existing:
            raise ValueError("op: None leaves the outer blocks, which takes ignore_existing=True")
        if op is not None and not isinstance(op, (Operation, TensorLike)):
            raise TypeError(f"op: expected an operation or a tensor, got {op!r}")
        element: Any = op
        state = self.state
        before, devices_before = state.colocation, state.devices
        state.colocation = [] if ignore_existing else before
        if op is not None:
            operation = element if isinstance(element, Operation) else element.op
            state.colocation = [*state.colocation, operation]
            state.set_devices([None, operation.device] if operation.device else [None])
        try:
            yield
        finally:
            state.colocation = before
            state.set_devices(devices_before)

    @contextmanager
    def gradient_override_map(self, op_type_map: Any) -> Iterator[None]:
        """Within the block, new operations of some ops have the gradients of other ops.

        Parameters
        ----------
        op_type_map
            Names of ops whose gradient is taken, by the names of the ops that get it.

        Raises
        ------
        TypeError
            It is no dictionary from names to names.

        Examples
        --------
        >>> x = tf.constant(1.5)
        >>> with tf.get_default_graph().gradient_override_map({"Floor": "Identity"}):
        ...     y = tf.floor(x)
        >>> float(tf.gradients(y, x)[0].eval())
        1.0
        """
        if not isinstance(op_type_map, dict) or not all(
            isinstance(name, str) for pair in op_type_map.items() for name in pair
        ):
            raise TypeError(
                "op_type_map: expected a dictionary from names of ops to names of ops, got "
                f"{op_type_map!r}"
            )
        before = self.state.gradient_ops
        self.state.gradient_ops = {**before, **op_type_map}
        try:
            yield
        finally:
            self.state.gradient_ops = before

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Within the block, variables and other resources live in the container of that name."""
        before = self.state.container
        self.state.container = container_name
        try:
            yield container_name
        finally:
            self.state.container = before

    def switch_to_thread_local(self) -> None:
        """Do nothing: scopes belong to threads already."""

    def forget_variable_shape(self, handle: Tensor) -> None:
        """Let the variable behind a handle hold values of any shape; for the package.

        Raises
        ------
        FailedPreconditionError
            A step has used it with the shape that it declares.
        """
        self.grow(lambda: self.handle.forget_handle_shape(handle.packed))
        for operation in self.get_operations():
            for tensor in operation.outputs:
                tensor.forget_shape()

    # ---- As data ----

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as ``GraphDef``.

        Parameters
        ----------
        from_version
            Leave out the operations up to this value of `version`.
        add_shapes
            Note each output's static shape in ``_output_shapes``.

        Raises
        ------
        ValueError
            The message would be larger than 2 GB.
        """
        try:
            data = self.handle.export(add_shapes)
        except _runtime.StatusError as error:
            raise self._build_error(error) from None
        found = protos.message_class("GraphDef").FromString(data)
        if from_version:
            del found.node[:from_version]
        if self.left_out:
            owners = self.expansions.keys() - self.left_out  # exported as what others read of them
            shown = {hidden for owner in owners for hidden in self.expansions[owner]}
            names = {self._operations[node].name for node in self.left_out - shown}
            kept = [node for node in found.node if node.name not in names]
            del found.node[:]
            found.node.extend(kept)
        return found

    @property
    def graph_def_versions(self) -> Any:
        """The versions that the graph declares, as ``VersionDef``."""
        return protos.message_class("VersionDef")(producer=self.handle.producer())

    def __repr__(self) -> str:
        finished = ", finalized" if self._finalized else ""
        return f"<tf.Graph with {len(self._operations)} operations{finished}>"
