"""Accumulators of gradients between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/accumulators_test.cc compares what is taken"
)
_REPLACED = NotTested(
    "the import replaces it by an op on handles: core/import/import_queues_test.cc runs it"
)
_IN_ORDER = NotTested("adds up gradients in the order in which steps bring them, on one thread")
_DENSE = ["AccumulatorApplyGradient", "AccumulatorTakeGradient", "ConditionalAccumulator"]
_SPARSE = [f"Sparse{name}" for name in _DENSE]
_OTHERS = ["AccumulatorNumAccumulated", "AccumulatorSetGlobalStep"]

define_tests(
    [*(f"Resource{name}" for name in _DENSE), *(f"_{name}" for name in _SPARSE)],
    reference=_BETWEEN_STEPS,
    determinism=_IN_ORDER,
)
define_tests(
    ["_AccumulatorCounts", *(f"Resource{name}" for name in _OTHERS)], reference=_BETWEEN_STEPS
)
define_tests([*_DENSE, *_SPARSE], reference=_REPLACED, determinism=_IN_ORDER)
define_tests(_OTHERS, reference=_REPLACED)
