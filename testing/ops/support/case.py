"""A case: one node of an op, its inputs and attributes, and the GraphDef text of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from testing.ops.support.number_types import PROTO_NAMES, Array

NODE = "n"
PREDICATE = "take"

# How a case's inputs come to its node.
KNOWN = "known shapes"
UNKNOWN = "unknown shapes"
CONSTANT = "constants"
DYNAMIC = "dynamic executor"
FORMS = (KNOWN, UNKNOWN, CONSTANT, DYNAMIC)
# With shapes that no tensor has: built, and not run.
HUGE = "huge shapes"


@dataclass
class Input:
    """One tensor of a case, or one variable.

    Attributes
    ----------
    dtype, value
        Its type, and its value as `number_types` stores it; None for a variable never assigned.
    source
        "" for a tensor, "resource" or "reference" for a variable.
    same_as
        Position of the input whose tensor this one is too, or -1.
    huge
        The shape of its placeholder where that is not to be run; -1 for an unknown size.
    """

    dtype: str
    value: Array | None
    source: str = ""
    same_as: int = -1
    huge: tuple[int, ...] | None = None

    def describe(self) -> str:
        """The input as failures show it."""
        if self.same_as >= 0:
            return f"the same as input {self.same_as}"
        kind = f"{self.source} " if self.source else ""
        if self.value is None:
            return f"{kind}{self.dtype}, never assigned"
        shown = np.array2string(self.value, threshold=40, separator=",").replace("\n", "")
        return f"{kind}{self.dtype}{list(self.value.shape)} {shown}"


@dataclass
class Case:
    """A node and what it is given. `attrs` has the text of each attribute's value."""

    op: str
    inputs: list[Input] = field(default_factory=list)
    attrs: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Everything that makes the case."""
        lines = [f"{self.op}"]
        lines += [f"  {name}: {text}" for name, text in self.attrs.items()]
        lines += [f"  input {i}: {item.describe()}" for i, item in enumerate(self.inputs)]
        return "\n".join(lines)

    def array(self, i: int) -> Array:
        """The value of input i, which has one."""
        item = self.inputs[i]
        value = self.inputs[item.same_as].value if item.same_as >= 0 else item.value
        assert value is not None
        return value

    def attr(self, name: str) -> Any:
        """The value that the text of an attribute was made of."""
        text = self.attrs[name]
        assert isinstance(text, _AttrText)
        return text.value


class _AttrText(str):
    """GraphDef text of an attribute's value. `value` is what `attr_text` was given."""

    value: Any = None


def attr_text(value: Any) -> str:
    """GraphDef text of an attribute's value: a type is given as ("type", name)."""
    text = _AttrText(_value_text(value))
    text.value = value
    return text


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return f"b: {str(value).lower()}"
    if isinstance(value, int):
        return f"i: {value}"
    if isinstance(value, float):
        return f"f: {value}"
    if isinstance(value, bytes):
        return f's: "{_escaped(value)}"'
    if isinstance(value, str):
        return f's: "{_escaped(value.encode())}"'
    if isinstance(value, list):
        return f"list {{ {' '.join(attr_text(item) for item in value)} }}"
    kind, content = value
    if kind == "type":
        return f"type: {PROTO_NAMES[content]}"
    if kind == "shape":
        return f"shape {{ {_shape(content)} }}"
    return f"tensor {{ {_tensor(*content)} }}"


def graph_text(case: Case, form: str, device: str = "") -> str:
    """GraphDef text of a case, its inputs in one of the forms and its node on the device."""
    nodes: list[str] = []
    if form == DYNAMIC:
        nodes.append(_placeholder(PREDICATE, "bool", ()))
    names: list[str] = []
    for i, item in enumerate(case.inputs):
        if item.same_as >= 0:
            names.append(names[item.same_as])
            continue
        names.append(_add_input(nodes, f"x{i}", item, form))
    inputs = " ".join(f'input: "{name}"' for name in names)
    attrs = " ".join(_attr(name, text) for name, text in case.attrs.items())
    nodes.append(f'name: "{NODE}" op: "{case.op}" device: "{device}" {inputs} {attrs}')
    return "\n".join(f"node {{ {node} }}" for node in nodes) + "\nversions { producer: 134 }"


def initial(name: str) -> str:
    """Name of the placeholder of a variable's first value."""
    return f"{name}_initial"


def assign(name: str) -> str:
    """Name of the node that assigns it."""
    return f"{name}_assign"


def read(name: str) -> str:
    """Name of the node that reads the variable."""
    return f"{name}_read"


def _add_input(nodes: list[str], name: str, item: Input, form: str) -> str:
    """Appends the nodes of an input; returns the name of its tensor."""
    if item.source:
        nodes += _variable(name, item)
        return name
    assert item.value is not None
    if form == CONSTANT:
        tensor = attr_text(("tensor", (item.dtype, item.value)))
        nodes.append(_node(name, "Const", _type("dtype", item.dtype), _attr("value", tensor)))
        return name
    shape = {UNKNOWN: None, HUGE: item.huge or item.value.shape}.get(form, item.value.shape)
    nodes.append(_placeholder(name, item.dtype, shape))
    if form != DYNAMIC:
        return name
    switch = f"{name}_switch"
    inputs = f'input: "{name}" input: "{PREDICATE}"'
    nodes.append(_node(switch, "Switch", inputs, _type("T", item.dtype)))
    return f"{switch}:1"


def _variable(name: str, item: Input) -> list[str]:
    shape = (2,) if item.value is None else item.value.shape
    attrs = (_type("dtype", item.dtype), _attr("shape", attr_text(("shape", shape))))
    is_resource = item.source == "resource"
    nodes = [_node(name, "VarHandleOp" if is_resource else "VariableV2", *attrs)]
    if item.value is not None:
        op, type_name = ("AssignVariableOp", "dtype") if is_resource else ("Assign", "T")
        inputs = f'input: "{name}" input: "{initial(name)}"'
        nodes.append(_placeholder(initial(name), item.dtype, shape))
        nodes.append(_node(assign(name), op, inputs, _type(type_name, item.dtype)))
    op, type_name = ("ReadVariableOp", "dtype") if is_resource else ("Identity", "T")
    nodes.append(_node(read(name), op, f'input: "{name}"', _type(type_name, item.dtype)))
    return nodes


def _node(name: str, op: str, *parts: str) -> str:
    return f'name: "{name}" op: "{op}" ' + " ".join(parts)


def _attr(name: str, text: str) -> str:
    return f'attr {{ key: "{name}" value {{ {text} }} }}'


def _type(attr: str, dtype: str) -> str:
    return _attr(attr, attr_text(("type", dtype)))


def _shape(dims: tuple[int, ...] | None) -> str:
    if dims is None:
        return "unknown_rank: true"
    return " ".join(f"dim {{ size: {size} }}" for size in dims)


def _placeholder(name: str, dtype: str, shape: tuple[int, ...] | None) -> str:
    shape_attr = _attr("shape", attr_text(("shape", shape)))
    return _node(name, "Placeholder", _type("dtype", dtype), shape_attr)


def _tensor(dtype: str, value: Array) -> str:
    if dtype == "string":
        content = " ".join(f'string_val: "{_escaped(cell)}"' for cell in value.flat)
    else:
        content = f'tensor_content: "{_escaped(value.tobytes())}"'
    return f"dtype: {PROTO_NAMES[dtype]} tensor_shape {{ {_shape(value.shape)} }} {content}"


def _escaped(content: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in content)
