"""Cells on top of each other."""

from __future__ import annotations

import logging
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.layers.layer import Layer
from millstream._impl.ops import array_join, array_ops, nest
from millstream._impl.rnn.cell import RNNCell, check_cell
from millstream._impl.variables import variable_scope as scope_of_variables

_logger = logging.getLogger("millstream")


@public("nn.rnn_cell.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Several cells as one: the output of each is the input of the next.

    Parameters
    ----------
    cells
        The cells, the lowest first.
    state_is_tuple
        Whether the state is a tuple with that of each cell, or all in one tensor.

    Examples
    --------
    >>> cells = [tf.nn.rnn_cell.GRUCell(size) for size in (5, 3)]
    >>> cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    >>> output, states = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    >>> [state.shape.as_list() for state in states]
    [[2, 5], [2, 3]]
    >>> cell.variables[0].op.name
    'multi_rnn_cell/cell_0/gru_cell/gates/kernel'
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not nest.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells!r}.")
        self._cells = list(cells)
        if not self._cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell: cells is empty")
        for cell in self._cells:
            check_cell("cells", cell)
        if len({id(cell) for cell in self._cells}) < len(self._cells):
            _logger.warning(
                "At least two cells provided to MultiRNNCell are the same object and will share "
                "weights."
            )
        self._state_is_tuple = state_is_tuple
        sizes = [cell.state_size for cell in self._cells]
        if not state_is_tuple and any(nest.is_nested(size) for size in sizes):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {sizes}"
            )

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states, or their sum when all are in one tensor."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The cells' variables that optimizers change."""
        return [v for cell in self._layers() for v in cell.trainable_weights if self.trainable]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The cells' other variables."""
        names = ["non_trainable_weights"]
        if not self.trainable:
            names.insert(0, "trainable_weights")
        return [v for name in names for cell in self._layers() for v in getattr(cell, name)]

    def _layers(self) -> list[Any]:
        return [cell for cell in self._cells if isinstance(cell, Layer)]

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
            if not self._state_is_tuple:
                return super().zero_state(batch_size, dtype)
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output of the last cell, and the states of all."""
        if self._state_is_tuple and not nest.is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        start, current, after = 0, inputs, []
        for index, cell in enumerate(self._cells):
            with scope_of_variables.variable_scope(f"cell_{index}"):
                if self._state_is_tuple:
                    own = state[index]
                else:
                    own = array_ops.slice(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                current, following = cell(current, own)
                after.append(following)
        return current, tuple(after) if self._state_is_tuple else array_join.concat(after, 1)
