"""What a saver saves and restores: variables and the names that checkpoints have for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.values.dtypes import DType
from millstream._impl.variables.partitioned_variable import PartitionedVariable
from millstream._impl.variables.variables import Variable


class SavedTensor(NamedTuple):
    """A tensor of a checkpoint: its name there, which part it is, its value and its dtype."""

    key: str
    spec: str
    value: Tensor
    dtype: DType


@dataclasses.dataclass(frozen=True)
class SaveItem:
    """One variable under one name.

    Parameters
    ----------
    key
        The name in checkpoints.
    spec
        The part that it is of the tensor of that name; "" for the whole.
    variable
        The variable.
    """

    key: str
    spec: str
    variable: Variable

    @property
    def value(self) -> Tensor:
        """The tensor to save."""
        return self.variable.graph_element

    @property
    def graph(self) -> Graph:
        """The graph that holds it."""
        return self.variable.graph

    @property
    def device(self) -> str:
        """The device that it asks for."""
        return self.variable.device

    def tensors(self) -> list[SavedTensor]:
        """What is saved: the variable's value."""
        return [SavedTensor(self.key, self.spec, self.value, self.variable.dtype)]

    def restore_from(self, values: list[Tensor], reshape: bool) -> Operation:
        """The operation that gives the variable the one value of `tensors` from a checkpoint."""
        return self.restore(values[0], reshape)

    def restore(self, value: Tensor, reshape: bool) -> Operation:
        """The operation that gives the variable a value from a checkpoint."""
        variable = self.variable
        with variable.graph.colocate_with(variable.handle):
            shape = variable.shape
            if reshape and shape.is_fully_defined():
                value = gen_ops.reshape(value, shape.as_list())
            assigned: Operation = gen_ops.assign_variable_op(variable.handle, value, name="Assign")
            return assigned


def _parts(value: Any) -> list[Variable]:
    """The variables that one entry stands for."""
    if isinstance(value, PartitionedVariable):
        return list(value)
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    for each in given:
        if not isinstance(each, Variable):
            raise TypeError(f"Variable to save is not a Variable: {each!r}")
    return given


def save_name(variable: Variable) -> str:
    """The name that a checkpoint has for a variable; of a part that of the whole."""
    place = variable._get_save_slice_info()
    return variable.op.name if place is None else str(place.full_name)


def _by_name(variables: Iterable[Any]) -> dict[str, list[Variable]]:
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        for part in _parts(variable):
            name = save_name(part)
            if name in found and part._get_save_slice_info() is None:
                raise ValueError(f"At least two variables have the same name: {name}")
            found.setdefault(name, []).append(part)
    return found


def save_items(var_list: Any) -> list[SaveItem]:
    """The items of a saver's ``var_list``, by name.

    Parameters
    ----------
    var_list
        Variables, or a dictionary from names to variables or to lists of parts of one.

    Raises
    ------
    TypeError
        Something else is among them.
    ValueError
        A variable or a name is there twice.
    """
    if isinstance(var_list, Mapping):
        for name, value in var_list.items():
            if not isinstance(value, (Variable, PartitionedVariable, list, tuple)):
                raise TypeError(
                    "names_to_saveables must be a dict mapping string names to "
                    f"Tensors/Variables. Not a variable: {name!r}: {value!r}"
                )
        named = {str(name): _parts(value) for name, value in var_list.items()}
    else:
        named = _by_name(var_list)
    items: list[SaveItem] = []
    for name in sorted(named):
        for part in named[name]:
            place = part._get_save_slice_info()
            if place is None and len(named[name]) > 1:
                raise ValueError(f"Slices must all be slices: {part.name!r} is a whole variable")
            items.append(SaveItem(name, "" if place is None else place.spec, part))
    seen: set[int] = set()
    for item in items:
        if id(item.variable) in seen:
            raise ValueError(
                "The same saveable will be restored with two names: " + item.variable.name
            )
        seen.add(id(item.variable))
    return items
