"""Graphs as data: parts of a ``GraphDef``, and graphs whose variables have become constants."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import GRAPH, LIST, SESSION, TEXT, takes
from millstream._impl.graph.operation import Operation
from millstream._impl.graph.tensor_protos import make_tensor_proto
from millstream._impl.values import dtypes

_REFERENCE_VARIABLES = ("Variable", "VariableV2", "AutoReloadVariable")
_VARIABLES = (*_REFERENCE_VARIABLES, "VarHandleOp")
# Ops that hand their first input on; Merge also another one.
_PASS_ON = ("Enter", "Exit", "Identity", "Merge", "NextIteration", "RefEnter", "Switch")


def _check_graph_def(argument: str, value: Any) -> None:
    if not isinstance(value, protos.message_class("GraphDef")):
        raise TypeError(f"{argument}: expected a GraphDef, got {value!r}")


def _node_of(name: str) -> str:
    """Name of the node that an input comes from: ``"a"`` for ``"a:1"`` and ``"^a"``."""
    return name.removeprefix("^").partition(":")[0]


def _is_control(name: str) -> bool:
    return name.startswith("^")


@public("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The part of a graph that some nodes need.

    Parameters
    ----------
    graph_def
        A ``GraphDef``.
    dest_nodes
        Names of the nodes.

    Returns
    -------
    GraphDef
        The nodes and all that they need, in the order of `graph_def`.

    Raises
    ------
    TypeError
        An argument is of another type.
    AssertionError
        The graph has no node of such a name.

    Examples
    --------
    >>> y = tf.negative(tf.constant(1.0, name="x"), name="y")
    >>> z = tf.square(y, name="z")
    >>> graph_def = tf.get_default_graph().as_graph_def()
    >>> [node.name for node in tf.graph_util.extract_sub_graph(graph_def, ["y"]).node]
    ['x', 'y']
    """
    _check_graph_def("graph_def", graph_def)
    names = _names("dest_nodes", dest_nodes)
    nodes = {node.name: node for node in graph_def.node}
    for name in names:
        if name not in nodes:
            raise AssertionError(f"dest_nodes: {name} is not in graph")
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += (
                _node_of(source) for source in nodes[name].input if _node_of(source) in nodes
            )
    return _graph_like(graph_def, (node for node in graph_def.node if node.name in needed))


def _names(argument: str, value: Any) -> list[str]:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        raise TypeError(f"{argument}: expected a list of names, got {value!r}")
    return [name.decode() if isinstance(name, bytes) else name for name in value]


def _graph_like(graph_def: Any, nodes: Iterable[Any]) -> Any:
    """A graph of other nodes with the functions and versions of a graph."""
    made = protos.message_class("GraphDef")()
    made.node.extend(nodes)
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


@public("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Sequence[str] | None = None) -> Any:
    """A graph without the nodes that inference does not need: ``CheckNumerics`` and ``Identity``.

    Parameters
    ----------
    input_graph
        A ``GraphDef``.
    protected_nodes
        Names of nodes that stay. An ``Identity`` with control inputs stays, and so does one that
        is the control input of another node.

    Raises
    ------
    TypeError
        An argument is of another type.

    Examples
    --------
    >>> x = tf.constant(1.0, name="x")
    >>> y = tf.negative(tf.identity(x, name="between"), name="y")
    >>> short = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def())
    >>> [(node.name, list(node.input)) for node in short.node]
    [('x', []), ('y', ['x'])]
    """
    _check_graph_def("input_graph", input_graph)
    protected = set(_names("protected_nodes", protected_nodes or ()))
    controls = {
        _node_of(source)
        for node in input_graph.node
        for source in node.input
        if _is_control(source)
    }
    sources: dict[str, str] = {}
    checks: set[str] = set()
    for node in input_graph.node:
        if node.name in protected or not node.input:
            continue
        if node.op == "CheckNumerics":
            checks.add(node.name)
        elif node.op != "Identity" or node.name in controls or any(map(_is_control, node.input)):
            continue
        sources[node.name] = node.input[0]
    kept = [
        _without(node, sources, checks) for node in input_graph.node if node.name not in sources
    ]
    return _graph_like(input_graph, kept)


def _without(node: Any, sources: dict[str, str], checks: set[str]) -> Any:
    """A node whose inputs skip the nodes of `sources`, without control edges from `checks`."""
    made = type(node)()
    made.CopyFrom(node)
    del made.input[:]
    for source in node.input:
        if _is_control(source) and _node_of(source) in checks:
            continue
        while not _is_control(source) and _node_of(source) in sources:
            source = sources[_node_of(source)]
        made.input.append(source)
    return made


@public("graph_util.convert_variables_to_constants")
@takes(
    sess=SESSION,
    output_node_names=LIST,
)
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> Any:
    """The part of a graph that some nodes need, with variables as constants.

    A handle may come to what reads it through a conditional or a loop.

    Parameters
    ----------
    sess
        The session that holds the values.
    input_graph_def
        A ``GraphDef`` of the session's graph.
    output_node_names
        Names of the nodes.
    variable_names_whitelist
        The variables that become constants, by default all.
    variable_names_blacklist
        Variables that stay.

    Raises
    ------
    TypeError
        An argument is of another type.
    AssertionError
        The graph has no node of such a name.
    ValueError
        A node takes the handle of a variable and does more than read it, or a handle that may be
        that of a variable that becomes a constant or of one that stays.

    Examples
    --------
    >>> w = tf.Variable(3.0, name="w")
    >>> y = tf.negative(w, name="y")
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.global_variables_initializer())
    >>> graph_def = tf.get_default_graph().as_graph_def()
    >>> frozen = tf.graph_util.convert_variables_to_constants(sess, graph_def, ["y"])
    >>> [node.op for node in frozen.node if node.name == "w"]
    ['Const']
    """
    _check_graph_def("input_graph_def", input_graph_def)
    whitelist = None
    if variable_names_whitelist is not None:
        whitelist = set(_names("variable_names_whitelist", variable_names_whitelist))
    blacklist = set(_names("variable_names_blacklist", variable_names_blacklist or ()))
    part = extract_sub_graph(input_graph_def, output_node_names)
    chosen = {
        node.name: node
        for node in part.node
        if node.op in _VARIABLES
        and (whitelist is None or node.name in whitelist)
        and node.name not in blacklist
    }
    # A handle is read by a node of its own, which another part of the graph may hold.
    fetches = {name: _value_name(node, input_graph_def) for name, node in chosen.items()}
    values = sess.run(fetches) if fetches else {}
    frozen = _Frozen(part, chosen, values)
    logging.getLogger("millstream").info("Froze %d variables.", len(chosen))
    return _graph_like(part, frozen.nodes())


def _value_name(variable: Any, graph_def: Any) -> str:
    """Name of the tensor with the value of a variable."""
    name = str(variable.name)
    if variable.op == "VarHandleOp":
        reads = [
            str(node.name)
            for node in graph_def.node
            if node.op == "ReadVariableOp" and list(node.input) in ([name], [name + ":0"])
        ]
        if reads:
            return f"{min(reads, key=lambda read: not read.endswith('/Read/ReadVariableOp'))}:0"
    return name + ":0"


class _Frozen:
    """Makes the nodes of a graph anew, without some of its variables.

    Parameters
    ----------
    graph_def
        The graph.
    variables
        The nodes of the variables by name.
    values
        Their values.
    """

    def __init__(self, graph_def: Any, variables: dict[str, Any], values: dict[str, Any]) -> None:
        self._graph_def = graph_def
        self._variables = variables
        self._values = values
        self._nodes = {node.name: node for node in graph_def.node}

    def nodes(self) -> list[Any]:
        """The new nodes."""
        return [made for node in self._graph_def.node for made in self._anew(node)]

    def _dtype_of(self, source: str) -> Any:
        """The type of the variable whose handle an input is, or None; of several, if it is."""
        sources = [] if _is_control(source) else self._sources_of(_node_of(source))
        frozen = [node.name in self._variables and node.op == "VarHandleOp" for node in sources]
        if not any(frozen):
            return None
        if not all(frozen):
            names = ", ".join(repr(node.name) for node in sources)
            raise ValueError(
                f"input_graph_def: {source!r} may come from {names}, of which some are variables "
                "that become constants and some are not; expected all or none"
            )
        return sources[0].attr["dtype"].type

    def _sources_of(self, name: str) -> list[Any]:
        """The nodes that the value of a node may come from, behind those that hand it on."""
        found = []
        waiting, seen = [name], {name}
        while waiting:
            node = self._nodes.get(waiting.pop())
            if node is None:
                continue
            if node.op not in _PASS_ON:
                found.append(node)
                continue
            passed = node.input if node.op == "Merge" else node.input[:1]
            names = [_node_of(each) for each in passed if not _is_control(each)]
            waiting += [each for each in names if each not in seen]
            seen.update(names)
        return found

    def _anew(self, node: Any) -> list[Any]:
        if node.name in self._variables:
            return [self._constant(node)]
        passes_on = node.op in _PASS_ON
        dtype = self._dtype_of(node.name if passes_on else node.input[0]) if node.input else None
        if node.op == "ReadVariableOp" and dtype is not None:
            return [_node("Identity", node, node.input, T=dtype)]
        if passes_on and dtype is not None:
            passed = type(node)()
            passed.CopyFrom(node)
            passed.attr["T"].type = dtype
            return [passed]
        if node.op == "ResourceGather" and dtype is not None:
            return self._gather(node, dtype)
        if any(self._dtype_of(source) is not None for source in node.input):
            raise ValueError(
                f"input_graph_def: the node {node.name!r} ({node.op}) takes the handle of a "
                "variable that becomes a constant; only reads and gathers of such can stay"
            )
        return [node]

    def _constant(self, node: Any) -> Any:
        dtype = node.attr["dtype"].type
        made = _node("Const", node, [source for source in node.input if _is_control(source)])
        made.attr["dtype"].type = dtype
        value = self._values[node.name]
        proto = make_tensor_proto(value, dtypes.as_dtype(dtype), getattr(value, "shape", None))
        made.attr["value"].tensor.CopyFrom(proto)
        return made

    def _gather(self, node: Any, dtype: int) -> list[Any]:
        axis = type(node)(name=node.name + "/axis", op="Const", device=node.device)
        axis.attr["dtype"].type = dtypes.int32.as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(make_tensor_proto(0, dtypes.int32))
        values = [source for source in node.input if not _is_control(source)]
        controls = [source for source in node.input if _is_control(source)]
        made = _node("GatherV2", node, [*values, axis.name, *controls], Tparams=dtype)
        made.attr["Tindices"].CopyFrom(node.attr["Tindices"])
        made.attr["Taxis"].type = dtypes.int32.as_datatype_enum
        made.attr["batch_dims"].CopyFrom(node.attr["batch_dims"])
        return [axis, made]


def _node(op: str, like: Any, inputs: Iterable[str], **types: int) -> Any:
    """A node with the name and device of another one."""
    made = type(like)(name=like.name, op=op, device=like.device)
    made.input.extend(inputs)
    for name, dtype in types.items():
        made.attr[name].type = dtype
    if "_class" in like.attr:
        made.attr["_class"].CopyFrom(like.attr["_class"])
    return made


@public("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether a node has no kernel for accelerators: constants of texts and of int32, for example.

    Parameters
    ----------
    node
        An operation or a ``NodeDef``.
    pin_variables_on_cpu
        Count variables as well.

    Raises
    ------
    TypeError
        `node` is neither of the two.

    Examples
    --------
    >>> tf.graph_util.must_run_on_cpu(tf.constant("text").op)
    True
    >>> tf.graph_util.must_run_on_cpu(tf.constant(1.0).op)
    False
    """
    definition = node.node_def if isinstance(node, Operation) else node
    if not isinstance(definition, protos.message_class("NodeDef")):
        raise TypeError(f"node: expected an operation or a NodeDef, got {node!r}")
    if definition.op in _VARIABLES:
        return pin_variables_on_cpu
    int32 = dtypes.int32.as_datatype_enum
    if definition.op == "Const":
        return definition.attr["dtype"].type in (int32, dtypes.string.as_datatype_enum)
    if definition.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return bool(definition.attr["T"].type == int32)
    return definition.op == "Cast" and bool(definition.attr["SrcT"].type == int32)


@public("graph_util.tensor_shape_from_node_def_name")
@takes(graph=GRAPH, input_name=TEXT)
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """The shape of a tensor that a ``NodeDef`` names as its input.

    Parameters
    ----------
    graph
        The graph.
    input_name
        Name of the tensor; of its node for the first output.

    Examples
    --------
    >>> x = tf.zeros([2, 3], name="x")
    >>> tf.graph_util.tensor_shape_from_node_def_name(tf.get_default_graph(), "x")
    TensorShape([Dimension(2), Dimension(3)])
    """
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).shape
