"""What a layer remembers of its calls: inputs and outputs, losses, updates of its variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.operation import Operation
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.layers import layer_tree
from millstream._impl.ops import nest
from millstream._impl.variables import modules


class LayerRecord(modules.Searched):
    """The part of a layer that remembers its calls."""

    _name: Any
    _unsearched = ("_calls", "_losses", "_updates")

    def __init__(self) -> None:
        self._losses: list[tuple[Any, Any]] = []  # each with the input that it is of, or None
        self._updates: list[tuple[Any, Any]] = []
        self._calls: list[tuple[Any, Any]] = []  # the inputs and outputs of each

    # ---- Losses, updates and metrics ----

    @property
    def losses(self) -> list[Any]:
        """The losses that it and the layers in it added."""
        return [loss for loss, _ in layer_tree.joined(self, "_losses")]

    @property
    def updates(self) -> list[Any]:
        """The operations that change its variables and those of layers in it, of all calls."""
        return [update for update, _ in layer_tree.joined(self, "_updates")]

    @property
    def metrics(self) -> list[Any]:
        """The metrics that belong to it: none, those of `tf.metrics` are no part of layers."""
        return []

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on `inputs`; with None those that depend on no input."""
        return _of_inputs(layer_tree.joined(self, "_losses"), inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on `inputs`; with None those that depend on no input."""
        return _of_inputs(layer_tree.joined(self, "_updates"), inputs)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses, a list or one; they join the collection of those of regularizers.

        Parameters
        ----------
        losses
            Tensors, or functions without arguments that make them.
        inputs
            The input that they are of, if any.
        """
        for loss in _made(losses):
            self._losses.append((loss, inputs))
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations, a list or one, that change variables; they join ``UPDATE_OPS``.

        Parameters
        ----------
        updates
            Operations or tensors, or functions without arguments that make them.
        inputs
            The input that they are of, if any.
        """
        for update in _made(updates):
            self._updates.append((update, inputs))
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    # ---- Calls ----

    @property
    def input(self) -> Any:
        """What it was called with; AttributeError unless it was called once."""
        return self._only_call("input")[0]

    @property
    def output(self) -> Any:
        """What it gave; AttributeError unless it was called once."""
        return self._only_call("output")[1]

    @property
    def input_mask(self) -> Any:
        """The mask of `input`: None, one for each where it is a list, for tensors have no masks."""
        return _no_masks(self._only_call("input_mask")[0])

    @property
    def output_mask(self) -> Any:
        """The mask of `output`: None, one for each where it is a list."""
        return _no_masks(self._only_call("output_mask")[1])

    @property
    def inbound_nodes(self) -> list[Any]:
        """The calls in models of Keras that gave it inputs: none, for there are no such models."""
        return []

    @property
    def outbound_nodes(self) -> list[Any]:
        """The calls in models of Keras that took its outputs: none, as for `inbound_nodes`."""
        return []

    @property
    def input_shape(self) -> Any:
        """The shape of what it was called with, in all calls: a tuple, or one for each tensor."""
        return self._only_shape("input_shape", 0)

    @property
    def output_shape(self) -> Any:
        """The shape of what it gave, in all calls: a tuple, or one for each tensor."""
        return self._only_shape("output_shape", 1)

    def get_input_at(self, node_index: int) -> Any:
        """What call number `node_index` was given, from 0."""
        return self._call("get_input_at", node_index)[0]

    def get_output_at(self, node_index: int) -> Any:
        """What call number `node_index` gave, from 0."""
        return self._call("get_output_at", node_index)[1]

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shape of what call number `node_index` was given, from 0."""
        return _shapes(self._call("get_input_shape_at", node_index)[0])

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shape of what call number `node_index` gave, from 0."""
        return _shapes(self._call("get_output_shape_at", node_index)[1])

    def _only_call(self, what: str) -> tuple[Any, Any]:
        if len(self._calls) == 1:
            return self._calls[0]
        if not self._calls:
            raise AttributeError(f"{what}: the layer {self._name!r} has never been called")
        raise AttributeError(
            f"{what}: the layer {self._name!r} was called {len(self._calls)} times; use "
            "get_input_at, get_output_at and their kin"
        )

    def _only_shape(self, what: str, side: int) -> Any:
        """The shape of the inputs (`side` 0) or outputs (1), if that of all calls is the same."""
        shapes = [_shapes(call[side]) for call in self._calls]
        if shapes and all(shape == shapes[0] for shape in shapes):
            return shapes[0]
        return _shapes(self._only_call(what)[side])

    def _call(self, method: str, index: int) -> tuple[Any, Any]:
        if not self._calls:
            raise RuntimeError(
                f"{method}: The layer {self._name!r} has never been called and thus has no defined "
                "input or output"
            )
        if not 0 <= index < len(self._calls):
            raise ValueError(
                f"node_index: expected one in [0, {len(self._calls)}), for so many calls of the "
                f"layer {self._name!r}, got {index!r}"
            )
        return self._calls[index]


def _made(given: Any) -> list[Any]:
    """One item or a list of them, those that are functions called."""
    items = given if isinstance(given, (list, tuple)) else [given]
    made = [item() if callable(item) else item for item in items]
    return [item for item in made if item is not None]


def _of_inputs(added: Iterable[tuple[Any, Any]], inputs: Any) -> list[Any]:
    """The items that depend on the inputs; with None those that were added without any."""
    if inputs is None:
        return [item for item, of in added if of is None]
    given = {_tensor(each).packed for each in nest.flatten(inputs)}
    return [item for item, of in added if of is not None and _depends(item, given)]


def _tensor(value: Any) -> Any:
    return value.as_tensor() if isinstance(value, TensorLike) else value


def _depends(item: Any, given: set[int]) -> bool:
    """Whether an operation or tensor is computed from one of the tensors `given`."""
    waiting = [item if isinstance(item, Operation) else _tensor(item).op]
    seen = set(waiting)
    while waiting:
        operation = waiting.pop()
        if any(tensor.packed in given for tensor in operation.inputs):
            return True
        # What reads a variable after its update waits for the update alone.
        before = [*(tensor.op for tensor in operation.inputs), *operation.control_inputs]
        for one in before:
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return False


def _no_masks(value: Any) -> Any:
    return [None] * len(value) if isinstance(value, list) else None


def _shapes(value: Any) -> Any:
    """The shape of a tensor as a tuple, or of each in a structure."""
    return nest.map_structure(lambda tensor: tuple(tensor.shape.as_list()), value)
