"""Cells whose state is their output: the plain one, and that with gates."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, INTEGER, takes
from millstream._impl.layers import configuration
from millstream._impl.layers.configuration import ACTIVATION, INITIALIZER
from millstream._impl.ops import array_join
from millstream._impl.rnn.arguments import REUSE
from millstream._impl.rnn.cell import LayerRNNCell, affine, check_floating, depth_of
from millstream._impl.variables import initializers

# Initializers of no state, which all cells share.
_ZEROS = initializers.Zeros()
_ONES = initializers.Constant(1.0)


class _Units(LayerRNNCell):
    """A cell of so many units, whose state is its output."""

    _described: tuple[str, ...] = ("num_units", "activation", "reuse")

    def __init__(self, num_units: Any, activation: Any, common: tuple[Any, ...]) -> None:
        super().__init__(*common)
        self._num_units = int(num_units)
        self._activation = configuration.cell_activation(activation)

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_units


@public("nn.rnn_cell.BasicRNNCell")
class BasicRNNCell(_Units):
    """``output = state = activation([inputs, state] @ kernel + bias)``.

    Parameters
    ----------
    num_units
        The size of the output.
    activation
        A function, by default `tf.tanh`.
    reuse
        Whether the variables exist already.
    name, dtype, kwargs
        As for `tf.layers.Layer`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.BasicRNNCell(3)
    >>> output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    >>> [(v.name, v.shape.as_list()) for v in cell.variables]
    [('basic_rnn_cell/kernel:0', [7, 3]), ('basic_rnn_cell/bias:0', [3])]
    """

    @takes(num_units=INTEGER, activation=ACTIVATION, reuse=REUSE, dtype=DTYPE)
    def __init__(
        self,
        num_units: Any,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, (reuse, name, dtype, kwargs))

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        size = depth_of(input_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [size, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=_ZEROS)
        super().build(input_shape)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state, which are one."""
        check_floating(inputs, state)
        output = self._activation(affine(inputs, state, self._kernel, self._bias))
        return output, output


@public("nn.rnn_cell.GRUCell")
class GRUCell(_Units):
    """A cell with a gate that resets the state and one that keeps it.

    Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder (2014).

    Parameters
    ----------
    num_units
        The size of the output.
    activation
        A function, by default `tf.tanh`.
    reuse
        Whether the variables exist already.
    kernel_initializer
        Of both kernels, as for `get_variable`.
    bias_initializer
        Of both biases; by default ones for the gates, and zeros for the candidate.
    name, dtype, kwargs
        As for `tf.layers.Layer`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.GRUCell(3)
    >>> output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    >>> [v.op.name for v in cell.variables][:2]
    ['gru_cell/gates/kernel', 'gru_cell/gates/bias']
    """

    _described = ("num_units", "activation", "reuse", "kernel_initializer", "bias_initializer")

    @takes(
        num_units=INTEGER,
        activation=ACTIVATION,
        reuse=REUSE,
        kernel_initializer=INITIALIZER,
        bias_initializer=INITIALIZER,
        dtype=DTYPE,
    )
    def __init__(
        self,
        num_units: Any,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, (reuse, name, dtype, kwargs))
        self._kernel_initializer = configuration.initializer(
            kernel_initializer, "kernel_initializer"
        )
        self._bias_initializer = configuration.initializer(bias_initializer, "bias_initializer")

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        rows = depth_of(input_shape) + self._num_units
        self._gate_kernel, self._gate_bias = self._pair("gates", rows, 2 * self._num_units, _ONES)
        self._candidate_kernel, self._candidate_bias = self._pair(
            "candidate", rows, self._num_units, _ZEROS
        )
        super().build(input_shape)

    def _pair(self, name: str, rows: int, columns: int, bias: Any) -> tuple[Any, Any]:
        if self._bias_initializer is not None:
            bias = self._bias_initializer
        return (
            self.add_variable(
                f"{name}/kernel", [rows, columns], initializer=self._kernel_initializer
            ),
            self.add_variable(f"{name}/bias", [columns], initializer=bias),
        )

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state, which are one."""
        check_floating(inputs, state)
        gates = gen_ops.sigmoid(affine(inputs, state, self._gate_kernel, self._gate_bias))
        reset, keep = array_join.split(gates, 2, 1)
        candidate = self._activation(
            affine(inputs, reset * state, self._candidate_kernel, self._candidate_bias)
        )
        output = keep * state + (1.0 - keep) * candidate
        return output, output
