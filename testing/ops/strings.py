"""Ops on texts: they are compared byte by byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.reference import Outcome, refuse_unless
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source


def _make_join(source: Source, op: Any) -> Case:
    shape = source.small_shape(0, 4)
    count = source.integer(1, 4)
    inputs = []
    for _ in range(count):
        own: tuple[int, ...] = () if source.chance(0.3) else shape
        if source.chance(0.04):
            own = source.small_shape(0, 2)
        inputs.append(Input("string", source.values("string", own)))
    attrs = {"N": attr_text(count), "separator": attr_text(source.pick(("", "-", ", ")))}
    return Case(op.name, inputs, attrs)


def _join(case: Case) -> Outcome:
    arrays = [case.array(i) for i in range(len(case.inputs))]
    shapes = [array.shape for array in arrays if array.ndim]
    refuse_unless(len(set(shapes)) <= 1, "inputs")
    shape = shapes[0] if shapes else ()
    whole = [np.broadcast_to(array, shape) for array in arrays]
    joined = np.empty(shape, object)
    separator = case.attr("separator").encode()
    for place in np.ndindex(*shape):
        joined[place] = separator.join(array[place] for array in whole)
    return [joined]


define_tests("StringJoin", cases=_make_join, reference=_join)
