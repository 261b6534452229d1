"""What sessions that stop at the first NaN have saved, run again."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph import graph_import
from millstream._impl.graph.arguments import PATH, takes
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation
from millstream._impl.session.session import Session


class NumericFailure(NamedTuple):
    """A node that made a NaN or an infinity, run again.

    Attributes
    ----------
    node_def
        The node; None where it changes a variable and can therefore not be run again.
    inputs
        What it was given, by argument; of a variable, its value before the node ran.
    outputs
        What it gives now.
    """

    node_def: Any
    inputs: dict[str, Any]
    outputs: list[Any]


class _Unchecked(Session):
    _may_check = False


@public("debugging.replay")
@takes(path=PATH)
def replay(path: str | os.PathLike[str]) -> NumericFailure:
    """Run a node again that made a NaN, on the inputs that were saved.

    Parameters
    ----------
    path
        The file that the error names.

    Raises
    ------
    ValueError
        The file holds something else.
    OSError
        It cannot be read.

    Examples
    --------
    >>> tf.debugging.replay("missing.pb")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.pb'
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read()
    graph = Graph()
    # Inputs of one repeated value take a few bytes in the file, and all of theirs in memory.
    any_size = protos.message_class("ConfigProto")(max_import_expansion=-1)
    with graph.as_default():
        graph_import.import_graph_def(data, None, None, "", any_size)
    inputs: dict[str, Operation] = {}
    node: Operation | None = None
    for operation in graph.get_operations():
        if operation.type == "Const" and operation.name.startswith("inputs/"):
            inputs[operation.name.removeprefix("inputs/")] = operation
        elif node is None:
            node = operation
        else:
            raise ValueError(f"path: {name!r} holds more than one node and its inputs")
    config = protos.message_class("ConfigProto")()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with _Unchecked(graph=graph, config=config) as session:
        values = {name: session.run(made.outputs[0]) for name, made in inputs.items()}
        if node is None:
            return NumericFailure(None, values, [])
        return NumericFailure(node.node_def, values, session.run(list(node.outputs)))


def summary(failure: NumericFailure) -> str:
    """A text for terminals: the node, and the range of everything.

    Parameters
    ----------
    failure
        From `replay`.
    """
    if failure.node_def is None:
        lines = ["the node changes a variable and cannot be run again; what it was given:"]
    else:
        lines = [f"node {failure.node_def.name!r} (op {failure.node_def.op})"]
    for name, value in failure.inputs.items():
        lines.append(f"  input {name}: {described(value)}")
    for index, value in enumerate(failure.outputs):
        lines.append(f"  output {index}: {described(value)}")
    return "\n".join(lines)


def save_arrays(failure: NumericFailure, path: str) -> None:
    """Write what a node was given and gave as an ``.npz`` file.

    Parameters
    ----------
    failure
        From `replay`.
    path
        The file: ``input_NAME`` and ``output_NUMBER`` are its arrays, ``node_def`` the node's text.
    """
    arrays = {f"input_{name}": value for name, value in failure.inputs.items()}
    arrays |= {f"output_{index}": value for index, value in enumerate(failure.outputs)}
    with open(path, "wb") as file:
        np.savez(file, node_def=np.array(str(failure.node_def or "")), **arrays)


def described(value: Any) -> str:
    """Dtype, shape and range of an array: ``"float32[2] 0 to 1, 1 NaN"``."""
    array = np.asarray(value)
    text = f"{array.dtype.name}[{','.join(str(size) for size in array.shape)}]"
    if array.dtype.kind not in "fciu" or not array.size:
        return text
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
    finite = parts[np.isfinite(parts)]
    if finite.size:
        text += f" {finite.min():g} to {finite.max():g}"
    for count, what in ((np.isnan(parts).sum(), "NaN"), (np.isinf(parts).sum(), "infinite")):
        if count:
            text += f", {count} {what}"
    return text
