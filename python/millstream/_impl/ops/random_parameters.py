"""Random numbers of distributions with parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, SHAPE, TENSOR, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.random_seed import get_seed
from millstream._impl.ops.random_ops import shape_tensor
from millstream._impl.values import dtypes


@public("random_gamma", "random.gamma")
@takes(shape=SHAPE, alpha=TENSOR, beta=or_none(TENSOR), dtype=DTYPE, seed=INTEGER)
def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of gamma distributions.

    Parameters
    ----------
    shape
        The shape of the numbers of each pair of parameters.
    alpha
        The shapes of the distributions.
    beta
        Their rates, which broadcast with `alpha`; by default 1.
    dtype
        Type of the numbers: float16, float32 or float64.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The dimensions of `shape`, then those of the parameters. It has a gradient by both.

    Examples
    --------
    >>> tf.random_gamma([3], [0.5, 1.5], seed=1).shape.as_list()
    [3, 2]
    """
    wanted = dtypes.as_dtype(dtype)
    with scopes.name_scope(name, "random_gamma", [shape, alpha, beta]) as scope:
        shapes = convert_to_tensor(alpha, wanted, "alpha")
        rates = convert_to_tensor(1 if beta is None else beta, wanted, "beta")
        seed1, seed2 = get_seed(seed)
        numbers = gen_ops.random_gamma(
            shape_tensor(shape), shapes + gen_ops.zeros_like(rates), seed1, seed2
        )
        least = np.finfo(wanted.as_numpy_dtype).tiny
        return gen_ops.maximum(least, numbers / rates, scope)


@public("random_poisson", "random.poisson")
@takes(lam=TENSOR, shape=SHAPE, dtype=DTYPE, seed=INTEGER)
def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Counts of Poisson distributions.

    Parameters
    ----------
    lam
        The rates.
    shape
        The shape of the counts of each rate.
    dtype
        Type of the counts: float16, float32, float64, int32 or int64.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The dimensions of `shape`, then those of `lam`.

    Examples
    --------
    >>> tf.random_poisson([0.5, 20.0], [3], seed=1).shape.as_list()
    [3, 2]
    """
    with scopes.name_scope(name, "random_poisson", [lam, shape]) as scope:
        rates = convert_to_tensor(lam, name="lam")
        seed1, seed2 = get_seed(seed)
        return gen_ops.random_poisson_v2(
            shape_tensor(shape), rates, seed1, seed2, dtypes.as_dtype(dtype), scope
        )
