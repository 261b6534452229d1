"""What the determinism cases of ops are made of: graphs so large that kernels use all threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support.definitions import float_dtypes_of, function_of

SIZE = 300_000

FLOAT32 = (tf.float32,)
FLOAT32_AND_64 = (tf.float32, tf.float64)


class Values:
    """Inputs of one dtype, the same in every run. They are fed: constants would be folded.

    Attributes
    ----------
    feeds
        What to feed.

    Parameters
    ----------
    dtype
        Of the numbers.
    """

    def __init__(self, dtype: tf.DType) -> None:
        self.dtype = dtype
        self.feeds: dict[tf.Tensor, Any] = {}
        self._random = np.random.RandomState(7)

    def _fed(self, values: Any) -> tf.Tensor:
        tensor = tf.placeholder(values.dtype, values.shape)
        self.feeds[tensor] = values
        return tensor

    def of(self, *shape: int, low: float = -2.0, high: float = 2.0) -> tf.Tensor:
        """Numbers, evenly distributed."""
        values = self._random.uniform(low, high, shape).astype(self.dtype.as_numpy_dtype)
        return self._fed(values)

    def positive(self, *shape: int) -> tf.Tensor:
        """Numbers from 0.1 to 2."""
        return self.of(*shape, low=0.1)

    def rows(self, size: int, end: int) -> tf.Tensor:
        """Integers from 0 to `end`, exclusive, many of them several times."""
        values = self._random.randint(0, end, size).astype(np.int32)
        return self._fed(values)

    def variable(self, *shape: int) -> tf.Variable:
        """A variable of numbers from 0.1 to 2."""
        values = self._random.uniform(0.1, 2, shape).astype(self.dtype.as_numpy_dtype)
        return tf.Variable(values)


@dataclass(frozen=True, eq=False)
class LargeCase:
    """A graph of one or several ops, whose results must not depend on the number of threads.

    Attributes
    ----------
    build
        Makes the tensors to compare: one, or lists of them.
    dtypes
        In which they are compared.
    """

    build: Callable[[Values], Any]
    dtypes: tuple[tf.DType, ...] = (tf.float32, tf.float64, tf.float16)


# Makes the case of an op of its name.
LargeCaseOfOp = Callable[[str], LargeCase]


def large_tensor(op: str) -> LargeCase:
    """The case of an op of one tensor of any shape."""

    def build(values: Values) -> Any:
        return function_of(op)(values.positive(SIZE))

    return LargeCase(build, float_dtypes_of(op))


def large_pair(op: str) -> LargeCase:
    """The case of an op of two tensors of one shape."""

    def build(values: Values) -> Any:
        return function_of(op)(values.positive(SIZE), values.positive(SIZE))

    return LargeCase(build, float_dtypes_of(op))


def large_broadcast(op: str) -> LargeCase:
    """The case of an op of two tensors that broadcast."""

    def build(values: Values) -> Any:
        function = function_of(op)
        matrix = values.positive(600, 500)
        return [
            function(matrix, values.positive(600, 500)),
            function(matrix, values.positive(500)),
            function(values.positive(600, 1), matrix),
        ]

    return LargeCase(build, float_dtypes_of(op))


def sizes_of(tensor: Any) -> list[int]:
    """The static shape of a tensor."""
    return [int(size) for size in tensor.shape.as_list()]
