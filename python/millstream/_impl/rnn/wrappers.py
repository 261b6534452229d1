"""Cells around another cell, which add to what it does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import FUNCTION, or_none, takes
from millstream._impl.layers.layer import Layer
from millstream._impl.ops import nest
from millstream._impl.rnn.cell import RNNCell, check_cell


class CellWrapper(RNNCell):
    """A cell around another one, whose sizes, state and variables it has.

    It opens no scope: the variables have the names that they have without it.
    """

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        check_cell("cell", cell)
        super().__init__(**kwargs)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The sizes of the output."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers change."""
        return self.cell.trainable_weights if isinstance(self.cell, Layer) else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        return self.cell.non_trainable_weights if isinstance(self.cell, Layer) else []

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros.

        Parameters
        ----------
        batch_size
            An integer or a scalar tensor.
        dtype
            Type of the elements.
        """
        with scopes.name_scope(type(self).__name__ + "ZeroState"):
            return self.cell.zero_state(batch_size, dtype)

    def build(self, input_shape: Any) -> None:
        """Make the variables of the cell inside."""
        if not self.cell.built:
            self.cell.build(input_shape)
        super().build(input_shape)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step, as that of `RNNCell`."""
        return self._step(inputs, state, lambda x, before: self.cell(x, before, scope=scope))

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state."""
        return self._step(inputs, state, self.cell)

    def _step(self, inputs: Any, state: Any, inner: Callable[[Any, Any], Any]) -> Any:
        raise NotImplementedError


@public("nn.rnn_cell.ResidualWrapper")
class ResidualWrapper(CellWrapper):
    """A cell to whose output its input is added.

    Wu et al.: Google's Neural Machine Translation System (2016).

    Parameters
    ----------
    cell
        The cell inside.
    residual_fn
        A function from the input and the output to the output of the wrapper, by default their
        sum.
    kwargs
        As for `RNNCell`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3))
    >>> output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    @takes(residual_fn=or_none(FUNCTION))
    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = _sum if residual_fn is None else residual_fn

    def _step(self, inputs: Any, state: Any, inner: Callable[[Any, Any], Any]) -> Any:
        outputs, after = inner(inputs, state)
        return self._residual_fn(inputs, outputs), after


def _sum(inputs: Any, outputs: Any) -> Any:
    def checked_sum(one: Any, other: Any) -> Any:
        one.shape.assert_is_compatible_with(other.shape)
        return one + other

    return nest.map_structure(checked_sum, inputs, outputs)


@public("nn.rnn_cell.DeviceWrapper")
class DeviceWrapper(CellWrapper):
    """A cell on a device.

    Parameters
    ----------
    cell
        The cell inside.
    device
        As for `tf.device`.
    kwargs
        As for `RNNCell`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(3), "/cpu:0")
    >>> cell.zero_state(2, tf.float32).device
    '/device:CPU:0'
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        with scopes.device(device):  # refuses what is no device
            super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros, on the device.

        Parameters
        ----------
        batch_size
            An integer or a scalar tensor.
        dtype
            Type of the elements.
        """
        with scopes.name_scope(type(self).__name__ + "ZeroState"), self._on_device():
            return self.cell.zero_state(batch_size, dtype)

    def _on_device(self) -> AbstractContextManager[None]:
        return scopes.device(self._device)

    def _step(self, inputs: Any, state: Any, inner: Callable[[Any, Any], Any]) -> Any:
        with self._on_device():
            return inner(inputs, state)
