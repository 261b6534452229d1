"""Adagrad by dual averaging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, RATE, TENSOR, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import math_ops
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import sum_repeated_rows
from millstream._impl.train.regularized import RegularizedOptimizer
from millstream._impl.values import dtypes
from millstream._impl.variables.variables import Variable


@public("train.AdagradDAOptimizer")
class AdagradDAOptimizer(RegularizedOptimizer):
    """Sets each weight from the sum of all its gradients, and of their squares.

    Duchi, Hazan and Singer: Adaptive subgradient methods (2011). The weights' first values do not
    count: a step replaces them. The slots are "gradient_accumulator" and
    "gradient_squared_accumulator". Where the gradient has only some rows, the other rows and their
    slots stay as they are.

    Parameters
    ----------
    learning_rate
        A number, a scalar tensor, or a function that gives one when the updates are made.
    global_step
        The variable or integer tensor that counts the steps before this one.
    initial_gradient_squared_accumulator_value
        What the sums of squares start from, above 0.
    l1_regularization_strength, l2_regularization_strength
        Penalties of the weights' size and square: numbers or scalar tensors.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Raises
    ------
    ValueError
        For an initial value that is not above 0.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> step = tf.train.get_or_create_global_step()
    >>> train = tf.train.AdagradDAOptimizer(0.5, step).minimize(tf.square(w - 3.0), step)
    >>> tf.global_variables_initializer().run()
    >>> for _ in range(50):
    ...     train.run()
    >>> bool(abs(w.eval() - 3.0) < 0.5)
    True
    """

    @takes(
        learning_rate=RATE,
        global_step=TENSOR,
        initial_gradient_squared_accumulator_value=NUMBER,
        l1_regularization_strength=RATE,
        l2_regularization_strength=RATE,
    )
    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value: expected a number above 0, got "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )
        self._global_step = global_step
        self._initial_value = initial_gradient_squared_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "gradient_accumulator", self._name)
            self._constant_slot(
                variable, self._initial_value, "gradient_squared_accumulator", self._name
            )

    def _prepare(self) -> None:
        super()._prepare()
        self._step_number = math_ops.cast(self._global_step, dtypes.int64) + 1

    def _inputs(self, var: Variable, *gradient: Tensor) -> list[Any]:
        """The inputs of the updates, in their order."""
        names = ("gradient_accumulator", "gradient_squared_accumulator")
        slots = [self._slots[slot][var].handle for slot in names]
        return [var.handle, *slots, *gradient, *self._rates_for(var), self._step_number]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_adagrad_da(*self._inputs(var, grad))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        inputs = self._inputs(var, rows.values, rows.indices)
        return gen_ops.resource_sparse_apply_adagrad_da(*inputs)
