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


class _Function:
    """The body of a function: nodes of a graph, and tensors that its arguments stand for.

    Parameters
    ----------
    name
        Of the function.
    operations
        The nodes.
    arguments
        The dtype of each argument, and the tensors that it stands for.
    results
        Tensors that the nodes compute, or arguments.
    """

    def __init__(
        self,
        name: str,
        operations: Iterable[Operation],
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
        own = [operation for operation in operations if operation.name not in self._producers]
        self._nodes = {operation.name: operation.node_def for operation in own}
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


def _operations(graph: Graph, nodes: Iterable[int]) -> list[Operation]:
    """Those of the nodes that nothing stands for yet, in order."""
    return [graph.operation_of(node) for node in sorted(nodes) if node not in graph.left_out]


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
    graph.left_out.update(number for number in made if number != operation.node)
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
    entered = [branch.entered() for branch in branches]
    outside = list(dict.fromkeys([pred, *entered[0], *entered[1]]))
    functions = []
    for branch, inside, tensors in zip(branches, entered, results, strict=True):
        # In its branch, the pivot is the predicate.
        assert branch.pivot is not None
        arguments = [
            (tensor.dtype, [inside[tensor]] if tensor in inside else []) for tensor in outside
        ]
        arguments[0][1].append(branch.pivot)
        word = "true" if branch.taken else "false"
        name = f"{scope.replace('/', '_')}_{word}_{graph.version}"
        own = _operations(graph, branch.own_nodes())
        functions.append(_Function(name, own, arguments, tensors))
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
    entered = frame.entered()
    own = frame.own_nodes()
    version = graph.version
    functions = []
    passed_on = list(entered.values())
    for word, (made, variables, results) in zip(("cond", "body"), parts, strict=True):
        arguments = [(tensor.dtype, [tensor]) for tensor in [*variables, *passed_on]]
        name = f"{scope.replace('/', '_')}_{word}_{version}"
        given = [*results, *(passed_on if word == "body" else [])]
        operations = _operations(graph, own.intersection(made))
        functions.append(_Function(name, operations, arguments, given))
    node = protos.message_class("NodeDef")()
    is_stateful = any(function.is_stateful for function in functions)
    node.op = "While" if is_stateful else "StatelessWhile"
    inputs = [*initial, *entered]
    _set_types(node, "T", [tensor.dtype for tensor in inputs])
    _set_shapes(node, [*shapes, *(tensor.shape for tensor in entered)])
    node.attr["parallel_iterations"].i = frame.parallel_iterations
    for key, function in zip(("cond", "body"), functions, strict=True):
        node.attr[key].func.name = function.definition.signature.name
    outputs = _add_node(graph, scope, node, functions, inputs)
    graph.left_out.update(own)
    return outputs[: len(initial)]
