"""Stacks of tensors, which live for a step."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, Property, define_tests

_IN_A_STEP = NotTested(
    "works on what other nodes of the step pushed: core/structural/stacks_test.cc compares it"
)

_KEEPS = NotTested("keeps elements, and computes nothing")

define_tests(["StackPopV2", "StackPushV2"], reference=_IN_A_STEP, determinism=_KEEPS)
define_tests(
    "StackV2",
    reference=_IN_A_STEP,
    determinism=_KEEPS,
    exceptions={Property.SAME_BITS: "a size that is no constant is refused"},
)
define_tests("StackCloseV2", reference=_IN_A_STEP)

_AS_ON_HANDLES = NotTested(
    "runs as the op on handles: core/import/import_ref_loops_test.cc runs it"
)

define_tests(["Stack", "StackPop", "StackPush"], reference=_AS_ON_HANDLES, determinism=_KEEPS)
define_tests("StackClose", reference=_AS_ON_HANDLES)
