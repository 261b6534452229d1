"""Tensors of random numbers that are functions of a seed."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, SHAPE, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import random_ops
from millstream._impl.values import dtypes


@public("random.stateless_uniform")
@takes(shape=SHAPE, seed=TENSOR, minval=or_none(TENSOR), maxval=TENSOR, dtype=DTYPE)
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Uniformly distributed numbers in [minval, maxval), the same for the same seed.

    Parameters
    ----------
    shape
        Shape of the result.
    seed
        Two integers.
    minval, maxval
        The limits; `maxval` is 1 by default for floating-point numbers. Integers need both, or None
        for both: then they are any of the type.
    dtype
        Type of the elements.
    name
        Name of the scope.

    Raises
    ------
    ValueError
        `minval` is missing, or `maxval` for integers, which have the other one.

    Examples
    --------
    >>> tf.random.stateless_uniform([2], [1, 2]).eval().round(3).tolist()
    [0.843999981880188, 0.19200000166893005]
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    is_unlimited = wanted.is_integer and minval is None and maxval is None
    if minval is None and not is_unlimited:
        raise ValueError(f"minval: expected the limit of numbers of {wanted.name}, got None")
    if maxval is None and not is_unlimited:
        if wanted.is_integer:
            raise ValueError(
                f"maxval: expected the limit of numbers of {wanted.name}, or None for minval too"
            )
        maxval = 1
    with scopes.name_scope(
        name, "stateless_random_uniform", [shape, seed, minval, maxval]
    ) as scope:
        sizes = random_ops.shape_tensor(shape)
        if is_unlimited:
            return gen_ops.stateless_random_uniform_full_int(sizes, seed, wanted, scope)
        low = convert_to_tensor(minval, wanted, "minval")
        high = convert_to_tensor(maxval, wanted, "maxval")
        if wanted.is_integer:
            return gen_ops.stateless_random_uniform_int(sizes, seed, low, high, scope)
        numbers = gen_ops.stateless_random_uniform(sizes, seed, wanted)
        return gen_ops.add(numbers * (high - low), low, scope)


def _of_deviation(public_name: str, what: str, op: Any, op_name: str, outcome: str) -> Any:
    @takes(shape=SHAPE, seed=TENSOR, mean=TENSOR, stddev=TENSOR, dtype=DTYPE)
    def draw(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        wanted = dtypes.as_dtype(dtype).base_dtype
        with scopes.name_scope(name, op_name, [shape, seed, mean, stddev]) as scope:
            center = convert_to_tensor(mean, wanted, "mean")
            deviation = convert_to_tensor(stddev, wanted, "stddev")
            numbers = op(random_ops.shape_tensor(shape), seed, wanted)
            return gen_ops.add(numbers * deviation, center, scope)

    draw.__doc__ = f"""{what}, the same for the same seed.

    Parameters
    ----------
    shape
        Shape of the result.
    seed
        Two integers.
    mean
        Mean of the distribution.
    stddev
        Its standard deviation.
    dtype
        Type of the elements.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.random.{public_name}([2], [1, 2]).eval().round(3).tolist()
    {outcome}
    """
    draw.__name__ = draw.__qualname__ = public_name
    return draw


stateless_normal = public("random.stateless_normal")(
    _of_deviation(
        "stateless_normal",
        "Normally distributed numbers",
        gen_ops.stateless_random_normal,
        "stateless_random_normal",
        "[0.5440000295639038, 0.2070000022649765]",
    )
)
stateless_truncated_normal = public("random.stateless_truncated_normal")(
    _of_deviation(
        "stateless_truncated_normal",
        "Normally distributed numbers within two deviations of their mean",
        gen_ops.stateless_truncated_normal,
        "stateless_truncated_normal",
        "[0.5440000295639038, 0.2070000022649765]",
    )
)
