"""Cells with a memory beside their output (long short-term memory)."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGER,
    NUMBER,
    or_none,
    takes,
)
from millstream._impl.graph.convert import constant
from millstream._impl.graph.operation import Tensor
from millstream._impl.layers import configuration
from millstream._impl.layers.configuration import ACTIVATION, INITIALIZER
from millstream._impl.ops import array_join, array_ops, math_ops, matmul_ops
from millstream._impl.rnn.arguments import REUSE
from millstream._impl.rnn.cell import LayerRNNCell, affine, check_floating, depth_of
from millstream._impl.variables import initializers, partitioners

_logger = logging.getLogger("millstream")

# Initializers of no state, which all cells share.
_ZEROS = initializers.Zeros()


class _Pair(NamedTuple):
    c: Any
    h: Any


@public("nn.rnn_cell.LSTMStateTuple")
class LSTMStateTuple(_Pair):
    """The state of a cell: its memory and its output; also the sizes of both.

    Parameters
    ----------
    c
        The memory.
    h
        The output.

    Examples
    --------
    >>> tf.nn.rnn_cell.BasicLSTMCell(3).state_size
    LSTMStateTuple(c=3, h=3)
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(
                f"Inconsistent internal state: {self.c.dtype.name} vs {self.h.dtype.name}"
            )
        return self.c.dtype


class _LSTM(LayerRNNCell):
    """What both cells share: their kernel of four columns a unit, and how the state is held."""

    _described: tuple[str, ...] = (
        *("num_units", "forget_bias", "state_is_tuple", "activation", "reuse"),
    )

    def __init__(
        self,
        units: tuple[int, int | None],
        forget_bias: Any,
        state_is_tuple: bool,
        activation: Any,
        common: tuple[Any, Any, Any, dict[str, Any]],
    ) -> None:
        super().__init__(*common)
        self._num_units, self._num_proj = units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = configuration.cell_activation(activation)
        if not state_is_tuple:
            _logger.warning(
                "%s: Using a concatenated state is slower and will soon be deprecated. "
                "Use state_is_tuple=True.",
                self,
            )

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        """The sizes of the state, or their sum when it is one tensor."""
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self.output_size)
        return self._num_units + self.output_size

    def _add_kernel(self, input_shape: Any, **arguments: Any) -> None:
        rows, columns = depth_of(input_shape) + self.output_size, 4 * self._num_units
        self._kernel = self.add_variable("kernel", [rows, columns], **arguments)

    def _add_bias(self) -> None:
        self._bias = self.add_variable("bias", [4 * self._num_units], initializer=_ZEROS)

    def _held(self, memory: Tensor, output: Tensor) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(memory, output)
        return array_join.concat([memory, output], 1)


@public("nn.rnn_cell.BasicLSTMCell")
class BasicLSTMCell(_LSTM):
    """A cell with a memory that gates write, keep and show.

    Zaremba et al.: Recurrent Neural Network Regularization (2014). `LSTMCell` can do more.

    Parameters
    ----------
    num_units
        The size of the memory and of the output.
    forget_bias
        What is added to the gate that keeps the memory.
    state_is_tuple
        Whether the state is an `LSTMStateTuple`, or both tensors as one of twice the size.
    activation
        A function, by default `tf.tanh`.
    reuse
        Whether the variables exist already.
    name, dtype, kwargs
        As for `tf.layers.Layer`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    >>> output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    >>> [(v.name, v.shape.as_list()) for v in cell.variables]
    [('basic_lstm_cell/kernel:0', [7, 12]), ('basic_lstm_cell/bias:0', [12])]
    """

    @takes(
        num_units=INTEGER,
        forget_bias=NUMBER,
        activation=ACTIVATION,
        reuse=REUSE,
        dtype=DTYPE,
    )
    def __init__(
        self,
        num_units: Any,
        forget_bias: Any = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        common = (reuse, name, dtype, kwargs)
        units = (int(num_units), None)
        super().__init__(units, forget_bias, state_is_tuple, activation, common)

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        self._add_kernel(input_shape)
        self._add_bias()
        super().build(input_shape)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state."""
        check_floating(inputs, state)
        memory, shown = state if self._state_is_tuple else array_join.split(state, 2, 1)
        gates = affine(inputs, shown, self._kernel, self._bias)
        write, new, keep, show = array_join.split(gates, 4, 1)
        # Functions and no operators: they say the names of the operations.
        add, mul, sigmoid = gen_ops.add, gen_ops.mul, gen_ops.sigmoid
        kept = mul(memory, sigmoid(add(keep, constant(self._forget_bias, keep.dtype))))
        memory = add(kept, mul(sigmoid(write), self._activation(new)))
        output = mul(self._activation(memory), sigmoid(show))
        return output, self._held(memory, output)


@public("nn.rnn_cell.LSTMCell")
class LSTMCell(_LSTM):
    """A cell with a memory, with more choices than `BasicLSTMCell`.

    Sak et al.: Long Short-Term Memory Recurrent Neural Network Architectures for Large Scale
    Acoustic Modeling (2014), for peepholes and projections.

    Parameters
    ----------
    num_units
        The size of the memory.
    use_peepholes
        Whether the gates see the memory, each unit its own.
    cell_clip
        A bound for the size of the memory's numbers, or None.
    initializer
        Of the kernels and of the peepholes' weights, as for `get_variable`.
    num_proj
        The size of the output where it is a projection, else None.
    proj_clip
        A bound for the size of the projection's numbers, or None.
    num_unit_shards, num_proj_shards
        Numbers of parts of the kernels; a partitioner of the scope takes their place.
    forget_bias
        What is added to the gate that keeps the memory.
    state_is_tuple
        Whether the state is an `LSTMStateTuple`, or both tensors as one.
    activation
        A function, by default `tf.tanh`.
    reuse
        Whether the variables exist already.
    name, dtype, kwargs
        As for `tf.layers.Layer`.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True, num_proj=2)
    >>> output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    >>> cell.state_size
    LSTMStateTuple(c=3, h=2)
    >>> [v.op.name for v in cell.variables][2:]  # doctest: +NORMALIZE_WHITESPACE
    ['lstm_cell/w_f_diag', 'lstm_cell/w_i_diag', 'lstm_cell/w_o_diag',
     'lstm_cell/projection/kernel']
    """

    _described = (
        *("num_units", "use_peepholes", "cell_clip", "initializer", "num_proj", "proj_clip"),
        *("num_unit_shards", "num_proj_shards", "forget_bias", "state_is_tuple", "activation"),
        "reuse",
    )

    @takes(
        num_units=INTEGER,
        cell_clip=or_none(NUMBER),
        initializer=INITIALIZER,
        num_proj=or_none(INTEGER),
        proj_clip=or_none(NUMBER),
        num_unit_shards=or_none(INTEGER),
        num_proj_shards=or_none(INTEGER),
        forget_bias=NUMBER,
        activation=ACTIVATION,
        reuse=REUSE,
        dtype=DTYPE,
    )
    def __init__(
        self,
        num_units: Any,
        use_peepholes: bool = False,
        cell_clip: Any = None,
        initializer: Any = None,
        num_proj: Any = None,
        proj_clip: Any = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: Any = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        units = (int(num_units), None if num_proj is None else int(num_proj))
        common = (reuse, name, dtype, kwargs)
        super().__init__(units, forget_bias, state_is_tuple, activation, common)
        if num_unit_shards is not None or num_proj_shards is not None:
            _logger.warning(
                "%s: The num_unit_shards and num_proj_shards parameters are deprecated. "
                "Use a variable scope with a partitioner instead.",
                self,
            )
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = configuration.initializer(initializer, "initializer")
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        self._add_kernel(
            input_shape,
            initializer=self._initializer,
            partitioner=_in_parts(self._num_unit_shards),
        )
        self._add_bias()
        if self._use_peepholes:
            self._keep_weights, self._write_weights, self._show_weights = (
                self.add_variable(name, [self._num_units], initializer=self._initializer)
                for name in ("w_f_diag", "w_i_diag", "w_o_diag")
            )
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel",
                [self._num_units, self._num_proj],
                initializer=self._initializer,
                partitioner=_in_parts(self._num_proj_shards),
            )
        super().build(input_shape)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state."""
        check_floating(inputs, state)
        before, shown = state if self._state_is_tuple else self._taken_apart(state)
        gates = affine(inputs, shown, self._kernel, self._bias)
        write, new, keep, show = array_join.split(gates, 4, 1)
        keep = keep + self._forget_bias
        if self._use_peepholes:
            keep = keep + self._keep_weights * before
            write = write + self._write_weights * before
        kept = gen_ops.sigmoid(keep) * before
        memory = _clipped(kept + gen_ops.sigmoid(write) * self._activation(new), self._cell_clip)
        if self._use_peepholes:
            show = show + self._show_weights * memory
        output = gen_ops.sigmoid(show) * self._activation(memory)
        if self._num_proj is not None:
            output = _clipped(matmul_ops.matmul(output, self._projection), self._proj_clip)
        return output, self._held(memory, output)

    def _taken_apart(self, state: Tensor) -> tuple[Tensor, Tensor]:
        units = self._num_units
        return (
            array_ops.slice(state, [0, 0], [-1, units]),
            array_ops.slice(state, [0, units], [-1, self.output_size]),
        )


def _in_parts(count: Any) -> Any:
    return None if count is None else partitioners.fixed_size_partitioner(int(count))


def _clipped(value: Tensor, bound: Any) -> Any:
    return value if bound is None else math_ops.clip_by_value(value, -bound, bound)
