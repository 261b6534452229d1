"""Batches of the tensors of several steps."""

from __future__ import annotations

from typing import Any

from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, LacksGradient, spread
from testing.ops.support.registry import NotTested, Property, define_tests

_BETWEEN_STEPS = NotTested(
    "works between steps: core/structural/batches_test.cc compares what each step gets"
)


def _through_a_batch(x: Any) -> Any:
    """The tensor again, of a batch that two rows fill."""
    batch = gen_ops.batch(
        [x],
        num_batch_threads=1,
        max_batch_size=2,
        batch_timeout_micros=0,
        grad_timeout_micros=10**6,
    )
    return gen_ops.unbatch(batch.batched_tensors[0] * 2.0, batch.batch_index, batch.id, 10**6)


_OF_UNBATCH = LacksGradient("UnbatchGrad")
_GRADIENT = [Check(_through_a_batch, (spread("x", 2, 3),), no_second_order=_OF_UNBATCH)]
_IN_STEP = "the step finds out how many rows there are"

define_tests(
    "Batch",
    reference=_BETWEEN_STEPS,
    gradient=_GRADIENT,
    exceptions={
        Property.SAME_BITS: "each step has another number",
        Property.REPEATABLE: "each step has another number",
        Property.STATIC_SHAPE: _IN_STEP,
    },
)
define_tests(
    "Unbatch",
    reference=_BETWEEN_STEPS,
    gradient=_GRADIENT,
    exceptions={Property.STATIC_SHAPE: _IN_STEP},
)
define_tests("UnbatchGrad", reference=_BETWEEN_STEPS, exceptions={Property.STATIC_SHAPE: _IN_STEP})

_OF_MUTEXES = NotTested("works between steps: core/structural/mutexes_test.cc has steps that wait")

define_tests(["MutexLock", "MutexV2"], reference=_OF_MUTEXES)
define_tests(
    "ConsumeMutexLock",
    reference=_OF_MUTEXES,
    exceptions={Property.NAMED_ARGUMENT: "no random case has a lock: the error is about its type"},
)
