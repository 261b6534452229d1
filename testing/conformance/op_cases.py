"""The golden op cases of testdata/conformance/ops/cases, read into typed records.

testdata/conformance/README.md describes the data; names here are its names.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

# The types that protos call otherwise.
_TYPE_NAMES = {"float": "float32", "double": "float64", "half": "float16"}

Array = np.ndarray[Any, np.dtype[Any]]

_TYPE_ATTR = re.compile(r"(?<!\w)type:\s*DT_(\w+)")
_OP = re.compile(r'(?<![\w"])op:\s*"([^"]+)"')
_FUNCTION = re.compile(r'signature \{ name: "([^"]+)"')


@dataclass(frozen=True)
class Value:
    """A tensor's value.

    Attributes
    ----------
    dtype
        Name of its type, as ``"float32"`` or ``"bfloat16"``.
    array
        The elements; those of types that NumPy lacks by their bits, strings as bytes.
    """

    dtype: str
    array: Array


@dataclass(frozen=True)
class Input:
    """One of the node's inputs; `const` and `unknown_shape` say how it is presented."""

    name: str
    value: Value
    const: bool
    unknown_shape: bool


@dataclass(frozen=True)
class Output:
    """What an output must be: `value` None is not compared; `fetch` is a graph case's tensor."""

    value: Value | None
    dtype: str
    rtol: float
    atol: float
    fetch: str | None


@dataclass(frozen=True)
class SparseGradient:
    """A gradient of which only some rows are given."""

    indices: Value
    values: Value
    dense_shape: tuple[int, ...]


@dataclass(frozen=True)
class Gradients:
    """Gradients of the sum of dy[i] * y[i] by the inputs `wrt`; None is no gradient."""

    dy: tuple[Value | None, ...]
    wrt: tuple[int, ...]
    dx: tuple[Value | SparseGradient | None, ...]
    rtol: float
    atol: float


@dataclass(frozen=True)
class Variable:
    """A variable that stands before the node; `value` None was never assigned."""

    name: str
    dtype: str
    value: Value | None
    shape: tuple[int, ...]
    ref: bool


@dataclass(frozen=True)
class Setup:
    """What comes before the node and after it."""

    variables: tuple[Variable, ...] = ()
    nodes: tuple[str, ...] = ()
    run_first: tuple[str, ...] = ()
    then_read: tuple[str, ...] = ()
    then_fetch: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExpectedError:
    """The class of error that refuses the case, and when: ``"build"`` or ``"run"``."""

    kind: str
    when: str


@dataclass(frozen=True)
class OpCase:
    """One case: a `node` as NodeDef text, or a whole `graph` as GraphDef text."""

    name: str
    group: str
    node: str | None
    graph: str | None
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    gradients: Gradients | None
    static_shape: tuple[tuple[int, ...] | None, ...] | None
    setup: Setup
    error: ExpectedError | None
    targets: tuple[str, ...]
    producer: int

    @property
    def op(self) -> str:
        """The op that the case is about: the first part of its name."""
        return self.name.partition("/")[0]

    @cached_property
    def ops(self) -> frozenset[str]:
        """The ops of all nodes that it adds. A function may stand in the place of an op."""
        texts = [self.node or self.graph or "", *self.setup.nodes]
        found = {op for text in texts for op in _OP.findall(text)}
        found -= {function for text in texts for function in _FUNCTION.findall(text)}
        for variable in self.setup.variables:
            found |= {"VariableV2", "Assign"} if variable.ref else {"VarHandleOp"}
            if not variable.ref and variable.value is not None:
                found.add("AssignVariableOp")
        if any(not variable.ref for variable in self.setup.variables) and self.setup.then_read:
            found.add("ReadVariableOp")
        return frozenset(found)

    @property
    def node_types(self) -> frozenset[str]:
        """The types that the node's attributes name: ``"float32"``."""
        names = [name.lower() for name in _TYPE_ATTR.findall(self.node or "")]
        return frozenset(_TYPE_NAMES.get(name, name) for name in names)


def whole_message(message: bytes) -> bytes:
    """A short serialized tensor with the zero bytes at its end.

    NumPy drops zero bytes at the end of a scalar string, and so golden values lack those of
    SerializeTensor. The lengths in the message say how many they were.
    """
    at = 0
    while at < len(message):
        # A tag, and a number or a length and so many bytes; each is one byte in the cases.
        is_number = message[at] & 7 == 0
        at += 2 if is_number or at + 1 == len(message) else 2 + message[at + 1]
    return message.ljust(at, b"\0")


def _with_whole_message(output: Output) -> Output:
    if output.value is None or output.value.array.shape != ():
        return output
    cell = np.empty((), object)
    cell[()] = whole_message(bytes(output.value.array[()]))
    return replace(output, value=Value("string", cell))


class _Reader:
    """Reads the cases of one group, whose arrays are in one file."""

    def __init__(self, folder: Path, group: str) -> None:
        self._folder = folder
        self._group = group
        self._arrays = np.load(folder / f"{group}.npz", allow_pickle=False)

    def cases(self) -> Iterator[OpCase]:
        with open(self._folder / f"{self._group}.jsonl", encoding="utf-8") as lines:
            for line in lines:
                yield self._case(json.loads(line))

    def _case(self, data: dict[str, Any]) -> OpCase:
        setup = self._setup(data["setup"] or {})
        inputs = tuple(self._input(item) for item in data["inputs"])
        outputs = tuple(self._output(item) for item in data["outputs"])
        if data["name"].startswith("SerializeTensor/"):
            outputs = tuple(_with_whole_message(output) for output in outputs)
        shapes = data["static_shape"]
        error = data["error"]
        node = data.get("node")
        types = {item.name: item.value.dtype for item in inputs}
        types.update({variable.name: variable.dtype for variable in setup.variables})
        names = _input_names(node) if node else [item.name for item in inputs]
        return OpCase(
            name=data["name"],
            group=self._group,
            node=node,
            graph=data.get("graph"),
            inputs=inputs,
            outputs=outputs,
            gradients=self._gradients(data["grads"], outputs, [types.get(n, "") for n in names]),
            static_shape=None
            if shapes is None
            else tuple(None if shape is None else tuple(shape) for shape in shapes),
            setup=setup,
            error=None if error is None else ExpectedError(error["class"], error["when"]),
            targets=tuple(data.get("targets") or ()),
            producer=data.get("producer", 134),
        )

    def _value(self, item: dict[str, Any]) -> Value | None:
        strings = item.get("strings")
        if strings is not None:
            cells = np.empty(len(strings["b64"]), object)
            cells[:] = [base64.b64decode(cell) for cell in strings["b64"]]
            return Value("string", cells.reshape(strings["shape"]))
        key = item.get("value")
        return None if key is None else Value(item["dtype"], self._arrays[key])

    def _input(self, item: dict[str, Any]) -> Input:
        value = self._value(item)
        if value is None:
            raise ValueError(f"{self._group}: the input {item} has no value")
        return Input(
            item["name"], value, item.get("const", False), item.get("unknown_shape", False)
        )

    def _output(self, item: dict[str, Any]) -> Output:
        rtol, atol = item.get("rtol", 0.0), item.get("atol", 0.0)
        return Output(self._value(item), item.get("dtype", ""), rtol, atol, item.get("fetch"))

    def _gradients(
        self, grads: dict[str, Any] | None, outputs: tuple[Output, ...], types: list[str]
    ) -> Gradients | None:
        if grads is None:
            return None
        dy = [
            None if key is None else Value(output.dtype, self._arrays[key])
            for key, output in zip(grads["dy"], outputs, strict=False)
        ]
        pairs = zip(grads["wrt"], grads["dx"], strict=True)
        dx = [self._dx(key, types[position]) for position, key in pairs]
        return Gradients(tuple(dy), tuple(grads["wrt"]), tuple(dx), grads["rtol"], grads["atol"])

    def _dx(self, key: Any, dtype: str) -> Value | SparseGradient | None:
        if key is None:
            return None
        if isinstance(key, str):
            return Value(dtype, self._arrays[key])
        indices = self._arrays[key["indices"]]
        return SparseGradient(
            Value(str(indices.dtype), indices),
            Value(dtype, self._arrays[key["values"]]),
            tuple(key["dense_shape"]),
        )

    def _setup(self, data: dict[str, Any]) -> Setup:
        return Setup(
            variables=tuple(self._variable(item) for item in data.get("variables") or ()),
            nodes=tuple(data.get("nodes") or ()),
            run_first=tuple(data.get("run_first") or ()),
            then_read=tuple(data.get("then_read") or ()),
            then_fetch=tuple(data.get("then_fetch") or ()),
        )

    def _variable(self, item: dict[str, Any]) -> Variable:
        value = self._value(item)
        shape = item["shape"] if value is None else value.array.shape
        return Variable(item["name"], item["dtype"], value, tuple(shape), item.get("ref", False))


def _input_names(node: str) -> list[str]:
    """The data inputs of a NodeDef's text."""
    names = re.findall(r'(?<![\w"])input:\s*"([^"]+)"', node)
    return [name for name in names if not name.startswith("^")]


def groups(folder: Path) -> list[str]:
    """Names of the groups of cases in a folder."""
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def read_group(folder: Path, group: str) -> list[OpCase]:
    """All cases of a group, in the file's order."""
    return list(_Reader(folder, group).cases())
