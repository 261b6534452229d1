"""FTRL-proximal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NAME, NUMBER, RATE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import hyperparameter, sum_repeated_rows
from millstream._impl.train.regularized import RegularizedOptimizer
from millstream._impl.variables.variables import Variable


@public("train.FtrlOptimizer")
class FtrlOptimizer(RegularizedOptimizer):
    """Follows the regularized leader, with penalties that make many weights zero.

    McMahan and others: Ad click prediction, a view from the trenches (2013). The slots are "accum",
    the sum of the squares of the gradient, and "linear". Where the gradient has only some rows, the
    other rows and their slots stay as they are.

    Parameters
    ----------
    learning_rate
        A number, a scalar tensor, or a function that gives one when the updates are made.
    learning_rate_power
        The power of the sum of squares by which the learning rate decreases, at most 0.
    initial_accumulator_value
        What the sums of squares start from, at least 0.
    l1_regularization_strength, l2_regularization_strength
        Penalties of the weights' size and square, at least 0.
    use_locking
        Not used.
    name
        Name of the optimizer.
    accum_name, linear_name
        Names of the slots' variables; by default, the optimizer's.
    l2_shrinkage_regularization_strength
        A penalty of the square, at least 0, which counts as a part of the gradient.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.FtrlOptimizer(0.1).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(
        learning_rate=RATE,
        learning_rate_power=NUMBER,
        initial_accumulator_value=NUMBER,
        l1_regularization_strength=NUMBER,
        l2_regularization_strength=NUMBER,
        accum_name=NAME,
        linear_name=NAME,
        l2_shrinkage_regularization_strength=NUMBER,
    )
    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )
        for argument, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{argument}: expected a number of at least 0, got {value}")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power: expected a number of at most 0, got {learning_rate_power}"
            )
        self._power = learning_rate_power
        self._initial_value = initial_accumulator_value
        self._l2_shrinkage = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._constant_slot(
                variable, self._initial_value, "accum", self._accum_name or self._name
            )
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        super()._prepare()
        if self._l2_shrinkage > 0:
            shrinkage = hyperparameter(self._l2_shrinkage, "l2_shrinkage_regularization_strength")
            self._rates.append(shrinkage)
        self._rates.append(hyperparameter(self._power, "learning_rate_power"))

    def _inputs(self, var: Variable, *gradient: Tensor) -> list[Any]:
        """The inputs of the updates, in their order."""
        slots = [self._slots[slot][var].handle for slot in ("accum", "linear")]
        return [var.handle, *slots, *gradient, *self._rates_for(var)]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        inputs = self._inputs(var, grad)
        if self._l2_shrinkage > 0:
            return gen_ops.resource_apply_ftrl_v2(*inputs)
        return gen_ops.resource_apply_ftrl(*inputs)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        inputs = self._inputs(var, rows.values, rows.indices)
        if self._l2_shrinkage > 0:
            return gen_ops.resource_sparse_apply_ftrl_v2(*inputs)
        return gen_ops.resource_sparse_apply_ftrl(*inputs)
