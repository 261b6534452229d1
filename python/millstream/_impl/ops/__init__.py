"""Functions that add operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream._impl.graph import apply_op


def _ragged_functions() -> Callable[..., Any]:
    from millstream._impl.ops import ragged_functions  # lazy: few programs have ragged tensors

    return ragged_functions.call


apply_op.set_ragged_functions(_ragged_functions)
