"""Stacks of tensors, which live for a step."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_IN_A_STEP = NotTested(
    "works on what other nodes of the step pushed: core/structural/stacks_test.cc compares it"
)

define_tests(
    ["StackPopV2", "StackPushV2", "StackV2"],
    reference=_IN_A_STEP,
    determinism=NotTested("keeps elements, and computes nothing"),
)
define_tests("StackCloseV2", reference=_IN_A_STEP)
