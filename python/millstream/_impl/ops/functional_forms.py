"""Conditionals and loops as ``If`` and ``While`` nodes, which call functions of the library.

A part is built as nodes of the graph first, of a branch or of a frame. These become the body of a
function, and a node that calls it stands for them from then on: nothing reads the first ones any
more, and exports leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.graph import op_defs
from millstream._impl.graph.graph_import import import_graph_def
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.graph.operation import Operation, Tensor
    from millstream._impl.ops.branches import CondBranch, LoopFrame
    from millstream._impl.values.dtypes import DType


class _Body:
    """The nodes of a part of a graph as a function has them.

    A node that stands for others is itself in the function, unless other nodes read those, as the
    gradient of a conditional does; then those are in the function.

    Parameters
    ----------
    graph
        The graph.
    nodes
        The part.
    """

    def __init__(self, graph: Graph, nodes: Iterable[int]) -> None:
        self._graph = graph
        part = sorted(nodes)
        kept = [node for node in part if node not in graph.left_out]
        owners = {hidden: node for node in kept for hidden in graph.expansions.get(node, ())}
        self._expanded = {
            owners[needed]
            for node in kept
            if node not in graph.expansions
            for needed in self._needed(node)
            if needed in owners
        }
        self._hidden = {hidden for hidden, node in owners.items() if node in self._expanded}
        numbers = sorted([*kept, *self._hidden])
        self.operations = [graph.operation_of(node) for node in numbers]

    def _needed(self, node: int) -> list[int]:
        handle = self._graph.handle
        return [*(packed >> 32 for packed in handle.node_inputs(node)), *handle.node_controls(node)]

    def inputs_of(self, operation: Operation) -> tuple[Tensor, ...]:
        """What the operation takes, unless that is known to be of the part."""
        is_whole = operation.node in self._graph.expansions and not self._is_expanded(operation)
        return () if is_whole else operation.inputs

    def _is_expanded(self, operation: Operation) -> bool:
        return operation.node in self._expanded or operation.node in self._hidden

    def definition_of(self, operation: Operation) -> Any:
        """The operation as ``NodeDef``."""
        node = operation.node_def
        if operation.node in self._expanded:
            attrs = {key: value for key, value in node.attr.items() if key.startswith("_")}
            node = type(node)(name=node.name, op="IdentityN", device=node.device)
            for key, value in attrs.items():
                node.attr[key].CopyFrom(value)
            if operation.outputs:
                _set_types(node, "T", [tensor.dtype for tensor in operation.outputs])
            else:
                node.op = "NoOp"
        if node.op == "_ToBool" and node.attr["T"].type == _number_of(dtypes.bool):
            node.op = "Identity"  # which every reader of the function knows
        reads_hidden = not self._hidden.isdisjoint(self._needed(operation.node))
        if self._is_expanded(operation) or reads_hidden:
            del node.input[:]
            node.input.extend(tensor.name for tensor in operation.inputs)
            node.input.extend(f"^{control.name}" for control in operation.control_inputs)
        return node


class _Function:
    """The body of a function: nodes of a graph, and tensors that its arguments stand for.

    Parameters
    ----------
    name
        Of the function.
    body
        The nodes.
    arguments
        The dtype of each argument, and the tensors that it stands for.
    results
        Tensors that the nodes compute, or arguments.
    """

    def __init__(
        self,
        name: str,
        body: _Body,
        arguments: Sequence[tuple[DType, Sequence[Tensor]]],
        results: Sequence[Tensor],
    ) -> None:
        self.definition = protos.message_class("FunctionDef")()
        self.definition.signature.name = name
        self._arguments: dict[str, str] = {}  # by the names of tensors
        self._producers: dict[str, str] = {}  # arguments by the names of operations
        for number, (dtype, tensors) in enumerate(arguments):
            argument = f"arg_{number}"
            self.definition.signature.input_arg.add(name=argument, type=_number_of(dtype))
            for tensor in tensors:
                self._arguments[tensor.name] = argument
                self._producers[tensor.op.name] = argument
        own = [each for each in body.operations if each.name not in self._producers]
        self._nodes = {operation.name: body.definition_of(operation) for operation in own}
        for node in self._nodes.values():
            self._add(node)
        for number, tensor in enumerate(results):
            result = f"out_{number}"
            self.definition.signature.output_arg.add(name=result, type=_number_of(tensor.dtype))
            self.definition.ret[result] = self._reference(tensor.name)
        self.is_stateful = any(op_defs.op_def(node.op).is_stateful for node in self._nodes.values())
        self.definition.signature.is_stateful = self.is_stateful

    def _add(self, node: Any) -> None:
        """Add a node; in a function, inputs have the names of outputs and not their numbers."""
        added = self.definition.node_def.add()
        added.CopyFrom(node)
        found = [self._reference(text) for text in node.input]
        del added.input[:]
        added.input.extend([text for text in found if text])
        if "_class" in added.attr:
            groups = [
                group
                for group in added.attr["_class"].list.s
                if group.removeprefix(b"loc:@").decode() not in self._producers
            ]
            del added.attr["_class"].list.s[:]
            added.attr["_class"].list.s.extend(groups)

    def _reference(self, text: str) -> str:
        """How the body names an input; "" for a control input from outside of it."""
        if text.startswith("^"):
            argument = self._producers.get(text[1:])
            known = text if text[1:] in self._nodes else ""
            return known if argument is None else f"^{argument}"
        name, _, index = text.partition(":")
        argument = self._arguments.get(f"{name}:{index or 0}")
        if argument is not None:
            return argument
        node = self._nodes[name]
        place = int(index or 0)
        for output in op_defs.op_def(node.op).output_arg:
            count = _count_of(output, node)
            if place < count:
                return f"{name}:{output.name}:{place}"
            place -= count
        raise AssertionError(f"{name} has no output {index}")


def _count_of(output: Any, node: Any) -> int:
    if output.number_attr:
        return int(node.attr[output.number_attr].i)
    if output.type_list_attr:
        return len(node.attr[output.type_list_attr].list.type)
    return 1


def _number_of(dtype: DType) -> int:
    return int(dtype.base_dtype.as_datatype_enum)


def _capture(
    graph: Graph,
    body: _Body,
    part: set[int],
    results: Iterable[Tensor],
    captured: dict[Tensor, list[Tensor]],
    frame: LoopFrame | None = None,
) -> None:
    """Add tensors from outside that a part reads or gives, as gradients in it do.

    Parameters
    ----------
    graph
        The graph.
    body
        The nodes of the part.
    part
        The numbers of all nodes of the part.
    results
        What the part gives.
    captured
        By tensors from outside: what they are in the part.
    frame
        The loop, if the part is of one.
    """
    entered = {tensor.op.node for tensors in captured.values() for tensor in tensors}
    reads: list[Tensor] = []
    for operation in body.operations:
        if frame is not None and frame.is_entry(operation):
            reads += operation.outputs
        elif operation.node not in entered:
            reads += body.inputs_of(operation)
    for tensor in [*reads, *results]:
        if tensor.op.node in entered:
            continue
        outside = tensor
        if frame is not None and frame.is_entry(tensor.op):
            outside = tensor.op.inputs[0]
        elif tensor.op.node in part:
            continue
        known = captured.setdefault(outside, [])
        if tensor not in known:
            known.append(tensor)


def _set_types(node: Any, name: str, tensors: Iterable[DType]) -> None:
    node.attr[name].list.type.extend([_number_of(dtype) for dtype in tensors])


def _set_shapes(node: Any, shapes: Iterable[TensorShape]) -> None:
    node.attr["output_shapes"].list.shape.extend([shape.as_proto() for shape in shapes])


def _add_node(
    graph: Graph, scope: str, node: Any, functions: Sequence[_Function], inputs: Sequence[Tensor]
) -> list[Tensor]:
    """The outputs of a new node, which is named as the scope that its parts were built in."""
    if graph.find_operation(scope) is not None:
        scope = f"{scope}_{graph.version}"
    around, _, name = scope.rpartition("/")
    definition = protos.message_class("GraphDef")()
    definition.library.function.extend([function.definition for function in functions])
    branch = graph.state.branch
    if branch is not None:
        inputs = branch.inputs_of(name, inputs)
    added = definition.node.add()
    added.CopyFrom(node)
    added.name = name
    names = [f"{name}_input_{number}" for number in range(len(inputs))]
    added.input.extend(names)
    mapped = {f"{each}:0": tensor for each, tensor in zip(names, inputs, strict=True)}
    before = graph.version
    with graph.as_default(), graph.enter_scope(f"{around}/" if around else ""):
        import_graph_def(definition, mapped, None, "", None)
    operation: Operation = graph.get_operation_by_name(scope)
    made = range(before, graph.version)
    if branch is not None:
        for number in made:
            branch.note_made(number)
    hidden = [number for number in made if number != operation.node]
    graph.expansions[operation.node] = hidden
    graph.left_out.update(hidden)
    return list(operation.outputs)


def choose(
    graph: Graph, scope: str, branches: Sequence[CondBranch], results: Sequence[Sequence[Tensor]]
) -> list[Tensor]:
    """The results of two branches as outputs of an ``If``.

    Parameters
    ----------
    graph
        The graph.
    scope
        The scope that the branches were built in.
    branches
        That for true, and that for false.
    results
        The tensors that each gives.
    """
    pred = branches[0].pred
    bodies = [_Body(graph, branch.own_nodes()) for branch in branches]
    captured: list[dict[Tensor, list[Tensor]]] = []
    for branch, body, tensors in zip(branches, bodies, results, strict=True):
        assert branch.pivot is not None
        inside = {pred: [branch.pivot]}  # the pivot is the predicate
        for tensor, entered in branch.entered().items():
            inside.setdefault(tensor, []).append(entered)
        _capture(graph, body, branch.own_nodes(), tensors, inside)
        captured.append(inside)
    outside = list(dict.fromkeys([*captured[0], *captured[1]]))  # begins with the predicate
    functions = []
    for branch, body, inside, tensors in zip(branches, bodies, captured, results, strict=True):
        arguments = [(tensor.dtype, inside.get(tensor, [])) for tensor in outside]
        word = "true" if branch.taken else "false"
        name = f"{scope.replace('/', '_')}_{word}_{graph.version}"
        functions.append(_Function(name, body, arguments, tensors))
    node = protos.message_class("NodeDef")()
    node.op = "If" if any(function.is_stateful for function in functions) else "StatelessIf"
    node.attr["Tcond"].type = _number_of(dtypes.bool)
    _set_types(node, "Tin", [tensor.dtype for tensor in outside])
    _set_types(node, "Tout", [tensor.dtype for tensor in results[0]])
    _set_shapes(
        node,
        [
            first.shape.most_specific_compatible_shape(second.shape)
            for first, second in zip(*results, strict=True)
        ],
    )
    for key, function in zip(("then_branch", "else_branch"), functions, strict=True):
        node.attr[key].func.name = function.definition.signature.name
    outputs = _add_node(graph, scope, node, functions, [pred, *outside])
    for branch in branches:
        graph.left_out.update(branch.own_nodes())
    return outputs


def repeat(
    graph: Graph,
    scope: str,
    frame: LoopFrame,
    parts: Sequence[tuple[range, Sequence[Tensor], Sequence[Tensor]]],
    initial: Sequence[Tensor],
    shapes: Sequence[TensorShape],
) -> list[Tensor]:
    """The variables of a loop as outputs of a ``While``.

    Parameters
    ----------
    graph
        The graph.
    scope
        The scope that the loop was built in.
    frame
        The loop.
    parts
        Of the condition and of the body: the numbers of the nodes that were made meanwhile, the
        variables as they read them, and what they give.
    initial
        The first values of the variables.
    shapes
        Their shapes in all iterations.
    """
    own = frame.own_nodes()
    captured = {key: [value] for key, value in frame.entered().items()}
    bodies = [_Body(graph, own.intersection(made)) for made, _, _ in parts]
    for body, (_, _, results) in zip(bodies, parts, strict=True):
        _capture(graph, body, own, results, captured, frame)
    version = graph.version
    functions = []
    passed_on = [tensors[0] for tensors in captured.values()]
    for word, body, part in zip(("cond", "body"), bodies, parts, strict=True):
        _, variables, results = part
        arguments = [(tensor.dtype, [tensor]) for tensor in variables]
        arguments += [(tensor.dtype, tensors) for tensor, tensors in captured.items()]
        name = f"{scope.replace('/', '_')}_{word}_{version}"
        given = [*results, *(passed_on if word == "body" else [])]
        functions.append(_Function(name, body, arguments, given))
    node = protos.message_class("NodeDef")()
    is_stateful = any(function.is_stateful for function in functions)
    node.op = "While" if is_stateful else "StatelessWhile"
    inputs = [*initial, *captured]
    _set_types(node, "T", [tensor.dtype for tensor in inputs])
    _set_shapes(node, [*shapes, *(tensor.shape for tensor in captured)])
    node.attr["parallel_iterations"].i = frame.parallel_iterations
    for key, function in zip(("cond", "body"), functions, strict=True):
        node.attr[key].func.name = function.definition.signature.name
    outputs = _add_node(graph, scope, node, functions, inputs)
    graph.left_out.update(own)
    return outputs[: len(initial)]
