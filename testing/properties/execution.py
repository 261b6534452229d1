"""Runs a case in each of its forms."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import millstream as tf
from millstream import _runtime
from testing.ops.support import case as cases
from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.number_types import Array


@dataclass
class Result:
    """What became of a case: an error, or the values of outputs and then of variables.

    `values` has None where a tensor cannot be fetched; `shapes` has what is known of each output
    before the step, None for an unknown rank.
    """

    code: int = 0
    message: str = ""
    when: str = ""
    values: list[Array | None] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    shapes: list[tuple[int | None, ...] | None] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether it was refused."""
        return self.code != 0

    def __str__(self) -> str:
        if self.failed:
            return f"error {self.code} at {self.when} time: {self.message}"
        return f"values {self.values}"


# Where the case's node runs, if there is a kernel for it there.
DEVICE = os.environ.get("OP_PROPERTIES_DEVICE", "")


def run(case: Case, form: str) -> Result:
    """Build the case in a graph of its own and run it once."""
    result = Result()
    graph = tf.Graph()
    try:
        _import(graph, cases.graph_text(case, form, DEVICE))
    except _runtime.StatusError as error:
        result.code, result.message = error.args[0], error.args[1]
        result.when = "build"
        return result
    operation = graph.get_operation_by_name(cases.NODE)
    result.shapes = [_static_shape(output) for output in operation.outputs]
    if form == cases.HUGE:
        return result
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(graph=graph, config=config) as session:
        try:
            _run(session, graph, case, form, result)
        except tf.errors.OpError as error:
            result.code, result.message, result.when = error.error_code, error.message, "run"
        except ValueError as error:
            # Of sizes that NumPy cannot hold, though there are no elements.
            if "too big" not in str(error):
                raise
            result.code, result.when = tf.errors.RESOURCE_EXHAUSTED, "fetch"
            result.message = f"node '{cases.NODE}' (op {case.op}): {error}"
    return result


def _import(graph: Any, text: str) -> None:
    # Not by tf.import_graph_def: what it raises has no class.
    data = _runtime.message_parse_text("GraphDef", text)
    graph.handle.import_(data, b"", "", "", (), [], ())
    graph.operation_of(graph.handle.num_nodes() - 1)  # the front end takes note


def _run(session: Any, graph: Any, case: Case, form: str, result: Result) -> None:
    feeds: dict[str, Any] = {}
    variables = []
    if form == cases.DYNAMIC:
        feeds[f"{cases.PREDICATE}:0"] = True
    for i, item in enumerate(case.inputs):
        if item.same_as >= 0:
            continue
        name = f"x{i}"
        if not item.source:
            if form != cases.CONSTANT:
                feeds[f"{name}:0"] = _fed(item.dtype, item.value)
            continue
        if item.value is not None:
            variables.append((name, item.dtype))
            fed = {f"{cases.initial(name)}:0": _fed(item.dtype, item.value)}
            session.run(cases.assign(name), fed)
    outputs = graph.get_operation_by_name(cases.NODE).outputs
    fetched = [output for output in outputs if output.dtype.base_dtype.name in _FETCHED]
    got = iter(session.run([*fetched, cases.NODE], feeds)[:-1])
    for output in outputs:
        dtype = output.dtype.base_dtype.name
        result.dtypes.append(dtype)
        result.values.append(_stored(next(got), dtype) if dtype in _FETCHED else None)
    if case.op in _DELETING:
        return
    for name, dtype in variables:
        result.dtypes.append(dtype)
        result.values.append(_stored(session.run(f"{cases.read(name)}:0"), dtype))


# Ops after which a variable cannot be read.
_DELETING = ("DestroyResourceOp", "DestroyTemporaryVariable", "_TakeVariable")
_FETCHED = frozenset(number_types.VALUES)


def _static_shape(output: Any) -> tuple[int | None, ...] | None:
    shape = output.shape
    return None if shape.ndims is None else tuple(shape.as_list())


def _fed(dtype: str, value: Array | None) -> Any:
    numpy_type = np.dtype(tf.as_dtype(dtype).as_numpy_dtype)
    assert value is not None
    return value.view(numpy_type) if numpy_type.names else value


def _stored(value: Any, dtype: str) -> Array:
    stored = number_types.stored_type(dtype)
    if dtype == "string" and isinstance(value, bytes):
        cell = np.empty((), object)
        cell[()] = value
        return cell
    array = np.asarray(value)
    return array.view(stored) if array.dtype.names else array
