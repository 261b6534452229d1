"""What optimizers with penalties of the weights' size and square have in common."""

from __future__ import annotations

from typing import Any

from millstream._impl.ops import math_ops
from millstream._impl.train.optimizer import Optimizer, hyperparameter
from millstream._impl.variables.variables import Variable


class RegularizedOptimizer(Optimizer):
    """An optimizer with a learning rate and two penalties."""

    def __init__(
        self, learning_rate: Any, l1_strength: Any, l2_strength: Any, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_strength = l1_strength
        self._l2_strength = l2_strength

    def _prepare(self) -> None:
        self._rates = [
            hyperparameter(self._learning_rate, "learning_rate"),
            hyperparameter(self._l1_strength, "l1_regularization_strength"),
            hyperparameter(self._l2_strength, "l2_regularization_strength"),
        ]

    def _rates_for(self, var: Variable) -> list[Any]:
        return [math_ops.cast(rate, var.dtype) for rate in self._rates]
