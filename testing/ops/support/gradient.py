"""What the numeric gradient checks of ops are made of."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support.definitions import function_of
from testing.ops.support.number_types import Array

# With steps of h, differences are off by about h^2 and by (rounding / h): both near 1e-10.
_STEP = 2.0**-17


@dataclass(frozen=True)
class LacksGradient:
    """An op that gradients are made of and that has no gradient. Differentiating them says so."""

    op: str


@dataclass(frozen=True)
class NotCompared:
    """Gradients whose gradients are not compared.

    Attributes
    ----------
    reason
        Why not.
    """

    reason: str


@dataclass(frozen=True)
class Check:
    """A use of an op whose gradients are compared with central differences, in float64.

    Attributes
    ----------
    build
        Makes its outputs of tensors: one tensor or several.
    inputs
        The values at which to differentiate by each argument of `build`.
    step
        Half the distance of the two points of a difference, for inputs near 1.
    of_variable
        The first input is the value of a variable, and `build` gets its handle.
    no_second_order
        Why the gradients are not differentiated in turn. Otherwise they are, by the inputs and by
        the gradients that come down to the outputs, and compared with central differences as well.
    """

    build: Callable[..., Any]
    inputs: tuple[Array, ...]
    step: float = _STEP
    of_variable: bool = False
    no_second_order: LacksGradient | NotCompared | None = None


# The checks of an op, or a function that makes them of its name.
Checks = Sequence[Check] | Callable[[str], Sequence[Check]]
ChecksOfOp = Callable[[str], Sequence[Check]]

# Shapes of two arguments that broadcast: equal, by missing and by unit axes, on either side.
_BROADCASTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), (1, 1)),
    ((2, 1, 3), (4, 1)),
]


def spread(name: str, *shape: int) -> Array:
    """Numbers between -2 and 2 in random order, none near another or near 0."""
    count = int(np.prod(shape, dtype=np.int64))
    values = (np.arange(count) + 0.37) / max(count, 1) * 4 - 2
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return random.permutation(values).reshape(shape)


def positive(name: str, *shape: int) -> Array:
    """Numbers between 0.5 and 2, none near another."""
    return np.asarray(0.5 + (spread(name, *shape) + 2) * 0.375)


def of_one_tensor(values: Callable[..., Array] = spread) -> ChecksOfOp:
    """One check, of an op of one tensor.

    Parameters
    ----------
    values
        Where to differentiate: `spread`, or `positive` where an op is defined for such alone.
    """
    return lambda op: [Check(function_of(op), (values(op, 3, 4),))]


def of_value_and_gradient(op: str) -> Sequence[Check]:
    """One check, of an op of a value above zero and a gradient of one shape."""
    return [Check(function_of(op), (positive(op, 3, 2), spread(op + "1", 3, 2)))]


def of_broadcast_tensors(
    first: Callable[..., Array] = spread, *, with_itself: bool = True
) -> ChecksOfOp:
    """Checks of an op of two tensors that broadcast, the second of numbers above zero.

    Parameters
    ----------
    first
        Where to differentiate by the first tensor.
    with_itself
        Whether one more check gives the same tensor as both.
    """

    def checks(op: str) -> list[Check]:
        function = function_of(op)
        found = [
            Check(function, (first(op, *left), positive(op + "1", *right)))
            for left, right in _BROADCASTS
        ]
        if with_itself:
            found.append(Check(lambda x: function(x, x), (spread("same", 2, 3),)))
        return found

    return checks


def with_arguments(function: Callable[..., Any], *others: Any, **attrs: Any) -> Callable[..., Any]:
    """`function` of tensors, with other arguments after them."""
    return lambda *tensors: function(*tensors, *others, **attrs)


def shape_of(function: Callable[..., Any], *arrays: Array) -> tuple[int, ...]:
    """The static shape of what a function makes of arrays."""
    with tf.Graph().as_default():
        return tuple(function(*(tf.constant(array) for array in arrays)).shape.as_list())
