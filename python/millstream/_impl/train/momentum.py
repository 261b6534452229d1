"""Gradient descent with momentum."""

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


@public("train.MomentumOptimizer")
class MomentumOptimizer(Optimizer):
    """``velocity = momentum * velocity + gradient; variable -= learning_rate * velocity``.

    With Nesterov's momentum the gradient is taken ahead: Sutskever et al.: On the importance of
    initialization and momentum in deep learning (2013). The velocity is the slot "momentum".
    Where the gradient has only some rows, the other rows and their velocities stay as they are.

    Parameters
    ----------
    learning_rate, momentum
        Numbers, scalar tensors, or functions that give them when the updates are made.
    use_locking
        Not used.
    name
        Name of the optimizer.
    use_nesterov
        Whether to take Nesterov's momentum.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.MomentumOptimizer(0.25, 0.5).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> float(w.eval())
    0.5
    """

    @takes(learning_rate=RATE, momentum=RATE)
    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate = hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = hyperparameter(self._momentum, "momentum")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_momentum(
            var.handle,
            self._slots["momentum"][var].handle,
            math_ops.cast(self._rate, var.dtype),
            grad,
            math_ops.cast(self._momentum_tensor, var.dtype),
            use_nesterov=self._use_nesterov,
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        return gen_ops.resource_sparse_apply_momentum(
            var.handle,
            self._slots["momentum"][var].handle,
            math_ops.cast(self._rate, var.dtype),
            rows.values,
            rows.indices,
            math_ops.cast(self._momentum_tensor, var.dtype),
            use_nesterov=self._use_nesterov,
        )
