"""The levels of quantized types and the numbers they stand for, in the runtime's arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Input
from testing.ops.support.number_types import Array
from testing.ops.support.source import Source

TYPES = ("quint8", "qint8", "qint32", "qint16", "quint16")
_F = np.float32


def away(x: Any) -> Any:
    """Numbers rounded to whole ones, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0).astype(x.dtype)


def limits(dtype: str) -> tuple[int, int]:
    """The least and the largest level of a type."""
    info = np.iinfo(number_types.stored_type(dtype))
    return int(info.min), int(info.max)


def clamped(levels: Any, dtype: str) -> Array:
    """Levels within a type; the least of what is no number."""
    least, most = limits(dtype)
    inside = np.where(levels >= most, most, np.where(levels > least, levels, least))
    return np.asarray(inside).astype(np.int64).astype(number_types.stored_type(dtype))


class Levels:
    """The levels of a type from `low` to `high`."""

    def __init__(self, dtype: str, low: Any, high: Any) -> None:
        self.dtype = dtype
        self.low, self.high = _F(low), _F(high)
        self.least, self.most = limits(dtype)
        self.is_point = bool(self.low == self.high)
        steps = float(self.most - self.least + 1)
        with np.errstate(all="ignore"):
            reach = np.float64(self.high - self.low) * (steps / (steps - 1))
            self.per_one = np.float64(steps) / reach
            self.place_of_low = away(np.float64(self.low) * self.per_one)
            self.step = reach / steps
            short = _F(self.step)
            self.rounded_low = np.float64(away(self.low / short) * short)

    def numbers(self, levels: Any) -> Any:
        """What levels stand for, float32."""
        if self.is_point:
            return np.full(np.shape(levels), self.low)
        with np.errstate(all="ignore"):
            wide = np.asarray(levels, np.float64)
            return np.asarray(self.rounded_low + (wide - self.least) * self.step).astype(_F)

    def places(self, numbers: Any) -> Any:
        """The levels of numbers, which may be outside of the type; float64."""
        if self.is_point:
            return np.full(np.shape(numbers), float(self.least))
        with np.errstate(all="ignore"):
            scaled = away(np.asarray(numbers, np.float64) * self.per_one)
            return scaled - self.place_of_low + self.least

    def levels(self, numbers: Any) -> Array:
        """The nearest levels of the type."""
        return clamped(self.places(numbers), self.dtype)

    def distance(self) -> Any:
        """From a level to the next, as ranges of products take it."""
        with np.errstate(all="ignore"):
            return (self.high - self.low) / _F(self.most - self.least)


def range_of_product(a: Levels, b: Levels, dtype: str) -> tuple[Any, Any]:
    """The range of a product's levels."""
    least, most = limits(dtype)
    with np.errstate(all="ignore"):
        step = a.distance() * b.distance()
        return step * _F(least), step * _F(most)


def drawn_range(source: Source) -> tuple[float, float]:
    """The ends of a range; some are equal, turned around or without zero."""
    low, high = -source.integer(0, 40) / 8, source.integer(0, 40) / 8
    if source.chance(0.05):
        low, high = high, low
    if source.chance(0.05):
        low = high
    if source.chance(0.05):
        low = high - 0.125
    return low, high


def scalars(*values: Any) -> list[Input]:
    """Float inputs, each of one number."""
    return [Input("float32", np.array(value, np.float32)) for value in values]


def drawn_scalars(source: Source, *values: Any) -> list[Input]:
    """The same; a few are vectors."""
    found = scalars(*values)
    if source.chance(0.03):
        found[source.integer(0, len(found) - 1)] = Input("float32", np.ones(2, np.float32))
    return found


def levels_of(source: Source, dtype: str, shape: Any) -> Input:
    """Levels of all sizes."""
    least, most = limits(dtype)
    if source.chance(0.5):
        drawn = source.random.integers(least, most, endpoint=True, size=tuple(shape))
        return Input(dtype, drawn.astype(number_types.stored_type(dtype)))
    return Input(dtype, source.values(dtype, shape))


def elements(shape: Any) -> int:
    """How many elements a shape has."""
    return math.prod(shape)
