"""Sums and means of rows that have the same id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, math_ops

unsorted_segment_sum = public("unsorted_segment_sum", "math.unsorted_segment_sum")(
    gen_ops.unsorted_segment_sum
)


def _counts(data: Tensor, ids: Tensor, num_segments: Tensor) -> Tensor:
    """How many rows each id has, but 1 for none, of a shape that divides the sums."""
    ones = array_creation.ones(gen_ops.shape(ids), data.dtype)
    counts = gen_ops.unsorted_segment_sum(ones, ids, num_segments)
    dims = gen_ops.rank(data) - gen_ops.rank(ids)
    sides = array_join.concat(
        [gen_ops.reshape(num_segments, [1]), gen_ops.fill(gen_ops.reshape(dims, [1]), 1)], 0
    )
    return gen_ops.maximum(gen_ops.reshape(counts, sides), convert_to_tensor(1, data.dtype))


def _divided(
    public_name: str, what: str, divisor: Callable[[Tensor], Tensor], outcome: str
) -> Callable[..., Tensor]:
    @takes(data=TENSOR, segment_ids=TENSOR, num_segments=NUMBER)
    def divided(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        scope_name = public_name.title().replace("_", "")
        with scopes.name_scope(name, scope_name, [data, segment_ids, num_segments]):
            rows = convert_to_tensor(data, name="data")
            ids = convert_to_tensor(segment_ids, name="segment_ids")
            count = math_ops.cast(convert_to_tensor(num_segments), "int32")
            counts = _counts(rows, ids, count)
            sums = gen_ops.unsorted_segment_sum(rows, ids, count)
            return gen_ops.real_div(sums, divisor(counts))

    divided.__doc__ = f"""{what}, for each id.

    Parameters
    ----------
    data
        A tensor of floating-point numbers.
    segment_ids
        The id of each row: its shape is how the shape of `data` begins. Rows of a negative id do
        not count.
    num_segments
        How many ids there are.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        A row for each id; 0 for an id that no row has.

    Examples
    --------
    >>> tf.math.{public_name}([2.0, 8.0, 8.0, 8.0, 8.0], [1, 0, 0, 0, 0], 3).eval().tolist()
    {outcome}
    """
    divided.__name__ = divided.__qualname__ = public_name
    return divided


unsorted_segment_mean = public("unsorted_segment_mean", "math.unsorted_segment_mean")(
    _divided("unsorted_segment_mean", "Mean of the rows", lambda counts: counts, "[8.0, 2.0, 0.0]")
)
unsorted_segment_sqrt_n = public("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")(
    _divided(
        "unsorted_segment_sqrt_n",
        "Sum of the rows, divided by the square root of their number",
        gen_ops.sqrt,
        "[16.0, 2.0, 0.0]",
    )
)
