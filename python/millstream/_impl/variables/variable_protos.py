"""Variables as ``VariableDef`` messages, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream._impl import protos
from millstream._impl.variables.save_slices import SaveSliceInfo
from millstream._impl.variables.variable_kinds import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from millstream._impl.graph.graph import Graph
    from millstream._impl.variables.variables import Variable


def to_proto(variable: Variable, export_scope: str | None) -> Any:
    """A variable as ``VariableDef``, with names below the scope; None when it is not there."""
    scope = f"{export_scope}/" if export_scope else ""
    if not variable.name.startswith(scope):
        return None

    def inside(name: str) -> str:
        return name.removeprefix(scope)

    place = variable._get_save_slice_info()
    return protos.message_class("VariableDef")(
        variable_name=inside(variable.name),
        initial_value_name=inside(variable.initial_value.name),
        initializer_name=inside(variable.initializer.name),
        snapshot_name=inside(variable.graph_element.name),
        is_resource=variable._named is variable.handle,
        trainable=variable.trainable,
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
        save_slice_info_def=None if place is None else place.to_proto(export_scope),
    )


# Ops of variables that are references; imported graphs alone have them.
_OF_REFERENCES = ("Variable", "VariableV2")


class FoundVariable:
    """What a ``VariableDef`` names, found in a graph.

    Parameters
    ----------
    graph
        The graph.
    definition
        The message, or an equal one of another package.
    import_scope
        The scope that all of its names are below of.

    Raises
    ------
    TypeError
        It is no ``VariableDef``.
    ValueError
        What it names is no variable of ours.
    KeyError
        The graph has nothing of that name.
    """

    def __init__(self, graph: Graph, definition: Any, import_scope: str | None) -> None:
        kind = protos.message_class("VariableDef")
        if not isinstance(definition, kind):
            if not hasattr(definition, "SerializeToString"):
                raise TypeError(f"variable_def: expected a VariableDef, got {definition!r}")
            definition = kind.FromString(definition.SerializeToString())
        scope = f"{import_scope}/" if import_scope else ""
        owner = graph.get_operation_by_name((scope + definition.variable_name).partition(":")[0])
        if owner.type not in ("VarHandleOp", *_OF_REFERENCES):
            raise ValueError(
                f"variable_def: expected the name of a VarHandleOp, got {owner.name!r}, "
                f"a {owner.type}"
            )
        # The import has made a reference variable a resource, and its node the value of that.
        self.named = owner.outputs[0]
        self.handle = owner.inputs[0] if owner.type in _OF_REFERENCES else self.named
        self.initializer = graph.get_operation_by_name(scope + definition.initializer_name)
        self.snapshot = graph.get_tensor_by_name(scope + definition.snapshot_name)
        assigned = self.initializer.node_def.input[1]
        self.first = graph.get_tensor_by_name(assigned if ":" in assigned else f"{assigned}:0")
        first = definition.initial_value_name
        self.initial_value = graph.get_tensor_by_name(scope + first) if first else self.first
        self.trainable: bool = definition.trainable
        self.synchronization = VariableSynchronization(definition.synchronization)
        self.aggregation = VariableAggregation(definition.aggregation)
        self.save_slice_info: SaveSliceInfo | None = None
        if definition.HasField("save_slice_info_def"):
            place = definition.save_slice_info_def
            self.save_slice_info = SaveSliceInfo(
                save_slice_info_def=place, import_scope=import_scope
            )
