"""The branch of a conditional while it is being built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Tensor


class CondBranch:
    """One branch of a conditional: what is made in it runs only if the predicate says so.

    A tensor from outside comes in through a Switch, made once for each tensor. Nodes without inputs
    from inside wait for the branch's pivot, which is dead in the other branch.

    Parameters
    ----------
    graph
        The graph.
    pred
        The predicate, a scalar of bool.
    pivot
        A tensor that is live if this branch is taken.
    taken
        The value of the predicate that takes this branch.
    """

    def __init__(self, graph: Graph, pred: Tensor, pivot: Tensor, taken: bool) -> None:
        self._graph = graph
        self._pred = pred
        self._pivot = pivot
        self._taken = taken
        self._outer: Any = graph.state.branch
        self._inside = {pivot.op.node}
        self._passed: dict[int, Tensor] = {}

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Within the block, new nodes belong to the branch."""
        state = self._graph.state
        before = state.controls, state.branch, state.colocation
        # The pivot waits for what the conditional waits for.
        state.controls, state.branch, state.colocation = [], self, []
        try:
            yield
        finally:
            state.controls, state.branch, state.colocation = before

    def inputs_of(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """What a node of that name takes in the place of these tensors."""
        return [self._inner(tensor, name) for tensor in inputs]

    def controls_of(self, inputs: Sequence[Tensor], controls: Sequence[int]) -> Sequence[int]:
        """Nodes to wait for: the pivot as well, if no input is of the branch."""
        return controls if inputs else [*controls, self._pivot.op.node]

    def note_made(self, node: int) -> None:
        """A node was made in the branch, and so in those around it."""
        self._inside.add(node)
        if self._outer is not None:
            self._outer.note_made(node)

    def result(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor that the branch returns; one from outside comes in first."""
        return self._inner(tensor, name)

    def _inner(self, tensor: Tensor, name: str) -> Tensor:
        if tensor.op.node in self._inside:
            return tensor
        passed = self._passed.get(tensor.packed)
        if passed is None:
            passed = self._passed[tensor.packed] = self._pass_in(tensor, name)
        return passed

    def _pass_in(self, tensor: Tensor, name: str) -> Tensor:
        graph, state = self._graph, self._graph.state
        before = state.controls, state.branch, state.colocation
        state.controls, state.branch, state.colocation = [], self._outer, [tensor.op]
        try:
            switch = graph.add(
                "Switch",
                graph.handle.unique_name(f"{name}/Switch", True),
                [tensor, self._pred],
                [1, 1],
                [("T", "t", tensor.dtype.base_dtype.as_datatype_enum)],
            )
        finally:
            state.controls, state.branch, state.colocation = before
        self._inside.add(switch.node)
        return switch.outputs[int(self._taken)]
