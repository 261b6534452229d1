"""Operations that only order others."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import LIST, takes
from millstream._impl.graph.convert import graph_of
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.indexed_slices import IndexedSlices


@public("no_op")
@takes()
def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing.

    Parameters
    ----------
    name
        Its name.

    Examples
    --------
    >>> tf.no_op(name="done")
    <tf.Operation 'done' type=NoOp>
    """
    return gen_ops.no_op(name)


@public("group")
def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that has run when all the given ones have.

    Parameters
    ----------
    inputs
        Operations, tensors, variables, or nested lists of them.
    kwargs
        ``name``: the operation's name.

    Raises
    ------
    TypeError
        Something else is given.

    Examples
    --------
    >>> import millstream as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.group(tf.no_op(), tf.no_op(), name="both").control_inputs)
    [<tf.Operation 'NoOp' type=NoOp>, <tf.Operation 'NoOp_1' type=NoOp>]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"group() got unknown keyword arguments: {', '.join(kwargs)}")
    items = list(_flat(inputs))
    for item in items:
        if not isinstance(item, (Operation, TensorLike)):
            raise TypeError(f"inputs: expected operations and tensors, got {item!r}")
    graph = items[0].graph if items else get_default_graph()
    by_device = _operations_by_device(graph, items)
    with graph.as_default(), scopes.name_scope(name, "group_deps") as scope:
        label = scope.rstrip("/") + "/"
        if len(by_device) <= 1:
            return _no_op_after(graph, next(iter(by_device), ""), items, label)
        parts = [_no_op_after(graph, *part, None) for part in by_device.items()]
        with graph.control_dependencies(parts):
            return gen_ops.no_op(label)


def _operations_by_device(graph: Graph, items: Sequence[Any]) -> dict[str, list[Any]]:
    """The items by the devices that are asked for, in the order of the devices' names."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault((item if isinstance(item, Operation) else item.op).device, []).append(item)
    return dict(sorted(found.items()))


def _no_op_after(graph: Graph, device: str, items: Sequence[Any], name: str | None) -> Operation:
    """An operation on a device that waits for others."""
    with graph.device(device), graph.control_dependencies(items):
        return gen_ops.no_op(name)


def _flat(items: Any) -> Any:
    for item in items:
        if isinstance(item, (list, builtins.tuple)):
            yield from _flat(item)
        elif isinstance(item, dict):
            yield from _flat(item.values())
        else:
            yield item


@public("tuple")
@takes(tensors=LIST, control_inputs=LIST)
def tuple(  # noqa: A001  (the public name)
    tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None
) -> list[Any]:
    """The tensors again, where they are, each of which is there when all are.

    Parameters
    ----------
    tensors
        Tensors, slices, operations or None, at least one of which is a tensor.
    name
        Name of the scope.
    control_inputs
        More operations to wait for.

    Returns
    -------
    list
        As many tensors.

    Raises
    ------
    ValueError
        There is no tensor among them.

    Examples
    --------
    >>> first, second = tf.tuple([tf.constant(1), tf.constant(2)])
    >>> int(first.eval()), int(second.eval())
    (1, 2)
    """
    gates = [
        item if isinstance(item, Operation) else item.op for item in tensors if item is not None
    ]
    if not gates:
        raise ValueError("tensors: expected at least one tensor")
    gates.extend(item if isinstance(item, Operation) else item.op for item in control_inputs or ())
    with scopes.name_scope(name, "tuple", [t for t in tensors if isinstance(t, TensorLike)]):
        gate = group(*gates, name="group_deps")
        return [_after(gate, item) for item in tensors]


def _operation(item: Any) -> Any:
    return item if isinstance(item, Operation) else item.op


def _after(gate: Operation, item: Any) -> Any:
    if isinstance(item, TensorLike):
        # Where the tensor is, so that waiting for the others does not move it.
        with gate.graph.colocate_with(_operation(item)):
            return with_dependencies([gate], item, "control_dependency")
    return gate if isinstance(item, Operation) else None


def with_dependencies(dependencies: Sequence[Any], output: Any, name: str | None = None) -> Any:
    """``identity(output)`` that waits for other operations.

    Parameters
    ----------
    dependencies
        Operations and tensors.
    output
        A tensor or slices.
    name
        Name of the result.
    """
    graph = graph_of([output])
    with graph.as_default(), graph.control_dependencies(dependencies):
        if isinstance(output, IndexedSlices):
            values = gen_ops.identity(output.values, name)
            return IndexedSlices(values, output.indices, output.dense_shape)
        return gen_ops.identity(output, name)
