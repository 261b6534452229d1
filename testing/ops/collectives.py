"""Operations of groups of devices, here of one.

core/structural/collectives_test.cc, core/structural/reduce_scatter_test.cc and
python/millstream/_impl/ops/collective_ops_test.py compare what several devices get.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._impl.ops import gen_ops
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.gradient import Check, spread
from testing.ops.support.reference import Outcome, pick_type, refuse_unless, type_attr
from testing.ops.support.registry import NotTested, define_tests
from testing.ops.support.source import Source

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


def _make(source: Source, op: Any) -> Case:
    """A node of a group of one, which waits for nobody; at times of a group that cannot be."""
    dtype = pick_type(source, op, "T")
    members = 1 if source.chance(0.9) else source.pick((0, -1, -(2**63)))
    attrs = {"T": type_attr(dtype)}
    attrs["group_size"] = attr_text(members)
    attrs["group_key"] = attr_text(source.integer(0, 5))
    attrs["instance_key"] = attr_text(source.integer(0, 5))
    sizes = source.small_shape()
    case = Case(op.name, [Input(dtype, source.values(dtype, sizes))], attrs, {"members": members})
    if op.name == "CollectiveReduce":
        attrs["merge_op"] = attr_text(source.pick(("Add", "Mul", "Max", "Min")))
        attrs["final_op"] = attr_text(source.pick(("Id", "Div")))
        attrs["subdiv_offsets"] = attr_text([0])
    else:
        case.values["shape"] = sizes if source.chance(0.9) else source.small_shape()
        attrs["shape"] = attr_text(("shape", case.values["shape"]))
    return case


def _make_reduce_scatter(source: Source, op: Any) -> Case:
    """The same of an op whose keys are inputs."""
    dtype = pick_type(source, op, "T")
    members = 1 if source.chance(0.9) else source.pick((0, -1, -(2**31)))
    keys = [members, source.integer(0, 5), source.integer(0, 5)]
    inputs = [Input(dtype, source.values(dtype, source.small_shape()))]
    inputs += [Input("int32", np.array(key, np.int32)) for key in keys]
    attrs = {"T": type_attr(dtype)}
    attrs["merge_op"] = attr_text(source.pick(("Add", "Mul", "Max", "Min")))
    attrs["final_op"] = attr_text(source.pick(("Id", "Div")))
    return Case(op.name, inputs, attrs, {"members": members})


def _of_a_group(case: Case) -> Outcome:
    """Sums, rows and broadcasts of one member are its tensor."""
    refuse_unless(case.values["members"] >= 1, "group_size")
    tensor = case.array(0)
    has_rows = case.op in ("CollectiveGather", "CollectiveReduceScatterV2")
    refuse_unless(not has_rows or tensor.ndim > 0, "input")
    if case.op == "CollectiveBcastSend":
        refuse_unless(tuple(case.values["shape"]) == tensor.shape, "shape")
    return [tensor]


define_tests(
    "CollectiveReduce",
    cases=_make,
    reference=_of_a_group,
    gradient=[Check(_mean_of_one, (spread("x", 2, 3),))],
    determinism=_IN_ONE_ORDER,
)
define_tests(
    ["CollectiveGather", "CollectiveBcastSend"],
    cases=_make,
    reference=_of_a_group,
    determinism=_IN_ONE_ORDER,
)
define_tests(
    "CollectiveReduceScatterV2",
    cases=_make_reduce_scatter,
    reference=_of_a_group,
    determinism=_IN_ONE_ORDER,
)
define_tests(
    "CollectiveBcastRecv",
    reference=NotTested(
        "a group of one has no sender: core/structural/collectives_test.cc compares what "
        "several devices get"
    ),
    determinism=_IN_ONE_ORDER,
)
