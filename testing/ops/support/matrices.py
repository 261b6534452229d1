"""Matrices for the tests of linear algebra, and how near results must be."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support import number_types
from testing.ops.support.case import Case
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Near
from testing.ops.support.registry import Property
from testing.ops.support.source import Source

NO_SHAPE = {Property.STATIC_SHAPE: "the reference's shape function says nothing"}


def eighths(source: Source, shape: Any, dtype: str) -> Array:
    """Numbers from -1 to 1 with few digits, complex ones for a complex type."""
    values: Array = np.reshape(
        [source.integer(-8, 8) / 8 for _ in range(int(np.prod(shape)))], shape
    )
    if dtype.startswith("complex"):
        parts = [source.integer(-8, 8) / 8 for _ in range(int(np.prod(shape)))]
        values = values + 1j * np.reshape(parts, shape)
    return values


def wide(x: Array) -> Array:
    """The values in double precision."""
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def tolerance(case: Case) -> float:
    """How far off a result may be, in parts of the largest value.

    Matrices are well conditioned, unless a reference says how it copes: what is computed in double
    precision is good to far more digits than this. Then it is rounded to its type.
    """
    return 1e-11 + 2 * number_types.epsilon(case.inputs[0].dtype)


def near(value: Array, case: Case) -> Near:
    """The value, within the tolerance."""
    return Near(value, np.abs(value).max(initial=1.0) * tolerance(case))
