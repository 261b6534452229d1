"""Resources of a graph that are initialized as variables are: the collections for them.

An element has the attributes ``handle``, ``create`` (the operation that makes it) and
``is_initialized`` (a tensor).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops, gen_ops
from millstream._impl.values import dtypes


def shared_resources() -> list[Any]:
    """Those of the default graph that all processes share."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Those of the default graph that belong to one process."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resources: Sequence[Any]) -> Operation:
    """An operation that makes resources."""
    return control_ops.group(*[each.create for each in resources])


def report_uninitialized_resources(resources: Sequence[Any]) -> Tensor:
    """The names of those that are not there, as a vector of strings."""
    with get_default_graph().name_scope("report_uninitialized_resources"):
        names = convert_to_tensor([each.handle.name for each in resources], dtypes.string)
        if not resources:
            return names
        known = gen_ops.pack([each.is_initialized for each in resources])
        # Part 0: those that are not.
        return gen_ops.dynamic_partition(names, gen_ops.cast(known, dtypes.int32), 2)[0]
