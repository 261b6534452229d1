"""The ops of conditionals and loops."""

from __future__ import annotations

import millstream as tf
from testing.ops.support.gradient import Check, spread
from testing.ops.support.registry import NotTested, Property, define_tests

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
    ["RefEnter", "RefExit"], reference=_LOOPS, determinism=_REFERENCES, exceptions=_OF_LOOP
)


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
