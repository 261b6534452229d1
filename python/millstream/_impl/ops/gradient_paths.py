"""Why a gradient is none: where the way from a loss to its variables ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream._impl.base import error_text
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.variable_tensor import handle_of

# Ops whose result is of floats, and has no gradient though.
_STOPS = ("StopGradient", "PreventGradient")


def where_gradients_end(loss: Any, variables: Sequence[Any]) -> str:
    """Lines for an error: the first operation on a way to a variable that has no gradient.

    Parameters
    ----------
    loss
        The tensor that is differentiated.
    variables
        What it is differentiated by.

    Returns
    -------
    str
        Text to be put behind the cause, which begins with a line end.
    """
    sources = {_handle(variable).op for variable in variables}
    reached = _users_of(sources)
    start = loss.as_tensor()
    if start.op not in reached:
        return error_text.with_hint("", "nothing of the loss is computed from a variable")
    seen: set[Operation] = set()
    waiting = [start]
    while waiting:
        tensor = waiting.pop(0)
        if tensor.op in seen or tensor.op not in reached or tensor.op in sources:
            continue
        seen.add(tensor.op)
        reason = _why_none(tensor)
        if reason:
            return "\n" + error_text.about(reason, tensor.op)
        waiting += tensor.op.inputs
    return ""


def _handle(variable: Any) -> Tensor:
    handle = handle_of(variable)
    return variable.as_tensor() if handle is None else handle


def _users_of(sources: set[Operation]) -> set[Operation]:
    """The operations that compute something from what `sources` give, and those."""
    found = set(sources)
    for operation in next(iter(sources)).graph.get_operations():
        if any(tensor.op in found for tensor in operation.inputs):
            found.add(operation)
    return found


def _why_none(tensor: Tensor) -> str:
    if tensor.op.type in _STOPS:
        return f"The gradient ends at {tensor.name}, which stops it:"
    dtype = tensor.dtype.base_dtype
    if dtype.is_floating or dtype.is_complex:
        return ""
    return f"The gradient ends at {tensor.name}, as {dtype.name} has none:"
