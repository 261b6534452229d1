"""Queues between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/queues_test.cc compares what comes out of a queue"
)
_REPLACED = NotTested(
    "the import replaces it by the op on handles: core/import/import_queues_test.cc runs it"
)
_KEEPS = NotTested("keeps elements, and computes nothing")
_WITH_TENSORS = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueDequeue",
    "QueueDequeueMany",
    "QueueDequeueUpTo",
    "QueueEnqueue",
    "QueueEnqueueMany",
    "RandomShuffleQueue",
]
_OTHERS = ["QueueClose", "QueueIsClosed", "QueueSize"]

define_tests([f"{name}V2" for name in _WITH_TENSORS], reference=_BETWEEN_STEPS, determinism=_KEEPS)
define_tests([f"{name}V2" for name in _OTHERS], reference=_BETWEEN_STEPS)
define_tests(_WITH_TENSORS, reference=_REPLACED, determinism=_KEEPS)
define_tests([*_OTHERS, "FakeQueue"], reference=_REPLACED)
