"""Tensors with a margin, and with their elements moved around."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TENSOR, TENSORS, TEXT, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike

roll = public("roll", "manip.roll")(gen_ops.roll)


@public("pad")
@takes(tensor=TENSOR, paddings=TENSORS, mode=TEXT, constant_values=TENSOR)
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """A tensor with a margin.

    Parameters
    ----------
    tensor
        The tensor.
    paddings
        Shape [rank, 2]: how much before and behind, for each dimension.
    mode
        What the margin holds: "CONSTANT", `constant_values`; "REFLECT", the tensor mirrored at its
        first and last elements, which do not come twice; "SYMMETRIC", the tensor mirrored at its
        edges.
    name
        Name of the result.
    constant_values
        Value of the margin, a scalar of the type of the tensor.

    Examples
    --------
    >>> tf.pad([1, 2], [[1, 2]]).eval()
    array([0, 1, 2, 0, 0], dtype=int32)
    >>> tf.pad([1, 2, 3], [[2, 1]], "REFLECT").eval()
    array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    mode = mode.upper()
    if mode in ("REFLECT", "SYMMETRIC"):
        return gen_ops.mirror_pad(tensor, paddings, mode, name)
    if mode != "CONSTANT":
        raise ValueError(f"mode: expected CONSTANT, REFLECT or SYMMETRIC, got {mode!r}")
    if not isinstance(constant_values, TensorLike) and constant_values == 0:
        return gen_ops.pad(tensor, paddings, name)
    return gen_ops.pad_v2(tensor, paddings, constant_values, name)
