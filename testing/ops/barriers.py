"""Barriers between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/barriers_test.cc compares what is taken"
)
_REPLACED = NotTested("the import replaces it by the op on handles of the same name")
_KEEPS = NotTested("keeps tensors, and computes nothing")
_WITH_TENSORS = ["Barrier", "BarrierInsertMany", "BarrierTakeMany"]
_OTHERS = ["BarrierClose", "BarrierIncompleteSize", "BarrierReadySize"]

define_tests([f"_{name}" for name in _WITH_TENSORS], reference=_BETWEEN_STEPS, determinism=_KEEPS)
define_tests([f"_{name}" for name in _OTHERS], reference=_BETWEEN_STEPS)
define_tests(_WITH_TENSORS, reference=_REPLACED, determinism=_KEEPS)
define_tests(_OTHERS, reference=_REPLACED)
