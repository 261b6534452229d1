"""Sequences from their ends."""

from __future__ import annotations

from typing import Any

from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops, nd_slices
from millstream._impl.values import dtypes


def from_end(value: Any, lengths: Any, time_axis: int) -> Tensor:
    """A batch of sequences with their steps in reverse; those past its end stay where they are.

    Parameters
    ----------
    value
        A tensor [time, batch, ...] or [batch, time, ...].
    lengths
        The lengths of the sequences, or None when they have all steps.
    time_axis
        0 or 1.
    """
    value = convert_to_tensor(value)
    if lengths is None:
        with scopes.name_scope("ReverseV2"):
            return value[::-1] if time_axis == 0 else value[:, ::-1]
    with scopes.name_scope("ReverseSequence"):
        dims = array_ops.shape(value)
        steps = array_ops.expand_dims(math_ops.range(dims[time_axis]), 1 - time_axis)
        examples = array_ops.expand_dims(math_ops.range(dims[1 - time_axis]), time_axis)
        ends = array_ops.expand_dims(math_ops.cast(lengths, dtypes.int32), time_axis)
        is_inside = math_ops.cast(steps < ends, dtypes.int32)
        source = steps + is_inside * (ends - 1 - 2 * steps)
        place = [source, examples + 0 * steps]
        if time_axis == 1:
            place.reverse()
        result = nd_slices.gather_nd(value, array_join.stack(place, axis=-1))
        result.set_shape(value.shape)
        return result
