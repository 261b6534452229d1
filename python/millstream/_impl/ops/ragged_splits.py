"""The splits at which rows begin and end."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops import array_join, math_ops, reductions


def running(lengths: Tensor) -> Tensor:
    """The splits of rows of these lengths."""
    none = convert_to_tensor([0], lengths.dtype)
    return array_join.concat([none, reductions.cumsum(lengths)], 0)


def even(rows: Any, columns: Any) -> Tensor:
    """The splits of rows of one length."""
    one = convert_to_tensor(1, rows.dtype)
    return gen_ops.range(convert_to_tensor(0, rows.dtype), rows + 1, one) * columns


def lengths_before(rows: Tensor, padding: Any, columns: Tensor) -> Tensor:
    """The lengths of rows without the padding that they end with."""
    filler = convert_to_tensor(padding, rows.dtype, "padding")
    differs = gen_ops.not_equal(rows, filler)
    rank = rows.shape.ndims
    if rank is None:
        raise ValueError("padding: the rank of the tensor must be known")
    if rank > 2:
        differs = reductions.reduce_any(differs, list(range(2, rank)))
    zero, one = (convert_to_tensor(number, columns.dtype) for number in (0, 1))
    places = gen_ops.range(one, columns + 1, one)
    ends = math_ops.cast(differs, columns.dtype) * places
    none = gen_ops.expand_dims(gen_ops.fill(gen_ops.shape(rows)[:1], zero), 1)
    return reductions.reduce_max(array_join.concat([none, ends], 1), 1)


def are_nested(lengths: Any) -> bool:
    """Whether lengths are those of several dimensions: a list of vectors."""
    is_list = isinstance(lengths, (list, tuple)) and len(lengths) > 0
    return is_list and (isinstance(lengths[0], TensorLike) or hasattr(lengths[0], "__len__"))
