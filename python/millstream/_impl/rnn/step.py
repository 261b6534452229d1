"""One step of a network over sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, conditionals, math_ops, nest, reductions
from millstream._impl.values import dtypes

# Gives an output and the state after.
Call = Callable[[], tuple[Any, Any]]


class Lengths:
    """The lengths of the sequences of a batch, and what is computed of them once.

    Parameters
    ----------
    lengths
        A vector of int32.
    """

    def __init__(self, lengths: Tensor) -> None:
        self.all = lengths
        self.least = reductions.reduce_min(lengths)
        self.greatest = reductions.reduce_max(lengths)


def length_vector(sequence_length: Any) -> Tensor:
    """Lengths as a vector of int32.

    Raises
    ------
    ValueError
        They are no vector.
    """
    given = convert_to_tensor(sequence_length, name="sequence_length")
    if given.shape.ndims not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {given.shape}"
        )
    return math_ops.cast(given, dtypes.int32)


def chosen(ended: Tensor, before: Any, after: Any) -> Any:
    """Rows of `before` for the sequences that have ended, else rows of `after`, leaf by leaf.

    Scalars and arrays of tensors have no rows: `after` has them.
    """

    def choose(one: Any, other: Any) -> Any:
        if not isinstance(one, Tensor) or one.shape.ndims == 0:
            return other
        with scopes.colocate_with(other):
            return array_ops.where(ended, one, other)

    return nest.map_structure(choose, before, after, check_types=False)


def run_step(time: Any, lengths: Lengths, zero_output: Any, state: Any, call: Call) -> Any:
    """The output and the state after a step, which runs where sequences have not ended.

    Sequences that have ended give zeros and keep their state.

    Parameters
    ----------
    time
        The number of the step, from 0.
    lengths
        The lengths.
    zero_output
        What sequences give that have ended.
    state
        The state before.
    call
        Runs the step.
    """

    def run() -> list[Any]:
        output, after = checked_call(call, zero_output, state)
        new = [*nest.flatten(output), *nest.flatten(after)]

        def copy_some() -> list[Any]:
            return list(chosen(time >= lengths.all, old, new))

        return list(conditionals.cond(time < lengths.least, lambda: new, copy_some))

    old = [*nest.flatten(zero_output), *nest.flatten(state)]
    found = list(conditionals.cond(time >= lengths.greatest, lambda: old, run))
    return unpacked(found, zero_output, state)


def run_step_always(time: Any, lengths: Lengths, zero_output: Any, state: Any, call: Call) -> Any:
    """As `run_step`, for steps that most sequences take: it runs in any case."""
    output, after = checked_call(call, zero_output, state)
    old = [*nest.flatten(zero_output), *nest.flatten(state)]
    new = [*nest.flatten(output), *nest.flatten(after)]
    return unpacked(list(chosen(time >= lengths.all, old, new)), zero_output, state)


def checked_call(call: Call, zero_output: Any, state: Any) -> tuple[Any, Any]:
    """What a step gives, nested as the sizes of the cell say."""
    output, after = call()
    nest.assert_same_structure(zero_output, output)
    nest.assert_same_structure(state, after)
    return output, after


def unpacked(found: list[Any], zero_output: Any, state: Any) -> tuple[Any, Any]:
    """Tensors of outputs and states, in the shapes that they had before, as structures."""
    old = [*nest.flatten(zero_output), *nest.flatten(state)]
    for one, other in zip(found, old, strict=True):
        if isinstance(other, Tensor):
            one.set_shape(other.shape)
    count = len(nest.flatten(zero_output))
    return (
        nest.pack_sequence_as(zero_output, found[:count]),
        nest.pack_sequence_as(state, found[count:]),
    )
