"""Networks over sequences of any number of steps, by a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, TENSOR, takes
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, array_ops, check_ops, loops, math_ops, nest, reductions
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.rnn import reversal, shapes
from millstream._impl.rnn.arguments import COUNT, SCOPE, STATE
from millstream._impl.rnn.cell import check_cell, state_before
from millstream._impl.rnn.step import Lengths, length_vector, run_step_always
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape
from millstream._impl.variables.variable_scope import variable_scope


@public("nn.dynamic_rnn")
@takes(
    inputs=STATE,
    sequence_length=TENSOR,
    initial_state=STATE,
    dtype=DTYPE,
    parallel_iterations=COUNT,
    scope=SCOPE,
)
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Run a cell over a tensor of sequences.

    Parameters
    ----------
    cell
        An `RNNCell`.
    inputs
        A tensor [batch, time, size], or a structure of such tensors.
    sequence_length
        The lengths of the sequences. Past its end, a sequence gives zeros and keeps its state.
    initial_state
        The state before, nested as the cell's `state_size`; zeros by default.
    dtype
        Type of the state and the outputs, needed without `initial_state`.
    parallel_iterations
        How many steps may run at once, where one does not need what another gives; 32 by default.
    swap_memory
        As for `tf.while_loop`.
    time_major
        Whether inputs and outputs are [time, batch, size], which saves transposing them.
    scope
        The scope of the variables, a name or a `VariableScope`; by default "rnn".

    Returns
    -------
    tuple
        The outputs of all steps, [batch, time, size], and the last state.

    Raises
    ------
    TypeError
        `cell` is no cell.
    ValueError
        The size of an input is not known, or neither state nor type are given.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 4]), dtype=tf.float32)
    >>> outputs.shape.as_list(), state.shape.as_list()
    ([2, 5, 3], [2, 3])
    >>> cell.variables[0].op.name
    'rnn/gru_cell/gates/kernel'
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(_transposed, inputs)
        lengths = None
        if sequence_length is not None:
            lengths = gen_ops.identity(length_vector(sequence_length), name="sequence_length")
        batch_size = _batch_size(nest.flatten(inputs))
        state = initial_state
        if state is None:
            if dtype is None:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = state_before(cell, batch_size, dtype)
        if lengths is not None:
            with scopes.control_dependencies([_checks_shape(lengths, batch_size)]):
                lengths = gen_ops.identity(lengths, name="CheckSeqLen")
        network = _Network(cell, inputs, state, dtype)
        outputs, last = network.run(lengths, parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = nest.map_structure(_transposed, outputs)
        return outputs, last


def _transposed(value: Tensor) -> Tensor:
    """A tensor [batch, time, ...] as [time, batch, ...] or the reverse."""
    rank = value.shape.ndims
    if rank is None:
        ranks = math_ops.range(2, array_ops.rank(value))
        return array_ops.transpose(value, array_join.concat([[1, 0], ranks], 0))
    if rank < 2:
        raise ValueError(
            f"Expected input tensor {value} to have rank at least 2, but saw shape: {value.shape}"
        )
    return array_ops.transpose(value, [1, 0, *range(2, rank)])


def _batch_size(inputs: list[Tensor]) -> Any:
    """The number of examples: an integer if a shape says it, else a tensor."""
    for value in inputs:
        rank = value.shape.ndims
        if rank is not None and rank < 2:
            raise ValueError(f"Expected input tensor {value} to have rank at least 2")
        if rank is not None and value.shape.as_list()[1] is not None:
            return value.shape.as_list()[1]
    return array_ops.shape(inputs[0])[1]


def _checks_shape(lengths: Tensor, batch_size: Any) -> Any:
    """An operation that fails unless there is a length for each example."""
    found = array_ops.shape(lengths)
    wanted = array_join.stack([batch_size])
    return check_ops.Assert(
        reductions.reduce_all(gen_ops.equal(found, wanted)),
        [f"Expected shape for Tensor {lengths.name} is ", wanted, " but saw shape: ", found],
    )


def _steps_to_run(all_steps: Tensor, longest: Tensor, state: Any) -> Tensor:
    """How many steps a loop runs: as many as the longest sequence has.

    Behind it, each sequence gives zeros and keeps its state. So the runtime may run all steps,
    whose number it may know, and the attribute says so. But what has no rows, as a number of
    steps, changes in each of them.
    """
    if not all(_has_rows(leaf) for leaf in nest.flatten(state)):
        return math_ops.minimum(all_steps, longest)
    graph = all_steps.graph
    attrs = [("_idle_beyond", "b", True)]
    name = graph.op_name("Minimum")
    return graph.add("Minimum", name, [all_steps, longest], [1, 1], attrs).outputs[0]


def _has_rows(state: Any) -> bool:
    if isinstance(state, TensorArray):
        return False
    rank = state.shape.ndims if isinstance(state, TensorLike) else np.ndim(state)
    return rank is None or rank > 0


class _Network:
    """A cell, and the sequences that it runs over.

    Parameters
    ----------
    cell
        The cell.
    inputs
        Tensors [time, batch, ...] in the structure that the cell takes.
    state
        The state before.
    dtype
        Type of the outputs; by default that of the state.
    """

    def __init__(self, cell: Any, inputs: Any, state: Any, dtype: Any) -> None:
        self._cell = cell
        self._inputs = inputs
        self._state = state
        self._flat = nest.flatten(inputs)
        self._shapes = [value.shape.with_rank_at_least(3) for value in self._flat]
        self._known = _common_sizes(self._shapes)
        self._dtype = shapes.dtype_of_state(dtype, state)
        self._steps = array_ops.shape(self._flat[0])[0]
        self._sizes = nest.flatten(cell.output_size)

    def run(
        self, lengths: Tensor | None, parallel_iterations: int, swap_memory: bool
    ) -> tuple[Any, Any]:
        """The outputs [time, batch, ...] and the last state."""
        cell, bound, ends, zero_output = self._cell, self._steps, None, None
        if lengths is not None:
            batch_size = _batch_size(self._flat)
            zero_output = shapes.zero_structure(cell.output_size, batch_size, self._dtype)
            ends = Lengths(lengths)
            # One step at least, so that the arrays of outputs know their elements' shapes.
            longest = math_ops.maximum(1, ends.greatest)
            bound = _steps_to_run(bound, longest, self._state)
        time = constant(0, dtypes.int32, name="time")
        outputs, inputs = self._arrays()

        def step(time: Tensor, outputs: tuple[Any, ...], state: Any) -> Any:
            value = self._read(inputs, time)
            if ends is None:
                output, state = cell(value, state)
            else:
                call = lambda: cell(value, state)  # noqa: E731
                output, state = run_step_always(time, ends, zero_output, state, call)
            pairs = zip(outputs, nest.flatten(output), strict=True)
            return time + 1, tuple(array.write(time, each) for array, each in pairs), state

        _, outputs, last = loops.while_loop(
            lambda time, *_: time < bound,
            step,
            (time, outputs, self._state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self._steps,
            swap_memory=swap_memory,
        )
        stacked = [array.stack() for array in outputs]
        for value, size in zip(stacked, self._sizes, strict=True):
            value.set_shape(TensorShape(self._known).concatenate(shapes.static_size(size)))
        return nest.pack_sequence_as(cell.output_size, stacked), last

    def _arrays(self) -> tuple[tuple[Any, ...], list[Any]]:
        """Arrays of the outputs, empty, and of the inputs."""
        with scopes.name_scope("dynamic_rnn") as base:
            pass
        batch = TensorShape(self._known[1:])
        outputs = tuple(
            TensorArray(
                self._dtype,
                self._steps,
                element_shape=batch.concatenate(shapes.static_size(size)),
                tensor_array_name=f"{base}output_{index}",
            )
            for index, size in enumerate(self._sizes)
        )
        inputs = [
            TensorArray(
                value.dtype.base_dtype,
                self._steps,
                element_shape=value.shape[1:],
                tensor_array_name=f"{base}input_{index}",
            )
            for index, value in enumerate(self._flat)
        ]
        filled = [array.unstack(value) for array, value in zip(inputs, self._flat, strict=True)]
        return outputs, filled

    def _read(self, arrays: list[Any], time: Tensor) -> Any:
        """The inputs of a step."""
        values = [array.read(time) for array in arrays]
        for value, shape in zip(values, self._shapes, strict=True):
            value.set_shape(shape[1:])
        return nest.pack_sequence_as(self._inputs, values)


def _common_sizes(shapes_of_inputs: list[TensorShape]) -> list[int | None]:
    """The numbers of steps and of examples that all inputs have; None for what is not known."""
    steps, batch = shapes_of_inputs[0].as_list()[:2]
    for shape in shapes_of_inputs:
        sizes = shape.as_list()
        if None in sizes[2:]:
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw "
                "value None."
            )
        if sizes[0] != steps:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch: "
                f"{steps} and {sizes[0]}"
            )
        if sizes[1] != batch:
            raise ValueError(
                "Batch_size is not the same for all the elements in the input: "
                f"{batch} and {sizes[1]}"
            )
    return [steps, batch]


@public("nn.bidirectional_dynamic_rnn")
@takes(
    inputs=STATE,
    sequence_length=TENSOR,
    initial_state_fw=STATE,
    initial_state_bw=STATE,
    dtype=DTYPE,
    parallel_iterations=COUNT,
    scope=SCOPE,
)
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Run a cell over a tensor of sequences from the start, and another one from the end.

    Parameters
    ----------
    cell_fw, cell_bw
        The cells: an `RNNCell` each.
    inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major
        As for `dynamic_rnn`.
    initial_state_fw, initial_state_bw
        The states before; zeros by default.
    scope
        The scope of the variables; by default "bidirectional_rnn".

    Returns
    -------
    tuple
        The pair of both cells' outputs, and the pair of their last states.

    Examples
    --------
    >>> cells = [tf.nn.rnn_cell.GRUCell(size) for size in (3, 4)]
    >>> outputs, states = tf.nn.bidirectional_dynamic_rnn(
    ...     *cells, tf.ones([2, 5, 1]), dtype=tf.float32
    ... )
    >>> tf.concat(outputs, 2).shape.as_list()
    [2, 5, 7]
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis = 0 if time_major else 1
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            ahead, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype,
                parallel_iterations, swap_memory, time_major, forward,
            )  # fmt: skip
        with variable_scope("bw") as backward:
            turned = _from_end(inputs, sequence_length, time_axis)
            back, state_bw = dynamic_rnn(
                cell_bw, turned, sequence_length, initial_state_bw, dtype,
                parallel_iterations, swap_memory, time_major, backward,
            )  # fmt: skip
    return (ahead, _from_end(back, sequence_length, time_axis)), (state_fw, state_bw)


def _from_end(values: Any, lengths: Any, time_axis: int) -> Any:
    return nest.map_structure(lambda value: reversal.from_end(value, lengths, time_axis), values)
