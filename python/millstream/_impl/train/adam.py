"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import RATE, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops, math_ops
from millstream._impl.train.optimizer import Optimizer, hyperparameter
from millstream._impl.variables.variables import Variable


@public("train.AdamOptimizer")
class AdamOptimizer(Optimizer):
    """Adam: steps by running means of the gradient and of its square.

    Kingma, Ba: Adam: a method for stochastic optimization (2014), with its bias correction moved
    into the learning rate. The means are the slots "m" and "v"; the powers of both decay rates are
    variables of the optimizer.

    Parameters
    ----------
    learning_rate
        A number, a scalar tensor, or a function that gives one when the updates are made.
    beta1, beta2
        Decay rates of the means, likewise.
    epsilon
        A small number against division by zero, likewise.
    use_locking
        Not used.
    name
        Name of the optimizer.

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> train = tf.train.AdamOptimizer(0.1).minimize(tf.square(w))
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> bool(w.eval() < 1.0)
    True
    """

    @takes(learning_rate=RATE, beta1=RATE, beta2=RATE, epsilon=RATE)
    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._settings = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        self._tensors: dict[str, Tensor] = {}

    def _power(self, name: str) -> Variable:
        value = self._settings[name]
        return self._shared_variable(value, f"{name}_power", get_default_graph())

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        self._power("beta1")
        self._power("beta2")
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self) -> None:
        self._tensors = {
            name: hyperparameter(value, name) for name, value in self._settings.items()
        }

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        dtype = var.dtype
        return gen_ops.resource_apply_adam(
            var.handle,
            self._slots["m"][var].handle,
            self._slots["v"][var].handle,
            math_ops.cast(self._power("beta1"), dtype),
            math_ops.cast(self._power("beta2"), dtype),
            math_ops.cast(self._tensors["learning_rate"], dtype),
            math_ops.cast(self._tensors["beta1"], dtype),
            math_ops.cast(self._tensors["beta2"], dtype),
            math_ops.cast(self._tensors["epsilon"], dtype),
            grad,
        )

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        graph = get_default_graph()
        with graph.control_dependencies(update_ops):
            powers = []
            for name in ("beta1", "beta2"):
                power = self._power(name)
                with graph.device(power.device or None):
                    raised = power.value() * self._tensors[name]
                    powers.append(power.assign(raised, read_value=False))
        return control_ops.group(*update_ops, *powers, name=name_scope)
