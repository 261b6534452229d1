"""Steps with a penalty on the variable, which sets small elements to zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import NUMBER, RATE, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.optimizer import sum_repeated_rows
from millstream._impl.train.regularized import RegularizedOptimizer
from millstream._impl.variables.variables import Variable


@public("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(RegularizedOptimizer):
    """Gradient descent, then the minimum of a penalty near the new value.

    The penalty is ``l1 * sum(abs(variable)) + l2 / 2 * sum(variable**2)``. Duchi, Singer: Efficient
    learning using forward-backward splitting (2009).

    Parameters
    ----------
    learning_rate, l1_regularization_strength, l2_regularization_strength
        Numbers, scalar tensors, or functions that give them when the updates are made.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable([1.0, 0.01])
    >>> optimizer = tf.train.ProximalGradientDescentOptimizer(0.1, 0.5)
    >>> train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> w.eval().tolist()
    [0.75, 0.0]
    """

    @takes(learning_rate=RATE, l1_regularization_strength=RATE, l2_regularization_strength=RATE)
    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_proximal_gradient_descent(
            var.handle, *self._rates_for(var), grad
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        return gen_ops.resource_sparse_apply_proximal_gradient_descent(
            var.handle, *self._rates_for(var), rows.values, rows.indices
        )


@public("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(RegularizedOptimizer):
    """Adagrad, then the minimum of a penalty near the new value.

    The penalty is that of `ProximalGradientDescentOptimizer`. Duchi, Hazan, Singer: Adaptive
    subgradient methods for online learning and stochastic optimization (2011). The sum of the
    squares of gradients is the slot "accumulator".

    Parameters
    ----------
    learning_rate, l1_regularization_strength, l2_regularization_strength
        Numbers, scalar tensors, or functions that give them when the updates are made.
    initial_accumulator_value
        What the sums start from, a positive number.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.ProximalAdagradOptimizer(0.1).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(
        learning_rate=RATE,
        initial_accumulator_value=NUMBER,
        l1_regularization_strength=RATE,
        l2_regularization_strength=RATE,
    )
    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                "initial_accumulator_value: expected a positive number, got "
                f"{initial_accumulator_value}"
            )
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )
        self._initial_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._constant_slot(variable, self._initial_value, "accumulator", self._name)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return gen_ops.resource_apply_proximal_adagrad(
            var.handle, self._slots["accumulator"][var].handle, *self._rates_for(var), grad
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        rows = sum_repeated_rows(grad)
        return gen_ops.resource_sparse_apply_proximal_adagrad(
            var.handle,
            self._slots["accumulator"][var].handle,
            *self._rates_for(var),
            rows.values,
            rows.indices,
        )
