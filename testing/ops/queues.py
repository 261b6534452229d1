"""Queues between steps."""

from __future__ import annotations

from testing.ops.support.registry import NotTested, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/queues_test.cc compares what comes out of a queue"
)

define_tests(
    [
        "FIFOQueueV2",
        "QueueDequeueManyV2",
        "QueueDequeueV2",
        "QueueEnqueueManyV2",
        "QueueEnqueueV2",
    ],
    reference=_BETWEEN_STEPS,
    determinism=NotTested("keeps elements, and computes nothing"),
)
define_tests(["QueueCloseV2", "QueueIsClosedV2", "QueueSizeV2"], reference=_BETWEEN_STEPS)
