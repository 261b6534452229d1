"""The GraphDef of an op case: its node among placeholders, constants and variables."""

from __future__ import annotations

from testing.conformance.op_cases import Input, OpCase, Value, Variable

_PROTO_NAMES = {
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "float16": "DT_HALF",
}

# Names of the nodes that are added here, in the scope of no case.
ASSIGN = "assign_{}"
INITIAL = "initial_{}"
READ = "read_{}"


def type_name(dtype: str) -> str:
    """The name that GraphDef text has for a type."""
    return _PROTO_NAMES.get(dtype, f"DT_{dtype.upper()}")


def graph_text(case: OpCase) -> str:
    """GraphDef text of a case; a graph case is one already."""
    if case.graph is not None:
        return case.graph
    nodes = [_input_node(item) for item in case.inputs]
    for variable in case.setup.variables:
        nodes += _variable_nodes(variable, variable.name in case.setup.then_read)
    nodes += [*case.setup.nodes, case.node or ""]
    return "\n".join(f"node {{ {node} }}" for node in nodes) + (
        f"\nversions {{ producer: {case.producer} }}"
    )


def _input_node(item: Input) -> str:
    if item.const:
        return _node(item.name, "Const", _type("dtype", item.value.dtype), _tensor(item.value))
    shape = None if item.unknown_shape else item.value.array.shape
    return _placeholder(item.name, item.value.dtype, shape)


def _variable_nodes(variable: Variable, is_read: bool) -> list[str]:
    name, dtype = variable.name, variable.dtype
    initial, assign = INITIAL.format(name), ASSIGN.format(name)
    shape = f'attr {{ key: "shape" value {{ shape {{ {_dims(variable.shape)} }} }} }}'
    shared = f'attr {{ key: "shared_name" value {{ s: "{name}" }} }}'
    op, assign_op = (
        ("VariableV2", "Assign") if variable.ref else ("VarHandleOp", "AssignVariableOp")
    )
    nodes = [_node(name, op, _type("dtype", dtype), shape, "" if variable.ref else shared)]
    if variable.value is not None:
        nodes.append(_placeholder(initial, dtype, variable.shape))
        inputs = f'input: "{name}" input: "{initial}"'
        nodes.append(
            _node(assign, assign_op, inputs, _type("T" if variable.ref else "dtype", dtype))
        )
    if is_read and not variable.ref:
        read = READ.format(name)
        nodes.append(_node(read, "ReadVariableOp", f'input: "{name}"', _type("dtype", dtype)))
    return nodes


def _node(name: str, op: str, *parts: str) -> str:
    return f'name: "{name}" op: "{op}" ' + " ".join(part for part in parts if part)


def _type(attr: str, dtype: str) -> str:
    return f'attr {{ key: "{attr}" value {{ type: {type_name(dtype)} }} }}'


def _dims(shape: tuple[int, ...]) -> str:
    return " ".join(f"dim {{ size: {size} }}" for size in shape)


def _placeholder(name: str, dtype: str, shape: tuple[int, ...] | None) -> str:
    known = "unknown_rank: true" if shape is None else _dims(shape)
    shape_attr = f'attr {{ key: "shape" value {{ shape {{ {known} }} }} }}'
    return _node(name, "Placeholder", _type("dtype", dtype), shape_attr)


def _tensor(value: Value) -> str:
    if value.dtype == "string":
        content = " ".join(f'string_val: "{_escaped(cell)}"' for cell in value.array.flat)
    else:
        content = f'tensor_content: "{_escaped(value.array.tobytes())}"'
    tensor = (
        f"dtype: {type_name(value.dtype)} tensor_shape {{ {_dims(value.array.shape)} }} {content}"
    )
    return f'attr {{ key: "value" value {{ tensor {{ {tensor} }} }} }}'


def _escaped(content: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in content)
