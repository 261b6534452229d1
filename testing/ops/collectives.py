"""Operations of groups of devices."""

from __future__ import annotations

from typing import Any

from millstream._impl.ops import gen_ops
from testing.ops.support.gradient import Check, spread
from testing.ops.support.registry import NotTested, define_tests

_BETWEEN_DEVICES = NotTested(
    "needs several devices: core/structural/collectives_test.cc and "
    "python/millstream/_impl/ops/collective_ops_test.py compare what each of them gets"
)
_IN_ONE_ORDER = NotTested(
    "needs several devices: core/resources/collective_meetings_test.cc compares the bits of all "
    "orders in which they come"
)


def _mean_of_one(x: Any) -> Any:
    """The mean over a group of one device."""
    return gen_ops.collective_reduce(
        x,
        group_size=1,
        group_key=1,
        instance_key=1,
        merge_op="Add",
        final_op="Div",
        subdiv_offsets=[0],
    )


define_tests(
    "CollectiveReduce",
    reference=_BETWEEN_DEVICES,
    gradient=[Check(_mean_of_one, (spread("x", 2, 3),))],
    determinism=_IN_ONE_ORDER,
)
define_tests(
    ["CollectiveGather", "CollectiveBcastSend", "CollectiveBcastRecv"],
    reference=_BETWEEN_DEVICES,
    determinism=_IN_ONE_ORDER,
)
