"""Gradient descent."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import RATE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import math_ops
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import Optimizer, hyperparameter
from millstream._impl.variables.variables import Variable


@public("train.GradientDescentOptimizer")
class GradientDescentOptimizer(Optimizer):
    """``variable -= learning_rate * gradient``.

    Parameters
    ----------
    learning_rate
        A number, a scalar tensor, or a function that gives one when the updates are made.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> float(w.eval())
    0.5
    """

    @takes(learning_rate=RATE)
    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        rate = math_ops.cast(self._rate, var.dtype)
        return gen_ops.resource_apply_gradient_descent(var.handle, rate, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rate = math_ops.cast(self._rate, var.dtype)
        return gen_ops.resource_scatter_add(var.handle, grad.indices, -grad.values * rate)
