"""The message classes, each made when it is first asked for."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.protos.descriptors import EnumDescriptor, LazyDescriptor, enum_descriptor
from millstream._impl.protos.fields import Field
from millstream._impl.protos.message import Message
from millstream._impl.protos.pool import (
    descriptions,
    enum_values,
    message_class,
    nested_enums,
    nested_messages,
    set_maker,
)


def _make_class(name: str) -> Any:
    described_types = descriptions()
    enums = described_types["enums"]
    described = described_types["messages"][name]
    fields = [Field(description, enums, index) for index, description in enumerate(described)]
    for field in fields:
        if field.oneof is not None:
            rivals = (rival for rival in fields if rival.oneof == field.oneof)
            field.rivals = tuple(rival for rival in rivals if rival is not field)
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": "millstream.protos",
        "__doc__": f"The message {name}: {', '.join(field.name for field in fields) or 'empty'}.",
        "DESCRIPTOR": LazyDescriptor(name, fields),
        "_message_name": name,
        "_by_name": {field.name: field for field in fields},
        "_by_number": {field.number: field for field in fields},
    }
    for enum in nested_enums(name):
        members.update(enums[enum])
        members[enum.rpartition(".")[2]] = EnumType(enum)
    for inner in nested_messages(name):
        members[inner.rpartition(".")[2]] = _NestedMessage(inner)
    for field in fields:
        members[f"{field.name.upper()}_FIELD_NUMBER"] = field.number
    return type(name.rpartition(".")[2], (Message,), members)


class _NestedMessage:
    """Descriptor that gives the class of a nested message type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        return message_class(self._name)


@public("protos.EnumType")
class EnumType:
    """The values of an enum, by ``Name`` and ``Value`` as protobuf's enum types have them.

    Each value is an attribute as well.

    Parameters
    ----------
    name
        Name of the type, as ``"DataType"`` or ``"RunOptions.TraceLevel"``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._values = enum_values(name)

    @property
    def DESCRIPTOR(self) -> EnumDescriptor:  # noqa: N802
        """What it is and has, as a descriptor."""
        return enum_descriptor(self._name)

    def Name(self, number: int) -> str:  # noqa: N802
        """The name of a number; ValueError when it has none."""
        if not hasattr(number, "__index__"):
            raise TypeError(f"number: expected an integer, got {number!r}")
        for name, value in self._values.items():
            if value == number:
                return name
        raise ValueError(f"number: no value of {self._name} is {number}")

    def Value(self, name: str) -> int:  # noqa: N802
        """The number of a name; ValueError when there is none."""
        if name not in self._values:
            raise ValueError(f"name: no value of {self._name} is called {name!r}")
        return self._values[name]

    def keys(self) -> list[str]:
        """The names."""
        return list(self._values)

    def values(self) -> list[int]:
        """The numbers."""
        return list(self._values.values())

    def items(self) -> list[tuple[str, int]]:
        """Names and numbers."""
        return list(self._values.items())

    def __getattr__(self, name: str) -> int:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"no value of {self._name} is called {name!r}") from None

    def __repr__(self) -> str:
        return f"<EnumType {self._name}>"


set_maker(_make_class)
