"""Draws everything that is random in a case, from a seed alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.number_types import Array

T = TypeVar("T")

# Sizes at which arithmetic on shapes goes wrong.
HUGE = (2**31 - 1, 2**31, 2**32, 2**33 + 1, 2**40, 2**62, 2**63 - 1)
_EDGE_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.nan, np.inf, -np.inf)
_STRINGS = (b"", b"a", b"b", b"word", b"\x00", b"\xff\xfe", b"x" * 40)

# Elements of one input at most: references in plain Python must stay quick.
_MOST_ELEMENTS = 300


class Source:
    """Draws of one case. The same op, seed and index give the same draws."""

    def __init__(self, op: str, seed: int, index: int) -> None:
        self.random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(op.encode()), index]))

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return bool(self.random.random() < probability)

    def pick(self, choices: Sequence[T]) -> T:
        """One of several."""
        return choices[int(self.random.integers(len(choices)))]

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return int(self.random.integers(low, high, endpoint=True))

    def size(self, most: int = 6) -> int:
        """The size of a dimension: small, at times zero or one."""
        draw = self.random.random()
        return 0 if draw < 0.07 else 1 if draw < 0.25 else self.integer(1, most)

    def shape(self, low: int = 0, high: int = 8, most: int = 6) -> tuple[int, ...]:
        """A shape of a rank between low and high, of few elements; small ranks come more often."""
        rank = self.integer(low, high if self.chance(0.15) else min(high, max(low, 3)))
        sizes = [self.size(most) for _ in range(rank)]
        while np.prod(sizes, dtype=float) > _MOST_ELEMENTS:
            sizes[int(np.argmax(sizes))] //= 2
        if 0 in sizes and self.chance(0.1):
            others = [i for i, size in enumerate(sizes) if size > 0]
            if others:
                sizes[self.pick(others)] = self.pick((2**31, 2**33))
        return tuple(sizes)

    def small_shape(self, low: int = 0, high: int = 8, most: int = 5) -> tuple[int, ...]:
        """A shape without huge sizes."""
        return tuple(size if size < 2**31 else 2 for size in self.shape(low, high, most))

    def axis(self, rank: int, legal: float = 0.85) -> int:
        """An axis of a tensor of that rank, or one that it does not have."""
        if self.chance(legal) and rank > 0:
            return self.integer(-rank, rank - 1)
        return self.pick((rank, -rank - 1, 2**31 - 1, -(2**31), rank + 7))

    def broadcast_pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast, but for some."""
        whole = self.small_shape()
        pair = []
        for _ in range(2):
            shape = [1 if self.chance(0.25) else size for size in whole]
            cut = self.integer(0, len(shape)) if self.chance(0.3) else 0
            pair.append(tuple(shape[cut:]))
        if self.chance(0.15):
            pair[1] = self.small_shape()
        return pair[0], pair[1]

    def values(self, dtype: str, shape: Sequence[int], style: str = "") -> Array:
        """A tensor as `number_types` stores it.

        style: "small" for small whole numbers, "plain" for numbers of common size, "edges" for
        the edges of the type; drawn when not given.
        """
        style = style or self.pick(("small", "plain", "edges"))
        count = math.prod(shape)
        if count > _MOST_ELEMENTS**2:
            # A size next to a huge one was meant to be zero.
            shape = [min(size, 2) for size in shape]
            count = math.prod(shape)
        stored = number_types.stored_type(dtype)
        if dtype == "string":
            flat = np.empty(count, object)
            flat[:] = [self.pick(_STRINGS) for _ in range(count)]
            return flat.reshape(shape)
        if dtype == "bool":
            return (self.random.random(count) < 0.5).reshape(shape)
        if number_types.is_inexact(dtype):
            return self._reals(dtype, count, style).reshape(shape)
        return self._integers(stored, count, style).reshape(shape)

    def index_values(self, dtype: str, shape: Sequence[int], low: int, high: int) -> Array:
        """Integers from low to high, both included."""
        drawn = self.random.integers(low, high, endpoint=True, size=tuple(shape))
        return np.asarray(drawn).astype(dtype)

    def _reals(self, dtype: str, count: int, style: str) -> Array:
        if dtype in number_types.COMPLEX:
            part = number_types.real_type(dtype)
            parts = [self._reals(part, count, style) for _ in range(2)]
            numbers = np.empty(count, dtype)
            numbers.real, numbers.imag = parts
            return numbers
        if style == "small":
            numbers = self.random.integers(-4, 5, size=count).astype(np.float64)
        else:
            numbers = self.random.standard_normal(count) * self.pick((1.0, 1.0, 30.0))
        if style == "edges":
            large = number_types.largest(dtype)
            tiny = number_types.smallest_normal(dtype)
            edges = np.array((*_EDGE_FLOATS, large, -large, tiny, tiny / 2, -tiny / 4, large / 2))
            numbers = np.where(self.random.random(count) < 0.5, self._among(edges, count), numbers)
        with np.errstate(all="ignore"):
            computed = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
            return number_types.from_numbers(numbers.astype(computed), dtype)

    def _integers(self, stored: np.dtype[Any], count: int, style: str) -> Array:
        limits = np.iinfo(stored)
        low, high = (-5, 6) if style == "small" else (-100, 100)
        numbers = self.random.integers(max(low, limits.min), high, endpoint=True, size=count)
        if style != "edges":
            return numbers.astype(stored)
        edges: tuple[int, ...] = (
            limits.min,
            limits.min + 1,
            limits.max,
            limits.max - 1,
            0,
            1,
            2,
            limits.max // 2,
        )
        if limits.min < 0:
            edges += (-1,)
        cells = [self.pick(edges) if self.chance(0.6) else int(number) for number in numbers]
        return np.array(cells, stored)

    def _among(self, choices: Array, count: int) -> Array:
        return np.asarray(choices[self.random.integers(len(choices), size=count)])
