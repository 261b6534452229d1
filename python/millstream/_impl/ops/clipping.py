"""Keeping gradients small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGERS, NUMBER, TENSOR, TENSORS, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_ops, operators, reductions
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes


def _map_values(function: Any, t: Any) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(function(t.values), t.indices, t.dense_shape)
    return function(convert_to_tensor(t))


@public("clip_by_norm")
@takes(t=TENSOR, clip_norm=NUMBER, axes=INTEGERS)
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """A tensor scaled down so that its Euclidean norm is at most `clip_norm`.

    Where the norm is NaN, all elements that it is of become NaN.

    Parameters
    ----------
    t
        A tensor or slices.
    clip_norm
        The greatest norm.
    axes
        Along which dimensions the norm is taken, by default all.
    name
        Name of the result.

    Examples
    --------
    >>> tf.clip_by_norm([3.0, 4.0], 1.0).eval().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    with scopes.name_scope(name, "clip_by_norm", [t]) as scope:

        def clip(values: Tensor) -> Tensor:
            total = reductions.reduce_sum(values * values, axes, keepdims=True)
            # The root of 0 has no gradient; where all elements are 0, nothing is scaled.
            some = gen_ops.greater(total, gen_ops.zeros_like(total))
            safe = array_ops.where(some, total, gen_ops.ones_like(total))
            # Where the sum is not above 0, it is 0 or NaN, and its root is the same.
            length = array_ops.where(some, gen_ops.sqrt(safe), total)
            longest = gen_ops.maximum(length, clip_norm)
            product = values * clip_norm
            # Else the norm has more dimensions than the tensor, and so would the result.
            values.shape.assert_is_compatible_with(product.shape)
            return operators.true_divide(product, longest, scope)

        return _map_values(clip, t)


@public("clip_by_average_norm")
@takes(t=TENSOR, clip_norm=NUMBER)
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """A tensor scaled down so that its norm divided by its size is at most `clip_norm`.

    Parameters
    ----------
    t
        A tensor or slices.
    clip_norm
        The greatest Euclidean norm for each element.
    name
        Name of the result.

    Examples
    --------
    >>> tf.clip_by_average_norm([3.0, 4.0], 0.5).eval().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    with scopes.name_scope(name, "clip_by_average_norm", [t]) as scope:

        def clip(values: Tensor) -> Tensor:
            count = gen_ops.cast(gen_ops.size(values), values.dtype)
            length = gen_ops.sqrt(reductions.reduce_sum(values * values))
            longest = gen_ops.maximum(length / count, clip_norm)
            return operators.true_divide(values * clip_norm, longest, scope)

        return _map_values(clip, t)


@public("global_norm", "linalg.global_norm")
@takes(t_list=TENSORS)
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The Euclidean norm of several tensors taken as one vector.

    Parameters
    ----------
    t_list
        Tensors, slices, or None, which count for nothing; the norm of no tensors is 0.
    name
        Name of the scope.

    Examples
    --------
    >>> float(tf.global_norm([[3.0], [4.0]]).eval())
    5.0
    """
    tensors = [t for t in t_list if t is not None]
    with scopes.name_scope(name, "global_norm", tensors):
        values = [
            t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t) for t in tensors
        ]
        halves = (
            gen_ops.pack([gen_ops.l2_loss(value) for value in values])
            if values
            else convert_to_tensor([], dtypes.float32)
        )
        return gen_ops.sqrt(reductions.reduce_sum(halves) * 2.0, name="global_norm")


@public("clip_by_global_norm")
@takes(t_list=TENSORS, clip_norm=NUMBER, use_norm=NUMBER)
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Several tensors scaled down together so that their global norm is at most `clip_norm`.

    If the norm is infinite or NaN, all elements become NaN.

    Pascanu, Mikolov, Bengio: On the difficulty of training recurrent neural networks (2012).

    Parameters
    ----------
    t_list
        Tensors, slices, or None.
    clip_norm
        The greatest norm.
    use_norm
        The norm, if it is known already.
    name
        Name of the scope.

    Returns
    -------
    tuple
        The scaled tensors, and the norm before.

    Examples
    --------
    >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0]], 1.0)
    >>> float(norm.eval()), [round(float(t.eval()[0]), 3) for t in clipped]
    (5.0, [0.6, 0.8])
    """
    length = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    given = [t for t in t_list if t is not None]
    with scopes.name_scope(name, "clip_by_global_norm", given) as scope:
        # A tensor, for the norm may be the number 0, whose inverse is infinite.
        one = convert_to_tensor(1.0, length.dtype)
        scale = clip_norm * gen_ops.minimum(1.0 / length, one / clip_norm)
        # The inverse of an infinite norm is 0, which would pass for gradients that are all zero.
        scale = scale + 0.0 * length

        def scaled(index: int, t: Any) -> Any:
            return _map_values(lambda v: gen_ops.mul(v, scale, f"{scope}_{index}"), t)

        clipped = [None if t is None else scaled(index, t) for index, t in enumerate(t_list)]
    return clipped, length
