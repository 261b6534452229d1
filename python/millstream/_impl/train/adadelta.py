"""Adadelta."""

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


@public("train.AdadeltaOptimizer")
class AdadeltaOptimizer(Optimizer):
    """``update = sqrt(updates + epsilon) / sqrt(square + epsilon) * gradient``.

    `square` and `updates` are running means of the squares of the gradient and of the update; they
    start from 0. The variable is decreased by ``learning_rate * update``. Zeiler: Adadelta, an
    adaptive learning rate method (2012).

    The slots are "accum" (the mean square of the gradient) and "accum_update". Where the gradient
    has only some rows, the other rows and their slots stay as they are.

    Parameters
    ----------
    learning_rate, rho, epsilon
        Numbers, scalar tensors, or functions that give them when the updates are made. A running
        mean keeps the share `rho` of what it was.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.AdadeltaOptimizer(1.0).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(learning_rate=RATE, rho=RATE, epsilon=RATE)
    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)

    def _prepare(self) -> None:
        self._rates = [
            hyperparameter(self._learning_rate, "lr"),
            hyperparameter(self._rho, "rho"),
            hyperparameter(self._epsilon, "epsilon"),
        ]

    def _inputs(self, var: Variable) -> list[Any]:
        """The variable, its slots and the rates, in the order of the updates' inputs."""
        slots = [self._slots[slot][var].handle for slot in ("accum", "accum_update")]
        return [var.handle, *slots, *(math_ops.cast(rate, var.dtype) for rate in self._rates)]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_adadelta(*self._inputs(var), grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        return gen_ops.resource_sparse_apply_adadelta(*self._inputs(var), rows.values, rows.indices)
