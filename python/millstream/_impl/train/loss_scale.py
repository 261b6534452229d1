"""Factors that losses are scaled with, so that small gradients do not vanish in 16 bits.

P. Micikevicius et al.: Mixed Precision Training (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, LIST, NUMBER, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import control_ops, reductions
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes
from millstream._impl.variables.variables import Variable


@public("train.experimental.LossScale")
class LossScale:
    """A factor that may change from step to step. A subclass says which, and when it changes.

    Examples
    --------
    >>> issubclass(tf.train.experimental.FixedLossScale, tf.train.experimental.LossScale)
    True
    """

    def __init__(self) -> None:
        self._weights: dict[str, Variable] = {}

    def __call__(self) -> Tensor:
        """The factor, a scalar of float32."""
        raise NotImplementedError

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Change the factor after a step.

        Parameters
        ----------
        grads
            The gradients, which are not scaled any more.

        Returns
        -------
        update, should_apply
            An operation that changes it; and whether the gradients can be applied, a bool or a
            scalar tensor.
        """
        raise NotImplementedError

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Variable:
        """A variable of the factor, which no optimizer changes."""
        if name in self._weights:
            raise RuntimeError(f"name: Duplicate variables detected: {name!r}")
        variable = Variable(initial_value, trainable=False, name=name, dtype=dtype)
        self._weights[name] = variable
        return variable

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a checkpoint of objects has of it."""
        return dict(self._weights)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal object."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """The object that `get_config` described."""
        return cls(**config)


@public("train.experimental.FixedLossScale")
class FixedLossScale(LossScale):
    """A factor that never changes.

    Parameters
    ----------
    loss_scale_value
        The factor, a number of at least 1.

    Examples
    --------
    >>> tf.train.experimental.FixedLossScale(128)().eval()
    128.0
    """

    def __init__(self, loss_scale_value: Any) -> None:
        super().__init__()
        if isinstance(loss_scale_value, bool) or not isinstance(loss_scale_value, (int, float)):
            raise ValueError(
                "loss_scale_value: loss_scale_value must be a Python int or float, got "
                f"{loss_scale_value!r}"
            )
        if not loss_scale_value >= 1:
            raise ValueError(
                f"loss_scale_value: loss_scale_value must be at least 1, got {loss_scale_value}"
            )
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        """The factor."""
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """An operation that does nothing, and True."""
        return control_ops.no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal object."""
        return {"loss_scale_value": self._loss_scale_value}


def _all_finite(grads: Sequence[Any]) -> Tensor:
    values = [
        grad.values if isinstance(grad, IndexedSlices) else grad
        for grad in grads
        if grad is not None
    ]
    each = [reductions.reduce_all(gen_ops.is_finite(value)) for value in values]
    return reductions.reduce_all(gen_ops.pack(each)) if each else convert_to_tensor(True)


@public("train.experimental.DynamicLossScale")
class DynamicLossScale(LossScale):
    """A factor that grows while gradients are finite, and shrinks when one is not.

    Parameters
    ----------
    initial_loss_scale
        The first factor.
    increment_period
        After so many steps in a row with finite gradients it is multiplied.
    multiplier
        What it is multiplied with; and divided by when a gradient is not finite, but not below 1.

    Examples
    --------
    >>> scale = tf.train.experimental.DynamicLossScale(initial_loss_scale=8, increment_period=1)
    >>> update, should_apply = scale.update([tf.constant(1.0)])
    >>> tf.global_variables_initializer().run()
    >>> update.run()
    >>> scale().eval()
    16.0
    """

    @takes(initial_loss_scale=NUMBER, increment_period=INTEGER, multiplier=NUMBER)
    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The first factor."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """After how many steps it is multiplied."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """What it is multiplied with."""
        return self._multiplier

    def __call__(self) -> Tensor:
        """The factor, as it is in this step."""
        return convert_to_tensor(self._current)

    @takes(grads=LIST)
    def update(self, grads: Any) -> tuple[Any, Any]:
        """An operation that changes the factor, and whether all gradients are finite."""
        is_finite = _all_finite(grads)
        current = convert_to_tensor(self._current)
        steps = self._good_steps + 1
        is_full = steps >= self._increment_period
        larger = current * self._multiplier
        larger = gen_ops.select(gen_ops.is_finite(larger), larger, current)
        smaller = gen_ops.maximum(current / self._multiplier, 1.0)
        after_finite = gen_ops.select(is_full, larger, current)
        goes_on = gen_ops.logical_and(is_finite, gen_ops.logical_not(is_full))
        update = control_ops.group(
            self._current.assign(gen_ops.select(is_finite, after_finite, smaller)),
            self._good_steps.assign(gen_ops.select(goes_on, steps, gen_ops.zeros_like(steps))),
        )
        return update, is_finite

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal object."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def loss_scale_of(value: Any) -> LossScale:
    """The object that a number, "dynamic" or an object stands for."""
    if isinstance(value, LossScale):
        return value
    if value is None:
        raise ValueError("loss_scale: loss_scale cannot be None.")
    if isinstance(value, (int, float)):
        return FixedLossScale(value)
    if value == "dynamic":
        return DynamicLossScale()
    raise ValueError(f"loss_scale: expected a number, 'dynamic' or a LossScale, got {value!r}")
