"""The ops of conditionals and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.reference import Outcome, numbers, pick_type, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests
from testing.ops.support.source import Source

_X = spread("x", 2, 3)
_LOOPS = NotTested(
    "gives nothing on its own: control flow is tested in core/dynamic and python/millstream"
)
_REFERENCES = NotTested("passes references on, and computes nothing")
_OF_LOOP = {Property.NAMED_ARGUMENT: "the error is about the loop"}
_OF_FETCH = {
    Property.NAMED_ARGUMENT: "the error is about the fetch of an output that was not taken"
}

define_tests(["Enter", "Exit", "NextIteration"], reference=_LOOPS, exceptions=_OF_LOOP)
define_tests(
    ["RefEnter", "RefExit", "RefNextIteration"],
    reference=_LOOPS,
    determinism=_REFERENCES,
    exceptions=_OF_LOOP,
)
_BY_INDEX = NotTested(
    "core/import/import_ref_loops_test.cc runs a RefSelect, which becomes the other op"
)
define_tests(
    "RefSelect",
    reference=_BY_INDEX,
    determinism=_REFERENCES,
    exceptions={Property.STATIC_SHAPE: "the variable that the index chooses decides"},
)
define_tests("_SelectHandle", reference=_BY_INDEX)


def _conditional(bound: float) -> Check:
    """A conditional whose branch does not change within the distance of the differences."""
    return Check(lambda x: tf.cond(tf.reduce_sum(x) > bound, lambda: x * x, lambda: 3.0 * x), (_X,))


_CONDITIONAL = [_conditional(-1e6), _conditional(1e6)]

define_tests("Switch", reference=_LOOPS, gradient=_CONDITIONAL, exceptions=_OF_FETCH)
define_tests("RefSwitch", reference=_LOOPS, determinism=_REFERENCES, exceptions=_OF_FETCH)
define_tests(
    "Merge",
    reference=_LOOPS,
    gradient=_CONDITIONAL,
    exceptions={
        Property.STATIC_SHAPE: "the input that comes first decides",
        Property.SAME_BITS: "gives whichever input comes first",
    },
)
define_tests("RefMerge", reference=_LOOPS, determinism=_REFERENCES)


def _make_fake(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "dtype")
    sizes = [-1 if source.chance(0.2) else size for size in source.small_shape(0, 4)]
    attrs = {"dtype": type_attr(dtype), "shape": attr_text(("shape", sizes))}
    return Case(op.name, [], attrs, {"dtype": dtype, "sizes": sizes})


def _fake(case: Case) -> Outcome:
    shape = [max(size, 0) for size in case.values["sizes"]]
    dtype = case.values["dtype"]
    if dtype == "string":
        return [np.full(shape, b"", object)]
    return [np.zeros(shape, number_types.stored_type(dtype))]


define_tests(
    "FakeParam",
    cases=_make_fake,
    reference=_fake,
    exceptions={Property.STATIC_SHAPE: "an unknown size is zero in a step"},
)


def _make_condition(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    shape = () if source.chance(0.6) else source.small_shape(0, 4)
    value = source.values(dtype, shape)
    if source.chance(0.2):
        value = np.full(shape, b"" if dtype == "string" else 0, value.dtype)
    return Case(op.name, [Input(dtype, value)], {"T": type_attr(dtype)})


def _is_not_zero(value: Any) -> bool:
    return bool(value) if isinstance(value, bytes) else bool(value != 0)


def _truth(case: Case) -> Outcome:
    x = numbers(case, 0)
    return [np.asarray(x.size > 0 if x.ndim else _is_not_zero(x[()]))]


define_tests("_ToBool", cases=_make_condition, reference=_truth)
