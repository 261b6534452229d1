"""The message classes, each made when it is first asked for."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from millstream import _runtime
from millstream.protos.fields import Field
from millstream.protos.message import Message


@cache
def _descriptions() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_runtime.message_descriptions())
    return found


def message_names() -> list[str]:
    """Names of all message types; nested ones as ``"Outer.Inner"``."""
    return sorted(_descriptions()["messages"])


def enum_values(name: str) -> dict[str, int]:
    """The values of an enum type by name; KeyError when there is none of that name."""
    found: dict[str, int] = _descriptions()["enums"][name]
    return found


@cache
def message_class(name: str) -> Any:
    """The class of a message type.

    Parameters
    ----------
    name
        Name of the type, as ``"GraphDef"`` or ``"Summary.Value"``.

    Raises
    ------
    KeyError
        There is no such type.
    """
    descriptions = _descriptions()
    enums = descriptions["enums"]
    fields = [Field(description, enums) for description in descriptions["messages"][name]]
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": "millstream.protos",
        "__doc__": f"The message {name}: {', '.join(field.name for field in fields) or 'empty'}.",
        "_message_name": name,
        "_by_name": {field.name: field for field in fields},
        "_by_number": {field.number: field for field in fields},
    }
    prefix = name + "."
    for enum, values in enums.items():
        if enum.startswith(prefix) and "." not in enum[len(prefix) :]:
            members.update(values)
            members[enum[len(prefix) :]] = _EnumType(values)
    for inner in descriptions["messages"]:
        if inner.startswith(prefix) and "." not in inner[len(prefix) :]:
            members[inner[len(prefix) :]] = _NestedMessage(inner)
    for field in fields:
        members[f"{field.name.upper()}_FIELD_NUMBER"] = field.number
    return type(name.rpartition(".")[2], (Message,), members)


class _NestedMessage:
    """Descriptor that gives the class of a nested message type."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        return message_class(self._name)


class _EnumType:
    """The values of an enum, by ``Name`` and ``Value`` as protobuf's enum types have them."""

    def __init__(self, values: dict[str, int]) -> None:
        self._values = values

    def Name(self, number: int) -> str:  # noqa: N802
        """The name of a number; ValueError when it has none."""
        for name, value in self._values.items():
            if value == number:
                return name
        raise ValueError(f"no enum value is {number}")

    def Value(self, name: str) -> int:  # noqa: N802
        """The number of a name; ValueError when there is none."""
        if name not in self._values:
            raise ValueError(f"no enum value is called {name!r}")
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
            raise AttributeError(name) from None
