"""Second derivatives."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import TENSOR, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, array_ops
from millstream._impl.ops.gradient_ops import gradients
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values.tensor_shape import as_shape


@public("hessians")
@takes(ys=TENSOR, xs=TENSOR)
def hessians(
    ys: Any,
    xs: Any,
    name: str | None = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Second derivatives of the sum of `ys` by the elements of each of `xs`.

    They are computed element by element of the first derivative: the graph grows by a gradient for
    each element of `xs`.

    Parameters
    ----------
    ys
        A tensor or several.
    xs
        A tensor or variable of a known shape, or several.
    name
        Scope of the new operations.
    colocate_gradients_with_ops
        See `gradients`.
    gate_gradients, aggregation_method
        Hints, not used.

    Returns
    -------
    list
        For each of `xs` a tensor whose shape is that of x twice.

    Raises
    ------
    ValueError
        A shape is not known, or `ys` does not depend on one of `xs`.

    Examples
    --------
    >>> x = tf.constant([1.0, 2.0])
    >>> tf.hessians(x[0] * x[0] * x[1], x)[0].eval().tolist()
    [[4.0, 2.0], [2.0, 0.0]]
    """
    sources = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    with scopes.name_scope(name, "hessians"):
        firsts = gradients(ys, sources, colocate_gradients_with_ops=colocate_gradients_with_ops)
        return [
            _of_one(first, x, colocate_gradients_with_ops)
            for first, x in zip(firsts, sources, strict=True)
        ]


def _of_one(first: Any, x: Any, colocate: bool) -> Tensor:
    """The second derivative by x, from the first one."""
    shape = as_shape(x.shape)
    if not shape.is_fully_defined():
        raise ValueError(f"xs: expected a tensor of a known shape, got {x!r}")
    if first is None:
        raise ValueError(f"xs: the first derivative by {x!r} is None")
    if isinstance(first, IndexedSlices):
        first = first.as_tensor()
    flat = array_ops.reshape(first, [-1])
    zeros = array_creation.zeros(shape.as_list(), first.dtype)
    rows = []
    for i in range(shape.num_elements() or 0):
        second = gradients(flat[i], x, colocate_gradients_with_ops=colocate)[0]
        if isinstance(second, IndexedSlices):
            second = second.as_tensor()
        rows.append(zeros if second is None else second)
    sizes = shape.as_list() * 2
    if not rows:
        return array_creation.zeros(sizes, first.dtype)
    result: Tensor = gen_ops.reshape(array_join.stack(rows), sizes)
    return result
