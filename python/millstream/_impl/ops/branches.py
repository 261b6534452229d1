"""Parts of the graph that are being built and run only sometimes: branches and loops' bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from millstream import _runtime
from millstream._impl.graph.convert import constant
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor


class _Anywhere:
    """Stands for the part that nodes are made in where only their inputs tell which it is.

    Parameters
    ----------
    part
        The part that is being built, if there is one.
    """

    def __init__(self, part: Any) -> None:
        self._part = part

    def inputs_of(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What a node of that name takes in the place of these tensors: the same."""
        return list(inputs)

    def controls_of(
        self, name: str, inputs: Sequence[Tensor], controls: Sequence[int]
    ) -> Sequence[int]:
        """Nodes to wait for: what the given ones are in the part."""
        return self.waits_of(name, [tensor.op.node for tensor in inputs], controls)

    def waits_of(self, name: str, needed: Sequence[int], controls: Sequence[int]) -> Sequence[int]:
        """What control inputs are for a node that reads or waits for some nodes."""
        if self._part is None or not controls:
            return controls
        waits: Sequence[int] = self._part.waits_of(name, needed, controls)
        return waits

    def within(self, name: str, controls: Sequence[int]) -> Sequence[int]:
        """What the given control inputs are in the part."""
        return controls if self._part is None else list(self._part.within(name, controls))

    def note_made(self, node: int) -> None:
        """A node was made."""
        self.note_gradient(node)

    def note_gradient(self, node: int) -> None:
        """A node was made for a gradient."""
        if self._part is not None:
            self._part.note_gradient(node)


@contextmanager
def anywhere(graph: Graph) -> Iterator[None]:
    """Within the block, new nodes take tensors of any part; the caller notes where they belong."""
    before = graph.state.branch
    graph.state.branch = _Anywhere(before)
    try:
        yield
    finally:
        graph.state.branch = before


class Enclosure:
    """A part of the graph that tensors from outside enter through a node, one for each tensor.

    Parameters
    ----------
    graph
        The graph.
    pivot
        A tensor of the part. Nodes without inputs of the part wait for its node.
    """

    def __init__(self, graph: Graph, pivot: Tensor | None) -> None:
        self.graph = graph
        self.pivot = pivot
        self._outer: Any = graph.state.branch
        self._inside = set() if pivot is None else {pivot.op.node}
        self._entered: dict[int, Tensor] = {}
        self.nested: list[Any] = []  # the conditionals' branches and loops in this part

    def register(self, collection: str) -> None:
        """Note the finished part for exports: for what is around it, or in a collection."""
        if self._outer is None or isinstance(self._outer, _Anywhere):
            self.graph.add_to_collection(collection, self)
        else:
            self._outer.nested.append(self)

    def operations(self) -> list[Operation]:
        """What was made in the part and not in a part of it."""
        own = self._inside.difference(*(part.own_nodes() for part in self.nested))
        return [self.graph.operation_of(node) for node in sorted(own)]

    def own_nodes(self) -> set[int]:
        """The nodes that were made in the part."""
        return self._inside

    def entered(self) -> dict[Tensor, Tensor]:
        """Tensors from outside, and what they are in the part."""
        return {
            self.graph.tensor_of(packed): tensor
            for packed, tensor in self._entered.items()
            if packed >= 0 and tensor.op.node in self._inside
        }

    @contextmanager
    def building(self) -> Iterator[None]:
        """Within the block, new nodes belong to the part."""
        # The pivot waits for what the conditional or the loop waits for.
        with self._standing_in(self, self.graph.state.colocation):
            yield

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Within the block, new nodes take tensors of the part and belong to what is around it."""
        with self._standing_in(None, []):
            before = self.graph.version
            yield
        if self._outer is not None:
            for node in range(before, self.graph.version):
                self._outer.note_made(node)

    @contextmanager
    def outside(self, beside: Sequence[Operation] = ()) -> Iterator[None]:
        """Within the block, new nodes belong to what is around the part."""
        with self._standing_in(self._outer, beside):
            yield

    @contextmanager
    def _standing_in(self, part: Any, beside: Sequence[Operation]) -> Iterator[None]:
        state = self.graph.state
        before = state.controls, state.branch, state.colocation
        state.controls, state.branch, state.colocation = [], part, list(beside)
        try:
            yield
        finally:
            state.controls, state.branch, state.colocation = before

    def inputs_of(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What a node of that name takes in the place of these tensors."""
        return [self.inner(tensor, name) for tensor in inputs]

    def controls_of(
        self, name: str, inputs: Sequence[Tensor], controls: Sequence[int]
    ) -> Sequence[int]:
        """Nodes to wait for: the pivot as well, if no input is of the part."""
        waits = self.within(name, controls)
        if inputs or self.pivot is None:
            return waits
        return [*waits, self.pivot.op.node]

    def waits_of(self, name: str, needed: Sequence[int], controls: Sequence[int]) -> Sequence[int]:
        """What the given control inputs are for a node that reads or waits for some nodes.

        The runtime has made it, or it is made anywhere: what it reads has not entered the part.
        """
        return self.within(name, controls)

    def within(self, name: str, controls: Sequence[int]) -> Sequence[int]:
        """What the given control inputs are in the part: nodes for it get the name."""
        return controls if self._outer is None else list(self._outer.within(name, controls))

    def note_made(self, node: int) -> None:
        """A node was made in the part, and so in those around it."""
        self._inside.add(node)
        if self._outer is not None:
            self._outer.note_made(node)

    def note_gradient(self, node: int) -> None:
        """A node was made for a gradient while the part was built."""
        self.note_made(node)

    def inner(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor of the part: the given one, or what it is there. Nodes for it get the name."""
        if tensor.op.node in self._inside:
            return tensor
        entered = self._entered.get(tensor.packed)
        if entered is None:
            with self.outside():
                entered = self._enter(tensor, name)
            self._inside.add(entered.op.node)
            self._entered[tensor.packed] = entered
        return entered

    def _enter(self, tensor: Tensor, name: str) -> Tensor:
        raise NotImplementedError

    def _add(
        self, op_type: str, name: str, inputs: Sequence[Tensor], attrs: Sequence[Any]
    ) -> Operation:
        """A node whose name ends with that of its op, with its tensors' type as attribute T."""
        full = self.graph.handle.unique_name(f"{name}/{op_type}", True)
        types = [("T", "t", inputs[0].dtype.base_dtype.as_datatype_enum)]
        return self.graph.add(op_type, full, inputs, [1] * len(inputs), [*types, *attrs])


class CondBranch(Enclosure):
    """One branch of a conditional: what is made in it runs only if the predicate says so.

    Parameters
    ----------
    graph
        The graph.
    pivot
        A tensor that is live if this branch is taken.
    pred
        The predicate, a scalar of bool.
    taken
        The value of the predicate that takes this branch.
    is_function
        Whether the branch becomes a function. Its arguments are live where it runs, so the gradient
        by what enters it is that by the argument.
    """

    def __init__(
        self, graph: Graph, pivot: Tensor, pred: Tensor, taken: bool, is_function: bool = False
    ) -> None:
        super().__init__(graph, pivot)
        self.pred = pred
        self.taken = taken
        self._is_function = is_function
        self._not_taken: set[int] = set()  # what enters the other branch
        self.name = f"{graph.get_name_scope()}/cond_text{'' if taken else '_1'}"

    def note_made(self, node: int) -> None:
        """A node was made in the branch."""
        super().note_made(node)
        self.graph.note_in_branch(node)

    def note_gradient(self, node: int) -> None:
        """A node was made for a gradient: it is in the branch if it runs only where that is taken.

        The gradient of what enters the branch is a Merge with zeros for the other branch, and runs
        in any case. It has to enter the branch where something there takes it.
        """
        if self._is_function or self._is_reached(node):
            self.note_made(node)
        elif self._outer is not None:
            self._outer.note_gradient(node)

    def _is_reached(self, node: int) -> bool:
        """Whether the node reads or waits for what runs only where the branch is taken."""
        handle = self.graph.handle
        if not self._inside.isdisjoint(handle.node_controls(node)):
            return True
        inside = [
            packed >> 32 in self._inside and packed not in self._not_taken
            for packed in handle.node_inputs(node)
        ]
        operation = self.graph.operation_of(node)
        # That of a loop runs when its first input is there; any other has one for each branch.
        chooses = operation.type == "Merge" and all(
            tensor.op.type != "NextIteration" for tensor in operation.inputs
        )
        return all(inside) if chooses else any(inside)

    def is_left_by(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the gradients of these tensors are made outside: see `around_functions`."""
        if not self._is_function or any(each.op.node in self._inside for each in tensors):
            return False
        waiting = [each.op.node for each in tensors]
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            if node in self.graph.left_out:
                return True
            needed = {packed >> 32 for packed in self.graph.handle.node_inputs(node)} - seen
            seen |= needed
            waiting += needed
        return False

    def _enter(self, tensor: Tensor, name: str) -> Tensor:
        value = tensor if self._outer is None else self._outer.inputs_of(name, [tensor])[0]
        # It stands with the value, whatever device the branch asks for.
        with self.graph.colocate_with(value.op, ignore_existing=True):
            if self._is_function:
                tensor = self._add("Identity", name, [value], ()).outputs[0]
            else:
                entered = self._add("Switch", name, [value, self.pred], ())
                tensor = entered.outputs[int(self.taken)]
                self._not_taken.add(entered.outputs[int(not self.taken)].packed)
        self.graph.note_in_branch(tensor.op.node)
        return tensor

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``CondContextDef``; None when the branch is not in `export_scope`."""
        from millstream._impl.ops import control_contexts  # lazy: exports alone need it

        return control_contexts.cond_to_proto(self, export_scope)

    def add_to(self, message: Any) -> None:
        """Fill a ``ControlFlowContextDef``."""
        message.cond_ctxt.CopyFrom(self.to_proto())


@contextmanager
def around_functions(graph: Graph, tensors: Sequence[Tensor]) -> Iterator[None]:
    """Within the block, new nodes are where gradients of the tensors can be.

    Outside of a branch that becomes a function, if there is an ``If`` or ``While`` on the way to
    the tensors outside of it: the gradients read nodes that run in the place of that one, and those
    of a branch that is not taken have no values that the function could take as arguments.
    """
    with ExitStack() as blocks:
        part = graph.state.branch
        while isinstance(part, CondBranch) and part.is_left_by(tensors):
            blocks.enter_context(part.outside())
            part = graph.state.branch
        yield


class LoopFrame(Enclosure):
    """The condition and the body of a loop: what is made in it runs once an iteration.

    Parameters
    ----------
    graph
        The graph.
    name
        Of the frame.
    parallel_iterations
        How many iterations may run at once.
    """

    def __init__(self, graph: Graph, name: str, parallel_iterations: int) -> None:
        super().__init__(graph, None)
        self.name = name
        self.parallel_iterations = parallel_iterations
        self.back_prop = True
        self.pivots: tuple[Tensor, ...] = ()  # in the condition, the condition, in the body
        self.enters: list[Tensor] = []
        self.exits: list[Tensor] = []
        self._attrs = [
            ("frame_name", "s", name.encode()),
            ("parallel_iterations", "i", parallel_iterations),
        ]
        self._constant: set[int] = set()  # the nodes of what enters and is no loop variable

    def note_made(self, node: int) -> None:
        """A node was made in the loop."""
        super().note_made(node)
        self.graph.note_in_loop(node)

    def note_gradient(self, node: int) -> None:
        """A node was made for a gradient: it is in the loop if it reads or waits for what is."""
        handle = self.graph.handle
        needed = [packed >> 32 for packed in handle.node_inputs(node)]
        reads_inside = not self._inside.isdisjoint([*needed, *handle.node_controls(node)])
        if reads_inside or self.is_entry(self.graph.operation_of(node)):
            self.note_made(node)
        elif self._outer is not None:
            self._outer.note_gradient(node)

    def is_entry(self, operation: Operation) -> bool:
        """Whether the operation passes a tensor from outside into the loop."""
        if operation.type != "Enter":
            return False
        return bool(operation.get_attr("frame_name") == self.name.encode())

    def variable(self, value: Tensor, name: str) -> Tensor:
        """A loop variable as it comes into the first iteration.

        It is made in the blocks that the loop is in: the whole loop waits for what they wait for.
        """
        entered = self._add("Enter", name, [value], [*self._attrs, ("is_constant", "b", False)])
        self._inside.add(entered.node)
        self.graph.note_in_loop(entered.node)
        self.enters.append(entered.outputs[0])
        return entered.outputs[0]

    def exit(self, tensor: Tensor, name: str, back_prop: bool) -> Tensor:
        """A loop variable after the loop; it may have no gradient."""
        attrs = [] if back_prop else [("_back_prop", "b", False)]
        left = self._add("Exit", name, [tensor], attrs).outputs[0]
        self.back_prop = back_prop
        self.exits.append(left)
        return left

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``WhileContextDef``; None when the loop is not in `export_scope`."""
        from millstream._impl.ops import control_contexts  # lazy: exports alone need it

        return control_contexts.loop_to_proto(self, export_scope)

    def add_to(self, message: Any) -> None:
        """Fill a ``ControlFlowContextDef``."""
        message.while_ctxt.CopyFrom(self.to_proto())

    def controls_of(
        self, name: str, inputs: Sequence[Tensor], controls: Sequence[int]
    ) -> Sequence[int]:
        """Nodes to wait for; one from outside is waited for by way of a tensor that enters.

        What enters is there in each iteration, also in the last one, in which the body does not
        run: a node that takes nothing else waits for the pivot.
        """
        inside = self.within(name, controls)
        needed = [*(tensor.op.node for tensor in inputs), *inside]
        if self.pivot is None or (inputs and not self._constant.issuperset(needed)):
            return inside
        return [*inside, self.pivot.op.node]

    def waits_of(self, name: str, needed: Sequence[int], controls: Sequence[int]) -> Sequence[int]:
        """What the given control inputs are for a node that reads or waits for some nodes.

        If none of those is in the loop, the node is not, and cannot wait for what is.
        """
        if needed and self._inside.isdisjoint(needed):
            outside = [node for node in controls if node not in self._inside]
            return outside if self._outer is None else self._outer.waits_of(name, needed, outside)
        inside = self.within(name, controls)
        if self.pivot is None or not self._constant.issuperset([*needed, *inside]):
            return inside
        return [*inside, self.pivot.op.node]

    def within(self, name: str, controls: Sequence[int]) -> Sequence[int]:
        """What the given control inputs are in the loop."""
        inside = []
        for node in controls:
            if node in self._inside:
                inside.append(node)
            else:
                inside.append(self.inner(self._after(node, name), name).op.node)
        return inside

    def _after(self, node: int, name: str) -> Tensor:
        """A tensor from outside that is there when a node has run."""
        operation = self.graph.operation_of(node)
        if operation.outputs:
            return operation.outputs[0]
        known = self._entered.get(-node)
        if known is None:
            with self.outside(), self.graph.control_dependencies([operation]):
                known = constant(True, name="done")
            self._entered[-node] = known
        return known

    def _enter(self, tensor: Tensor, name: str) -> Tensor:
        attrs = [*self._attrs, ("is_constant", "b", True)]
        entered = self._add("Enter", name, [tensor], attrs)
        self._constant.add(entered.node)
        self.graph.note_in_loop(entered.node)
        return entered.outputs[0]


class BackwardBody(Enclosure):
    """The body of a loop that computes gradients, which the runtime builds.

    Parameters
    ----------
    graph
        The graph.
    region
        The body as the extension knows it.
    """

    def __init__(self, graph: Graph, region: object) -> None:
        pivot = graph.operation_of(_runtime.region_pivot(region))
        super().__init__(graph, pivot.outputs[0])
        self._region = region

    def note_made(self, node: int) -> None:
        """A node was made in the body."""
        super().note_made(node)
        self.graph.note_in_loop(node)
        _runtime.region_note(self._region, node)

    def inner(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor of the body: the given one, or what has its value there."""
        if tensor.op.node in self._inside:
            return tensor
        inside = self.graph.grow(lambda: _runtime.region_inside(self._region, tensor.packed))
        return self.graph.tensor_of(inside)
