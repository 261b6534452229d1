"""Elements between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.gradient import Check, spread
from testing.ops.support.number_types import Array
from testing.ops.support.reference import (
    Near,
    Outcome,
    numbers,
    pick_type,
    refuse_unless,
    type_attr,
)
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = source.small_shape()
    shapes = [shape]
    for _ in range(2):
        shapes.append(source.pick((shape, ())) if source.chance(0.9) else source.small_shape())
    inputs = [Input(dtype, source.values(dtype, sizes)) for sizes in shapes]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _clip(case: Case) -> Outcome:
    """A NaN in t stays one, one in a bound is no bound; the lower bound counts more."""
    t, low, high = (numbers(case, i) for i in range(3))
    refuse_unless(low.ndim == 0 or low.shape == t.shape, "clip_value_min")
    refuse_unless(high.ndim == 0 or high.shape == t.shape, "clip_value_max")
    if t.dtype.kind != "c":
        value = _between(t, low, high)
        return [value if t.dtype.kind in "iu" else Near(value, 0.0)]
    value = np.empty_like(t)
    value.real = _between(t.real, low.real, high.real)
    value.imag = _between(t.imag, low.imag, high.imag)
    return [Near(value, 0.0)]


def _between(t: Array, low: Array, high: Array) -> Array:
    below_high = np.where(high < t, high, t)
    return np.where(below_high < low, low, below_high).astype(t.dtype)


def _large(values: Values) -> Any:
    t = values.of(600, 500)
    return [
        gen_ops.clip_by_value(t, values.of(), values.of(low=0.5)),
        gen_ops.clip_by_value(t, values.of(600, 500), values.of(600, 500)),
    ]


define_tests(
    "ClipByValue",
    cases=_make,
    reference=_clip,
    gradient=[
        Check(gen_ops.clip_by_value, (spread("t", 2, 3), np.asarray(-0.5), np.asarray(0.6))),
        Check(
            gen_ops.clip_by_value,
            (spread("t", 2, 3), spread("low", 2, 3) / 8 - 0.5, spread("high", 2, 3) / 8 + 0.6),
        ),
    ],
    determinism=LargeCase(_large),
)
