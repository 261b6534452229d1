"""What savers save besides variables: objects that say themselves which tensors are their state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops.saveable import SaveableObject
from millstream._impl.train.save_items import SavedTensor


class ObjectItem:
    """An object with several tensors.

    Parameters
    ----------
    saveable
        The object.
    """

    def __init__(self, saveable: Any) -> None:
        self.saveable = saveable

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        graph: Graph = self.saveable.op.graph
        return graph

    @property
    def device(self) -> str:
        """The device that it asks for."""
        return str(self.saveable.op.device)

    def tensors(self) -> list[SavedTensor]:
        """What is saved."""
        return [
            SavedTensor(spec.name, spec.slice_spec, spec.tensor, spec.dtype)
            for spec in self.saveable.specs
        ]

    def restore_from(self, values: list[Tensor], reshape: bool) -> Operation:
        """The operation that gives the object values from a checkpoint, in their own shapes."""
        with self.graph.colocate_with(self.saveable.op):
            restored: Operation = self.saveable.restore(values, None)
        return restored


def _saveables_of(value: Any) -> list[Any]:
    """The saveable objects that one entry of a saver's ``var_list`` stands for; none of variables.

    Tables have a function that makes theirs. A class of programs need not derive from
    `SaveableObject`.
    """
    if isinstance(value, SaveableObject) or (hasattr(value, "specs") and hasattr(value, "restore")):
        return [value]
    gather = getattr(value, "_gather_saveables_for_checkpoint", None)
    if gather is None:
        return []
    return [made() if callable(made) else made for made in gather().values()]


def split_objects(var_list: Any) -> tuple[Any, list[ObjectItem]]:
    """The variables of a saver's ``var_list``, in its form, and the other objects by name.

    Parameters
    ----------
    var_list
        Variables and objects, or a dictionary from names to them.

    Raises
    ------
    ValueError
        Two objects have one name.
    """
    named: dict[str, Any] = {}

    def is_object(value: Any) -> bool:
        found = _saveables_of(value)
        for each in found:
            if named.setdefault(each.name, each) is not each:
                raise ValueError(f"At least two variables have the same name: {each.name}")
        return bool(found)

    rest: Any
    if isinstance(var_list, Mapping):
        rest = {name: value for name, value in var_list.items() if not is_object(value)}
    else:
        rest = [value for value in var_list if not is_object(value)]
    return rest, [ObjectItem(named[name]) for name in sorted(named)]
