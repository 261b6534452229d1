"""What the runtime says of its messages, and their classes by name.

The classes are made by ``registry.py``. Modules that only ask for them import this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from millstream import _runtime
from millstream._impl.base.public import public

_makers: list[Callable[[str], Any]] = []


def set_maker(make: Callable[[str], Any]) -> None:
    """Set the function that makes the class of a message type."""
    _makers[:] = [make]


@cache
def descriptions() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_runtime.message_descriptions())
    return found


@public("protos.message_names")
def message_names() -> list[str]:
    """Names of all message types; nested ones as ``"Outer.Inner"``."""
    return sorted(descriptions()["messages"])


@public("protos.enum_values")
def enum_values(name: str) -> dict[str, int]:
    """The values of an enum type by name; KeyError when there is none of that name."""
    found: dict[str, int] = descriptions()["enums"][name]
    return found


def nested_messages(name: str) -> list[str]:
    """Names of the message types directly within a message type."""
    return _within(name, descriptions()["messages"])


def nested_enums(name: str) -> list[str]:
    """Names of the enum types directly within a message type."""
    return _within(name, descriptions()["enums"])


def _within(outer: str, names: dict[str, Any]) -> list[str]:
    return [name for name in names if name.rpartition(".")[0] == outer]


@public("protos.message_class")
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
    return _makers[0](name)
