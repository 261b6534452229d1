"""Sequences from their ends."""

from __future__ import annotations

from typing import Any

from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_reverse


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
    if lengths is None:
        return array_reverse.reverse(value, [time_axis])
    return array_reverse.reverse_sequence(value, lengths, time_axis, 1 - time_axis)
