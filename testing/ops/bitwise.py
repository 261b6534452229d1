"""Integers as bits, element by element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from testing.ops.elementwise_binary import broadcast, two_tensors
from testing.ops.elementwise_unary import exact_unary, one_tensor
from testing.ops.support.case import Case
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Outcome, numbers
from testing.ops.support.registry import define_tests


def _bits(function: Callable[[Any, Any], Any]) -> Callable[[Case], Outcome]:
    def compute(case: Case) -> Outcome:
        x, y = broadcast(case)
        return [np.asarray(function(x, y)).astype(x.dtype)]

    return compute


def _by(x: Array, y: Array) -> Array:
    """How far to shift, within the bits that there are."""
    return np.clip(y, 0, 8 * x.dtype.itemsize - 1).astype(y.dtype)


def _left_shift(x: Array, y: Array) -> Array:
    unsigned = x.astype(f"u{x.dtype.itemsize}")
    shifted: Array = np.left_shift(unsigned, _by(x, y).astype(unsigned.dtype))
    return shifted.astype(x.dtype)


def _right_shift(x: Array, y: Array) -> Array:
    return np.right_shift(x, _by(x, y))


def _population_count(case: Case) -> Outcome:
    x = numbers(case, 0)
    unsigned = x.astype(f"u{x.dtype.itemsize}").astype(np.uint64)
    counts = [bin(int(number)).count("1") for number in unsigned.flat]
    return [np.array(counts, np.uint8).reshape(x.shape)]


define_tests("BitwiseAnd", cases=two_tensors, reference=_bits(operator.and_))
define_tests("BitwiseOr", cases=two_tensors, reference=_bits(operator.or_))
define_tests("BitwiseXor", cases=two_tensors, reference=_bits(operator.xor))
define_tests("LeftShift", cases=two_tensors, reference=_bits(_left_shift))
define_tests("RightShift", cases=two_tensors, reference=_bits(_right_shift))
define_tests("Invert", cases=one_tensor, reference=exact_unary(np.invert))
define_tests("PopulationCount", cases=one_tensor, reference=_population_count)
