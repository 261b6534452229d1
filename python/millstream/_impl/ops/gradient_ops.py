"""Gradients of tensors by tensors and variables."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream import _runtime
from millstream._impl.base import error_text, errors, source_location
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, Kind, takes
from millstream._impl.graph.convert import convert_to_tensor, graph_of
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.variable_tensor import handle_of
from millstream._impl.ops import array_creation
from millstream._impl.ops.branches import around_functions
from millstream._impl.ops.gradient_functions import GradientCalls, unpacked_gradient
from millstream._impl.values import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream._impl.graph.graph import Graph


@public("AggregationMethod")
class AggregationMethod:
    """How the parts of a gradient are added up; the runtime decides by itself.

    Examples
    --------
    >>> tf.AggregationMethod.DEFAULT == tf.AggregationMethod.ADD_N
    True
    """

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_AGGREGATION_METHODS = (
    AggregationMethod.ADD_N,
    AggregationMethod.EXPERIMENTAL_TREE,
    AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
)


@public("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """The gradient by a variable on which nothing depends.

    Examples
    --------
    >>> x, other = tf.constant(1.0), tf.constant(2.0)
    >>> found = tf.gradients(x, other, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    >>> float(found[0].eval())
    0.0
    """

    NONE = "none"
    ZERO = "zero"


# What is on the device of the operation that made it.
_STAYS = (dtypes.resource, dtypes.variant)

_UNCONNECTED = Kind(
    "'none', 'zero' or a tf.UnconnectedGradients",
    lambda value: isinstance(value, (str, UnconnectedGradients)),
)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _differentiable(value: Any) -> Tensor:
    """The tensor that a gradient is taken by: of a variable, its handle."""
    handle = handle_of(value)
    return convert_to_tensor(value) if handle is None else handle


@public("gradients")
@takes(
    ys=TENSOR, xs=TENSOR, grad_ys=TENSOR, stop_gradients=TENSOR, unconnected_gradients=_UNCONNECTED
)
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str | UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Any]:
    """Derivatives of the sum of `ys` by each of `xs`.

    The new operations ask for the device of the current blocks, and wait for their control inputs.

    Parameters
    ----------
    ys
        A tensor or several; those that are no floating-point or complex numbers count for nothing.
    xs
        A tensor or variable, or several.
    grad_ys
        What each of `ys` is weighted with, of its shape, or of another one that the gradient
        functions on the way take for it; None for ones.
    name
        Scope of the new operations.
    colocate_gradients_with_ops
        Whether each new operation is colocated with the operation whose gradient it computes, and a
        sum of gradients that are on one device with the first of them. What several devices have is
        summed beside the operation that made the tensor. The device of the current
        blocks then does not count.
    gate_gradients, aggregation_method
        Hints, not used. The second is an `AggregationMethod`.
    stop_gradients
        Tensors that count as constants.
    unconnected_gradients
        An `UnconnectedGradients`, or its value: what to return where no `ys` depends on `xs`.

    Returns
    -------
    list
        One for each of `xs`: a tensor of its shape, `IndexedSlices` where only some rows of a
        variable were used, or None.

    Raises
    ------
    ValueError
        `grad_ys` has another length than `ys`, a gradient another shape than its tensor, arguments
        are of several graphs, or `aggregation_method` is none.
    TypeError
        One of `grad_ys` has another dtype than its y.
    LookupError
        An operation on the way has no gradient function (`RegisterGradient`).
    Exception
        Whatever a gradient function in Python raises.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.0)
    ...     print(float(sess.run(tf.gradients(x * x, x)[0])))
    6.0
    """
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"unconnected_gradients: expected 'none' or 'zero', got {unconnected_gradients!r}"
        ) from None
    if aggregation_method not in (None, *_AGGREGATION_METHODS):
        raise ValueError(f"Invalid aggregation_method specified: {aggregation_method!r}")
    y_list, x_list = _listed(ys), _listed(xs)
    weights = [None] * len(y_list) if grad_ys is None else _listed(grad_ys)
    if len(weights) != len(y_list):
        raise ValueError(f"grad_ys: expected {len(y_list)} of them, got {len(weights)}")
    targets = [convert_to_tensor(y, name="y") for y in y_list]
    sources = [_differentiable(x) for x in x_list]
    stops = [_differentiable(t) for t in _listed(stop_gradients)]
    graph = graph_of([*targets, *sources, *stops])
    given = [*targets, *(dy for dy in weights if isinstance(dy, Tensor))]
    with (
        graph.as_default(),
        graph.name_scope(name or "gradients") as scope,
        around_functions(graph, given),
    ):
        pairs = [
            (y, None if dy is None else _weight(graph, y, dy))
            for y, dy in zip(targets, weights, strict=True)
            if y.dtype.is_floating or y.dtype.is_complex
        ]
        results = _add_gradients(
            graph, pairs, sources, stops, bool(colocate_gradients_with_ops), scope[:-1]
        )
        if unconnected is UnconnectedGradients.ZERO:
            for index, x in enumerate(x_list):
                if results[index] is None:
                    results[index] = array_creation.zeros_like(x)
    return results


def _add_gradients(
    graph: Graph,
    pairs: list[tuple[Tensor, Tensor | None]],
    sources: list[Tensor],
    stops: list[Tensor],
    colocate: bool,
    scope: str,
) -> list[Any]:
    if not pairs or not sources:
        return [None] * len(sources)

    calls = GradientCalls(graph, colocate)

    def add() -> tuple[list[Any], bytes]:
        try:
            return graph.handle.gradients(
                [y.packed for y, _ in pairs],
                [tensor.packed for tensor in sources],
                [None if dy is None else dy.packed for _, dy in pairs],
                [tensor.packed for tensor in stops],
                colocate,
                scope,
                source_location.current(),
                calls,
            )
        except _runtime.StatusError as error:
            if error.args[0] != errors.NOT_FOUND:
                raise
            raise LookupError(error_text.with_source(error.args[1])) from None

    found, made = graph.grow(add)
    calls.note_made()
    _enter_blocks(graph, memoryview(made).cast("i"), found, colocate)
    for _, dy in pairs:
        if dy is not None:
            dy.forget_shape()  # it may be the gradient of a tensor of a known shape
    return [unpacked_gradient(graph, gradient) for gradient in found]


def _enter_blocks(graph: Graph, made: Sequence[int], found: list[Any], colocate: bool) -> None:
    """Give what the runtime has made the devices and control inputs of the current blocks.

    Parameters
    ----------
    graph
        The graph.
    made
        The nodes, each after those of them that it reads, except where a loop leads back.
    found
        The gradients, as the extension gives them.
    colocate
        Whether the nodes stand where the forward ones stand.
    """
    state = graph.state
    if state.devices and not colocate:
        for node in made:
            _enter_device_blocks(graph, node)
    if not state.controls:
        return
    kept = {part >> 32 for gradient in found for part in _parts(gradient)}
    free: set[int] = set()  # constants that wait for nothing
    for node in made:
        _enter_control_blocks(graph, node, node in kept, free)


def _enter_device_blocks(graph: Graph, node: int) -> None:
    state = graph.state
    operation = graph.operation_of(node)
    if operation.device or any(
        tensor.dtype in _STAYS for tensor in (*operation.inputs, *operation.outputs)
    ):
        return  # its gradient function has chosen it, or what it works on has
    device = state.device_for(operation) if state.device is None else state.device
    graph.handle.set_device(node, device)


def _enter_control_blocks(graph: Graph, node: int, is_kept: bool, free: set[int]) -> None:
    """Let a node wait, unless it reads what waits; a constant only if the caller gets it."""
    state, handle = graph.state, graph.handle
    inputs, controls = handle.node_inputs(node), handle.node_controls(node)
    if not inputs and not controls and not is_kept:
        free.add(node)
        return
    packed = [*inputs, *(control << 32 for control in controls)]
    waits: Sequence[int] = state.control_inputs(packed)
    if waits and state.branch is not None:
        needed = [each >> 32 for each in packed if each >> 32 not in free]
        waits = state.branch.waits_of(graph.operation_of(node).name, needed, waits)
    for control in waits:
        handle.add_control_input(node, control)
    state.note_made(node)
    if waits and state.branch is not None:
        state.branch.note_gradient(node)


def _parts(gradient: Any) -> tuple[int, ...]:
    parts = gradient if isinstance(gradient, tuple) else (gradient,)
    return tuple(part for part in parts if part is not None)


def _weight(graph: Graph, y: Tensor, weight: Any) -> Tensor:
    tensor = convert_to_tensor(weight, name="grad_ys")
    if tensor.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"grad_ys: expected {y.dtype.name} for {y.name!r}, got {tensor.dtype.name}")
    # What reads it may be nothing: where y is an x, it is the gradient, which waits as others do.
    return gen_ops.identity(tensor) if graph.state.controls else tensor
