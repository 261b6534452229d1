"""Parameter servers by the load that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, INTEGER, Kind, takes
from millstream._impl.graph.operation import Operation
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape

_OPERATION = Kind("a tf.Operation", lambda value: isinstance(value, Operation))


@public("contrib.training.byte_size_load_fn")
@takes(op=_OPERATION)
def byte_size_load_fn(op: Operation) -> float:
    """How many bytes a variable has.

    Parameters
    ----------
    op
        The operation of a variable, or of something else with one output.

    Returns
    -------
    float
        The bytes of all elements; of one element where the graph does not say how many there are.
        A text counts as one byte, and what has no elements in the graph, as a table, as none.

    Raises
    ------
    TypeError
        It is no operation.
    ValueError
        It has not one output.

    Examples
    --------
    >>> tf.contrib.training.byte_size_load_fn(tf.Variable(tf.zeros([10, 3])).op)
    120.0
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op.name} must have a single output, it has {len(op.outputs)}")
    (output,) = op.outputs
    dtype, shape = output.dtype.base_dtype, output.shape
    if dtype == dtypes.resource:
        # The output is a handle: the variable is in the attributes.
        if op.type != "VarHandleOp":
            return 0.0
        dtype = dtypes.as_dtype(op.get_attr("dtype"))
        shape = TensorShape(op.get_attr("shape"))
    count = shape.num_elements()
    return float(dtype.size * (1 if count is None else count))


@public("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Gives each variable to the parameter server that has the least as yet.

    Parameters
    ----------
    num_tasks
        How many parameter servers there are.
    load_fn
        A function from an operation to its load, as `byte_size_load_fn`.

    Raises
    ------
    TypeError
        An argument is of another type.

    Examples
    --------
    >>> training = tf.contrib.training
    >>> by_load = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    >>> setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=by_load)
    >>> with tf.Graph().as_default(), tf.device(setter):
    ...     [tf.Variable(tf.zeros([size])).device for size in (100, 10, 20)]
    ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:1']
    """

    @takes(num_tasks=INTEGER, load_fn=FUNCTION)
    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * int(num_tasks)

    def __call__(self, op: Any) -> int:
        """Return the number of the task that gets the operation.

        Parameters
        ----------
        op
            The operation.
        """
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task
