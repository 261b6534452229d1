"""Networks over sequences of a known number of steps, each of which has its own operations."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, nest
from millstream._impl.rnn import reversal, shapes
from millstream._impl.rnn.arguments import SCOPE, STATE
from millstream._impl.rnn.cell import check_cell, state_before
from millstream._impl.rnn.step import Lengths, length_vector, run_step
from millstream._impl.values.tensor_shape import Dimension
from millstream._impl.variables.variable_scope import variable_scope


@public("nn.static_rnn")
@takes(initial_state=STATE, dtype=DTYPE, sequence_length=TENSOR, scope=SCOPE)
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Run a cell over a list of inputs, one for each step.

    Parameters
    ----------
    cell
        An `RNNCell`.
    inputs
        A list of tensors [batch, size], or of structures of tensors.
    initial_state
        The state before, nested as the cell's `state_size`; zeros by default.
    dtype
        Type of the state and the outputs, needed without `initial_state`.
    sequence_length
        The lengths of the sequences. Past its end, a sequence gives zeros and keeps its state.
    scope
        The scope of the variables, a name or a `VariableScope`; by default "rnn".

    Returns
    -------
    tuple
        The list of the outputs, and the last state.

    Raises
    ------
    TypeError
        `cell` is no cell, or `inputs` no list.
    ValueError
        `inputs` is empty or of unknown size, or neither state nor type are given.

    Examples
    --------
    >>> cell = tf.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = tf.nn.static_rnn(cell, [tf.ones([2, 4])] * 5, dtype=tf.float32)
    >>> len(outputs), outputs[0].shape.as_list()
    (5, [2, 3])
    >>> cell.variables[0].op.name
    'rnn/gru_cell/gates/kernel'
    """
    check_cell("cell", cell)
    _check_inputs(inputs)
    outputs = []
    with variable_scope(scope or "rnn") as entered:
        first: Any = nest.flatten(inputs[0])[0]
        batch_size: Any = _batch_of(inputs)
        if batch_size is None:
            batch_size = array_ops.shape(first)[0]
        state = initial_state
        if state is None:
            if dtype is None:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = state_before(cell, batch_size, dtype)
        lengths = zero_output = None
        if sequence_length is not None:
            vector = length_vector(sequence_length)
            kind = shapes.dtype_of_state(dtype, state)
            zero_output = shapes.zero_structure(cell.output_size, batch_size, kind)
            lengths = Lengths(vector)
        for time, value in enumerate(inputs):
            if time > 0:
                entered.reuse_variables()
            if lengths is None:
                output, state = cell(value, state)
            else:
                output, state = run_step(
                    time, lengths, zero_output, state, _call(cell, value, state)
                )
            outputs.append(output)
    return outputs, state


def _call(cell: Any, value: Any, state: Any) -> Any:
    return lambda: cell(value, state)


def _check_inputs(inputs: Any) -> None:
    if not nest.is_nested(inputs):
        raise TypeError(f"inputs must be a sequence, got {inputs!r}")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _batch_of(inputs: Any) -> int | None:
    """The size of the batch that all inputs have, None where no shape says it."""
    batch = Dimension(None)
    for value in nest.flatten(inputs):
        shape = convert_to_tensor(value).shape
        if shape.ndims == 1 and not batch.value:
            batch = batch.merge_with(shape[0])
            continue
        shape = shape.with_rank_at_least(2)
        batch = batch.merge_with(shape[0])
        for axis, size in enumerate(shape.as_list()[1:]):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {axis} of inputs) must be accessible via shape "
                    "inference, but saw value None."
                )
    return batch.value


@public("nn.static_bidirectional_rnn")
@takes(
    initial_state_fw=STATE,
    initial_state_bw=STATE,
    dtype=DTYPE,
    sequence_length=TENSOR,
    scope=SCOPE,
)
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a cell over a list of inputs from the start, and another one from the end.

    Parameters
    ----------
    cell_fw, cell_bw
        The cells: an `RNNCell` each.
    inputs, dtype, sequence_length
        As for `static_rnn`.
    initial_state_fw, initial_state_bw
        The states before; zeros by default.
    scope
        The scope of the variables; by default "bidirectional_rnn".

    Returns
    -------
    tuple
        The list of the outputs, which are those of both cells side by side, and the last state
        of each.

    Examples
    --------
    >>> cells = [tf.nn.rnn_cell.GRUCell(size) for size in (3, 4)]
    >>> outputs, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
    ...     *cells, [tf.ones([2, 1])] * 5, dtype=tf.float32
    ... )
    >>> outputs[0].shape.as_list(), cells[1].variables[0].op.name
    ([2, 7], 'bidirectional_rnn/bw/gru_cell/gates/kernel')
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            ahead, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=forward
            )
        with variable_scope("bw") as backward:
            turned = _from_end(inputs, sequence_length)
            back, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, scope=backward
            )
    back = _from_end(back, sequence_length)
    pairs = zip(nest.flatten(ahead), nest.flatten(back), strict=True)
    outputs = [array_join.concat([one, other], 1) for one, other in pairs]
    return nest.pack_sequence_as(ahead, outputs), state_fw, state_bw


def _from_end(steps: Any, lengths: Any) -> list[Any]:
    """A list of steps in reverse; where lengths are given, each sequence from its own end."""
    if lengths is None:
        return list(reversed(steps))
    columns = zip(*(nest.flatten(step) for step in steps), strict=True)
    turned = []
    for column in columns:
        joined = reversal.from_end(array_join.stack(column), lengths, 0)
        turned.append(array_join.unstack(joined, len(column)))
    return [
        nest.pack_sequence_as(step, leaves)
        for step, leaves in zip(steps, zip(*turned, strict=True), strict=True)
    ]


@public("nn.static_state_saving_rnn")
@takes(sequence_length=TENSOR, scope=SCOPE)
def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Run a cell over a list of inputs, from a state that is kept between runs.

    Parameters
    ----------
    cell, inputs, sequence_length, scope
        As for `static_rnn`.
    state_saver
        An object with ``state(name)``, which gives a part of the state before, and
        ``save_state(name, value)``, which gives an operation.
    state_name
        The names of the parts, nested as the cell's `state_size`.

    Returns
    -------
    tuple
        The list of the outputs and the last state. The last output and the state wait until the
        state is saved.

    Raises
    ------
    ValueError
        `state_name` is not nested as the state.

    Examples
    --------
    >>> class Saver:
    ...     kept = tf.get_variable("kept", [2, 3], initializer=tf.zeros_initializer())
    ...     def state(self, name):
    ...         return self.kept.value()
    ...     def save_state(self, name, value):
    ...         return self.kept.assign(value)
    >>> cell = tf.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = tf.nn.static_state_saving_rnn(cell, [tf.ones([2, 4])], Saver(), "kept")
    >>> outputs[0].shape.as_list()
    [2, 3]
    """
    check_cell("cell", cell)
    size = cell.state_size
    names, sizes = nest.flatten(state_name), nest.flatten(size)
    if nest.is_nested(size) != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size. "
            f"state_name: {state_name}, cell.state_size: {size}"
        )
    if len(names) != len(sizes):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
    for method in ("state", "save_state"):
        if not hasattr(state_saver, method):
            raise TypeError(f"state_saver: expected an object with {method}(), got {state_saver!r}")
    before = nest.pack_sequence_as(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=before, sequence_length=sequence_length, scope=scope
    )
    parts = nest.flatten(state)
    saved = [state_saver.save_state(name, part) for name, part in zip(names, parts, strict=True)]
    with scopes.control_dependencies(saved):
        outputs[-1] = nest.map_structure(_same, outputs[-1])
        return outputs, nest.map_structure(_same, state)


def _same(tensor: Any) -> Tensor:
    return array_ops.identity(tensor)
