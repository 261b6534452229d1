"""What the programs that sum over processes have in common."""

from __future__ import annotations

_FLOATS_OF_A_RUN = 1 << 28


def repeats(count: int) -> int:
    """How often a sum of so many floats is timed."""
    return max(15, min(2000, _FLOATS_OF_A_RUN // max(count, 1)))
