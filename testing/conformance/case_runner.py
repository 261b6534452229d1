"""Runs one golden op case and says whether its outcome is the golden one.

The graph comes in through GraphDef import, as the case's text has it; steps, feeds, fetches and
gradients go through the Python front end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import millstream as tf
from millstream import _runtime
from testing.conformance import case_graph
from testing.conformance.compare import difference
from testing.conformance.op_cases import OpCase, SparseGradient, Value

# Error classes as the data names them, by status code.
_KINDS = {
    1: "Cancelled",
    2: "Unknown",
    3: "InvalidArgument",
    4: "DeadlineExceeded",
    5: "NotFound",
    6: "AlreadyExists",
    7: "PermissionDenied",
    8: "ResourceExhausted",
    9: "FailedPrecondition",
    10: "Aborted",
    11: "OutOfRange",
    12: "Unimplemented",
    13: "Internal",
    14: "Unavailable",
    15: "DataLoss",
    16: "Unauthenticated",
}

# The node of a case that is no graph case.
_NODE = "n"


@dataclass
class Outcome:
    """What became of a case: it passed when nothing failed."""

    case: OpCase
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether all of it was as the data says."""
        return not self.failures


@dataclass(frozen=True)
class _Error:
    """An error of the runtime: its class, text, the node that it names, and when it came."""

    kind: str
    message: str
    node: str
    when: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.when} time: {self.message}"


class _RefusedError(Exception):
    """Carries an `_Error` out of the place where it came up."""

    def __init__(self, error: _Error) -> None:
        super().__init__(str(error))
        self.error = error


def run_case(case: OpCase) -> Outcome:
    """Run a case whose ops are all registered."""
    outcome = Outcome(case)
    try:
        if case.error is not None:
            _Run(case).forward()
            outcome.failures.append(f"expected {case.error.kind}, but it ran")
            return outcome
        outcome.failures += _Run(case).forward()
        if case.gradients is not None:
            outcome.failures += _Run(case).backward()
    except _RefusedError as refused:
        outcome.failures += _judge(case, refused.error)
    return outcome


def _judge(case: OpCase, error: _Error) -> list[str]:
    """What is wrong with an error, as far as the case expects one."""
    want = case.error
    if want is None:
        return [str(error)]
    wrong = []
    if error.kind != want.kind:
        wrong.append(f"expected {want.kind}, got {error}")
    if want.when == "build" and error.when != "build":
        wrong.append(f"expected to be refused at build time, got {error}")
    named = error.node if case.node is None else _NODE
    if not named or f"'{named}'" not in error.message:
        wrong.append(f"the error does not name the node {named!r}: {error}")
    return wrong


class _Run:
    """A case's graph and a session on it, both fresh."""

    def __init__(self, case: OpCase) -> None:
        self._case = case
        self._graph = tf.Graph()
        self._import(case_graph.graph_text(case))
        self._session = tf.Session(graph=self._graph)
        self._feeds = {f"{item.name}:0": _fed(item.value) for item in case.inputs if not item.const}

    def _import(self, text: str) -> None:
        # Not by tf.import_graph_def: what it raises is a ValueError, which has no class.
        data = _runtime.message_parse_text("GraphDef", text)
        try:
            self._graph.handle.import_(data, b"", "", "", (), [], ())
        except _runtime.StatusError as error:
            code, message, node = error.args
            raise _RefusedError(_Error(_KINDS[code], message, node, "build")) from None
        self._graph.operation_of(self._graph.handle.num_nodes() - 1)  # the front end takes note

    def forward(self) -> list[str]:
        """Run the node and compare its outputs and static shapes; returns what is wrong."""
        case = self._case
        self._prepare()
        fetches = self._fetches()
        targets = [*case.targets, *([_NODE] if case.node else [])]
        got = self._step(fetches, targets)
        later = [
            variable.name + ":0" if variable.ref else case_graph.READ.format(variable.name) + ":0"
            for variable in case.setup.variables
            if variable.name in case.setup.then_read
        ] + list(case.setup.then_fetch)
        values = dict(zip(fetches, got, strict=True))
        if case.error is not None:
            return []
        names = [*self._output_names(), *later]
        values.update(zip(later, self._step(later, ()), strict=True))
        return [*self._compare(names, values), *self._compare_shapes()]

    def backward(self) -> list[str]:
        """Run the gradients and compare them; returns what is wrong."""
        self._prepare()
        gradients = self._case.gradients
        if gradients is None:
            return []
        found = self._add_gradients()
        wrong = []
        for position, got, want in zip(gradients.wrt, found, gradients.dx, strict=True):
            wrong += [f"gradient by input {position} {text}" for text in self._check(got, want)]
        return wrong

    def _output_names(self) -> list[str]:
        """The tensors that the case's outputs speak of, without those of its setup."""
        if self._case.graph is not None:
            return [output.fetch or "" for output in self._case.outputs]
        operation = self._graph.get_operation_by_name(_NODE)
        return [tensor.name for tensor in operation.outputs]

    def _fetches(self) -> list[str]:
        """Those of them that have values: handles have none."""
        names = dict.fromkeys(self._output_names())
        return [name for name in names if self._output(name).dtype != tf.resource]

    def _output(self, name: str) -> Any:
        """The operation's own output. By name the handle of a variable stands for its value."""
        tensor = self._graph.get_tensor_by_name(name)
        return tensor.op.outputs[tensor.value_index]

    def _prepare(self) -> None:
        """Assign the variables and run what is to be run first."""
        for variable in self._case.setup.variables:
            if variable.value is not None:
                initial = case_graph.INITIAL.format(variable.name) + ":0"
                assign = case_graph.ASSIGN.format(variable.name)
                self._run([assign], {initial: _fed(variable.value)})
        for name in self._case.setup.run_first:
            self._step((), [name])

    def _step(self, fetches: Any, targets: Any) -> list[Any]:
        if not fetches and not targets:
            return []
        results = self._run([*fetches, *targets], self._feeds)
        return list(results[: len(fetches)])

    def _run(self, fetches: list[Any], feeds: dict[str, Any]) -> list[Any]:
        try:
            return list(self._session.run(fetches, feeds))
        except tf.errors.OpError as error:
            node = "" if error.op is None else error.op.name
            refused = _Error(_KINDS[error.error_code], error.message, node, "run")
            raise _RefusedError(refused) from None

    def _compare(self, names: list[str], values: dict[str, Any]) -> list[str]:
        outputs = self._case.outputs
        if len(names) != len(outputs):
            return [f"has the outputs {names}, expected {len(outputs)} of them"]
        wrong = []
        for name, output in zip(names, outputs, strict=True):
            if output.value is not None:
                text = difference(values[name], output.value, output.rtol, output.atol)
                wrong += [f"{name} {text}"] if text else []
        return wrong

    def _compare_shapes(self) -> list[str]:
        if self._case.static_shape is None:
            return []
        wrong = []
        for name, want in zip(self._output_names(), self._case.static_shape, strict=False):
            shape = self._output(name).shape
            got = None if shape.ndims is None else [_size(size) for size in shape.as_list()]
            if got != (None if want is None else list(want)):
                wrong.append(f"{name} has the static shape {got}, expected {want}")
        return wrong

    def _add_gradients(self) -> list[Any]:
        case, graph = self._case, self._graph
        assert case.gradients is not None
        names = self._output_names()
        ys, dys = [], []
        with graph.as_default():
            for name, dy in zip(names, case.gradients.dy, strict=False):
                if dy is not None:
                    weight = tf.placeholder(dy.dtype, dy.array.shape, f"dy_of_{name[:-2]}")
                    self._feeds[weight.name] = _fed(dy)
                    ys.append(graph.get_tensor_by_name(name))
                    dys.append(weight)
            try:
                return list(tf.gradients(ys, self._sources(case.gradients.wrt), dys))
            except tf.errors.OpError as error:
                refused = _Error(_KINDS[error.error_code], error.message, "", "build")
            except LookupError as error:
                refused = _Error("NotFound", str(error), "", "build")
            except (TypeError, ValueError) as error:
                refused = _Error("InvalidArgument", str(error), "", "build")
        raise _RefusedError(refused)

    def _sources(self, positions: tuple[int, ...]) -> list[Any]:
        if self._case.graph is not None:
            return [self._graph.get_tensor_by_name(f"x{position}:0") for position in positions]
        inputs = self._graph.get_operation_by_name(_NODE).inputs
        return [inputs[position] for position in positions]

    def _check(self, got: Any, want: Value | SparseGradient | None) -> list[str]:
        gradients = self._case.gradients
        assert gradients is not None
        if got is None or want is None:
            return [] if got is want else [f"is {got}, expected {want}"]
        is_sparse = isinstance(got, tf.IndexedSlices)
        if isinstance(want, Value):
            if is_sparse:
                return ["has rows, expected it dense"]
            value = self._step([got], ())[0]
            text = difference(value, want, gradients.rtol, gradients.atol)
            return [text] if text else []
        if not is_sparse:
            return ["is dense, expected rows"]
        parts = [got.values, got.indices, got.dense_shape]
        values, indices, shape = self._step(parts, ())
        wrong = [
            difference(values, want.values, gradients.rtol, gradients.atol),
            difference(indices, want.indices, 0, 0),
            None if tuple(shape) == want.dense_shape else f"is of shape {shape}",
        ]
        return [text for text in wrong if text]


def _size(size: int | None) -> int:
    return -1 if size is None else size


def _fed(value: Value) -> Any:
    """The value as a session is fed it."""
    numpy_dtype = np.dtype(tf.as_dtype(value.dtype).as_numpy_dtype)
    if numpy_dtype.names:
        return value.array.view(numpy_dtype)
    return value.array
