"""Exponentials of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input
from testing.ops.support.determinism import FLOAT32_AND_64, LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.matrices import eighths, near, wide
from testing.ops.support.reference import Outcome, numbers, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    size = source.size(5)
    values = eighths(source, [*source.small_shape(0, 2, 3), size, size], dtype)
    if source.chance(0.05):
        values = values[..., :0]
    return Case(op.name, [Input(dtype, values.astype(dtype))], {"T": type_attr(dtype)})


def _exponential(case: Case) -> Outcome:
    """The limit of (1 + x / 2^k)^(2^k), by a series for a small part of x."""
    x = wide(numbers(case, 0))
    refuse_unless(x.ndim >= 2 and x.shape[-1] == x.shape[-2], "input")
    if x.size == 0:
        return [case.array(0)]
    squarings = max(0, int(np.ceil(np.log2(np.abs(x).sum(-1).max() + 1))) + 3)
    part = x / 2**squarings
    term = total = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype)
    for k in range(1, 16):
        term = term @ part / k
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return [near(total, case)]


def _large(values: Values) -> Any:
    return [gen_ops.matrix_exponential(values.of(*shape)) for shape in ((300, 25, 25), (130, 130))]


define_tests(
    "MatrixExponential",
    cases=_make,
    reference=_exponential,
    gradient=[
        Check(gen_ops.matrix_exponential, (spread("exponential", *shape) / 2,))
        for shape in ((3, 3), (2, 3, 3))
    ],
    determinism=LargeCase(_large, FLOAT32_AND_64),
)
