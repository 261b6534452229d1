"""Rows that have the same id, combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import NUMBER, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, math_ops

unsorted_segment_sum = public("unsorted_segment_sum", "math.unsorted_segment_sum")(
    for_ragged("unsorted_segment_sum")(gen_ops.unsorted_segment_sum)
)
unsorted_segment_max = public("unsorted_segment_max", "math.unsorted_segment_max")(
    for_ragged("unsorted_segment_max")(gen_ops.unsorted_segment_max)
)
unsorted_segment_min = public("unsorted_segment_min", "math.unsorted_segment_min")(
    for_ragged("unsorted_segment_min")(gen_ops.unsorted_segment_min)
)
unsorted_segment_prod = public("unsorted_segment_prod", "math.unsorted_segment_prod")(
    for_ragged("unsorted_segment_prod")(gen_ops.unsorted_segment_prod)
)
segment_max = public("segment_max", "math.segment_max")(gen_ops.segment_max)
segment_mean = public("segment_mean", "math.segment_mean")(gen_ops.segment_mean)
segment_min = public("segment_min", "math.segment_min")(gen_ops.segment_min)
segment_prod = public("segment_prod", "math.segment_prod")(gen_ops.segment_prod)
segment_sum = public("segment_sum", "math.segment_sum")(gen_ops.segment_sum)


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
    @for_ragged(public_name)
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


def _sparse(
    public_name: str,
    what: str,
    plain: Callable[..., Tensor],
    of_size: Callable[..., Tensor],
    outcome: str,
) -> Callable[..., Tensor]:
    @takes(data=TENSOR, indices=TENSOR, segment_ids=TENSOR, num_segments=NUMBER)
    def sparse(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
    ) -> Tensor:
        if num_segments is None:
            return plain(data, indices, segment_ids, name)
        return of_size(data, indices, segment_ids, num_segments, name)

    sparse.__doc__ = f"""{what}, for each id.

    Parameters
    ----------
    data
        A tensor of numbers.
    indices
        Which rows of it are taken: a vector.
    segment_ids
        The id of each of them, none smaller than the one before.
    name
        Name of the result.
    num_segments
        How many ids there are, by default as many as the last one says.

    Returns
    -------
    Tensor
        A row for each id; 0 for an id that no row has.

    Examples
    --------
    >>> tf.{public_name}([[2.0], [4.0], [6.0]], [0, 2, 1], [0, 0, 2]).eval().round(3).tolist()
    {outcome}
    """
    sparse.__name__ = sparse.__qualname__ = public_name
    return sparse


sparse_segment_sum = public("sparse_segment_sum", "sparse.segment_sum")(
    _sparse(
        "sparse_segment_sum",
        "Sum of chosen rows",
        gen_ops.sparse_segment_sum,
        gen_ops.sparse_segment_sum_with_num_segments,
        "[[8.0], [0.0], [4.0]]",
    )
)
sparse_segment_mean = public("sparse_segment_mean", "sparse.segment_mean")(
    _sparse(
        "sparse_segment_mean",
        "Mean of chosen rows",
        gen_ops.sparse_segment_mean,
        gen_ops.sparse_segment_mean_with_num_segments,
        "[[4.0], [0.0], [4.0]]",
    )
)
sparse_segment_sqrt_n = public("sparse_segment_sqrt_n", "sparse.segment_sqrt_n")(
    _sparse(
        "sparse_segment_sqrt_n",
        "Sum of chosen rows, divided by the square root of their number",
        gen_ops.sparse_segment_sqrt_n,
        gen_ops.sparse_segment_sqrt_n_with_num_segments,
        "[[5.6570000648498535], [0.0], [4.0]]",
    )
)
