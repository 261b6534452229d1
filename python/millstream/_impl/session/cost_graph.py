"""Steps that report what their nodes cost, as ``GraphOptions.build_cost_model`` asks for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from millstream._impl import protos


class CostModels:
    """When the steps of a session report costs, and what they report.

    Steps of each kind are counted by themselves.

    Parameters
    ----------
    every
        Each so many steps, one reports.
    after
        How many steps are left out before.
    """

    def __init__(self, every: int, after: int) -> None:
        self._every = every
        self._after = after
        self._steps: dict[Hashable, int] = {}  # that began, by kind

    def is_due(self, kind: Hashable) -> bool:
        """Count a step of a kind; whether it is one that reports."""
        measured = self._steps.get(kind, 0) - self._after
        self._steps[kind] = measured + self._after + 1
        return measured >= 0 and (measured + 1) % self._every == 0


def cost_models(config: Any) -> CostModels | None:
    """The cost models that a ``ConfigProto`` asks for, or None."""
    if config is None or config.graph_options.build_cost_model <= 0:
        return None
    options = config.graph_options
    return CostModels(options.build_cost_model, options.build_cost_model_after)


def measuring(options: Any) -> Any:
    """A copy of ``RunOptions`` whose step reports what `add_cost_graph` needs."""
    kind = protos.message_class("RunOptions")
    measured = kind() if options is None else kind.FromString(options.SerializeToString())
    measured.trace_level = kind.FULL_TRACE
    measured.output_partition_graphs = True
    return measured


def add_cost_graph(metadata: Any, options: Any) -> None:
    """Set ``cost_graph`` of a ``RunMetadata`` from what else it holds.

    A node that another one computes, or that runs nothing, costs no time.

    Parameters
    ----------
    metadata
        What a step with the options of `measuring` reports.
    options
        The ``RunOptions`` of the caller, or None; graphs that it does not ask for are removed.
    """
    executions: dict[tuple[str, str], list[Any]] = {}
    for device in metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            executions.setdefault((device.device, stats.node_name), []).append(stats)
    nodes = [node for graph in metadata.partition_graphs for node in graph.node]
    numbers: dict[tuple[str, str], int] = {}
    for node in nodes:
        numbers[node.device, node.name] = len(numbers)
    costs = metadata.cost_graph
    read: set[int] = set()
    for node in nodes:
        cost = costs.node.add(
            name=node.name, device=node.device, id=numbers[node.device, node.name]
        )
        _add_inputs(cost, node, numbers)
        _add_measured(cost, executions.get((node.device, node.name), []))
        read.update(source.preceding_node for source in cost.input_info)
        read.update(cost.control_input)
    for cost in costs.node:
        cost.is_final = cost.id not in read
    if options is None or not options.output_partition_graphs:
        metadata.ClearField("partition_graphs")


def _add_inputs(cost: Any, node: Any, numbers: dict[tuple[str, str], int]) -> None:
    """Where a node's inputs come from; what is fed comes from no node."""
    for text in node.input:
        name, _, port = text.removeprefix("^").partition(":")
        source = numbers.get((node.device, name))
        if source is None:
            continue
        if text.startswith("^"):
            cost.control_input.append(source)
        else:
            cost.input_info.add(preceding_node=source, preceding_port=int(port or 0))


def _add_measured(cost: Any, executions: list[Any]) -> None:
    """The time of all executions of a node, and the memory of the last one."""
    cost.compute_cost = sum(
        stats.op_end_rel_micros - stats.op_start_rel_micros for stats in executions
    )
    cost.inaccurate = not executions
    if not executions:
        return
    last = executions[-1]
    cost.temporary_memory_size = last.memory_stats.temp_memory_size
    cost.persistent_memory_size = last.memory_stats.persistent_memory_size
    for output in last.output:
        described = output.tensor_description
        while len(cost.output_info) <= output.slot:
            cost.output_info.add(alias_input_port=-1)
        info = cost.output_info[output.slot]
        info.size = described.allocation_description.requested_bytes
        info.shape.CopyFrom(described.shape)
        info.dtype = described.dtype
