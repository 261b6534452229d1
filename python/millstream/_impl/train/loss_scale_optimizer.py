"""An optimizer whose loss is scaled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import conditionals, control_ops
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.train.loss_scale import loss_scale_of
from millstream._impl.train.optimizer import Optimizer


def _times(tensor: Any, factor: Tensor) -> Any:
    if isinstance(tensor, IndexedSlices):
        values = _times(tensor.values, factor)
        return IndexedSlices(values, tensor.indices, tensor.dense_shape)
    return tensor * gen_ops.cast(factor, tensor.dtype.base_dtype)


@public("train.experimental.MixedPrecisionLossScaleOptimizer")
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Scales a loss, and gradients back, and leaves steps out whose gradients are not finite.

    Parameters
    ----------
    opt
        The optimizer that changes variables.
    loss_scale
        A `LossScale`, a number for a fixed one, or "dynamic".

    Examples
    --------
    >>> w = tf.Variable(1.0)
    >>> descent = tf.train.GradientDescentOptimizer(0.25)
    >>> optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(descent, 128)
    >>> train = optimizer.minimize(w * w)
    >>> tf.global_variables_initializer().run()
    >>> train.run()
    >>> w.eval()
    0.5
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'opt: "opt" must be an instance of Optimizer, but got: {opt!r}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = loss_scale_of(loss_scale)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Gradients of the loss that is scaled, divided by the factor.

        Parameters
        ----------
        loss
            The tensor to minimize.
        var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
            As for `Optimizer.compute_gradients`.
        """
        if not isinstance(loss, TensorLike):
            raise TypeError(
                f"loss: expected a tensor that is computed from the variables, got {loss!r}"
            )
        factor = self._loss_scale()
        pairs = self._optimizer.compute_gradients(
            _times(loss, factor),
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        back = 1.0 / factor
        return [
            (None if grad is None else _times(grad, back), variable) for grad, variable in pairs
        ]

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Any:
        """An operation that applies gradients if they are finite, and changes the factor.

        Parameters
        ----------
        grads_and_vars
            What `compute_gradients` gives.
        global_step
            A variable that is increased by one in steps that are applied.
        name
            Name of the operation.
        """
        pairs = list(grads_and_vars)
        update, should_apply = self._loss_scale.update([grad for grad, _ in pairs])

        def applied() -> Any:
            return control_ops.group(self._optimizer.apply_gradients(pairs, global_step))

        if should_apply is True:
            made = applied()
        else:
            made = conditionals.cond(should_apply, applied, control_ops.no_op)
        return control_ops.group(made, update, name=name or f"{self.get_name()}-apply")

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of the optimizer that changes variables."""
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of its slots."""
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Any]:
        """Its variables, and those of the factor."""
        return [*self._optimizer.variables(), *self._loss_scale._weights.values()]

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a checkpoint of objects has of it."""
        return {"base_optimizer": self._optimizer, "loss_scale": self._loss_scale}
