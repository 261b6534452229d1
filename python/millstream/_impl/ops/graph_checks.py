"""Checks of all numbers of a graph."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation
from millstream._impl.ops import control_ops

# What only `cond` and `while_loop` make.
_CONTROL_FLOW = {"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"}
_CONTROL_FLOW |= {f"Ref{name}" for name in ("Enter", "Exit", "Merge", "NextIteration", "Switch")}
_CHECKED = {"float16", "float32", "float64"}


@public("add_check_numerics_ops")
def add_check_numerics_ops() -> Operation:
    """An operation that checks all floating-point tensors that the default graph has now.

    A step that runs it fails with the name of the first tensor that has a NaN or an infinity, in
    the order in which the graph was built. ``tf.debugging.enable_check_numerics`` does it for whole
    sessions.

    Raises
    ------
    ValueError
        The graph has conditionals or loops.

    Examples
    --------
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     y = tf.log(x, name="y")
    ...     check = tf.add_check_numerics_ops()
    ...     sess.run(check, {x: 2.0})
    ...     try:
    ...         sess.run(check, {x: 0.0})
    ...     except tf.errors.InvalidArgumentError as error:
    ...         print(str(error).splitlines()[0])
    y:0 : Tensor had Inf values (argument 'tensor')
    """
    graph = get_default_graph()
    operations = graph.get_operations()
    if any(operation.type in _CONTROL_FLOW for operation in operations):
        raise ValueError(
            "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
            "operations such as `tf.cond()` or `tf.while_loop()`."
        )
    checks: list[Any] = []
    for operation in operations:
        for tensor in operation.outputs:
            if tensor.dtype.name in _CHECKED:
                with graph.control_dependencies(checks[-1:]):
                    message = f"{operation.name}:{tensor.value_index}"
                    checks.append(gen_ops.check_numerics(tensor, message))
    return control_ops.group(*checks[-1:])
