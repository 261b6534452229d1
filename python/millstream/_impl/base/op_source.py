"""The functions that apply ops, as source: what the generator writes and plugins' ops get.

It needs nothing but the standard library, since the generator runs before there is a package. An op
is a dictionary as list_ops prints it.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from typing import Any

# Names of the proto's DataType numbers, for docstrings.
_TYPE_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32",
    14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128", 19: "float16",
    20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
}  # fmt: skip
# Arguments and attributes for which the functions of 1.15 have other names, or that it spells "T".
_API_PARAMETERS = {
    **{
        (op, "reduction_indices"): "axis"
        for op in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
    },
    **{
        (op, "T"): "T"
        for op in (
            "CollectiveBcastRecv",
            "CropAndResizeGradImage",
            "QuantizeV2",
            "ResourceCountUpTo",
        )
    },
    ("ExpandDims", "dim"): "axis",
    ("Select", "e"): "y",
    ("Select", "t"): "x",
    ("Split", "split_dim"): "axis",
    ("SplitV", "split_dim"): "axis",
    ("Squeeze", "squeeze_dims"): "axis",
    ("Where", "input"): "condition",
}
Op = dict[str, Any]


def snake_case(name: str) -> str:
    """The function's name for an op's: ``"Conv2DBackpropInput"`` gives conv2d_backprop_input.

    A name that Python reserves gets a "_" behind it.
    """
    name = re.sub(r"(\d)D(?![a-z])", r"\1d", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return _unreserved(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())


def _unreserved(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def parameter_name(name: str, op: str) -> str:
    """A parameter's name: the argument's, unless Python reserves it or the API has another."""
    renamed = _API_PARAMETERS.get((op, name))
    return renamed or _unreserved(name.lower() if name == "T" else name)


def parameters(op: Op) -> list[dict[str, Any]]:
    """The attributes that the caller gives: those that the inputs do not settle, required first."""
    settled = set()
    for argument in op["inputs"]:
        settled |= {argument["type_attr"], argument["number_attr"], argument["list_attr"]}
    given = [attr for attr in op["attrs"] if attr["name"] not in settled]
    return sorted(given, key=lambda attr: attr["default"] is not None)


def default_of(attr: dict[str, Any]) -> str:
    """Python source of a parameter's default: None where the registry's applies."""
    known = attr["type"] in ("int", "float", "bool", "string", "list(int)")
    if not known or attr["default"] == "...":
        return "None"
    source = str(attr["default"])
    if source.startswith("["):  # a default must not be changed by a caller
        return repr(tuple(json.loads(source)))
    return source


def argument_doc(argument: dict[str, Any], op: Op) -> str:
    """What a docstring says of an argument's or result's type."""
    if argument["list_attr"]:
        return "A list of tensors."
    if argument["type"]:
        kind = _TYPE_NAMES.get(argument["type"], "?")
    else:
        attr = next(a for a in op["attrs"] if a["name"] == argument["type_attr"])
        names = [_TYPE_NAMES.get(number, "?") for number in attr["allowed_types"]]
        kind = "any type" if not names else ", ".join(names)
    if argument["number_attr"]:
        return f"A list of tensors of one type: {kind}."
    return f"A tensor of {kind}."


def _wrapped(text: str) -> list[str]:
    """Lines of a paragraph below a name."""
    indent = "    "
    return textwrap.wrap(text, 96, initial_indent=indent, subsequent_indent=indent) or [""]


def _raised_errors(op: Op) -> list[str]:
    """What a docstring says of errors: only what the signature lets happen."""
    lines = []
    if op["inputs"]:
        lines += ["TypeError", "    An argument is of another type, or cannot become one."]
    if op["inputs"] or parameters(op):
        lines += ["ValueError", "    The op refuses the shapes or the attributes."]
    return ["", "Raises", "------", *lines] if lines else []


def doc_lines(op: Op) -> list[str]:
    """Lines of a docstring: the op's documentation, its signature and its example."""
    text = op["doc"].strip() or op["name"]
    summary, _, rest = text.partition("\n")
    if len(summary) > 90:
        rest = f"{summary}\n{rest}"
        summary = f"Apply the op {op['name']}."
    lines = [summary.rstrip()]
    if rest.strip():
        lines += ["", *(line.rstrip() for line in rest.strip().splitlines())]
    lines += ["", "Parameters", "----------"]
    for argument in op["inputs"]:
        name = parameter_name(argument["name"], op["name"])
        lines += [name, *_wrapped(argument_doc(argument, op))]
    for attr in parameters(op):
        text = f"An attribute: {attr['type']}"
        if attr["allowed_strings"]:
            text += ", one of " + ", ".join(attr["allowed_strings"])
        lines += [parameter_name(attr["name"], op["name"]), *_wrapped(text + ".")]
    lines += ["name", f'    Name of the operation, by default "{op["name"]}".']
    lines += ["", "Returns", "-------"]
    if not op["outputs"]:
        lines += ["Operation", "    The operation: it has no outputs."]
    for output in op["outputs"]:
        lines += [output["name"], *_wrapped(argument_doc(output, op))]
    lines += _raised_errors(op)
    if op["example"]:
        lines += ["", "Examples", "--------", *op["example"].splitlines()]
    return lines


def literal(op: Op) -> tuple[Any, ...]:
    """The op's signature as `OpInfo` takes it, behind the name."""

    def arguments(items: list[dict[str, Any]]) -> tuple[Any, ...]:
        return tuple(
            (a["name"], a["type"], a["type_attr"], a["number_attr"], a["list_attr"]) for a in items
        )

    attrs = tuple(
        (a["name"], a["type"], a["default_type"], tuple(a["allowed_types"])) for a in op["attrs"]
    )
    names = tuple(attr["name"] for attr in parameters(op))
    return arguments(op["inputs"]), arguments(op["outputs"]), attrs, names


def call(op: Op, info: str) -> tuple[str, str]:
    """The first line and the body of the function that applies an op.

    Parameters
    ----------
    op
        The op.
    info
        Python source of its `OpInfo`. `apply` goes by the name ``_apply``.
    """
    inputs = [parameter_name(argument["name"], op["name"]) for argument in op["inputs"]]
    attrs = [parameter_name(attr["name"], op["name"]) for attr in parameters(op)]
    items = list(inputs)
    for name, attr in zip(attrs, parameters(op), strict=True):
        items.append(name if attr["default"] is None else f"{name}={default_of(attr)}")

    def pack(names: list[str]) -> str:
        return f"({', '.join(names)},)" if names else "()"

    return (
        f"def {snake_case(op['name'])}({', '.join([*items, 'name=None'])}):",
        f"return _apply({info}, {pack(inputs)}, {pack(attrs)}, name)",
    )
