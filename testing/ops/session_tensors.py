"""Tensors that a session keeps between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

define_tests(
    ["DeleteSessionTensor", "GetSessionHandle", "GetSessionTensor"],
    reference=NotTested(
        "works between steps: core/structural/session_tensors_test.cc compares what is kept"
    ),
)
