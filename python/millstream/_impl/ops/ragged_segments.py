"""Rows of ragged tensors that have the same id, combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph import scopes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops.ragged_broadcast import checked_rows
from millstream._impl.ops.ragged_reductions import combined
from millstream._impl.ops.ragged_rows import RaggedRows

_Combine = Callable[[Any, Tensor, Tensor], Any]


def _by(kind: str) -> _Combine:
    return lambda data, ids, count: combined(kind, data, ids, count)


def _divided(divisor: Callable[[Any], Any]) -> _Combine:
    """The sum of elements, divided by a function of how many there are."""

    def quotient(data: Any, ids: Tensor, count: Tensor) -> Any:
        # As in 1.15, and unlike that of tensors, a mean of no elements is no number.
        counts = combined("reduce_sum", gen_ops.ones_like(data), ids, count)
        sums = combined("reduce_sum", data, ids, count)
        return gen_ops.real_div(sums, divisor(counts))

    return quotient


def _function(public_name: str, combine: _Combine) -> Callable[..., Any]:
    """What the function of that name does with ragged tensors."""

    def segments(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        default_name = f"Ragged{public_name.title().replace('_', '')}"
        with scopes.name_scope(name, default_name, [data, segment_ids]):
            ids = segment_ids
            while isinstance(ids, RaggedRows):
                if not isinstance(data, RaggedRows):
                    raise ValueError(
                        "segment_ids: when segment_ids is ragged, data must also be ragged."
                    )
                data, ids = checked_rows(data, ids)
            ids = convert_to_tensor(ids, name="segment_ids")
            ids.shape.assert_has_rank(1)
            count = convert_to_tensor(num_segments, name="num_segments")
            return combine(data, ids, count)

    return segments


SEGMENTS: dict[str, Callable[..., Any]] = {
    name: _function(name, combine)
    for name, combine in {
        "unsorted_segment_max": _by("reduce_max"),
        "unsorted_segment_mean": _divided(lambda counts: counts),
        "unsorted_segment_min": _by("reduce_min"),
        "unsorted_segment_prod": _by("reduce_prod"),
        "unsorted_segment_sqrt_n": _divided(gen_ops.sqrt),
        "unsorted_segment_sum": _by("reduce_sum"),
    }.items()
}
