"""CompareAndBitpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input
from testing.ops.support.determinism import LargeCase, Values
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = list(source.small_shape(0, 4, 3))
    if source.chance(0.93):
        shape.append(8 * source.integer(0, 3))
    limit = () if source.chance(0.95) else (1,)
    inputs = [
        Input(dtype, source.values(dtype, shape)),
        Input(dtype, source.values(dtype, limit)),
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _bits(case: Case) -> Outcome:
    x, limit = case.array(0), case.array(1)
    refuse_unless(x.ndim > 0 and x.shape[-1] % 8 == 0, "input")
    refuse_unless(limit.shape == (), "threshold")
    return [np.packbits(x > limit, axis=-1).reshape(*x.shape[:-1], x.shape[-1] // 8)]


def _large(values: Values) -> Any:
    return gen_ops.compare_and_bitpack(values.of(500, 640), values.of())


define_tests("CompareAndBitpack", cases=_make, reference=_bits, determinism=LargeCase(_large))
