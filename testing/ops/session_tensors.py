"""Tensors that a session keeps between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, Property, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/session_tensors_test.cc compares what is kept"
)

define_tests(["DeleteSessionTensor", "GetSessionTensor"], reference=_BETWEEN_STEPS)
define_tests(
    "GetSessionHandleV2",
    reference=_BETWEEN_STEPS,
    determinism=NotTested("keeps a tensor, and computes nothing"),
)
define_tests(
    "GetSessionHandle",
    reference=_BETWEEN_STEPS,
    exceptions={
        Property.SAME_BITS: "the handle has the number of tensors that were kept before",
        Property.REPEATABLE: "the handle has the number of tensors that were kept before",
    },
)
