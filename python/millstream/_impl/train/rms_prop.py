"""RMSProp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import RATE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import math_ops
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import Optimizer, hyperparameter, sum_repeated_rows
from millstream._impl.variables.variables import Variable


@public("train.RMSPropOptimizer")
class RMSPropOptimizer(Optimizer):
    """``velocity = momentum * velocity + learning_rate * gradient / sqrt(square + epsilon)``.

    `square` is a running mean, ``square += (1 - decay) * (gradient**2 - square)``, and starts from
    1. The variable is decreased by the velocity. Tieleman, Hinton: Lecture 6.5, RMSProp (2012).

    With `centered`, the gradient is divided by its standard deviation, ``sqrt(square - mean**2 +
    epsilon)``, of the running mean of the gradient. Graves: Generating sequences with recurrent
    neural networks (2013).

    The slots are "rms" (the mean square), "momentum" (the velocity) and, with `centered`, "mg" (the
    mean). Where the gradient has only some rows, the other rows and their slots stay as they are.

    Parameters
    ----------
    learning_rate, decay, momentum, epsilon
        Numbers, scalar tensors, or functions that give them when the updates are made.
    use_locking
        Not used.
    centered
        Whether to divide by the standard deviation.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.RMSPropOptimizer(0.1).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(learning_rate=RATE, decay=RATE, momentum=RATE, epsilon=RATE)
    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._constant_slot(variable, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self) -> None:
        self._rates = [
            hyperparameter(self._learning_rate, "learning_rate"),
            hyperparameter(self._decay, "decay"),
            hyperparameter(self._momentum, "momentum"),
            hyperparameter(self._epsilon, "epsilon"),
        ]

    def _inputs(self, var: Variable) -> list[Any]:
        """The variable, its slots and the rates, in the order of the updates' inputs."""
        slots = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        handles = [var.handle, *(self._slots[slot][var].handle for slot in slots)]
        return [*handles, *(math_ops.cast(rate, var.dtype) for rate in self._rates)]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        if self._centered:
            return gen_ops.resource_apply_centered_rms_prop(*self._inputs(var), grad)
        return gen_ops.resource_apply_rms_prop(*self._inputs(var), grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        inputs = [*self._inputs(var), rows.values, rows.indices]
        if self._centered:
            return gen_ops.resource_sparse_apply_centered_rms_prop(*inputs)
        return gen_ops.resource_sparse_apply_rms_prop(*inputs)
