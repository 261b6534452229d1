"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, RATE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import math_ops
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import Optimizer, hyperparameter, sum_repeated_rows
from millstream._impl.variables.variables import Variable


@public("train.AdagradOptimizer")
class AdagradOptimizer(Optimizer):
    """``accumulator += gradient**2; variable -= learning_rate * gradient / sqrt(accumulator)``.

    Duchi, Hazan, Singer: Adaptive subgradient methods for online learning and stochastic
    optimization (2011). The sum is the slot "accumulator".

    Parameters
    ----------
    learning_rate
        A number, a scalar tensor, or a function that gives one when the updates are made.
    initial_accumulator_value
        What the sums start from, a positive number.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.AdagradOptimizer(0.1).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(learning_rate=RATE, initial_accumulator_value=NUMBER)
    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                "initial_accumulator_value: expected a positive number, got "
                f"{initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._constant_slot(variable, self._initial_value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._rate = hyperparameter(self._learning_rate, "learning_rate")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_adagrad(
            var.handle,
            self._slots["accumulator"][var].handle,
            math_ops.cast(self._rate, var.dtype),
            grad,
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        return gen_ops.resource_sparse_apply_adagrad(
            var.handle,
            self._slots["accumulator"][var].handle,
            math_ops.cast(self._rate, var.dtype),
            rows.values,
            rows.indices,
        )
