"""A network whose loop a function of the program steers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import takes
from millstream._impl.graph.convert import constant, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, loops, nest, reductions
from millstream._impl.ops.tensor_array import TensorArray
from millstream._impl.rnn import shapes
from millstream._impl.rnn.arguments import COUNT, SCOPE
from millstream._impl.rnn.cell import check_cell
from millstream._impl.rnn.step import chosen
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import Dimension, TensorShape
from millstream._impl.variables.variable_scope import variable_scope


@public("nn.raw_rnn")
@takes(parallel_iterations=COUNT, scope=SCOPE)
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a cell whose inputs a function makes, from its outputs if need be.

    `loop_fn` is called twice while the graph is built: for the time before the first step, with
    None for all but the time, and for the time after each step.

    Parameters
    ----------
    cell
        An `RNNCell`.
    loop_fn
        A function ``(time, cell_output, cell_state, loop_state)`` that gives a tuple: which
        sequences have ended (a vector of bool), the next input, the next state, what is emitted,
        and the next loop state, which may be anything, or None. What is emitted at first says the
        shapes and types for one example; None stands for the output of the cell.
    parallel_iterations
        How many steps may run at once, where one does not need what another gives; 32 by default.
    swap_memory
        As for `tf.while_loop`.
    scope
        The scope of the variables, a name or a `VariableScope`; by default "rnn".

    Returns
    -------
    tuple
        What was emitted, in an array of tensors (or a structure of them); the last state; and the
        last loop state. A sequence that has ended emits zeros and keeps its state.

    Raises
    ------
    TypeError
        `cell` is no cell, or `loop_fn` no function.
    ValueError
        What the function gives is not nested as it should be.

    Examples
    --------
    >>> x = tf.ones([5, 2, 4])
    >>> cell = tf.nn.rnn_cell.GRUCell(3)
    >>> def loop_fn(time, output, state, loop_state):
    ...     following = tf.gather(x, tf.minimum(time, 4))
    ...     state = cell.zero_state(2, tf.float32) if output is None else state
    ...     return tf.fill([2], time >= 5), following, state, output, None
    >>> outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    >>> tf.global_variables_initializer().run()
    >>> outputs.stack().eval().shape
    (5, 2, 3)
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn must be a callable, got {loop_fn!r}")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtypes.int32)
        ended, value, state, emitted, loop_state = loop_fn(time, None, None, None)
        state = _checked_state(state, cell)
        value = nest.map_structure(convert_to_tensor, value)
        batch = _Batch(nest.flatten(value))
        zero_emit, arrays = _emitted_at_first(emitted, cell, state, batch)
        has_loop_state = loop_state is not None

        def step(
            time: Tensor, ended: Tensor, value: Any, arrays: Any, state: Any, loop_state: Any
        ) -> Any:
            output, after = cell(value, state)
            nest.assert_same_structure(state, after)
            nest.assert_same_structure(cell.output_size, output)
            following = time + 1
            ends, next_value, after, emitted, next_loop_state = loop_fn(
                following, output, after, loop_state
            )
            nest.assert_same_structure(state, after)
            nest.assert_same_structure(value, next_value)
            nest.assert_same_structure(arrays, emitted)
            emitted = chosen(ended, zero_emit, emitted)
            after = chosen(ended, state, after)
            arrays = nest.map_structure(
                lambda array, each: array.write(time, each), arrays, emitted
            )
            ended = gen_ops.logical_or(ended, ends)
            kept = loop_state if next_loop_state is None else next_loop_state
            return following, ended, next_value, arrays, after, kept

        stand_in = loop_state if has_loop_state else constant(0, dtypes.int32)
        *_, arrays, state, loop_state = loops.while_loop(
            lambda _, ended, *others: gen_ops.logical_not(reductions.reduce_all(ended)),
            step,
            [time, ended, value, arrays, state, stand_in],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return arrays, state, loop_state if has_loop_state else None


class _Batch:
    """The number of examples: what shapes say of it, and what it is in a step."""

    def __init__(self, inputs: list[Tensor]) -> None:
        known = Dimension(None)
        for value in inputs:
            own = Dimension(None) if value.shape.ndims is None else value.shape[0]
            known.assert_is_compatible_with(own)
            known = known.merge_with(own)
        self.static = TensorShape([known])
        self.size: Any = known.value
        if self.size is None:
            self.size = array_ops.shape(inputs[0])[0]


def _checked_state(state: Any, cell: Any) -> Any:
    nest.assert_same_structure(state, cell.state_size)
    return nest.map_structure(convert_to_tensor, state)


def _emitted_at_first(emitted: Any, cell: Any, state: Any, batch: _Batch) -> tuple[Any, Any]:
    """Zeros that sequences emit that have ended, and empty arrays for what is emitted."""
    structure = cell.output_size if emitted is None else emitted
    leaves = nest.flatten(structure)
    if emitted is None:
        sizes = leaves
        types = [nest.flatten(state)[0].dtype.base_dtype] * len(leaves)
    else:
        leaves = [convert_to_tensor(leaf) for leaf in leaves]
        known = [leaf.shape for leaf in leaves]
        sizes = [
            shape if shape.is_fully_defined() else array_ops.shape(leaf)
            for shape, leaf in zip(known, leaves, strict=True)
        ]
        types = [leaf.dtype.base_dtype for leaf in leaves]
    pairs = list(zip(sizes, types, strict=True))
    arrays = [
        TensorArray(
            dtype,
            0,
            dynamic_size=True,
            element_shape=batch.static.concatenate(shapes.static_size(size)),
            name=f"rnn_output_{index}",
        )
        for index, (size, dtype) in enumerate(pairs)
    ]
    zeros = [shapes.zeros(batch.size, size, dtype) for size, dtype in pairs]
    return nest.pack_sequence_as(structure, zeros), nest.pack_sequence_as(structure, arrays)
